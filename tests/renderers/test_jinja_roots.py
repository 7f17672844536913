"""Hold ``include``, ``import`` and ``extends`` inside their root."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from promptkit.errors import (
    TemplateError,
    TemplateNotFoundError,
    TemplateSyntaxError,
    UnsafeTemplateError,
)
from promptkit.renderers.base import ValidationMode
from promptkit.renderers.jinja import JinjaRenderer

render = JinjaRenderer().apply


def names(source: str, renderer: JinjaRenderer | None = None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    compiled = (renderer or JinjaRenderer()).compile(source)
    return compiled.variables, compiled.optional_variables


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


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("{% include 'part' %}", "{{ a }}1"),
        ("{% extends 'base' %}{% block inner %}{{ x }}{% endblock %}", "{{ head }}[{{ plain }}{{ x }}]1"),
        ("{% if no is defined %}{% extends 'base' %}{% endif %}{{ x }}", "{{ x }}"),
    ],
)
def test_keep_leaves_placeholders_of_other_templates(source: str, kept: str) -> None:
    renderer = JinjaRenderer(validation=ValidationMode.KEEP, templates=ROOT)

    assert renderer.apply(source, {}) == kept


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


def test_a_zipped_package_is_a_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ZipFile(tmp_path / "acme.zip", "w") as archive:
        archive.writestr("acme_zipped/__init__.py", "")
        archive.writestr("acme_zipped/sign.txt", "-- {{ by }}")
    monkeypatch.syspath_prepend(tmp_path / "acme.zip")

    assert JinjaRenderer(package="acme_zipped").apply("{% include 'sign.txt' %}", {"by": "Ada"}) == "-- Ada"


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
