"""Hold `FStringRenderer` to LangChain's f-string rules, less what reaches into values or has no end."""

from __future__ import annotations

from datetime import date
from string import Formatter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit.errors import TemplateError, TemplateSyntaxError, UnsafeTemplateError
from promptkit.renderers.base import ValidationMode
from promptkit.renderers.fstring import MAX_WIDTH, FStringRenderer
from tests import oracles

BUG_REPORTS = {row["id"]: row for row in oracles.rows("bug_reports_templates.jsonl")}

render = FStringRenderer().apply


@pytest.mark.parametrize(
    ("source", "value", "text"),
    [
        ("{{{x}}}", 1, "{1}"),
        ("{{x}}", 1, "{x}"),
        ("{{}}{{{{x}}}}", 1, "{}{{x}}"),
        ("{x!s}|{x!r}|{x!a}", "é'", 'é\'|"é\'"|"\\xe9\'"'),
        ("{x:>5}|{x:<5}|{x:^5}|{x:*>5}", "ab", "   ab|ab   | ab  |***ab"),
        ("{x:05d}|{x:,}|{x:+}|{x:x}|{x:b}", 1234, "01234|1,234|+1234|4d2|10011010010"),
        ("{x:.2f}|{x:e}|{x:.1%}|{x:z.0f}", 0.125, "0.12|1.250000e-01|12.5%|0"),
        ("{x!r:>6}", "ab", "  'ab'"),
        ("{x:.3}", "abcdef", "abc"),
        ("{x:%Y/%m/%d}", date(2024, 5, 6), "2024/05/06"),
        ("{x::>3}", "a", "::a"),
        ("{x:}", [1, "a"], "[1, 'a']"),
        ("{x}", True, "True"),
        ("{x:>5}|{x!s}|{x:.2f}", None, "||"),
        ("{x!r}", None, "None"),
    ],
)
def test_conversions_and_formats_are_pythons(source: str, value: object, text: str) -> None:
    assert render(source, {"x": value}) == text


@pytest.mark.parametrize("name", ["x", "_x", "x1", "名前", "é", "self", "stop", "class", "key-1", "2nd"])
def test_names(name: str) -> None:
    compiled = FStringRenderer().compile(f"<{{{name}}}>")

    assert compiled.variables == (name,)
    assert compiled.render({name: "v"}) == "<v>"


@pytest.mark.parametrize(
    ("source", "column", "message"),
    [
        ("a {", 3, "never ends"),
        ("a {x", 3, "never ends"),
        ("a }", 3, "lone '}'"),
        ("{x}}", 4, "lone '}'"),
        ("{}", 1, "no name"),
        ("{:>3}", 1, "no name"),
        ("{0}", 1, "no name"),
        ("{12}", 1, "no name"),
        ("{a.b}", 1, "attribute or an index"),
        ("{a[0]}", 1, "attribute or an index"),
        ("{a[}", 1, "attribute or an index"),
        ("{ x}", 1, "not a variable name"),
        ('{"key": 1}', 1, "double them"),
        ("{x!}", 4, "conversion ''"),
        ("{x!z}", 4, "conversion 'z'"),
        ("{x!rr:>3}", 4, "conversion 'rr'"),
        ("{x:{w}}", 4, "another placeholder"),
        ("{x:{{}", 4, "another placeholder"),
        (f"{{x:>{MAX_WIDTH + 1}}}", 4, "over 100000"),
        (f"{{x:.{MAX_WIDTH + 1}f}}", 4, "over 100000"),
        ("{x:>٩٩٩٩٩٩}", 4, "over 100000"),
        ("{x:>99999999999999999999}", 4, "over 100000"),
    ],
)
def test_mistakes_are_found_when_the_template_is_built(source: str, column: int, message: str) -> None:
    with pytest.raises(TemplateSyntaxError, match=message) as caught:
        FStringRenderer().compile(source)

    assert (caught.value.line, caught.value.column) == (1, column)


@pytest.mark.parametrize("source", ["{u.__class__}", "{u.__init__.__globals__}", "{u[__class__]}", "{a!r.__class__}"])
def test_private_names_are_refused_as_unsafe(source: str) -> None:
    with pytest.raises((UnsafeTemplateError, TemplateSyntaxError)):
        FStringRenderer().compile(source)


def test_the_widest_format_works() -> None:
    assert render(f"{{x:>{MAX_WIDTH}}}", {"x": "a"}) == "a".rjust(MAX_WIDTH)


def test_a_format_that_does_not_fit_its_value_is_placed() -> None:
    with pytest.raises(TemplateError, match="'x'") as caught:
        render("a\n {x:d}", {"x": "text"})

    assert (caught.value.line, caught.value.column) == (2, 2)
    assert isinstance(caught.value.__cause__, ValueError)


def test_keep_leaves_the_placeholder_as_it_is_written() -> None:
    source = "{a} {b!r:>5} {c}"

    assert FStringRenderer(validation=ValidationMode.KEEP).apply(source, {"c": 1}) == "{a} {b!r:>5} 1"


def test_a_missing_name_is_found_before_a_value_that_cannot_print() -> None:
    with pytest.raises(TemplateError, match="Missing variable 'y'"):
        render("{x:d} {y}", {"x": "text"})


@given(
    pieces=st.lists(
        st.sampled_from(["{x}", "{y!r}", "{x:>7}", "{y!s:<4}"])
        | st.text().map(lambda text: text.replace("{", "{{").replace("}", "}}"))
    ),
    values=st.fixed_dictionaries({"x": st.text() | st.integers(), "y": st.text() | st.booleans()}),
)
def test_we_agree_with_pythons_formatter(pieces: list[str], values: dict[str, Any]) -> None:
    source = "".join(pieces)

    assert render(source, values) == Formatter().vformat(source, (), values)


# -- bug reports of other projects


@pytest.mark.parametrize("row_id", ["B029", "B031"])
def test_no_template_reaches_into_a_value(row_id: str) -> None:
    for source in BUG_REPORTS[row_id]["input"]["templates"]:
        if source != "{x!r:>10}":  # of these forms, conversion and format are the ones that we have
            with pytest.raises(TemplateError):
                FStringRenderer().compile(source)


def test_values_that_look_like_placeholders_stay() -> None:
    for row_id in ("B024", "B026"):
        row = BUG_REPORTS[row_id]
        assert render(row["input"]["template"], row["input"]["values"]) == row["expect"]["render"]
