from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit.errors import TemplateError
from promptkit.options import UNSET
from promptkit.prompt_files import edit_prompt, load_prompt, parse_prompt, save_prompt

TEXT = """\
---
# what this is
name: greeting   # the name
version: "1.10"
variables:
  name:
    type: str   # of the reader
    description: >-
      Whom to
      greet.
  country: {default: NO}
options: {temperature: 0.20, max_tokens: 300}
tests:
  - name: "one"
    variables: {name: Ada}
    contains: ['Ada', NO]   # two
# the end
---

Hi {name} from {country}
"""


def test_only_what_is_changed_changes() -> None:
    changed = edit_prompt(TEXT, {"version": "2", "options": {"temperature": 0.5, "seed": 7}})

    expected = TEXT.replace('"1.10"', '"2"').replace(
        "{temperature: 0.20, max_tokens: 300}", "{temperature: 0.5, max_tokens: 300, seed: 7}"
    )
    assert changed == expected
    assert edit_prompt(TEXT, {}) == TEXT
    assert edit_prompt(TEXT, {}, body="Hello {name} {country}").endswith("---\nHello {name} {country}")


def test_keys_are_added_and_removed() -> None:
    changed = edit_prompt(TEXT, {"version": UNSET, "locale": "en", "variables": {"name": {"default": "you"}}})

    template = parse_prompt(changed, "a")
    assert (template.version, template.locale) == (None, "en")
    assert template.variables == ()
    assert "# of the reader" in changed
    assert "# the end" in changed
    assert template.declared[0].name == "name"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi", "---\nname: a\n---\nHi"),
        ("---\n# only\n# comments\n---\nHi", "---\n# only\n# comments\nname: a\n---\nHi"),
        ("---\n---\nHi", "---\nname: a\n---\nHi"),
        ("---\ntests:\n- text: a\n---\na", "---\ntests:\n- text: a\nname: a\n---\na"),
    ],
    ids=["none", "comments", "empty", "lists at the margin"],
)
def test_a_front_matter_is_made_where_there_is_none(text: str, expected: str) -> None:
    assert edit_prompt(text, {"name": "a"}) == expected


def test_a_file_is_changed_in_place(tmp_path: Path) -> None:
    file = tmp_path / "a.prompt.md"
    file.write_bytes(TEXT.replace("\n", "\r\n").encode())
    file.chmod(0o640)
    link = tmp_path / "link.prompt.md"
    link.symlink_to(file)

    template = save_prompt(link, {"version": "2"})

    assert template.version == load_prompt(file).version == "2"
    assert file.read_bytes() == edit_prompt(TEXT, {"version": "2"}).replace("\n", "\r\n").encode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.prompt.md", "link.prompt.md"]


@pytest.mark.parametrize(
    ("changes", "body"),
    [
        ({"naem": "a"}, None),
        ({}, "{broken"),
        ({3: "a"}, None),
        ({"name": "a"}, "---"),
    ],
    ids=["key", "body", "no text", "undeclared"],
)
def test_a_mistake_leaves_the_file_as_it_was(changes: Any, body: str | None, tmp_path: Path) -> None:
    file = tmp_path / "a.prompt.md"
    file.write_text("---\nvariables: {a: str}\n---\n{a}", "utf-8")
    before = file.read_bytes()
    if body == "---":
        body = "{b}"

    with pytest.raises(TemplateError):
        save_prompt(file, changes, body=body)

    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("front", ["a: &x 1\nb: *x", "- a", "a: [", "!!str a"])
def test_what_is_not_read_is_not_written(front: str) -> None:
    with pytest.raises(TemplateError):
        edit_prompt(f"---\n{front}\n---\nHi", {"name": "a"})


VALUES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\x85\u2028\u2029\ufeff"), max_size=20
)


@given(VALUES, VALUES)
def test_any_text_comes_back(version: str, description: str) -> None:
    changed = edit_prompt(TEXT, {"metadata": {"a": version, "b": [description]}})

    assert parse_prompt(changed, "a").metadata == {"a": version, "b": [description]}
