from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from promptkit.errors import TemplateError, TemplateNotFoundError
from promptkit.messages import UserMessage
from promptkit.prompt_files import LibraryReport, PromptLibrary
from promptkit.templates.chat import ChatPromptTemplate
from tests import oracles


def _write(folder: Path, name: str, text: str) -> None:
    path = folder / f"{name}.prompt.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


# -- Spring AI Alibaba's configurable templates


def _unknown(_: dict[str, Any]) -> dict[str, Any]:
    return {"result": PromptLibrary().get("unknown")}


def _render(given: dict[str, Any]) -> dict[str, Any]:
    library = PromptLibrary()
    made = library.create(*given["create"])
    return {"result": made.render(given.get("model")), "registry_returns_same": library.get("t1") is made}


def _compare(given: dict[str, Any]) -> dict[str, Any]:
    library = PromptLibrary()
    first, second = given["creates"]
    library.create(*first)
    with pytest.raises(TemplateError) as caught:
        library.create(*second)
    return {"error": "invalid-argument", "mentions": [name for name in ["t1"] if name in str(caught.value)]}


def _configured(given: dict[str, Any]) -> dict[str, Any]:
    library = PromptLibrary()
    library.apply_config(given["config"])
    return {"result": library["t1"].render()}


def _applied(given: dict[str, Any]) -> dict[str, Any]:
    library = PromptLibrary()
    library.create("kept", "a")
    library.apply_config(given["config"])
    names = [name for name in library if name != "kept"]
    return {"unchanged": not names, "registered": names}


SPRING: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "render": _render,
    "render(model)": _render,
    "get('unknown')": _unknown,
    "compare handles": _compare,
    "apply config, get t1, render": _configured,
    "apply config": _applied,
}


@pytest.mark.parametrize("row", oracles.rows("spring_cfg.jsonl"), ids=lambda row: str(row["id"]))
def test_spring_case(row: dict[str, Any]) -> None:
    found = SPRING[row["when"]](row["given"])

    assert {key: found[key] for key in row["then"]} == row["then"]


# -- names, versions, variants


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    _write(tmp_path, "hello", "---\nversion: 1.9\n---\nHello <!-- x --> {name}")
    _write(tmp_path, "old/hello", "---\nname: hello\nversion: 1.10-beta\n---\nbeta {name}")
    _write(tmp_path, "new/hello", "---\nname: hello\nversion: 1.10\n---\n<!-- include shared/greeting -->\n{name}")
    _write(tmp_path, "hello.de", "---\nname: hello\nlocale: de\n---\nHallo {name}")
    _write(tmp_path, "hello.de_CH", "---\nname: hello\nlocale: de-CH\n---\nGrüezi {name}")
    _write(tmp_path, "hello.gpt", "---\nname: hello\nmodels: ['gpt-5*', 'openai:*']\n---\nGPT {name}")
    _write(tmp_path, "hello.mini", "---\nname: hello\nmodels: 'gpt-5-mini'\n---\nmini {name}")
    _write(tmp_path, "hello.de.gpt", "---\nname: hello\nlocale: de\nmodels: 'openai:*'\n---\nGPT auf Deutsch {name}")
    _write(tmp_path, "mail/bye", "Bye {name}")
    _write(tmp_path, ".hidden/secret", "{broken")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "greeting.md").write_text("Good day,", "utf-8")
    (tmp_path / "README.md").write_text("{not a prompt", "utf-8")
    return tmp_path


