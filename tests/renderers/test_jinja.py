"""Hold `JinjaRenderer` to jinja2's language, minus what a prompt must not do."""

from __future__ import annotations

import copy
import logging
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import meta, pass_context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from promptkit.errors import (
    MissingVariablesError,
    TemplateError,
    TemplateNotFoundError,
    TemplateSyntaxError,
    UnsafeTemplateError,
)
from promptkit.renderers.base import ValidationMode
from promptkit.renderers.jinja import JinjaRenderer
from tests import oracles

BUG_REPORTS = {row["id"]: row for row in oracles.rows("bug_reports_templates.jsonl")}

render = JinjaRenderer().apply


def names(source: str, renderer: JinjaRenderer | None = None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    compiled = (renderer or JinjaRenderer()).compile(source)
    return compiled.variables, compiled.optional_variables


# -- which names are asked for


@pytest.mark.parametrize(
    ("source", "required", "optional"),
    [
        ("{{ b }}{{ a.x.y }}{{ b['c'] }}", "b a", ""),
        ("{% for x in xs %}{{ x }}{{ loop.index }}{% else %}{{ none_left }}{% endfor %}", "xs none_left", ""),
        ("{% for a, (b, c) in xs if b > d %}{{ c }}{% endfor %}{{ a }}", "xs d a", ""),
        ("{% for x in xs recursive %}{{ loop(x.kids) }}{% endfor %}", "xs", ""),
        ("{{ loop }}", "loop", ""),
        ("{% set a = b %}{{ a }}", "b", ""),
        ("{% set a, b = c %}{{ a }}{{ b }}", "c", ""),
        ("{% set a = a|upper %}{{ a }}", "a", ""),
        ("{{ a }}{% set a = 1 %}", "a", ""),
        ("{% set a %}{{ b }}{% endset %}{{ a }}", "b", ""),
        ("{% set a | upper %}{{ b }}{% endset %}{{ a }}", "b", ""),
        ("{% set ns = namespace(n=0) %}{% for x in xs %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}", "xs", ""),
        ("{% if c %}{% set a = 1 %}{% else %}{% set a = 2 %}{% endif %}{{ a }}", "c", ""),
        ("{% if c %}{% set a = 1 %}{% elif d %}{% set a = 2 %}{% else %}{% set a = 3 %}{% endif %}{{ a }}", "c d", ""),
        ("{% if c %}{% set a = 1 %}{% endif %}{{ a }}", "c a", ""),
        ("{% for x in xs %}{% set a = 1 %}{% endfor %}{{ a }}", "xs a", ""),
        ("{% macro m(a, b=c) %}{{ a }}{{ b }}{{ d }}{{ varargs }}{{ kwargs }}{{ caller() }}{% endmacro %}{{ m(e) }}", "c d e", ""),
        ("{% macro m() %}{{ late }}{% endmacro %}{% set late = 1 %}{{ m() }}", "", ""),
        ("{% call(x) m(y) %}{{ x }}{{ z }}{% endcall %}", "m y z", ""),
        ("{% filter upper %}{{ a }}{% endfilter %}", "a", ""),
        ("{% with a = b, c = 1 %}{{ a }}{{ c }}{% endwith %}{{ a }}", "b a", ""),
        ("{% autoescape false %}{{ a }}{% endautoescape %}", "a", ""),
        ("{% raw %}{{ a }}{% endraw %}{# {{ b }} #}", "", ""),
        ("{{ range(n)|list }}{{ dict(a=b) }}{{ cycler(1) }}{{ joiner() }}", "n b", ""),
        ("{{ range }}{{ dict }}", "range dict", ""),
        ("{{ self.title }}{% block title %}{{ a }}{% endblock %}", "a", ""),
        ("{% for x in xs %}{% block b scoped %}{{ x }}{% endblock %}{% endfor %}", "xs", ""),
        ("{% for x in xs %}{% block b %}{{ x }}{% endblock %}{% endfor %}", "xs x", ""),
        ("{{ a|default('x') }}{{ b|d }}", "", "a b"),
        ("{{ a|default(b) }}", "b", "a"),
        ("{{ a|default('x') }}{{ a }}", "a", ""),
        ("{{ a.b|default('x') }}", "a", ""),
        ("{{ a is defined }}{{ b is undefined }}{{ c is not defined }}", "", "a b c"),
        ("{% if a is defined %}{{ a }}{% else %}{{ b }}{% endif %}", "b", "a"),
        ("{% if a is not defined %}{{ b }}{% else %}{{ a }}{% endif %}", "b", "a"),
        ("{% if a is undefined or a == 1 %}x{% else %}{{ a }}{% endif %}", "", "a"),
        ("{% if a is defined and b is defined %}{{ a }}{{ b }}{% endif %}", "", "a b"),
        ("{% if a is defined or b is defined %}{{ a }}{% endif %}", "a", "b"),
        ("{% if a is not defined %}x{% elif b %}{{ a }}{% endif %}", "b", "a"),
        ("{{ a if a is defined else b }}", "b", "a"),
        ("{% if a is not defined %}{% set a = 1 %}{% endif %}{{ a }}", "", "a"),
        ("{{ 'x' if c }}{{ a or b }}{{ not d }}", "c a b d", ""),
        ("{{ xs|map(attribute='y')|join(sep) }}{{ a is divisibleby d }}", "xs sep a d", ""),
        ("{{ f(*a, **b) }}{{ x[y:z] }}{{ [p, {q: r}] }}", "f a b x y z p q r", ""),
        ("{% print a %}", "a", ""),
    ],
)  # fmt: skip
def test_names_are_found_by_scope(source: str, required: str, optional: str) -> None:
    assert names(source) == (tuple(required.split()), tuple(optional.split()))


ROOT = {
    "part": "{{ a }}{% set own = 1 %}{{ own }}{{ b|default('') }}",
    "outer": "{{ c }}{% include 'part' %}",
    "base": "{{ head }}{% set t = 1 %}[{% block body %}{{ plain }}{% block inner %}{{ deep }}{% endblock %}{% endblock %}]{{ t }}",
    "middle": "{% extends 'base' %}{% block body %}({{ super() }}{{ m }}){% endblock %}",
    "macros": "{% macro hi(name) %}Hi {{ name }}{{ mark }}{% endmacro %}",
}


@pytest.mark.parametrize(
    ("source", "required", "optional"),
    [
        ("{% include 'part' %}", "a", "b"),
        ("{% set a = 1 %}{% include 'outer' %}", "c", "b"),
        ("{% include 'part' without context %}", "", ""),
        ("{% include ['none', 'part'] %}{% include 'none' ignore missing %}", "a", "b"),
        ("{% include which %}", "which", ""),
        ("{% import 'macros' as m %}{{ m.hi(x) }}", "x", ""),
        ("{% from 'macros' import hi as hello with context %}{{ hello(x) }}", "mark x", ""),
        ("{% extends 'base' %}never {{ seen }}", "head plain deep", ""),
        ("{% extends 'base' %}{% block body %}{{ mine }}{% endblock %}", "head mine", ""),
        ("{% extends 'base' %}{% block inner %}{{ mine }}{{ super() }}{% endblock %}", "head plain mine deep", ""),
        ("{% extends 'middle' %}{% set m = 1 %}{% block inner %}{{ t }}{% endblock %}", "head plain", ""),
    ],
)
def test_names_are_found_through_other_templates(source: str, required: str, optional: str) -> None:
    found = names(source, JinjaRenderer(templates=ROOT))

    assert (set(found[0]), set(found[1])) == (set(required.split()), set(optional.split()))


NAMES = st.sampled_from("abcd")
TEXTS = st.one_of(
    NAMES.map("{{{{ {} }}}}".format),
    NAMES.map("{{{{ {}|default('-') }}}}".format),
    st.tuples(NAMES, NAMES, NAMES).map(lambda it: "{{{{ {} if {} is defined else {} }}}}".format(*it)),
    st.tuples(NAMES, NAMES).map(lambda it: "{{% set {} = {} %}}".format(*it)),
)
TESTS = st.one_of(
    NAMES,
    NAMES.map("{} is defined".format),
    NAMES.map("{} is not defined".format),
    st.tuples(NAMES, NAMES).map(lambda it: "{} is defined and {}".format(*it)),
    st.tuples(NAMES, NAMES).map(lambda it: "not ({} is undefined or not {})".format(*it)),
)


def _blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(TESTS, inner, inner).map(lambda it: "{{% if {} %}}{}{{% else %}}{}{{% endif %}}".format(*it)),
        st.tuples(TESTS, inner, TESTS, inner).map(
            lambda it: "{{% if {} %}}{}{{% elif {} %}}{}{{% endif %}}".format(*it)
        ),
        st.tuples(NAMES, NAMES, inner, inner).map(
            lambda it: "{{% for {} in {} %}}{}{{% else %}}{}{{% endfor %}}".format(*it)
        ),
        st.tuples(NAMES, NAMES, inner).map(lambda it: "{{% with {} = {} %}}{}{{% endwith %}}".format(*it)),
        st.tuples(NAMES, inner).map(lambda it: "{{% set {} %}}{}{{% endset %}}".format(*it)),
        st.tuples(NAMES, NAMES, inner).map(
            lambda it: "{{% macro m({}, k={}) %}}{}{{% endmacro %}}{{{{ m('x') }}}}".format(*it)
        ),
        st.tuples(inner, inner).map("".join),
    )


