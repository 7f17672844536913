"""Hold `JinjaRenderer` to jinja2's language, minus what a prompt must not do."""

from __future__ import annotations

import copy
import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import frozen
from jinja2 import pass_context

from promptkit.errors import (
    MissingVariablesError,
    PromptError,
    TemplateError,
    TemplateSyntaxError,
)
from promptkit.renderers.base import ValidationMode
from promptkit.renderers.jinja import JinjaRenderer
from tests import oracles

BUG_REPORTS = {row["id"]: row for row in oracles.rows("bug_reports_templates.jsonl")}

render = JinjaRenderer().apply


def names(source: str, renderer: JinjaRenderer | None = None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    compiled = (renderer or JinjaRenderer()).compile(source)
    return compiled.variables, compiled.optional_variables


# -- modes that forgive

FORGIVEN = "{{ a }}|{{ b|upper }}|{{ c.d[0].e + 1 }}|{% for x in xs %}{{ x }}{% endfor %}|{{ 'y' if t else 'n' }}|{{ p.q }}|{{ p.r }}"


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (ValidationMode.NONE, "|||" + "|n||1"),
        (ValidationMode.WARN, "|||" + "|n||1"),
        (ValidationMode.KEEP, "{{ a }}|{{ b|upper }}|{{ c.d[0].e + 1 }}||{{ 'y' if t else 'n' }}|{{ p.q }}|1"),
    ],
    ids=lambda mode: mode.name if isinstance(mode, ValidationMode) else "",
)
def test_missing_names_print_nothing_or_stay(
    mode: ValidationMode, expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="promptkit"):
        rendered = JinjaRenderer(validation=mode).apply(FORGIVEN, {"p": {"r": 1}})

    assert rendered == expected
    if mode is ValidationMode.WARN:
        (record,) = caplog.records
        assert all(f"'{name}'" in record.getMessage() for name in ("a", "b", "c", "xs", "t", "p.q"))


@pytest.mark.parametrize(
    ("expression", "printed"),
    [
        ("x.a.b()", ""), ("x + 1", ""), ("1 - x", ""), ("-x", ""), ("x * 2 ** x", ""), ("x|round", ""), ("x|int", "0"),
        ("x|float", "0.0"), ("x|length", "0"), ("x|join(',')", ""), ("x|upper", ""), ("x > 3", "False"), ("x and 1", ""),
        ("x or 1", "1"), ("not x", "True"), ("x is defined", "False"), ("x|default(5)", "5"), ("x ~ 'a'", "a"),
        ("'ab'[x]", ""), ("[x]|length", "1"), ("range(x)|list|length", "0"), ("x in [1]", "False"), ("x == 1", "False"),
        ("'a'.center(x)", "a"), ("x|sum", "0"), ("x[1:2]", ""), ("'%s' % x", ""),
    ],
)  # fmt: skip
def test_every_operation_takes_what_is_missing(expression: str, printed: str) -> None:
    for source in (f"{{{{ {expression} }}}}", f"{{% set y = {expression} %}}{{{{ y }}}}"):
        assert JinjaRenderer(validation=ValidationMode.NONE).apply(source, {}) == printed


def test_an_expression_that_fails_over_a_missing_name_is_forgiven() -> None:
    for mode, printed in ((ValidationMode.NONE, "[]"), (ValidationMode.KEEP, "[{{ x|tojson }}]")):
        assert JinjaRenderer(validation=mode).apply("[{{ x|tojson }}]", {}) == printed


def test_what_forgives_missing_names_forgives_nothing_else() -> None:
    for mode in ValidationMode:
        with pytest.raises(TemplateError, match="ZeroDivisionError"):
            JinjaRenderer(validation=mode).apply("{{ 1 / n }}", {"n": 0})


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("a{%- print x -%} b", "a{%- print x -%}b"),
        ("a {{- x }}\r\n{{ y -}} b", "a{{- x }}\r\n{{ y -}}b"),
        ("{% if p %}{{ x }}{% endif %}{% for i in [1, 2] %}{{ i }}{{ x }}{% endfor %}", "{{ x }}1{{ x }}2{{ x }}"),
        ("{% macro m(a) %}{{ a }}{{ x }}{% endmacro %}{{ m(1) }}", "{{ m(1) }}"),
        ("{% set s %}<{{ x }}>{% endset %}{{ s }}", "<{{ x }}>"),
    ],
)
def test_keep_leaves_placeholders_as_they_are_written(source: str, kept: str) -> None:
    renderer = JinjaRenderer(validation=ValidationMode.KEEP)

    assert renderer.apply(source, {"p": 1}) == kept


