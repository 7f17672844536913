"""Hold the sandbox: published escapes raise, and one step cannot blow up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptkit.errors import (
    TemplateError,
    UnsafeTemplateError,
)
from promptkit.renderers.base import ValidationMode
from promptkit.renderers.jinja import JinjaRenderer
from tests import oracles

BUG_REPORTS = {row["id"]: row for row in oracles.rows("bug_reports_templates.jsonl")}

render = JinjaRenderer().apply


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