@given(source=st.recursive(TEXTS, _blocks, max_leaves=12))
def test_a_template_given_its_names_misses_none(source: str) -> None:
    compiled = JinjaRenderer().compile(source)
    required, optional = dict.fromkeys(compiled.variables, "xy"), dict.fromkeys(compiled.optional_variables, "xy")

    for variables in (required, {**required, **optional}):
        failure = ""
        try:
            compiled.render(variables)
        except TemplateError as error:
            failure = str(error)
        assert not failure or "read before the template sets it" in failure

    undeclared = meta.find_undeclared_variables(ImmutableSandboxedEnvironment().parse(source))
    assert required.keys() | optional.keys() <= undeclared


@pytest.mark.parametrize(
    "source",
    [
        "{% set a %}{{ a }}{% endset %}",
        "{% for x in [1] %}{{ a }}{% endfor %}{% set a = 1 %}",
    ],
)
def test_a_name_that_jinja_hides_is_an_error_that_says_so(source: str) -> None:
    with pytest.raises(TemplateError, match="read before the template sets it"):
        render(source, {"a": "a", "b": "b"})


def test_what_only_a_branch_needs_is_needed() -> None:
    with pytest.raises(MissingVariablesError) as caught:
        render("{% if no %}{{ a }}{% endif %}{{ b }}", {"no": False})

    assert caught.value.missing == ("a", "b")


