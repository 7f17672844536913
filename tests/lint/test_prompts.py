from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit.lint import CODES, check_prompt_text
from promptkit.prompt_files import edit_prompt, parse_prompt
from promptkit.prompt_files._reading import Folder

CLEAN = """\
---
name: support
variables:
  customer: {type: {name: str, city?: str, orders?: [{id: int, total: float}]}}
  question: {type: str, example: "Where is it?"}
  language: {type: str, default: English}
  photo: {type: media | none, default: null}
options: {model: openai:gpt-5-mini, max_tokens: 500}
few_shot:
  examples: [{q: "Is {this} JSON?", a: "No."}]
  template: {user: "{q}", assistant: "{a}"}
tests:
  - variables: {question: Hi, customer: {name: Ada}}
---
# system
You answer in {language}, politely.
# A heading of the text
```python
# user
password = read_password()
```

# examples

# history

# user
{customer.name} from {customer.city} asks, after {length(customer.orders)} orders:
{customer.orders:{order|- {order.id}: {order.total}
}}
{question}
![](media:photo)
"""

JINJA = """\
---
renderer: jinja
variables:
  user: {type: {name: str, tags: "list[str]"}}
  users: {type: [{name: str}], default: []}
---
{% for u in users %}{{ loop.index }}. {{ u.name|upper }}{% endfor %}
{{ user.name.upper() }} {{ user.tags|join(", ") }} {{ user.items()|length }} {{ (users|first).name }}
{% set owner = user %}{{ owner["name"] }} {{ '{"city": 1}' }}
"""

MUSTACHE = "---\nrenderer: mustache\nvariables: {users: {type: [{name: str}]}}\n---\n{{#users}}{{name}} {{/users}}"


@pytest.mark.parametrize("text", [CLEAN, JINJA, MUSTACHE, "Hi {name}", "# system\nBe kind.\n\n# messages: all\n"])
def test_clean_files_have_no_findings(text: str) -> None:
    parse_prompt(text, "a")

    assert check_prompt_text(text, "a") == []


def _seed(old: str, new: str, text: str = CLEAN) -> str:
    assert old in text
    return text.replace(old, new, 1)


LONG = "Answer with nothing but a single word."
KEY = "sk-" + "a1B2c3D4" * 4

