"""Hold ``literal_braces``: JSON and code need no escapes, what looks like a mistake is refused, nothing is lost."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit.errors import TemplateError, TemplateSyntaxError, UnsafeTemplateError
from promptkit.renderers.string_template import StringTemplateRenderer
from tests import oracles
from tests.strategies import json_values

literal = StringTemplateRenderer(literal_braces=True)
plain = StringTemplateRenderer()


@pytest.mark.parametrize(
    ("source", "expected", "literals"),
    [
        ('a {"b": {v}, "c": {}} d', 'a {"b": V, "c": {}} d', ('{"b": {v}, "c": {}}',)),
        ("{{v}}", "{{v}}", ("{{v}}",)),
        ("{{{v}}}", "{{V}}", ("{{{v}}}",)),
        ("{{ keep this }} {v}", "{{ keep this }} V", ("{{ keep this }}",)),
        ("{% if v %}{v}{% endif %}", "{% if v %}V{% endif %}", ("{% if v %}", "{% endif %}")),
        ("{#each}{/each}", "{#each}{/each}", ("{#each}", "{/each}")),
        ("if (a) { b(); } {v}", "if (a) { b(); } V", ("{ b(); }",)),
        ("{(x) => { return x; }}", "{(x) => { return x; }}", ("{(x) => { return x; }}",)),
        ("p { color: red; }", "p { color: red; }", ("{ color: red; }",)),
        ("[a-z]{3,5}", "[a-z]{3,5}", ("{3,5}",)),
        ("{v!r:>10} {v[0]}", "{v!r:>10} {v[0]}", ("{v!r:>10}", "{v[0]}")),
        ("{a, b} {a|b} {} {...}", "{a, b} {a|b} {} {...}", ("{a, b}", "{a|b}", "{}", "{...}")),
        ('{"v"} {["a", "b"]}', '{"v"} ab', ('{"v"}',)),
        ("{\\bf x}{\\n}", "{\\bf x}\n", ("{\\bf x}",)),
        ("{! {v} !}{!v}", "{!v}", ("{!v}",)),
        ("a { b", "a { b", ("{",)),
        ("a } b", "a } b", ()),
        ("{v; sep} {v}", "{v; sep} V", ("{v; sep}",)),
        ('{"p": "C:\\\\d\\n", "q": "\\{v\\}", "r": "\\\\{v}"}', '{"p": "C:\\\\d\\n", "q": "{v}", "r": "\\\\V"}', None),
        ("a \\\\ b \\{v\\}", "a \\ b {v}", ()),
        ('{if(v)}{"a": 1}{else}{"b": 2}{endif}', '{"a": 1}', ('{"a": 1}', '{"b": 2}')),
        ('{xs:{x|{"k": {"z": {x}}}}; separator=", "}', '{"k": {"z": 1}}, {"k": {"z": 2}}', ('{"k": {"z": {x}}}',)),
        ('{"a": "}"} {v}', '{"a": "}"} V', ('{"a": "}',)),
    ],
)
def test_what_is_no_clean_expression_is_text(source: str, expected: str, literals: tuple[str, ...] | None) -> None:
    compiled = literal.compile(source)

    assert compiled.render({"v": "V", "xs": [1, 2]}) == expected
    if literals is not None:
        assert compiled.literals == literals  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("source", "column"),
    [
        ("{na me}", 5),
        ("{user-}", 2),
        ("{-user}", 2),
        ("{user .}", 8),
        ("{first name.x}", 8),
        ("Meet {who!", 10),
        ("Meet {who", 6),
        ("{if(x == 1)}a{endif}", 7),
        ("{if x}a{endif}", 5),
        ("{if(x)}a", 1),
        ("{else if(x)}", 7),
        ("{elif(x)}", 2),
        ("{endif}", 1),
        ("{xs:{x|{x}", 5),
        ("{xs:{x,y|{x}}}", 5),
        ('{xs; seperator=", "}', 6),
        ("{xs; separator}", 6),
    ],
)
def test_what_looks_like_a_mistake_is_refused(source: str, column: int) -> None:
    with pytest.raises(TemplateSyntaxError) as caught:
        literal.compile(source)

    assert (caught.value.line, caught.value.column) == (1, column)


def test_a_private_property_is_no_text() -> None:
    with pytest.raises(UnsafeTemplateError):
        literal.compile("{x.__class__}")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<b>bold</b> <x>", "Bbold</b> X"),
        ("a < b, <x>", "a < b, X"),
        ('<xs:{x|{"a": <x>};}>', '{"a": 1};{"a": 2};'),
    ],
)
def test_other_delimiters(source: str, expected: str) -> None:
    renderer = StringTemplateRenderer(start="<", end=">", literal_braces=True)

    assert renderer.apply(source, {"b": "B", "x": "X", "xs": [1, 2]}) == expected


def test_equal_delimiters() -> None:
    renderer = StringTemplateRenderer(start="$", end="$", literal_braces=True)

    assert renderer.apply("costs $5, $name$", {"name": "much"}) == "costs $5, much"


@given(value=json_values(with_bytes=False), indent=st.none() | st.integers(1, 4))
def test_json_survives_byte_for_byte_or_is_refused(value: Any, indent: int | None) -> None:
    text = json.dumps({"value": value}, indent=indent)

    try:
        rendered = literal.apply(f"a {text} b", {})
    except TemplateError:
        assert "{" in json.dumps(value)
    else:
        assert rendered == f"a {text} b"


@pytest.mark.parametrize(
    "source",
    [
        '{"a":' * 5_000 + "1" + "}" * 5_000,
        "{" * 5_000,
        "{ " * 5_000,
        "{!" * 5_000,
        "}" * 5_000,
        "<{" * 5_000,
        "{[a," * 5_000,
    ],
    ids=["nested", "open", "blank", "comment", "close", "mixed", "list"],
)
def test_long_soup_is_text_in_linear_time(source: str) -> None:
    assert literal.apply(source, {}) == source


@pytest.mark.parametrize("piece", ["{x:", "{x;null={", '{x; null="', "{a.", "{if(x)}", "{x:{y|"])
def test_long_soup_of_tags_is_refused_in_linear_time(piece: str) -> None:
    with pytest.raises(TemplateSyntaxError):
        literal.compile(piece * 5_000)


def test_a_tag_that_fails_behind_its_body_is_not_read_again() -> None:
    with pytest.raises(TemplateSyntaxError, match="found 'junk'"):
        literal.compile("{x:{y|" * 40 + "a" + "} junk}" * 40)


# -- bug reports of other projects (`syntax: single-brace`): one of the two ways gives an allowed answer, the other that
# one or an error

REPORTS = {
    row["id"]: row
    for row in oracles.rows("bug_reports_templates.jsonl")
    if row["input"].get("syntax") == "single-brace" and row["id"] != "B006"  # a few-shot template, held by its tests
}


def outcome(renderer: StringTemplateRenderer, source: str, values: dict[str, Any]) -> str | TemplateError:
    try:
        return renderer.apply(source, values)
    except TemplateError as error:
        return error


@pytest.mark.parametrize(
    "row_id", [row_id for row_id, row in REPORTS.items() if {"render", "one_of"} & {*row.get("expect", {})}]
)
def test_reported_templates_render(row_id: str) -> None:
    given, expect = REPORTS[row_id]["input"], REPORTS[row_id]["expect"]
    allowed = expect.get("one_of", [expect.get("render")])
    got = [outcome(renderer, given["template"], given["values"]) for renderer in (plain, literal)]

    assert any(text in allowed for text in got)
    assert all(text in allowed or isinstance(text, TemplateError) for text in got)


def test_foreign_tags_are_text_and_no_variables() -> None:
    given, expect = REPORTS["B009"]["input"], REPORTS["B009"]["expect"]

    assert [*literal.compile(given["template"]).variables] == expect["variables"]
    with pytest.raises(TemplateSyntaxError):
        plain.compile(given["template"])


def test_placeholders_come_from_the_parser() -> None:
    given, expect = REPORTS["B016"]["input"], REPORTS["B016"]["expect"]

    absent = [name for name in given["require"] if name not in plain.compile(given["template"]).variables]

    assert absent == expect["absent"]


@pytest.mark.parametrize("renderer", [plain, literal], ids=["plain", "literal"])
def test_private_names_are_refused_when_built(renderer: StringTemplateRenderer) -> None:
    given, expect = REPORTS["B029"]["input"], REPORTS["B029"]["expect"]
    for source in expect["rejected"]:
        with pytest.raises(UnsafeTemplateError):
            renderer.compile(source)

    (kept,) = [source for source in given["templates"] if source not in expect["rejected"]]
    assert renderer.apply(kept, {"u": SimpleNamespace(token="T")}) == "T"


@pytest.mark.parametrize("renderer", [plain, literal], ids=["plain", "literal"])
def test_indexes_and_formats_are_text_or_refused(renderer: StringTemplateRenderer) -> None:
    for source in REPORTS["B031"]["input"]["templates"]:
        got = outcome(renderer, source, REPORTS["B031"]["input"]["values"])

        assert isinstance(got, TemplateError) or got == source


def test_every_report_is_held() -> None:
    rendered = {row_id for row_id, row in REPORTS.items() if {"render", "one_of"} & {*row.get("expect", {})}}

    assert REPORTS.keys() == rendered | {"B009", "B016", "B029", "B031"}
