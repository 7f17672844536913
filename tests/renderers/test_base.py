"""Hold what all template languages share: the cache, places, spellings, names of renderers, the text of values."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from attrs import field, frozen

from promptkit.errors import TemplateError, TemplateSyntaxError
from promptkit.renderers import by_name
from promptkit.renderers.base import (
    CACHE_SIZE,
    CACHED_SOURCE_CHARS,
    TemplateRenderer,
    fault,
    missing_variables,
    nearest,
    place_of,
    spelling,
    text_of,
)
from promptkit.renderers.noop import NoOpRenderer, VerbatimTemplate


@frozen
class Counting(TemplateRenderer):
    """Note each source that is parsed, slowly."""

    parsed: list[str] = field(factory=list, eq=False)
    pause: float = 0

    def parse(self, source: str) -> VerbatimTemplate:
        self.parsed.append(source)
        threading.Event().wait(self.pause)
        if source == "broken":
            raise TemplateSyntaxError("broken")
        return VerbatimTemplate(source)


def test_a_source_is_parsed_once() -> None:
    renderer = Counting(pause=1e-9)

    assert renderer.compile("once") is renderer.compile("once")
    assert renderer.parsed == ["once"]


def test_threads_that_ask_together_parse_each_source_once() -> None:
    renderer = Counting(pause=0.001)
    sources = [f"together {number}" for number in range(20)]
    barrier = threading.Barrier(8)

    def compile_all(_: int) -> list[Any]:
        barrier.wait()
        return [renderer.compile(source) for source in sources]

    with ThreadPoolExecutor(8) as pool:
        results = [*pool.map(compile_all, range(8))]

    assert sorted(renderer.parsed) == sorted(sources)
    assert all(compiled is other for result in results for compiled, other in zip(result, results[0], strict=True))


def test_a_broken_source_raises_every_time_and_blocks_nothing() -> None:
    renderer = Counting(pause=1e-8)

    for _ in range(2):
        with pytest.raises(TemplateSyntaxError):
            renderer.compile("broken")
    assert renderer.compile("sound").render({}) == "sound"


def test_the_cache_is_bounded_and_drops_what_was_used_least() -> None:
    renderer = Counting(pause=1e-7)
    for number in range(CACHE_SIZE):
        renderer.compile(f"bounded {number}")
        renderer.compile("bounded 0")
    renderer.compile("bounded new")
    renderer.parsed.clear()

    renderer.compile("bounded 0")
    renderer.compile("bounded 1")

    assert renderer.parsed == ["bounded 1"]


def test_a_long_source_is_not_kept() -> None:
    renderer = Counting(pause=1e-6)
    source = "x" * (CACHED_SOURCE_CHARS + 1)

    assert renderer.compile(source) is not renderer.compile(source)


@pytest.mark.parametrize(
    ("source", "offset", "place"),
    [
        ("abc", 0, (1, 1, "abc")),
        ("abc", 3, (1, 4, "abc")),
        ("a\nbc\nd", 3, (2, 2, "bc")),
        ("a\r\nbc\r\n", 3, (2, 1, "bc")),
        ("a\n", 2, (2, 1, "")),
        ("", 0, (1, 1, "")),
    ],
)
def test_places(source: str, offset: int, place: tuple[int, int, str]) -> None:
    assert place_of(source, offset) == place


def test_a_fault_points_at_its_place() -> None:
    error = fault(TemplateSyntaxError, "Wrong.", "a\nbcd", 4, template_name="t")

    assert str(error) == "Wrong. (template 't', line 2, column 3)\n  2 | bcd\n    |   ^"


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("nmae", ["name", "other"], "name"),
        ("Name", ["NAME"], "NAME"),
        ("userName", ["user_name"], "user_name"),
        ("x", ["name"], None),
        ("", ["name"], None),
        ("name", [], None),
    ],
)
def test_spellings(name: str, known: list[str], meant: str | None) -> None:
    assert spelling(name, known) == meant
    assert nearest(name, known) == (f" (did you mean {meant!r}?)" if meant else "")


def test_missing_variables_are_listed_up_to_ten() -> None:
    names = [f"n{number}" for number in range(12)]

    error = missing_variables(names, {"other": 1}, "source", 0, meant={"n1": "none"})

    assert error.missing == tuple(names)
    assert "'n1' (did you mean 'none'?)" in str(error)
    assert "'n9' and 2 more. Given: 'other'." in str(error)


@pytest.mark.parametrize(("value", "text"), [("a", "a"), (None, ""), (1, "1"), (1.5, "1.5"), (True, "True")], ids=repr)
def test_text_of_values(value: object, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize("value", [b"a", bytearray(b"a"), memoryview(b"a")], ids=["bytes", "bytearray", "memoryview"])
def test_bytes_have_no_text(value: object) -> None:
    with pytest.raises(TemplateError, match="Decode"):
        text_of(value)


@pytest.mark.parametrize("name", ["st", "jinja", "fstring", "mustache", "noop"])
def test_renderers_have_short_names(name: str) -> None:
    renderer = by_name(name)

    assert by_name(renderer) is by_name(name) is renderer


@pytest.mark.parametrize(
    ("name", "words"),
    [("jinja2", "did you mean 'jinja'"), ("x", "no renderer 'x'"), (None, "None"), (NoOpRenderer, "NoOp")],
)
def test_unknown_names_are_refused(name: Any, words: str) -> None:
    with pytest.raises(TemplateError, match=words):
        by_name(name)