def test_names_are_paths_or_what_the_file_says(folder: Path) -> None:
    library = PromptLibrary(folder)

    assert library.names == tuple(library) == ("hello", "mail/bye")
    assert library.versions("hello") == ("1.10", "1.10-beta", "1.9")
    assert library.versions("nothing") == ()
    assert "mail/bye" in library
    assert len(library) == 2


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ({}, "Good day,\nAda"),
        ({"version": "1.9"}, "Hello <!-- x --> Ada"),
        ({"locale": "de"}, "Hallo Ada"),
        ({"locale": "de-AT"}, "Hallo Ada"),
        ({"locale": "de_ch"}, "Grüezi Ada"),
        ({"locale": "de-CH-1996"}, "Grüezi Ada"),
        ({"locale": "fr"}, "Good day,\nAda"),
        ({"locale": "den"}, "Good day,\nAda"),
        ({"model": "openai:gpt-5"}, "GPT Ada"),
        ({"model": "gpt-5-mini"}, "mini Ada"),
        ({"model": "azure:gpt-5-mini"}, "mini Ada"),
        ({"model": "anthropic:claude"}, "Good day,\nAda"),
        ({"model": "openai:gpt-5", "locale": "de-CH"}, "Grüezi Ada"),
        ({"model": "openai:gpt-5", "locale": "de"}, "GPT auf Deutsch Ada"),
    ],
)
def test_the_form_that_fits_best_is_taken(wanted: dict[str, str], text: str, folder: Path) -> None:
    found = PromptLibrary(folder).get("hello", **wanted)

    assert found is not None
    assert found.render({"name": "Ada"}) == text


def test_what_is_not_there_is_none_or_an_error(folder: Path) -> None:
    library = PromptLibrary(folder)

    assert library.get("helo") is None
    assert library.get("hello", version="3") is None
    with pytest.raises(TemplateNotFoundError, match=r"no prompt 'helo' \(did you mean 'hello'\?\)"):
        library["helo"]


def test_a_package_is_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "pk_prompts"
    package.mkdir()
    (package / "__init__.py").write_text("", "utf-8")
    (package / "style.md").write_text("Be kind.", "utf-8")
    _write(package, "a", "<!-- include style -->\n{x}")
    monkeypatch.syspath_prepend(str(tmp_path))

    assert PromptLibrary(package="pk_prompts")["a"].render({"x": 1}) == "Be kind.\n1"
    sys.modules.pop("pk_prompts")


@pytest.mark.parametrize("arguments", [{"directory": "/no/such/folder"}, {"package": "no.such"}, {"directory": 3}])
def test_a_root_that_is_none_is_an_error(arguments: dict[str, Any]) -> None:
    with pytest.raises(TemplateNotFoundError):
        PromptLibrary(**arguments)


def test_a_library_has_one_root(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="one root"):
        PromptLibrary(tmp_path, package="promptkit")


def test_a_broken_file_is_an_error_of_the_library(tmp_path: Path) -> None:
    _write(tmp_path, "a", "{broken")

    with pytest.raises(TemplateError, match=r"template 'a\.prompt\.md'"):
        PromptLibrary(tmp_path)


def test_files_that_nothing_tells_apart_are_an_error(tmp_path: Path) -> None:
    _write(tmp_path, "a", "1")
    _write(tmp_path, "b", "---\nname: a\n---\n2")

    with pytest.raises(TemplateError, match=r"name, version, locale and models of 'a\.prompt\.md'"):
        PromptLibrary(tmp_path)