# -- missing attributes


def test_a_misspelt_attribute_is_an_error_with_its_place() -> None:
    with pytest.raises(MissingVariablesError) as caught:
        render("Hi\n {{ user.nmae }}, {{ user.age.yers }}!", {"user": SimpleNamespace(name="Ada", age={"years": 3})})

    error = caught.value
    assert error.missing == ("user.nmae", "user.age.yers")
    assert (error.line, error.available) == (2, ("user",))
    assert "did you mean 'user.name'?" in str(error)


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("{% for u in users %}{{ u.nmae }}{% endfor %}", "u.nmae"),
        ("{{ users[0]['nmae'] }}", "users.0.nmae"),
        ("{{ users[7].name }}", "users.7"),
        ("{{ users[users[0].nmae] }}", "users.0.nmae"),
        ("{{ (users|first).nmae }}", "….nmae"),
        ("{{ users|map(attribute='nmae')|join }}", "….nmae"),
        ("{% if users.first.x %}{% endif %}", "users.first"),
        ("{{ none.x }}", "….x"),
    ],
)
def test_missing_attributes_of_any_expression_are_named(source: str, missing: str) -> None:
    with pytest.raises(MissingVariablesError) as caught:
        render(source, {"users": [{"name": "Ada"}]})

    assert caught.value.missing == (missing,)


