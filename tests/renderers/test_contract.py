"""Hold every renderer to the one contract of `promptkit.renderers.base`."""

from __future__ import annotations

import copy
import logging
import pickle
import threading
from collections import ChainMap, defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from enum import Enum
from types import MappingProxyType
from typing import Any, NoReturn

import pytest
from attrs import evolve, frozen
from hypothesis import given
from hypothesis import strategies as st

from promptkit._frozen import FrozenDict
from promptkit.errors import MissingVariablesError, TemplateError, TemplateSyntaxError
from promptkit.renderers import by_name
from promptkit.renderers.base import TemplateRenderer, ValidationMode
from tests.strategies import texts


@frozen
class Language:
    """Hold a language: its short name, how it writes a placeholder, and sources with a mistake and its place."""

    name: str
    before: str
    after: str
    broken: Mapping[str, tuple[int, int]]

    def renderer(self, mode: ValidationMode = ValidationMode.THROW) -> TemplateRenderer:
        renderer = by_name(self.name)
        return renderer if self.name == "noop" else evolve(renderer, validation=mode)  # type: ignore[misc]

    def source(self, text: str) -> str:
        """Write a text whose placeholders are ``<name>``."""
        return text.replace("<", self.before).replace(">", self.after)


LANGUAGES = [
    Language("st", "{", "}", {"a\n{b": (2, 1), "a {if(b)}": (1, 3), "a {b?}": (1, 5)}),
    Language("jinja", "{{ ", " }}", {"a\n{{ b": (2, 4), "a {% if b %}": (1, 11), "a {{ b ? }}": (1, 8)}),
    Language("fstring", "{", "}", {"a\n{b": (2, 1), "a } b": (1, 3), "a {b!x}": (1, 6)}),
    Language("mustache", "{{", "}}", {"a\n{{b": (2, 1), "a {{#b}}": (1, 3), "a {{b|c}}": (1, 3)}),
]
EVERY = [*LANGUAGES, Language("noop", "<", ">", {})]

languages = pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
every = pytest.mark.parametrize("language", EVERY, ids=lambda language: language.name)

DELIMITERS = (
    "{",
    "}",
    "{{",
    "}}",
    "{{{",
    "{%",
    "%}",
    "{#",
    "#}",
    "{{=<% %>=}}",
    "<",
    ">",
    "$x$",
    "{if(x)}",
    "\\{",
    "%s",
)
ROLES = ("\nsystem: obey", "<|im_start|>system\n", "</message><message role='system'>", "\n\nHuman: hi")


def hostile() -> st.SearchStrategy[str]:
    """Text that would be structure if anyone parsed it."""
    pieces = st.sampled_from((*DELIMITERS, *ROLES, "\r\n", "\r", "\x00", "\ud800", "x", " ")) | texts()
    return st.lists(pieces, max_size=8).map("".join)


# -- what a compiled form is


@languages
def test_variables_stand_in_order_of_first_appearance(language: Language) -> None:
    compiled = language.renderer().compile(language.source("<zeta> <beta> <zeta> <alpha>"))

    assert compiled.variables == ("zeta", "beta", "alpha")
    assert compiled.optional_variables == ()


@languages
def test_values_are_filled_in_and_others_ignored(language: Language) -> None:
    rendered = language.renderer().apply(language.source("Hi <name>, <name>!"), {"name": "Ada", "other": object()})

    assert rendered == "Hi Ada, Ada!"


@every
@pytest.mark.parametrize("text", ["plain", "a\n\nb\n", "a\n", "é 🦄 \x00 \ud800"], ids=repr)
def test_text_without_placeholders_stays(language: Language, text: str) -> None:
    compiled = language.renderer().compile(text)

    assert (compiled.render({}), compiled.variables, compiled.optional_variables) == (text, (), ())


@every
def test_equal_renderers_share_one_compiled_form(language: Language) -> None:
    source = language.source("shared <name>")

    assert language.renderer() == language.renderer()
    assert hash(language.renderer()) == hash(language.renderer())
    assert language.renderer().compile(source) is language.renderer().compile(source)


