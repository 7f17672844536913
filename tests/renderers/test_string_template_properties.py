"""Hold the StringTemplate dialect to its invariants over random templates and hostile values."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from promptkit.errors import MissingVariablesError, TemplateError
from promptkit.renderers._st_layout import Layout
from promptkit.renderers._st_parser import Parser
from promptkit.renderers._st_rendering import Rendering
from promptkit.renderers.base import ValidationMode
from promptkit.renderers.string_template import StringTemplate, StringTemplateRenderer
from tests.strategies import texts

VARIABLES: dict[str, Any] = {
    "s": "v", "e": "", "n": None, "m": "a\nb", "q": "\nx\n", "l": ["p", None, "q\nr"], "z": [], "t": True, "f": False,
    "d": {"k": "K", "j": "1\n2"}, "ds": [{"k": "A", "o": True}, {"k": "B", "o": False}], "num": 3,
}  # fmt: skip

PIECES = (
    "w", " ", "- ", "  x ", " t\t", "\\{", "\\\\", "}", "\n", "\n\n", "\n  ", "\n\t", "\n   \n", "{! c !}", "{\\n}", "{\\t}",
    "{\\\\}\n ", "{d.k}", "{d.j}", "{first(l)}", "{rest(l)}", "{length(l)}", "{[s,l]}", "{d.keys}", "{(m)}",
)  # fmt: skip
OPTIONS = ("", '; separator=", "', '; separator="\\n- "', '; null="-"', "; anchor", '; separator={{s}}, null="\\n"')
CONDITIONS = ("t", "f", "!f", "n", "l", "z", "s && f", "f || t", "d.k", "d.zz", "e")


@st.composite
def templates(draw: st.DrawFn, depth: int = 3, loops: tuple[str, ...] = ()) -> str:
    """Write a template by the grammar."""
    parts: list[str] = []
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.integers(0, 9))
        if kind < 5 or not depth:
            parts.append(draw(st.sampled_from(PIECES)))
        elif kind < 7:
            name = draw(st.sampled_from((*VARIABLES, *loops, *loops)))
            parts.append(f"{{{name}{draw(st.sampled_from(OPTIONS))}}}")
        elif kind == 7:
            branches = [draw(templates(depth - 1, loops)) for _ in range(draw(st.integers(1, 3)))]
            parts.append(f"{{if({draw(st.sampled_from(CONDITIONS))})}}{branches[0]}")
            if len(branches) > 2:
                parts.append(f"{{elseif({draw(st.sampled_from(CONDITIONS))})}}{branches[2]}")
            if len(branches) > 1:
                parts.append(f"{{else}}{branches[1]}")
            parts.append("{endif}")
        else:
            name = draw(st.sampled_from(("x", "y")))
            values = draw(st.sampled_from((*VARIABLES, *loops)))
            chain = draw(st.sampled_from(("", "", "", ":{w|<{w}{s}>}", ",{w|{i}{w}\n}")))
            body = draw(templates(depth - 1, (*loops, name, "i")))
            parts.append(f"{{{values}:{{{name}|{body}}}{chain}{draw(st.sampled_from(OPTIONS))}}}")
    return "".join(parts)


def exact(compiled: StringTemplate, variables: dict[str, Any]) -> str:
    """Print by the exact layout, whatever the quick way can do."""
    renderer = compiled.renderer
    syntax = Parser(compiled.source, "{", "}", compat=False, literal=False).parse()
    run = Rendering(variables, (), renderer.rules)
    run.run_ops(Layout(syntax.source, renderer.rules).program(syntax.template))
    return "".join(run.out)


def compile_or_none(renderer: StringTemplateRenderer, source: str) -> StringTemplate | None:
    with suppress(TemplateError):
        return renderer.parse(source)
    return None


@pytest.mark.parametrize("auto_indent", [True, False])
@given(source=templates())
@example("{if(!f)}{if(f || t)}\\{\n\t{endif}{endif}\n\n")
@example("\n  \n  {\\n}\n  \\\\")
@example("a\n{if(f)}\n  b\n{endif}\n  {m}")
@example("  {l:{x|- {x}\n}}\n  {ds:{x|{x.k}}}")
def test_the_quick_way_prints_what_the_exact_way_prints(auto_indent: bool, source: str) -> None:
    renderer = StringTemplateRenderer(auto_indent=auto_indent, validation=ValidationMode.NONE)
    compiled = compile_or_none(renderer, source)

    if compiled is not None:
        assert compiled.render(VARIABLES) == exact(compiled, VARIABLES)


@given(source=templates())
def test_variables_are_what_rendering_needs(source: str) -> None:
    compiled = compile_or_none(StringTemplateRenderer(), source)
    if compiled is None:
        return
    needed = {name: VARIABLES[name] for name in compiled.variables}

    with suppress(MissingVariablesError):
        compiled.render(needed)
    for name in needed:
        with pytest.raises(MissingVariablesError) as caught:
            compiled.render({other: value for other, value in needed.items() if other != name})
        assert name in caught.value.missing


@given(source=templates(), value=texts())
def test_values_change_no_structure(source: str, value: str) -> None:
    renderer = StringTemplateRenderer(auto_indent=False, validation=ValidationMode.NONE)
    compiled = compile_or_none(renderer, f"[{{h}}]{source}")

    if compiled is not None:
        rendered = compiled.render({**VARIABLES, "h": value})
        assert rendered == f"[{value}]{compiled.render({**VARIABLES, 'h': ''})[2:]}"


def soup() -> SearchStrategy[str]:
    """Letters that mean something, in any order."""
    marks = st.sampled_from(
        ("{", "}", "{{", "|", ":", ";", ",", ".", "(", ")", "[", "]", "!", "\\", '"', "'", "=", "&&", "||", "\n", "\r", " ",
         "if(t)", "else", "endif", "{if(t)}", "{endif}", "{x|", "separator=", "null=", "first(", "s", "l", "i", "-", "_k",
         "\\n", "u0041", "...", "@", "\ud800", "名", "é"),
    )  # fmt: skip
    return st.lists(marks | texts(), max_size=12).map("".join)


@pytest.mark.parametrize(
    "renderer",
    [
        StringTemplateRenderer(),
        StringTemplateRenderer(literal_braces=True),
        StringTemplateRenderer(compat=True),
        StringTemplateRenderer(start="<", end=">", compat=True, validation=ValidationMode.NONE),
        StringTemplateRenderer(start="$", end="$", literal_braces=True, validation=ValidationMode.KEEP),
    ],
    ids=["default", "literal", "compat", "angles", "dollars"],
)
@given(source=soup() | templates())
def test_any_text_renders_or_is_an_error_of_ours(renderer: StringTemplateRenderer, source: str) -> None:
    places: list[int | None] = []
    try:
        compiled = renderer.parse(source)
    except TemplateError as error:
        places += [error.line, error.column]
    else:
        with suppress(TemplateError):
            compiled.render({**dict.fromkeys(compiled.variables, "v"), **VARIABLES})

    assert None not in places


@given(source=st.text(st.characters(exclude_characters="{}\\\n\r\t ")).filter(bool) | texts())
def test_literal_braces_lose_nothing(source: str) -> None:
    compiled = compile_or_none(StringTemplateRenderer(literal_braces=True), f'a{{"b": "{source}"}}c')

    if compiled is not None and not compiled.variables and "\\" not in source and "{" not in source:
        assert compiled.render({}) == f'a{{"b": "{source}"}}c'