SEEDED: dict[str, tuple[str, list[tuple[str, int]]]] = {
    "syntax": (_seed("{question}\n", "{question\n"), [("PK102", 31)]),
    "jinja syntax": (_seed("{% endfor %}", "", JINJA), [("PK102", 9)]),
    "front matter": (_seed("name: support", "naem: support"), [("PK102", 2)]),
    "no yaml": (_seed("name: support", "name: [support"), [("PK102", 3)]),
    "undefined": (_seed("politely.", "{zeal}."), [("PK201", 16)]),
    "misspelt": (_seed("in {language}", "in {lnaguage}"), [("PK203", 16)]),
    "unused": (_seed("in {language}, ", ""), [("PK202", 6)]),
    "unused history": (_seed("  photo:", "  history: messages\n  photo:").replace("# history\n", ""), [("PK202", 7)]),
    "property": (_seed("{customer.name}", "{customer.nmae}"), [("PK204", 28)]),
    "property in a loop": (_seed("{order.id}", "{order.di}"), [("PK204", 29)]),
    "property in a branch": (
        _seed("{question}\n", "{if(customer.name)}{question}{else}{customer.zip}{endif}\n"),
        [("PK204", 31)],
    ),
    "jinja property": (_seed("{{ u.name|upper }}", "{{ u.nmae|upper }}", JINJA), [("PK204", 7)]),
    "jinja property of first": (_seed("(users|first).name", "(users|first).nam", JINJA), [("PK204", 8)]),
    "jinja property of set": (_seed('owner["name"]', 'owner["nam"]', JINJA), [("PK204", 9)]),
    "jinja method": (_seed("name.upper()", "name.uper()", JINJA), [("PK204", 8)]),
    "mustache property": (_seed("{{name}}", "{{owner.name}}", MUSTACHE), [("PK204", 5)]),
    "default": (_seed("default: English", "default: 3"), [("PK205", 6)]),
    "example": (_seed('example: "Where is it?"', "example: 3"), [("PK205", 5)]),
    "case type": (_seed("{question: Hi,", "{question: 3,"), [("PK205", 13)]),
    "case name": (_seed("{question: Hi,", "{qestion: Hi,"), [("PK203", 13)]),
    "case missing": (_seed("{question: Hi, ", "{"), [("PK201", 13)]),
    "case unused": (_seed("{question: Hi,", "{question: Hi, zeal: 1,"), [("PK202", 13)]),
    "example name": (_seed('a: "No."', 'b: "No."'), [("PK201", 10), ("PK202", 10)]),
    "other language": (_seed("{{ user.name.upper() }}", "{user}", JINJA), []),
    "literal": (
        "---\nrenderer: noop\nvariables: {name: str}\n---\nHi {name}",
        [("PK202", 3), ("PK301", 5)],
    ),
    "literal example": (
        "---\nvariables: {q: str}\nfew_shot: {examples: [{user: 'About {q}'}]}\n---\n# examples\n# user\n{q}",
        [("PK301", 3)],
    ),
    "late system": (_seed("# history\n", "# history\n\n# system\nBe brief.\n"), [("PK302", 27)]),
    "two systems": (_seed("# examples\n", "# system\nBe brief.\n\n# examples\n"), [("PK302", 23)]),
    "assistant first": ("# system\nBe kind.\n# assistant\nYes?\n# user\nNo {q}", [("PK302", 3)]),
    "examples last": (
        "---\nfew_shot: {examples: [{user: a}]}\n---\n# user\nHi\n# examples\n",
        [("PK302", 6)],
    ),
    "doubled sentence": (_seed("politely.", f"politely. {LONG} Think. {LONG}"), [("PK303", 16)]),
    "doubled line": (_seed("{question}\n", f"{{question}}\n{LONG}\n\n{LONG}\n"), [("PK303", 34)]),
    "doubled across blocks": (_seed("politely.", f"politely.\n{LONG}") + LONG, [("PK303", 34)]),
    "doubled word": (_seed("You answer", "You answer answer"), [("PK303", 16)]),
    "key in the text": (_seed("politely.", f"with {KEY}."), [("PK401", 16)]),
    "key in the front matter": (_seed("name: support", f"name: support\nmetadata: {{key: {KEY}}}"), [("PK401", 3)]),
    "password": (_seed("politely.", "with the password: hunter2hunter2."), [("PK401", 16)]),
    "key as default": (_seed("default: English", f"default: {KEY}"), [("PK401", 6)]),
    "too long": (_seed("max_tokens: 500", "max_tokens: 500000"), [("PK402", 8)]),
    "too long text": (
        _seed("openai:gpt-5-mini", "gpt-4") + "many words of text, " * 3 + "x y z " * 8_000,
        [("PK402", 8)],
    ),
    "stray role": (_seed("# A heading of the text", "# Sytem"), [("PK103", 17)]),
    "foreign role": (_seed("# A heading of the text", "# human"), [("PK103", 17)]),
    "low role": (_seed("# A heading of the text", "## user"), [("PK103", 17)]),
    "slot without a name": (_seed("# A heading of the text", "# messages"), [("PK103", 17)]),
    "stray include": (_seed("# A heading of the text", "<!-- inclde shared/style -->"), [("PK103", 17)]),
    "stray medium": (_seed("![](media:photo)", "![](medai:photo)"), [("PK202", 7), ("PK103", 32)]),
    "no partial": (_seed("# A heading of the text", "<!-- include style -->"), [("PK102", 17)]),
}


@pytest.mark.parametrize("case", SEEDED)
def test_seeded_defects_are_found(case: str, tmp_path: Path) -> None:
    text, expected = SEEDED[case]

    found = check_prompt_text(text, "a.prompt.md", Folder(tmp_path))

    assert [(one.code, one.line) for one in found] == sorted(expected, key=lambda item: item[1]), found
    assert all(one.file == "a.prompt.md" and one.column >= 1 and one.code in CODES for one in found)
    assert KEY not in str(found)


def test_suggestions_are_made() -> None:
    for case, hint in [("misspelt", "'language'"), ("property", "'name'"), ("case name", "'question'")]:
        assert f"did you mean {hint}?" in str(check_prompt_text(SEEDED[case][0], "a")[0])


def test_a_finding_in_a_partial_names_the_partial(tmp_path: Path) -> None:
    (tmp_path / "style.md").write_text(f"Be kind.\nThe key is {KEY} {{customer.nmae}}", "utf-8")
    text = _seed("# A heading of the text", "<!-- include style -->")

    found = check_prompt_text(text, "a", Folder(tmp_path))

    assert [(one.file, one.line, one.code) for one in found] == [("style.md", 2, "PK401"), ("style.md", 2, "PK204")]


def test_the_context_may_be_given() -> None:
    text = edit_prompt(CLEAN, {"options": {"model": "my-own"}})

    assert check_prompt_text(text, "a") == []
    assert [one.code for one in check_prompt_text(text, "a", context=100)] == ["PK402"]


@given(st.lists(st.sampled_from([*CLEAN.split("\n"), *JINJA.split("\n"), "---", "{x", "{{", "# user"]), max_size=30))
def test_any_file_is_checked(lines: list[str]) -> None:
    for finding in check_prompt_text("\n".join(lines), "a"):
        assert finding.code in CODES
        assert 1 <= finding.line <= max(len(lines), 1) + 1