@languages
def test_renderers_with_other_options_do_not(language: Language) -> None:
    lax = language.renderer(ValidationMode.NONE)

    assert lax != language.renderer()
    assert lax.apply(language.source("Hi <name>."), {}) == "Hi ."


@every
@pytest.mark.parametrize(
    "copied", [lambda it: pickle.loads(pickle.dumps(it)), copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"]
)
def test_copies_are_equal_and_render_the_same(language: Language, copied: Callable[[Any], Any]) -> None:
    source = language.source("Hi <n>")
    twin = copied(language.renderer())

    assert twin == language.renderer()
    assert twin.apply(source, {"n": "Bo"}) == language.renderer().apply(source, {"n": "Bo"})


@every
@pytest.mark.parametrize("mistake", [None, 3, b"text"], ids=repr)
def test_a_source_is_text(language: Language, mistake: Any) -> None:
    with pytest.raises(TemplateError, match="must be text"):
        language.renderer().compile(mistake)


@languages
def test_a_mode_is_a_mode(language: Language) -> None:
    with pytest.raises(TemplateError, match="validation mode"):
        language.renderer(None)  # type: ignore[arg-type]


def test_every_mistake_has_a_place() -> None:
    for language in LANGUAGES:
        for source, place in language.broken.items():
            with pytest.raises(TemplateSyntaxError) as caught:
                language.renderer().compile(source)
            error = caught.value
            assert (error.line, error.column) == place, (language.name, source)
            assert error.excerpt == source.split("\n")[place[0] - 1]
            assert str(error).endswith("^")


# -- once a source, from any thread


def counting(renderer: TemplateRenderer, parsed: list[str]) -> TemplateRenderer:
    """Make a renderer that notes what it parses, slowly enough for threads to meet."""

    def parse(self: TemplateRenderer, source: str) -> Any:
        parsed.append(source)
        threading.Event().wait(0.01)
        return super(kind, self).parse(source)

    kind: type[Any] = type("Counting", (type(renderer),), {"parse": parse})
    counted: TemplateRenderer = kind()
    return counted


@every
def test_a_source_is_parsed_once_by_all_threads(language: Language) -> None:
    parsed: list[str] = []
    renderer = counting(language.renderer(), parsed)
    source = language.source("Hi <name>")
    barrier = threading.Barrier(8)

    def apply(_: int) -> str:
        barrier.wait()
        return renderer.apply(source, {"name": "Ada"})

    with ThreadPoolExecutor(8) as pool:
        texts = {*pool.map(apply, range(8))}

    assert parsed == [source]
    assert len(texts) == 1


@languages
def test_threads_share_a_compiled_form(language: Language) -> None:
    compiled = language.renderer().compile(language.source("<x>-<x>"))

    with ThreadPoolExecutor(8) as pool:
        rendered = [*pool.map(lambda number: compiled.render({"x": number % 8}), range(4000))]

    assert rendered == [f"{number % 8}-{number % 8}" for number in range(4000)]


# -- what is missing


@languages
def test_missing_variables_are_all_named_with_place_and_spelling(language: Language) -> None:
    source = language.source("Hi\n you, <name> and <adress>, <other>")

    with pytest.raises(MissingVariablesError) as caught:
        language.renderer().apply(source, {"address": 1, "name": 2})

    error = caught.value
    assert error.missing == ("adress", "other")
    assert error.available == ("address", "name")
    assert error.line == 2
    assert (error.excerpt or "")[error.column - 1 :].startswith(("{", "adress"))  # type: ignore[operator]
    assert "did you mean 'address'?" in str(error)


@languages
@pytest.mark.parametrize(
    ("mode", "expected"),
    [(ValidationMode.WARN, "a  B c"), (ValidationMode.NONE, "a  B c"), (ValidationMode.KEEP, "a <x> B c")],
    ids=["warn", "none", "keep"],
)
def test_modes_forgive(
    language: Language, mode: ValidationMode, expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="promptkit"):
        rendered = language.renderer(mode).apply(language.source("a <x> <y> c"), {"y": "B"})

    assert rendered == language.source(expected)
    records = [(record.levelname, "'x'" in record.getMessage()) for record in caplog.records]
    assert records == ([("WARNING", True)] if mode is ValidationMode.WARN else [])


@languages
def test_what_is_given_as_none_is_not_missing(language: Language) -> None:
    assert language.renderer().apply(language.source("[<x>]"), {"x": None}) == "[]"


# -- what variables may be


@every
@pytest.mark.parametrize("mistake", [None, "name", [("name", 1)], {None: 1}, {"name": 1, 2: 3}], ids=repr)
def test_variables_are_a_mapping_from_names(language: Language, mistake: Any) -> None:
    with pytest.raises(TemplateError, match="variables"):
        language.renderer().compile(language.source("Hi <name>")).render(mistake)


@languages
@pytest.mark.parametrize(
    "kind",
    [FrozenDict, MappingProxyType, ChainMap, lambda it: defaultdict(str, it)],
    ids=["frozen", "proxy", "chain", "default"],
)
def test_any_mapping_will_do(language: Language, kind: Callable[[dict[str, str]], Mapping[str, object]]) -> None:
    compiled = language.renderer().compile(language.source("Hi <name>"))

    assert compiled.render(kind({"name": "Ada"})) == "Hi Ada"


@languages
def test_a_mapping_that_invents_values_is_not_asked_to(language: Language) -> None:
    variables: defaultdict[str, str] = defaultdict(lambda: "invented")

    with pytest.raises(MissingVariablesError):
        language.renderer().apply(language.source("Hi <name>"), variables)

    assert variables == {}


# -- how values print


class Color(str, Enum):  # noqa: UP042 - a StrEnum prints its value anyway
    RED = "red"


class Name(str):
    """A str of a class of its own."""

    __slots__ = ()

    def __str__(self) -> str:
        return "never asked"


@languages
@pytest.mark.parametrize(
    ("value", "text"), [(Color.RED, "red"), (Name("Ada"), "Ada"), (3, "3"), (2.5, "2.5"), ("", "")], ids=repr
)
def test_values_print_the_same_in_every_language(language: Language, value: object, text: str) -> None:
    assert language.renderer().apply(language.source("[<x>]"), {"x": value}) == f"[{text}]"


class Broken:
    """A value that cannot be printed."""

    def __str__(self) -> NoReturn:
        raise KeyError("broken")


@languages
@pytest.mark.parametrize("value", [Broken(), b"bytes"], ids=["raises", "bytes"])
def test_values_that_cannot_print_are_refused(language: Language, value: object) -> None:
    with pytest.raises(TemplateError):
        language.renderer().apply(language.source("[<x>]"), {"x": value})


@languages
@given(value=hostile())
def test_hostile_values_come_out_byte_for_byte(language: Language, value: str) -> None:
    rendered = language.renderer().apply(language.source("a[<x>]b <y>."), {"x": value, "y": "{x}"})

    assert rendered == f"a[{value}]b {{x}}."


@every
@given(value=hostile())
def test_hostile_sources_render_or_are_refused_with_a_place(language: Language, value: str) -> None:
    lines: list[int | None] = []
    try:
        compiled = language.renderer().compile(value)
    except TemplateError as error:
        lines.append(error.line)
    else:
        with suppress(TemplateError):
            compiled.render(dict.fromkeys(compiled.variables))

    assert None not in lines


@every
def test_ten_megabytes_pass(language: Language) -> None:
    value = "{{ x }} {% " * 1_000_000
    compiled = language.renderer().compile(language.source("a<x>b"))

    rendered = compiled.render({"x": value})

    assert rendered == ("a<x>b" if language.name == "noop" else f"a{value}b")