# -- text and values


@pytest.mark.parametrize(
    "text", ["", "\n\n", "a\n", "a\r\nb\rc\n\r\n", "\ud800 \x00 \u2028", "a {{ x }}\r\n b\r\n"], ids=repr
)
def test_text_stays_byte_for_byte(text: str) -> None:
    assert render(text, {"x": "{{ x }}"}) == text


def test_white_space_control_counts_carriage_returns_as_white_space() -> None:
    assert render("a \r\n {%- if true -%} \r\n b\r\n{% endif %}", {}) == "ab\r\n"


def test_a_conditional_expression_without_else_prints_nothing() -> None:
    assert render("[{{ 'x' if no }}]", {"no": False}) == "[]"


@pytest.mark.parametrize(
    ("expression", "printed"),
    [
        ("n", ""), ("'a' ~ n ~ 1", "a1"), ("n|upper", ""), ("n|trim|length", "0"), ("[1, n, 2]|join('-')", "1--2"),
        ("[{'k': n}, {'k': 1}]|join('-', attribute='k')", "-1"), ("n|default('x')", ""), ("n|default('x', true)", "x"),
        ("n is none", "True"), ("n|indent", ""), ("n|string", ""), ("n|e", ""), ("n or 'x'", "x"),
    ],
)  # fmt: skip
def test_none_prints_nothing(expression: str, printed: str) -> None:
    assert render(f"{{{{ {expression} }}}}", {"n": None}) == printed


def test_nothing_is_escaped_unless_the_template_says_so() -> None:
    assert render("{{ x }}{{ x ~ '<' }}", {"x": "<&>"}) == "<&><&><"
    assert render("{% autoescape true %}{{ x }}{{ x ~ '<' }}{% endautoescape %}", {"x": "<"}) == "&lt;&lt;&lt;"


@frozen
class Point:
    x: int


@frozen
class Named:
    def __str__(self) -> str:
        return "named"


