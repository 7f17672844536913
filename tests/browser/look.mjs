// Load pages in headless Chromium and say what happened: node look.mjs FOLDER < pages.json > facts.json
// FOLDER has node_modules; screenshots go there. A page may run scripts, so that any that got in would be seen.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const resolve = createRequire(join(folder, "look.cjs")).resolve;
const load = async (name) => (await import(pathToFileURL(resolve(name)))).default;
const [chromium, puppeteer] = [await load("@sparticuz/chromium"), await load("puppeteer-core")];

let input = "";
for await (const chunk of process.stdin) input += chunk;

const browser = await puppeteer.launch({
  args: chromium.args,
  executablePath: await chromium.executablePath(),
  headless: "shell",
  defaultViewport: { width: 800, height: 900 },
});
const facts = {};
for (const [name, html] of Object.entries(JSON.parse(input))) {
  const page = await browser.newPage();
  const [requests, dialogs, errors] = [[], [], []];
  page.on("request", (request) => requests.push(request.url()));
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("dialog", (dialog) => (dialogs.push(dialog.message()), dialog.dismiss()));
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: name.endsWith("dark") ? "dark" : "light" }]);
  await page.setContent(html);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  facts[name] = {
    requests, dialogs, errors,
    ...(await page.evaluate(() => {
      const letters = [];
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode() && letters.length < 500) {
        for (const [at, letter] of [...walker.currentNode.data].entries()) {
          const range = new Range();
          range.setStart(walker.currentNode, Math.min(at, walker.currentNode.length - 1));
          range.setEnd(walker.currentNode, Math.min(at + 1, walker.currentNode.length));
          const { left, top } = range.getBoundingClientRect();
          letters.push([letter, Math.round(left), Math.round(top)]);
        }
      }
      return {
        letters,
        text: document.body.innerText,
        width: document.documentElement.scrollWidth,
        elements: [...new Set([...document.body.querySelectorAll("*")].map((each) => each.localName))].sort(),
        directions: [...document.querySelectorAll("pre")].map((each) => getComputedStyle(each).direction),
      };
    })),
  };
  await page.close();
}
await browser.close();
process.stdout.write(JSON.stringify(facts));