def test_the_likeliest_of_two_attributes_of_one_name_is_named() -> None:
    with pytest.raises(MissingVariablesError) as caught:
        render("{{ a.x }}{{ b.x }}", {"a": {"x": 1}, "b": {"y": 2}})

    assert caught.value.missing == ("b.x",)


def test_a_property_of_none_is_false_in_a_condition_and_missing_elsewhere() -> None:
    source = "{% if user.home.city %}in {{ user.home.city }}{% else %}away{% endif %}"

    assert render(source, {"user": {"home": None}}) == "away"
    with pytest.raises(MissingVariablesError):
        render("{{ user.home.city }}", {"user": {"home": None}})


def test_optional_names_are_used_when_given() -> None:
    source = "{{ a|default('-') }}{% if b is defined %}{{ b }}{% endif %}"

    assert (render(source, {}), render(source, {"a": 1, "b": 2})) == ("-", "12")


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
        ("{% include 'part' %}", "{{ a }}1"),
        ("{% extends 'base' %}{% block inner %}{{ x }}{% endblock %}", "{{ head }}[{{ plain }}{{ x }}]1"),
        ("{% if no is defined %}{% extends 'base' %}{% endif %}{{ x }}", "{{ x }}"),
    ],
)
def test_keep_leaves_placeholders_as_they_are_written(source: str, kept: str) -> None:
    renderer = JinjaRenderer(validation=ValidationMode.KEEP, templates=ROOT)

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


# -- other templates


def test_include_import_and_extends() -> None:
    renderer = JinjaRenderer(templates=ROOT)

    assert renderer.apply("{% include 'outer' %}", {"a": 1, "c": 2}) == "211"
    assert renderer.apply("{% from 'macros' import hi with context %}{{ hi('Ada') }}", {"mark": "!"}) == "Hi Ada!"
    assert renderer.apply("{% import 'macros' as m with context %}{{ m.hi('Bo') }}", {"mark": "."}) == "Hi Bo."
    assert renderer.apply(
        "{% extends 'middle' %}{% block inner %}<{{ super() }}>{% endblock %}", {"head": 0, "plain": 1, "deep": 2, "m": 3}
    ) == "0[(1<2>3)]1"  # fmt: skip