@pytest.mark.parametrize(
    "value",
    [
        [1],
        (1,),
        {"a": 1},
        {1},
        frozenset(),
        b"x",
        range(3),
        iter([1]),
        print,
        str,
        "".upper,
        object(),
        SimpleNamespace(a=1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_text_of_its_own_is_refused_with_its_place(value: object) -> None:
    for source in ("a\n {{ x }}", "a\n {{ 'x' ~ x }}"):
        with pytest.raises(TemplateError, match="no text of its own") as caught:
            render(source, {"x": value})
        assert caught.value.line == 2


@pytest.mark.parametrize("source", ["{% macro m() %}{% endmacro %}{{ m }}", "{{ [1]|map('upper') }}", "{{ {}.keys }}"])
def test_what_a_template_makes_is_refused_the_same(source: str) -> None:
    with pytest.raises(TemplateError, match="no text of its own"):
        render(source, {})


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("{{ x|join(', ') }}", "1, 2"),
        ("{{ x|tojson }}", "[1, 2]"),
        ("{{ x|string }}", "[1, 2]"),
        ("{{ x|length }}{{ x[0] }}", "21"),
        ("{{ named }}{{ 1.5 }}{{ true }}{{ 1 is odd }}", "named1.5TrueTrue"),
    ],
)
def test_filters_and_parts_print(source: str, printed: str) -> None:
    assert render(source, {"x": [1, 2], "named": Named()}) == printed


def test_a_switch_prints_objects_as_python_writes_them() -> None:
    rendered = JinjaRenderer(print_objects=True).apply(
        "{{ x }} {{ 'a' ~ y }} {{ n }}", {"x": [1], "y": {"k": 2}, "n": None}
    )

    assert rendered == "[1] a{'k': 2} "


def test_a_value_that_fails_is_placed_and_keeps_its_cause() -> None:
    def fail() -> str:
        raise RuntimeError("database is gone")

    with pytest.raises(TemplateError, match="RuntimeError: Database is gone") as caught:
        render("a\n{% for x in [1] %}\n  {{ f() }}{% endfor %}", {"f": fail})

    assert (caught.value.line, caught.value.column) == (3, 7)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_errors_of_ours_pass_as_they_are() -> None:
    def fail() -> str:
        raise PromptError("no role")

    with pytest.raises(PromptError, match="no role"):
        render("{{ f() }}", {"f": fail})


def test_a_value_that_is_not_there_for_another_reason_is_no_missing_variable() -> None:
    with pytest.raises(TemplateError, match="No first item") as caught:
        render("{{ xs|first }}", {"xs": []})

    assert not isinstance(caught.value, MissingVariablesError)


# -- mistakes


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        ("{{ a", (1, 4), "end of template"),
        ("{% bad", (1, 4), "unknown tag 'bad'"),
        ("a\n\n {{ a b }}", (3, 7), "got 'b'"),
        ("{{ }}", (1, 4), "Expected an expression"),
        ("a\r\nb {{ (a }}", (2, 9), "expected '\\)'"),
        ("{{ a ? }}", (1, 6), "char '\\?'"),
        ("{# never", (1, 1), "end of comment"),
        ("a {% raw %} b", (1, 3), "end of raw"),
        ("{% for x %}{% endfor %}", (1, 10), "expected token 'in'"),
        ("{% if a %}", (1, 9), "innermost block"),
        ("{% endif %}", (1, 4), "unknown tag"),
        ("a {{ x|uper }}", (1, 8), "did you mean 'upper'"),
        ("{{ x is odd2 }}", (1, 6), "no test 'odd2'"),
        ("{% if no %}{{ x|nope }}{% endif %}", (1, 17), "no filter 'nope'"),
        ("{% block a %}{% endblock %}{% block a %}{% endblock %}", (1, 31), "twice"),
        ("{{ '\\x' }}", (1, 4), "escape"),
        ("{{ ﬁ }}", (1, 4), "'fi'"),
        ("{{ a.1x }}", (1, 7), "got 'x'"),
        ("{% macro f(a, a) %}{% endmacro %}", (1, 1), "duplicate"),
        ("{{ f(a=1, a=2) }}", (1, 1), "repeated"),
        ("{{ " + "9" * 5000 + " }}", (1, 1), "does not compile"),
        ("{{ " + "(" * 3000 + ")" * 3000 + " }}", (1, 1), "nests deeper"),
        ("{{ x" + ".a" * 3000 + " }}", (1, 1), "nests deeper"),
        ("{% if x %}" * 3000 + "{% endif %}" * 3000, (1, 1), "nests deeper"),
        ("{% for a in a %}" * 40 + "{% endfor %}" * 40, (1, 1), "nests deeper"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else None,
)
def test_mistakes_have_line_column_and_caret(source: str, place: tuple[int, int], message: str) -> None:
    with pytest.raises(TemplateSyntaxError, match=f"(?i){message}") as caught:
        JinjaRenderer().compile(source)

    assert (caught.value.line, caught.value.column) == place
    assert str(caught.value).endswith("^")


# -- the renderer as a value


def shout(text: str) -> str:
    return f"{text.upper()}!"


@pass_context
def given_names(context: Any) -> str:
    return ",".join(sorted(context.get_all()))


def test_filters_tests_and_globals_of_ones_own() -> None:
    renderer = JinjaRenderer(
        filters={"shout": shout}, tests={"big": lambda n: n > 9}, globals={"names": given_names, "sign": "Ada"}
    )

    assert renderer.apply("{{ x|shout }} {{ 10 is big }} {{ sign }} {{ names() }}", {"x": "hi"}) == (
        "HI! True Ada names,sign,x"
    )
    assert names("{{ x|shout }}{{ sign }}{{ names() }}", renderer) == (("x",), ())


def test_functions_compare_by_identity_and_plain_globals_by_value() -> None:
    assert JinjaRenderer(filters={"f": shout}) == JinjaRenderer(filters={"f": shout})
    assert JinjaRenderer(filters={"f": shout}) != JinjaRenderer(filters={"f": lambda text: text})
    assert JinjaRenderer(globals={"a": 1}) == JinjaRenderer(globals={"a": 1})
    assert JinjaRenderer(globals={"a": 1}) != JinjaRenderer(globals={"a": True})
    assert JinjaRenderer(globals={"a": []}) != JinjaRenderer(globals={"a": []})
    assert len({JinjaRenderer(globals={"a": [1], "f": shout}), JinjaRenderer()}) == 2


def test_options_are_copied_in() -> None:
    filters: dict[str, Callable[..., Any]] = {"shout": shout}
    renderer = JinjaRenderer(filters=filters)
    filters.clear()

    assert renderer.apply("{{ 'a'|shout }}", {}) == "A!"
    with pytest.raises(TypeError):
        renderer.filters["other"] = shout  # type: ignore[index]


def test_it_pickles_when_its_functions_do(tmp_path: Path) -> None:
    for renderer in (
        JinjaRenderer(filters={"shout": shout}, globals={"a": 1}, print_objects=True),
        JinjaRenderer(directory=tmp_path, validation=ValidationMode.KEEP),
        JinjaRenderer(package="promptkit"),
        JinjaRenderer(templates={"a": "b"}),
    ):
        assert pickle.loads(pickle.dumps(renderer)) == renderer


@pytest.mark.parametrize("kind", ["filters", "tests", "globals"])
def test_it_says_what_keeps_it_from_being_pickled(kind: str) -> None:
    renderer = JinjaRenderer(**{kind: {"local": lambda: None}})  # type: ignore[arg-type]

    with pytest.raises(pickle.PicklingError, match=f"{kind}\\['local'\\]"):
        pickle.dumps(renderer)
    assert copy.deepcopy(renderer) is copy.copy(renderer) is renderer


@pytest.mark.parametrize(
    "options",
    [{"filters": [shout]}, {"globals": {1: 2}}, {"templates": {"a": 1}}, {"directory": 1}],
    ids=["filters", "globals", "templates", "directory"],
)
def test_options_of_a_wrong_kind_are_refused(options: Any) -> None:
    with pytest.raises((TemplateError, ValueError)):
        JinjaRenderer(**options)


def test_a_render_leaves_nothing_behind() -> None:
    compiled = JinjaRenderer().compile("{% set x = x ~ '!' %}{{ x }}")
    variables = {"x": "a"}

    assert [compiled.render(variables), compiled.render(variables), variables] == ["a!", "a!", {"x": "a"}]


# -- bug reports of other projects


@pytest.mark.parametrize("row_id", ["B010", "B012", "B013", "B036"])
def test_a_report_renders_right(row_id: str) -> None:
    given, expect = BUG_REPORTS[row_id]["input"], BUG_REPORTS[row_id]["expect"]
    compiled = JinjaRenderer().compile(given["template"])

    assert compiled.render(given.get("values", {"v": given.get("value")})) == expect["render"]
    assert sorted(compiled.variables) == expect.get("variables", ["v"])


def test_a_missing_input_is_named() -> None:
    given = BUG_REPORTS["B015"]["input"]

    with pytest.raises(MissingVariablesError) as caught:
        render(given["template"], given["values"])

    assert list(caught.value.missing) == BUG_REPORTS["B015"]["expect"]["error_names"]
    assert render(given["template"], {"ctx": "", "question": None}) == "Ctx: \nQ: "


def test_line_ends_stay() -> None:
    given = BUG_REPORTS["B043"]["input"]
    (plain, printed), (blank, kept), (slot, value) = given["cases"]

    assert (render(plain, given["values"]), render(blank, {})) == (printed, kept)
    assert render(slot, {"v": value}) == value
    assert render(given["crlf_template"], given["values"]) == given["crlf_template"].replace("{{ x }}", "1")
