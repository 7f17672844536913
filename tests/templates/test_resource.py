from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest

from promptkit.errors import TemplateError, TemplateNotFoundError
from promptkit.templates.resource import TextResource


def test_a_file_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one", encoding="utf-8")
    resource = TextResource(file)
    file.write_text("two", encoding="utf-8")

    assert str(resource) == resource.text == "one"
    assert resource == copy.deepcopy(resource) == pickle.loads(pickle.dumps(resource))
    assert resource != TextResource(file)


def test_a_package_resource_is_read() -> None:
    assert TextResource("promptkit", "py.typed").name == "promptkit:py.typed"


def test_another_encoding_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("Grüße".encode("cp1252"))

    assert TextResource(file, encoding="cp1252").text == "Grüße"
    with pytest.raises(TemplateError, match="not utf-8"):
        TextResource(file)
    with pytest.raises(TemplateError, match="no-such"):
        TextResource(file, encoding="no-such")


@pytest.mark.parametrize(
    "arguments",
    [("/no/such/file",), ("promptkit", "absent.txt"), ("no_such_package", "a.txt"), ("a\0b",), ("promptkit", "")],
    ids=str,
)
def test_what_is_absent_is_an_error(arguments: tuple[str, ...]) -> None:
    with pytest.raises(TemplateError) as caught:
        TextResource(*arguments)

    assert isinstance(caught.value, TemplateNotFoundError) or arguments[-1] == ""


@pytest.mark.parametrize("name", ["../errors.py", "/etc/passwd", "a/../../b", "..\\b"])
def test_a_resource_stays_in_its_package(name: str) -> None:
    with pytest.raises(TemplateError, match="leaves its package"):
        TextResource("promptkit", name)


@pytest.mark.parametrize("location", [None, "", 3], ids=repr)
def test_the_place_is_checked(location: Any) -> None:
    with pytest.raises(TemplateError, match="TextResource needs a path"):
        TextResource(location)


@pytest.mark.parametrize("wrong", [{"resource": 5}, {"encoding": None}], ids=str)
def test_wrong_types_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(TemplateError, match=f"{next(iter(wrong))} must be a str"):
        TextResource("promptkit", **{"resource": "py.typed", **wrong})