def test_a_globals_name_is_known_in_included_templates() -> None:
    renderer = JinjaRenderer(templates={"p": "{{ company }}{{ range(2)|join }}"}, globals={"company": "Acme"})

    assert renderer.apply("{% include 'p' %}", {}) == "Acme01"
    assert names("{{ company }}{% include 'p' %}", renderer) == ((), ())
    assert renderer.apply("{{ company }}", {"company": "other"}) == "other"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a root with templates, beside a secret and a link to it."""
    root = tmp_path / "root"
    (root / "parts").mkdir(parents=True)
    (root / "a.txt").write_bytes("\ufeffA {{ x }}\r\n".encode())
    (root / "parts" / "b.txt").write_text("B {% include 'a.txt' %}", "utf-8")
    (root / "latin.txt").write_bytes(b"\xe9")
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "folder_link").symlink_to(tmp_path)
    (root / "inner_link.txt").symlink_to(root / "a.txt")
    (root / "circle.txt").symlink_to(root / "circle.txt")
    return root


def test_a_directory_is_a_root(folder: Path) -> None:
    renderer = JinjaRenderer(directory=folder)

    assert renderer.apply("{% include 'parts/b.txt' %}", {"x": 1}) == "B A 1\r\n"
    assert renderer.apply("{% include 'inner_link.txt' %}", {"x": 1}) == "A 1\r\n"
    assert names("{% include 'parts/b.txt' %}", renderer)[0] == ("x",)


OUTSIDE = ["../secret.txt", "parts/../../secret.txt", "/etc/passwd", "//etc/passwd", "C:/x", "a\\..\\b", "./a.txt", "a//b", "", "\0", "link.txt", "folder_link/secret.txt"]  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_outside_of_the_root_is_read(folder: Path, name: str) -> None:
    renderer = JinjaRenderer(directory=folder)

    for source, variables in (
        ("{% include which %}", {"which": name}),
        ("{% extends which %}", {"which": name}),
        ("{% import which as m %}{{ m }}", {"which": name}),
        ("{% include which ignore missing %}", {"which": name}),
        (f"{{% include {name!r} ignore missing %}}", {}),
    ):
        with pytest.raises(UnsafeTemplateError):
            renderer.apply(source, variables)


@pytest.mark.parametrize("name", ["circle.txt", "a.txt/b", "parts", "x" * 5000])
def test_what_cannot_be_read_is_not_found(folder: Path, name: str) -> None:
    with pytest.raises(TemplateNotFoundError):
        JinjaRenderer(directory=folder).compile(f"{{% include {name!r} %}}")


def test_text_that_is_not_utf8_is_refused(folder: Path) -> None:
    with pytest.raises(TemplateError, match="UTF-8"):
        JinjaRenderer(directory=folder).compile("{% include 'latin.txt' %}")


def test_a_package_is_a_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "acme_prompts"
    (package / "parts").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "parts" / "sign.txt").write_text("-- {{ by }}", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    renderer = JinjaRenderer(package="acme_prompts")

    assert renderer.apply("{% include 'parts/sign.txt' %}", {"by": "Ada"}) == "-- Ada"
    with pytest.raises(UnsafeTemplateError):
        renderer.compile("{% include '../acme_prompts/parts/sign.txt' %}")
    with pytest.raises(TemplateNotFoundError, match="no package 'acme_nothing'"):
        JinjaRenderer(package="acme_nothing").compile("x")


def test_other_templates_have_one_root(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="one root"):
        JinjaRenderer(templates={}, directory=tmp_path)


@pytest.mark.parametrize(
    ("renderer", "message"),
    [
        (JinjaRenderer(), "templates=, directory= or package="),
        (JinjaRenderer(templates={"footer": ""}), "did you mean 'footer'"),
    ],
    ids=["no root", "misspelt"],
)
@pytest.mark.parametrize(
    "source", ["a {% include 'foter' %}", "a {% include which %}", "a {% include ['x', 'foter'] %}"]
)
def test_a_template_that_does_not_exist_is_an_error_with_its_place(
    renderer: JinjaRenderer, message: str, source: str
) -> None:
    with pytest.raises(TemplateNotFoundError, match=message) as caught:
        renderer.apply(source, {"which": "foter"})

    assert (caught.value.line, caught.value.column) == (1, 6)


@pytest.mark.parametrize(
    "templates",
    [
        {"a": "{% include 'a' %}"},
        {"a": "{% include 'b' %}", "b": "{% include 'a' %}"},
        {"a": "{% extends 'a' %}"},
        {"a": "{% import 'a' as x %}"},
        {"a": "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}"},
    ],
    ids=["itself", "each other", "extends", "import", "macro"],
)
def test_recursion_without_end_is_an_error(templates: dict[str, str]) -> None:
    with pytest.raises(TemplateError, match="without end"):
        JinjaRenderer(templates=templates).apply("{% include 'a' %}", {})


def test_recursion_with_an_end_works() -> None:
    templates = {"node": "{{ n.name }}{% for n in n.kids %}({% include 'node' %}){% endfor %}"}
    tree = {"name": "a", "kids": [{"name": "b", "kids": []}, {"name": "c", "kids": []}]}

    assert JinjaRenderer(templates=templates).apply("{% include 'node' %}", {"n": tree}) == "a(b)(c)"


def test_an_error_in_another_template_is_placed_there() -> None:
    renderer = JinjaRenderer(templates={"part": "ok\n  {{ 1 / n }}", "broken": "ok\n {% if %}"})

    with pytest.raises(TemplateError) as caught:
        renderer.apply("{% include 'part' %}", {"n": 0})
    assert (caught.value.template_name, caught.value.line, caught.value.column) == ("part", 2, 6)

    with pytest.raises(TemplateSyntaxError) as caught_syntax:
        renderer.compile("{% include 'broken' %}")
    assert (caught_syntax.value.template_name, caught_syntax.value.line) == ("broken", 2)


def test_other_templates_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    templates = {"a": "{% include 'b' %}", "b": "{{ x }}"}
    renderer = JinjaRenderer(templates=templates)
    renderer.compile("{% include 'a' %}")
    environment: Any = renderer.compile("{% include 'a' %}").environment  # type: ignore[attr-defined]
    build = environment.build

    def counted(source: str, *rest: Any) -> Any:
        compiled.append(source)
        return build(source, *rest)

    monkeypatch.setattr(environment, "build", counted)
    barrier = threading.Barrier(8)

    def apply(number: int) -> str:
        barrier.wait()
        return JinjaRenderer(templates=templates).apply(f"{number % 2}{{% include 'a' %}}", {"x": number})

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(apply, range(8))] == [f"{number % 2}{number}" for number in range(8)]
    assert sorted(compiled) == ["0{% include 'a' %}", "1{% include 'a' %}"]


# -- the sandbox


class Meddling:
    token = "t"
    _private = "p"

    def safe(self) -> str:
        return "safe"

    def drop(self) -> str:
        raise AssertionError("called")

    drop.unsafe_callable = True  # type: ignore[attr-defined]


def generator() -> Any:
    yield 1


ESCAPES = [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ ''['__class__'] }}",
    "{{ ''|attr('__class__') }}",
    "{{ ''|attr('\\x5f\\x5fclass\\x5f\\x5f') }}",
    "{{ ''['__cl' ~ 'ass__'] }}",
    "{{ [obj]|map(attribute='__class__')|list }}",
    "{{ [obj]|map('attr', '__class__')|list }}",
    "{{ [obj]|selectattr('_private')|list|length }}",
    "{{ [obj]|groupby('__class__')|list|length }}",
    "{{ [obj]|sort(attribute='__dict__')|list|length }}",
    "{{ [obj]|sum(attribute='__class__') }}",
    "{{ obj._private }}",
    "{{ obj.__init__.__globals__ }}",
    "{{ obj.safe.__func__ }}",
    "{{ obj.drop() }}",
    "{{ function.__globals__ }}",
    "{{ function.__code__ }}",
    "{{ generator.gi_frame }}",
    "{{ generator.gi_code.co_consts }}",
    "{{ generator|attr('gi_frame') }}",
    "{{ frame.f_globals }}",
    "{{ frame.f_back }}",
    "{{ code.co_name }}",
    "{{ kind.mro() }}",
    "{{ cycler.__init__.__globals__ }}",
    "{{ joiner.__class__ }}",
    "{{ namespace.__init__.__globals__ }}",
    "{{ range.__class__ }}",
    "{{ dict.__base__ }}",
    "{{ self.__init__ }}",
    "{{ self._TemplateReference__context }}",
    "{% macro m() %}{% endmacro %}{{ m._environment }}",
    "{{ '{0.__class__}'.format(obj) }}",
    "{{ '{0._private}'.format(obj) }}",
    "{{ '{x.__class__}'.format_map({'x': obj}) }}",
    "{{ ('{0.__class__}'|attr('format'))(obj) }}",
    "{% set f = '{0.__class__}'.format %}{{ f(obj) }}",
    "{{ text.format(obj) }}",
    "{{ text['format'](obj) }}",
    "{{ ('X{0.__class__}'|replace('X', '')).format(obj) }}",
    "{{ ('{0.__class__}'|e).format(obj) }}",
    "{{ items.append(1) }}",
    "{{ items|attr('clear') }}",
    "{{ mapping.update(a=1) }}",
    "{{ mapping.pop('k') }}",
]


def sandboxed_values() -> dict[str, Any]:
    running = generator()
    return {
        "obj": Meddling(), "function": generator, "generator": running, "frame": running.gi_frame,
        "code": generator.__code__, "kind": Meddling, "text": "{0.__class__}", "items": [1], "mapping": {"k": 1},
    }  # fmt: skip


@pytest.mark.parametrize("source", ESCAPES)
@pytest.mark.parametrize("mode", ValidationMode, ids=lambda mode: mode.name)
def test_escapes_from_the_sandbox_raise(source: str, mode: ValidationMode) -> None:
    values = sandboxed_values()

    with pytest.raises(UnsafeTemplateError):
        JinjaRenderer(validation=mode).apply(source, values)

    assert values["items"] == [1]
    assert values["mapping"] == {"k": 1}


@pytest.mark.parametrize("row_id", ["B032", "B033", "B034"])
def test_published_escapes_raise_on_every_path(row_id: str, tmp_path: Path) -> None:
    given = BUG_REPORTS[row_id]["input"]
    for source in given.get("templates", [given.get("file_text")]):
        (tmp_path / "evil.txt").write_text(source, "utf-8")
        for renderer, text in (
            (JinjaRenderer(), source),
            (JinjaRenderer(directory=tmp_path), "{% include 'evil.txt' %}"),
            (JinjaRenderer(templates={"evil": source}), "{% extends 'evil' %}"),
            (JinjaRenderer(templates={"evil": source}), "{% import 'evil' as e with context %}"),
        ):
            with pytest.raises(UnsafeTemplateError):
                renderer.apply(text, given.get("values", {}))


class Anything:
    """An object that has every attribute."""

    def __getattr__(self, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return f"any {name}"


def test_objects_with_every_attribute_can_be_read() -> None:
    assert render(BUG_REPORTS["B037"]["input"]["template"], {"box": Anything()}) == "any anything"
    with pytest.raises(UnsafeTemplateError, match="marked as unsafe"):
        render("{{ box() }}", {"box": Anything()})


@pytest.mark.parametrize(
    "source",
    [
        "{{ range(100001)|list }}",
        "{% for i in range(10 ** 9) %}{% endfor %}",
        "{{ 'a' * 1000001 }}",
        "{{ 1000001 * [1] }}",
        "{{ ('ab' * 1000) * 1000 }}",
        "{{ 10 ** 1000000 }}",
        "{{ (2 ** 99999) ** 2 }}",
        "{{ 'a'|center(100001) }}",
        "{{ 'a'|center(width=100001) }}",
        "{{ 'a'|indent(100001) }}",
        "{{ [1]|batch(100001, 'x')|list }}",
        "{{ [1]|slice(100001)|list }}",
        "{{ 1|round(100001, 'ceil') }}",
        "{{ {}|tojson(indent=100001) }}",
        "{{ 'a'.ljust(100001) }}",
        "{{ 'a'.zfill(100001) }}",
        "{{ 'a\t'.expandtabs(100001) }}",
        "{{ (1).to_bytes(100001, 'big') }}",
        "{{ '%100001d' % 1 }}",
        "{{ '%.100001f' % 1 }}",
        "{{ '%*d' % (100001, 1) }}",
        "{{ '%(a)100001d' % {'a': 1} }}",
        "{{ '%100001d'|format(1) }}",
        "{{ '{:>100001}'.format(1) }}",
        "{{ '{:{}}'.format(1, 100001) }}",
        "{{ lipsum(n=100001) }}",
    ],
)
def test_one_step_cannot_blow_up(source: str) -> None:
    with pytest.raises(TemplateError) as caught:
        render(source, {})

    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("{{ range(100000)|length }}", "100000"),
        ("{{ ('a' * 1000000)|length }}", "1000000"),
        ("{{ 2 ** 10 }}|{{ 2.5 * 2 }}|{{ 7 % 4 }}|{{ 'a%s' % 1 }}", "1024|5.0|3|a1"),
        ("{{ 'a'|center(5) }}|{{ '%05.1f'|format(2) }}|{{ '{:>4}'.format(1) }}", "  a  |002.0|   1"),
        ("{{ 3.14159|round(2) }}|{{ 'a'.rjust(3) }}|{{ [1, 2, 3]|batch(2)|list|length }}", "3.14|  a|2"),
    ],
)
def test_what_is_within_bounds_works(source: str, printed: str) -> None:
    assert render(source, {}) == printed


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


@pytest.mark.parametrize("options", [{"filters": [shout]}, {"globals": {1: 2}}, {"templates": {"a": 1}}], ids=repr)
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