def test_links_out_of_the_folder_are_left_out(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    _write(tmp_path, "outside", "secret")
    _write(root, "a", "1")
    (root / "b.prompt.md").symlink_to(tmp_path / "outside.prompt.md")
    (root / "loop").symlink_to(root, target_is_directory=True)

    assert PromptLibrary(root).names == ("a",)


# -- changes


def test_handles_follow_the_newest_text() -> None:
    library = PromptLibrary()
    handle = library.create("t", "one {x}")
    bound = handle.partial({"x": 1})

    report = library.apply_config([{"name": "t", "template": "two {x} {y}", "model": {"y": 2}}])

    assert report == LibraryReport(("t",), (), ())
    assert handle.variables == ("x",)
    assert handle.optional_variables == ()
    assert handle.check({"z": 1}).missing == ("x",)
    assert bound.render() == "two 1 2"
    assert bound.create().messages == bound.create_messages() == (bound.create_message(),) == (UserMessage("two 1 2"),)
    assert ChatPromptTemplate([bound]).create().text == "two 1 2"


def test_a_broken_edit_keeps_the_last_good_text_and_reports(caplog: pytest.LogCaptureFixture) -> None:
    library = PromptLibrary()
    handle = library.create("t", "good {x}")
    entries: list[Any] = [
        {"name": "t", "template": "{broken secret"},
        {"name": "u", "template": "fine"},
        {"name": "v", "template": 3},
        {"name": None, "template": "x"},
        {"name": "w", "template": "x", "model": 3},
        {"name": "w", "template": "x", "text": ""},
        "no mapping",
    ]

    with caplog.at_level(logging.WARNING, "promptkit"):
        report = library.apply_config(entries)

    assert report.applied == ("u",)
    assert report.skipped == (3,)
    assert [name for name, _ in report.failed] == ["t", "entry 2", "w", "entry 5", "entry 6"]
    assert handle.render({"x": 1}) == "good 1"
    assert len(caplog.records) == 5
    assert "secret" not in caplog.text


@pytest.mark.parametrize("entries", ["text", {"name": "a"}, 3])
def test_a_configuration_is_a_list(entries: Any) -> None:
    with pytest.raises(TemplateError, match="a configuration is a list"):
        PromptLibrary().apply_config(entries)


def test_create_is_idempotent_and_never_changes() -> None:
    library = PromptLibrary()
    handle = library.create("t", "a {x}", {"x": 1})

    assert library.create("t", "a {x}", {"x": 1}) is handle
    for name, text, model in [("t", "b", None), ("t", "a {x}", {"x": 2}), ("", "a", None), ("u", " ", None)]:
        with pytest.raises(TemplateError):
            library.create(name, text, model)
    assert library.names == ("t",)


def test_reload_takes_good_edits_and_keeps_the_rest(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    library = PromptLibrary(folder)
    hello, bye = library["hello"], library["mail/bye"]
    (folder / "shared" / "greeting.md").write_text("Good night,", "utf-8")
    _write(folder, "mail/bye", "Bye {name")
    _write(folder, "later", "Later {name}")

    report = library.reload()

    assert report.applied == ("hello", "later")
    assert [path for path, _ in report.failed] == ["mail/bye.prompt.md"]
    assert hello.render({"name": "Ada"}) == "Good night,\nAda"
    assert bye.render({"name": "Ada"}) == "Bye Ada"
    assert "mail/bye" in caplog.text
    _write(folder, "mail/bye", "Ciao {name}")
    assert library.reload().applied == ("mail/bye",)
    assert bye.render({"name": "Ada"}) == "Ciao Ada"
    (folder / "later.prompt.md").unlink()
    later = library["later"]
    library.reload()
    with pytest.raises(TemplateNotFoundError, match="'later'"):
        later.render({"name": "Ada"})


def test_what_is_configured_wins_over_files(folder: Path) -> None:
    library = PromptLibrary(folder)
    bye = library["mail/bye"]

    library.apply_config([{"name": "mail/bye", "template": "So long {name}"}])
    library.reload()

    assert bye.render({"name": "Ada"}) == "So long Ada"
    with pytest.raises(TemplateError, match="another text already"):
        library.create("hello", "x")


def test_threads_see_whole_prompts_only() -> None:
    library = PromptLibrary()
    texts = [str(number) * 50 for number in range(10)]
    a, b = library.create("a", texts[0]), library.create("b", texts[0])
    barrier = Barrier(5)
    wrong: list[str] = []
    done = False

    def read() -> None:
        barrier.wait()
        while not done:
            wrong.extend(text for text in (a.render(), b.render()) if text not in texts)

    def write() -> None:
        barrier.wait()
        for round_ in range(300):
            text = texts[round_ % 10]
            library.apply_config([{"name": name, "template": text} for name in ("a", "b")])
            handle = library.create(f"c{round_}", "x")
            wrong.extend([] if library.get(f"c{round_}") is handle else ["two handles"])

    readers = [Thread(target=read) for _ in range(4)]
    for thread in readers:
        thread.start()
    write()
    done = True
    for thread in readers:
        thread.join()

    assert not wrong
    assert len(library) == 302
