"""Hold `MustacheRenderer` to mustache's specification, and to what prompts ask beyond it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import pytest
from attrs import frozen

from promptkit._frozen import FrozenDict
from promptkit.errors import MissingVariablesError, TemplateError, TemplateNotFoundError, TemplateSyntaxError
from promptkit.renderers.base import ValidationMode
from promptkit.renderers.mustache import MAX_DEPTH, MustacheRenderer
from tests.oracles import DATA

SPECIFICATION: list[dict[str, Any]] = json.loads((DATA / "mustache_spec.json").read_text("utf-8"))
"""The cases of the specification in our words and data; ``missing`` marks those that print a missing name."""

render = MustacheRenderer().apply


def _spec_renderer(case: Mapping[str, Any], mode: ValidationMode) -> MustacheRenderer:
    return MustacheRenderer(partials=case.get("partials", {}), validation=mode)


@pytest.mark.parametrize("case", SPECIFICATION, ids=lambda case: f"{case['group']}: {case['name']}")
def test_the_specification(case: Mapping[str, Any]) -> None:
    mode = ValidationMode.NONE if case.get("missing") else ValidationMode.THROW

    assert _spec_renderer(case, mode).apply(case["template"], case["data"]) == case["expected"]


@pytest.mark.parametrize(
    "case", [case for case in SPECIFICATION if case.get("missing")], ids=lambda case: f"{case['group']}: {case['name']}"
)
def test_where_the_specification_prints_nothing_for_a_missing_name_it_is_an_error(case: Mapping[str, Any]) -> None:
    with pytest.raises(MissingVariablesError):
        _spec_renderer(case, ValidationMode.THROW).apply(case["template"], case["data"])


def test_the_specification_is_whole() -> None:
    groups = {case["group"] for case in SPECIFICATION}

    assert groups == {"interpolation", "sections", "inverted", "partials", "comments", "delimiters"}
    assert len({(case["group"], case["name"]) for case in SPECIFICATION}) == len(SPECIFICATION)


# -- names


@pytest.mark.parametrize(
    ("source", "required", "optional"),
    [
        ("{{b}}{{a.x}}{{&b}}", ("b", "a"), ()),
        ("{{#s}}{{x}}{{/s}}{{y}}", ("s", "y"), ("x",)),
        ("{{^s}}{{x.z}}{{/s}}{{x}}", ("s", "x"), ()),
        ("{{#s}}{{.}}{{/s}}", ("s",), ()),
        ("{{!c}}{{>p}}{{x}}", ("q", "x"), ("r",)),
        ("{{#s}}{{>p}}{{/s}}", ("s",), ("q", "r")),
        ("{{>loop}}", ("a",), ("b",)),
    ],
)
def test_names_outside_of_sections_are_required(
    source: str, required: tuple[str, ...], optional: tuple[str, ...]
) -> None:
    partials = {"p": "{{q}}{{#q}}{{r}}{{/q}}", "loop": "{{a}}{{#a}}{{b}}{{>loop}}{{/a}}"}
    compiled = MustacheRenderer(partials=partials).compile(source)

    assert (compiled.variables, compiled.optional_variables) == (required, optional)


def test_a_missing_property_is_named_with_its_likely_spelling() -> None:
    with pytest.raises(MissingVariablesError) as caught:
        render("{{user.name}}\n{{user.nmae}} {{ghost}}", {"user": {"name": "Ada"}})

    assert caught.value.missing == ("user.nmae", "ghost")
    assert (caught.value.line, caught.value.column) == (2, 1)
    assert "did you mean 'user.name'?" in str(caught.value)


def test_a_missing_name_in_a_partial_is_placed_there() -> None:
    with pytest.raises(MissingVariablesError) as caught:
        MustacheRenderer(partials={"foot": "--\n {{sign}}"}).apply("{{>foot}}", {})

    assert (caught.value.template_name, caught.value.line, caught.value.column) == ("foot", 2, 2)


def test_a_property_of_none_is_false_in_a_condition_and_missing_elsewhere() -> None:
    assert render("{{#a.b}}x{{/a.b}}{{^a.b}}y{{/a.b}}", {"a": None}) == "y"
    with pytest.raises(MissingVariablesError):
        render("{{a.b}}", {"a": None})


@frozen
class User:
    name: str


@pytest.mark.parametrize("user", [User("Ada"), "Ada", ["Ada"]], ids=["object", "str", "list"])
def test_dots_read_mappings_and_nothing_else(user: object) -> None:
    for source in ("{{user.name}}", "{{user.0}}", "{{user.__class__}}", "{{user.upper}}"):
        with pytest.raises(MissingVariablesError):
            render(source, {"user": user})


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("{{a}} {{ b }} {{{c}}}", "A {{ b }} {{{c}}}"),
        ("{{#s}}{{x}}{{/s}}!", "{{#s}}{{x}}{{/s}}!"),
        ("{{#l}}{{.}}{{x}};{{/l}}", "1{{x}};2{{x}};"),
        ("{{a.b}}", "{{a.b}}"),
    ],
)
def test_keep_leaves_tags_and_whole_sections(source: str, kept: str) -> None:
    renderer = MustacheRenderer(validation=ValidationMode.KEEP)

    assert renderer.apply(source, {"a": "A", "l": [1, 2]}) == kept


# -- values


@pytest.mark.parametrize("source", ["{{f}}", "{{#f}}x{{/f}}", "{{^f}}x{{/f}}", "{{a.f}}"])
def test_functions_are_refused_and_never_run(source: str) -> None:
    calls: list[int] = []

    with pytest.raises(TemplateError, match="function"):
        render(source, {"f": lambda: calls.append(1), "a": {"f": calls.append}})

    assert calls == []


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (False, "False"), (True, "True"), (1.5, "1.5"), ([], ""), ({}, ""), ([1], "[1]")],
    ids=repr,
)
def test_values_print_as_python_prints_them(value: object, text: str) -> None:
    assert render("{{x}}", {"x": value}) == render("{{a.x}}", {"a": {"x": value}}) == text


@pytest.mark.parametrize(
    ("value", "shown"),
    [("", ""), (0, ""), ((1, 2), "12"), (range(3), "012"), ({"k": 1}.values(), "1"), (iter("ab"), "ab")],
    ids=["empty", "zero", "tuple", "range", "view", "iterator"],
)
def test_sections_go_through_what_is_a_list(value: object, shown: str) -> None:
    assert render("{{#x}}{{.}}{{/x}}{{^x}}{{/x}}", {"x": value}) == shown


def test_an_iterator_is_read_once_for_a_whole_template() -> None:
    def items() -> Iterator[int]:
        yield from (1, 2)

    assert render("{{#x}}{{.}}{{/x}}{{^x}}none{{/x}}{{#x}}{{.}}{{/x}}", {"x": items()}) == "1212"


class Torn:
    def __bool__(self) -> bool:
        raise ValueError("the truth is ambiguous")


def test_a_value_without_truth_is_refused_with_its_place() -> None:
    with pytest.raises(TemplateError, match="ambiguous") as caught:
        render("a {{#x}}b{{/x}}", {"x": Torn()})

    assert caught.value.column == 3


class Empty:
    def __bool__(self) -> bool:
        return False


def test_an_object_is_shown_by_its_truth_and_printed_by_its_text() -> None:
    source = "{{#x}}[{{.}}]{{/x}}{{^x}}none{{/x}}"

    assert render(source, {"x": Fraction(1, 2)}) == "[1/2]"
    assert render(source, {"x": Empty()}) == "none"


class Closed(dict[str, object]):
    """A mapping that cannot be read."""

    def __getitem__(self, key: str) -> object:
        raise RuntimeError("closed")


def test_a_mapping_that_fails_is_an_error_of_ours() -> None:
    with pytest.raises(TemplateError, match="closed"):
        render("{{a.b}}", {"a": Closed(b=1)})


def test_missing_names_outside_of_sections_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    renderer = MustacheRenderer(validation=ValidationMode.WARN)

    assert renderer.apply("{{a.b}}{{#l}}{{c}}{{/l}}{{^d}}!{{/d}}{{a.b}}", {"a": {}, "l": [1]}) == "!"
    (record,) = caplog.records
    assert "'a.b', 'd'" in record.getMessage()


# -- mistakes


@pytest.mark.parametrize(
    ("source", "column", "message"),
    [
        ("a {{b", 3, "never ends"),
        ("{{{b}}", 1, "'}}}'"),
        ("{{}}", 1, "not a name"),
        ("{{a b}}", 1, "not a name"),
        ("{{a..b}}", 1, "not a name"),
        ("{{a | upper}}", 1, "not a name"),
        ("{{<parent}}", 1, "not a name"),
        ("{{.}}", 1, "no section is open"),
        ("{{#a}}b", 1, "not closed"),
        ("b{{/a}}", 2, "not open"),
        ("{{#a}}{{#b}}{{/a}}", 13, "Close 'b' first"),
        ("{{=<%=}}", 1, "no delimiters"),
        ("{{= = = =}}", 1, "no delimiters"),
        ("{{>a b}}", 1, "not the name of a partial"),
        ("{{#a}}" * 101, 601, "nest deeper"),
    ],
)
def test_mistakes_are_found_when_the_template_is_built(source: str, column: int, message: str) -> None:
    with pytest.raises(TemplateSyntaxError, match=message) as caught:
        MustacheRenderer().compile(source)

    assert (caught.value.line, caught.value.column) == (1, column)


def test_a_partial_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(TemplateNotFoundError, match="did you mean 'footer'") as caught:
        MustacheRenderer(partials={"footer": ""}).compile("\n {{>foter}}")

    assert (caught.value.line, caught.value.column) == (2, 2)


def test_a_mistake_in_a_partial_is_placed_there() -> None:
    with pytest.raises(TemplateSyntaxError) as caught:
        MustacheRenderer(partials={"p": "a\n{{#b}}"}).compile("{{>p}}")

    assert (caught.value.template_name, caught.value.line) == ("p", 2)


@pytest.mark.parametrize("mistake", [{"p": 1}, {1: "p"}, "p"], ids=repr)
def test_partials_are_texts_by_name(mistake: Any) -> None:
    with pytest.raises((TemplateError, ValueError)):
        MustacheRenderer(partials=mistake)


def test_recursion_without_end_is_an_error() -> None:
    renderer = MustacheRenderer(partials={"p": "{{#x}}{{>p}}{{>p}}{{/x}}"})

    with pytest.raises(TemplateError, match=str(MAX_DEPTH)):
        renderer.apply("{{>p}}", {"x": True})


def test_a_long_chain_of_partials_is_walked_without_recursion() -> None:
    partials = {f"p{number}": f"{{{{x}}}}{{{{>p{number + 1}}}}}" for number in range(3000)}
    compiled = MustacheRenderer(partials={**partials, "p3000": ""}).compile("{{>p0}}")

    assert compiled.variables == ("x",)
    with pytest.raises(TemplateError, match="nest deeper"):
        compiled.render({"x": 1})


# -- the renderer


def test_partials_are_part_of_the_value() -> None:
    renderer = MustacheRenderer(partials={"p": "1"})

    assert renderer == MustacheRenderer(partials=FrozenDict({"p": "1"}))
    assert renderer.apply("{{>p}}", {}) == "1"
    assert renderer.mutate(partials={"p": "2"}).apply("{{>p}}", {}) == "2"
