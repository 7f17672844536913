"""Hold the names that a Jinja template asks for, and what is said of missing ones."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from promptkit.errors import (
    MissingVariablesError,
    TemplateError,
)
from promptkit.renderers.jinja import JinjaRenderer

render = JinjaRenderer().apply


def names(source: str, renderer: JinjaRenderer | None = None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    compiled = (renderer or JinjaRenderer()).compile(source)
    return compiled.variables, compiled.optional_variables


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


class Torn:
    """An object that can be read once."""

    reads = 0

    @property
    def x(self) -> dict[str, int]:
        self.reads += 1
        if self.reads > 1:
            raise ValueError("read already")
        return {}


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
        ("{% if users[0].nmae %}{% endif %}", "users.0.nmae"),
        ("{{ torn.x.y }}", "torn.x.y"),
        ("{{ none.x }}", "….x"),
    ],
)
def test_missing_attributes_of_any_expression_are_named(source: str, missing: str) -> None:
    with pytest.raises(MissingVariablesError) as caught:
        render(source, {"users": [{"name": "Ada"}], "torn": Torn()})

    assert caught.value.missing == (missing,)


def test_the_likeliest_of_two_attributes_of_one_name_is_named() -> None:
    with pytest.raises(MissingVariablesError) as caught:
        render("{{ a.x }}{{ b.x }}", {"a": {"x": 1}, "b": {"y": 2}})

    assert caught.value.missing == ("b.x",)


def test_a_property_of_none_is_false_in_a_condition_and_missing_elsewhere() -> None:
    source = "{% if user.home.city %}in {{ user.home.city }}{% elif user.home.city.name %}?{% else %}away{% endif %}"

    assert render(source, {"user": {"home": None}}) == "away"
    with pytest.raises(MissingVariablesError):
        render("{{ user.home.city }}", {"user": {"home": None}})


def test_optional_names_are_used_when_given() -> None:
    source = "{{ a|default('-') }}{% if b is defined %}{{ b }}{% endif %}"

    assert (render(source, {}), render(source, {"a": 1, "b": 2})) == ("-", "12")
