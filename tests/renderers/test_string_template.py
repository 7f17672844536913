"""Hold `StringTemplateRenderer` to what it adds to, and takes from, StringTemplate's own behaviour."""

from __future__ import annotations

import logging
import pickle
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest
from attrs import frozen

from promptkit.errors import MissingVariablesError, TemplateError, TemplateSyntaxError, UnsafeTemplateError
from promptkit.renderers.base import ValidationMode
from promptkit.renderers.string_template import StringTemplateRenderer

render = StringTemplateRenderer().apply


@frozen
class User:
    name: str
    address: dict[str, str]

    def greet(self) -> str:
        return f"Hi {self.name}"

    @property
    def broken(self) -> NoReturn:
        raise ArithmeticError("broken")


USER = User("Ada", {"city": "Oslo"})


# -- the language, beyond the recorded answers


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{user.name} of {user.address.city}", "Ada of Oslo"),
        ("{user.(key)}", "Ada"),
        ('{user.("address").city}', "Oslo"),
        ("{名字} {naïve} {super} {m.if} {it} {first}", "N V S IF I F"),
        ("{i} {i0} {items:{x|{i}{i0}{x}}}", "7 8 10a21b"),
        ("{items:{x|[{x}]}:{y|<{y}>}}", "<[a]><[b]>"),
        ("{items:{x|A{x}},{x|B{x}}}", "AaBb"),
        ('{items,more:{x,y|{i}{x}{y}}; separator="|"}', "1ap|2bq|3r"),
        ('{[items,more]; separator="-"}', "a-b-p-q-r"),
        ('ab {items; anchor, separator="\\n"}', "ab a\n   b"),
        ('{items; separator={<{key}>}, null="x"}', "a<name>b"),
        ("{if(!missing.x && (items || none))}yes{endif}", "yes"),
        ("{trim(padded)}|{strlen(padded)}|{trim(none)}|{strlen(none)}|{last(empty)}", "x|3||0|"),
        ("{if(())}a{endif}", None),
        ('{none; null="-"}{missing.x.y; null="?"}', "-?"),
        ("{(items)}{if(first(items))}!{endif}", "ab!"),
        ("{yes}{no}{none}{number}{many}", "truefalse1.5x12y"),
        ("a\r\n{items:{x|\r\n{x}\r\n}}", "a\na\nb\n"),
        ("{\\u4f60}{\\uD83E}{\\uDD84}{\\t}{\\ }.", "你🦄\t ."),
        ("{! only a comment !}", ""),
    ],
)
def test_tags(source: str, expected: str | None) -> None:
    variables = {
        "user": USER, "key": "name", "名字": "N", "naïve": "V", "super": "S", "m": {"if": "IF"}, "it": "I", "first": "F",
        "i": 7, "i0": 8, "items": ["a", "b"], "more": ("p", "q", "r"), "none": None, "missing": {}, "padded": " x ",
        "empty": [], "yes": True, "no": False, "number": 1.5, "many": ["x", [1, [2]], {"y": 0}],
    }  # fmt: skip

    if expected is None:
        with pytest.raises(TemplateSyntaxError):
            render(source, variables)
    else:
        assert render(source, variables) == expected


@pytest.mark.parametrize(
    ("auto_indent", "expected"), [(True, "  - a\n  b\n    1\n    2\n"), (False, "  - a\nb\n    1\n2\n")]
)
def test_auto_indent(auto_indent: bool, expected: str) -> None:
    renderer = StringTemplateRenderer(auto_indent=auto_indent)

    assert renderer.apply("  {xs:{x|- {x}}}\n    {y}\n", {"xs": ["a\nb"], "y": "1\n2"}) == expected


def test_auto_indent_leaves_blank_lines_of_either_line_end_alone() -> None:
    assert render("  {x}", {"x": "a\r\n\r\nb\n\nc\r\n"}) == "  a\r\n\r\n  b\n\n  c\r\n"


def numbers() -> Iterator[int]:
    yield from (1, 2)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{it}{it}", "12"),
        ("{if(it)}some: {it}{else}none{endif}", "some: 12"),
        ("{it:{x|<{x}>}}", "<1><2>"),
        ("{it:{x|{it}<{x}>}}", "<1><2>"),
        ('{it; separator="-"}', "1-2"),
        ("{first(it)}{it}", "1"),
        ("{length(it)}", "2"),
        ("{it,it:{x,y|{x}{y} }}", "1 2 "),
    ],
)
def test_an_iterator_is_read_once(source: str, expected: str) -> None:
    assert render(source, {"it": numbers()}) == expected


# -- what is missing


def test_all_that_is_missing_is_named_with_its_likely_spelling() -> None:
    source = "{user.nmae} in {user.address.cty}\n{usr}, {docs:{d|{d.titel}}}{if(vip)}{other}{endif} {first(docs).x}"

    with pytest.raises(MissingVariablesError) as caught:
        render(source, {"user": USER, "docs": [{"title": "T"}]})

    error = caught.value
    assert error.missing == ("user.nmae", "user.address.cty", "usr", "d.titel", "vip", "other", "first(docs).x")
    assert error.available == ("docs", "user")
    assert (error.line, error.column) == (1, 7)
    for words in ("'user.name'?", "'user.address.city'?", "'user'?", "'d.title'?", "Given: 'docs', 'user'"):
        assert words in str(error)


def test_the_error_of_very_many_names_is_short_and_holds_them_all() -> None:
    source = "".join(f"{{n{number}}}" for number in range(10_000))

    with pytest.raises(MissingVariablesError) as caught:
        render(source, {f"n{number}x": 1 for number in range(10_000)})

    assert len(caught.value.missing) == len(caught.value.available) == 10_000
    assert len(str(caught.value)) < 3_000


@pytest.mark.parametrize("user", [None, "text", 5, ["x"], {}, USER], ids=repr)
def test_a_missing_property_is_a_missing_variable_except_where_blank_is_asked_for(user: object) -> None:
    with pytest.raises(MissingVariablesError) as caught:
        render("{user.x}", {"user": user})

    assert caught.value.missing == ("user.x",)
    assert render('{if(user.x)}a{else}b{endif}{user.x; null="-"}', {"user": user}) == "b-"


def test_what_hangs_on_a_missing_variable_is_not_named_twice() -> None:
    with pytest.raises(MissingVariablesError) as caught:
        render("{user.name} {xs:{x|{x.y}}}", {})

    assert caught.value.missing == ("user", "xs")


def test_names_in_branches_and_bodies_not_taken_are_required() -> None:
    compiled = StringTemplateRenderer().compile("{if(a)}{b}{else}{c}{endif}{d:{x|{x}{e}{i}}; separator=f}{first(g).h}")

    assert compiled.variables == ("a", "b", "c", "d", "e", "f", "g")
    assert compiled.optional_variables == ()
    with pytest.raises(MissingVariablesError) as caught:
        compiled.render({"a": True, "b": 1, "d": [], "f": "", "g": [{"h": 1}]})
    assert caught.value.missing == ("c", "e")


def test_keep_leaves_tags_as_they_are_written() -> None:
    renderer = StringTemplateRenderer(validation=ValidationMode.KEEP)
    source = 'A\n{if(b)}\nB\n{endif}\n{a} {u.x} {xs:{x|{x}{c};}} {d; separator=", "} {xs:{x|{x.y}}}{if(u.z)}Z{endif}'

    once = renderer.apply(source, {"u": {}, "xs": [1, 2]})

    assert once == 'A\n{if(b)}\nB\n{endif}\n{a} {u.x} 1{c};2{c}; {d; separator=", "} {x.y}{x.y}'
    rest = {"a": "A", "u": {"x": "X"}, "b": True, "c": "C", "d": [3, 4], "x": {"y": "Y"}}
    assert renderer.apply(once, rest) == "A\nB\nA X 1C;2C; 3, 4 YY"


def test_warn_names_what_is_missing_in_one_record(caplog: pytest.LogCaptureFixture) -> None:
    renderer = StringTemplateRenderer(validation=ValidationMode.WARN)

    with caplog.at_level(logging.DEBUG, logger="promptkit"):
        assert renderer.apply("{xs:{x|{x.y}}}{a}[{u.b}]", {"u": {}, "xs": [{}, {}]}) == "[]"

    (record,) = caplog.records
    assert (record.name, record.levelname) == ("promptkit.renderers", "WARNING")
    assert record.getMessage() == "Missing variables printed blank: 'x.y', 'a', 'u.b'"


# -- what is refused when the template is built


@pytest.mark.parametrize(
    ("source", "line", "column", "words"),
    [
        ("a\n{b", 2, 1, "literal_braces=True"),
        ("Hello {", 1, 7, "found the end of the template"),
        ('a {"b": 1}', 1, 9, "To print '{' itself, write '\\{'"),
        ("{{x}}", 1, 2, "doubled braces are no escape"),
        ('{"yes"}', 1, 1, "'yes' alone"),
        ('{"yes":{x|{x}}}', 1, 1, "'yes' alone"),
        ("{}", 1, 2, "found '}'"),
        ("{a b}", 1, 4, "found 'b'"),
        ("{a, b}", 1, 6, "need a body"),
        ("{a?}", 1, 3, "'?' has no meaning"),
        ("{a|b}", 1, 3, "'|' alone"),
        ("{a & b}", 1, 4, "'&' alone"),
        ("{a.}", 1, 4, "name of a property"),
        ("{a[0]}", 1, 3, "found '['"),
        ("{'a'}", 1, 2, "has no meaning"),
        ("{if a}", 1, 5, "condition in parentheses"),
        ("{if(a)}", 1, 1, "never closed"),
        ("{if(a)}{xs:{x|{else}}}", 1, 12, "'else' without if"),
        ("x\n {endif}", 2, 2, "no if"),
        ("{if(a)}{else}{elseif(b)}{endif}", 1, 14, "behind the 'else'"),
        ("{if}", 1, 4, "condition in parentheses"),
        ("{x.(if)}", 1, 5, "is a directive"),
        ("{elif(a)}", 1, 2, "did you mean 'elseif'?"),
        ("{lenght(a)}", 1, 2, "did you mean 'length'?"),
        ("{nosuch(a)}", 1, 2, "The functions are first"),
        ("{first()}", 1, 8, "found ')'"),
        ('{a; seperator=","}', 1, 5, "did you mean 'separator'?"),
        ("{a; separator}", 1, 5, "needs a value"),
        ("{a; separator=,}", 1, 15, "found ','"),
        ("{xs:{it}}", 1, 5, "names no value"),
        ("{xs:{x,y|a}}", 1, 5, "names 2 value(s) but gets 1"),
        ("{xs,ys:{x|a}}", 1, 8, "names 1 value(s) but gets 2"),
        ("{xs:{i|a}}", 1, 5, "from 'i' and 'i0'"),
        ("{xs,ys:{x,x|a}}", 1, 8, "must differ"),
        ("{xs:{x|a", 1, 5, "never closed"),
        ("{xs:y}", 1, 5, "Expected a body"),
        ("{! a", 1, 1, "comment is never closed"),
        ("{\\q}", 1, 1, "no escape '\\q'"),
        ("{\\n", 1, 1, "not closed"),
        ("{\\\\} x", 1, 6, "last thing on its line"),
        ("{\\uD83E}", 1, 1, "half a character"),
        ('{a; null="b}', 1, 10, "string is never closed"),
        ("{a‍b}", 1, 3, "has no meaning"),
        (" \n\t", 1, 1, "blank"),
        ("{" + "(" * 60 + "a" + ")" * 60 + "}", 1, 52, "deeper than 50"),
        ("{xs" + ":{x|a}" * 60 + "}", 1, 364, "deeper than 50"),
        ("{if(a)}" * 60, 1, 351, "deeper than 50"),
    ],
)  # fmt: skip
def test_mistakes_are_refused_with_place_and_remedy(source: str, line: int, column: int, words: str) -> None:
    with pytest.raises(TemplateSyntaxError) as caught:
        StringTemplateRenderer().compile(source)

    assert (caught.value.line, caught.value.column) == (line, column)
    assert words in str(caught.value)
    assert str(caught.value).endswith("^")


def test_a_stack_that_is_almost_used_up_gives_an_error_of_ours() -> None:
    source = "{x:{y|" + "{y:{y|" * 48 + "a" + "}}" * 49

    def sink(depth: int) -> str:
        return (
            sink(depth - 1) if depth else StringTemplateRenderer(validation=ValidationMode.NONE).apply(source, {"x": 1})
        )

    with pytest.raises(TemplateError, match="nests too deeply"):
        sink(sys.getrecursionlimit() - 150)


# -- what a template must not reach


@pytest.mark.parametrize(
    "source",
    ["{x.__class__}", "{x.y._z}", '{x.("__init__")}', "{if(x._y)}{endif}", "{xs:{x|{x._y}}}", '{m._id; null=""}'],
)
@pytest.mark.parametrize("compat", [False, True])
def test_private_names_are_refused_when_built(source: str, compat: bool) -> None:
    with pytest.raises(UnsafeTemplateError, match="private"):
        StringTemplateRenderer(compat=compat).compile(source)


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("__class__", USER),
        ("_private", USER),
        ("gi_frame", numbers()),
        ("f_globals", sys._getframe()),
        ("co_consts", test_private_names_are_refused_when_built.__code__),
        ("mro", User),
        ("modules", sys),
    ],
)
def test_inner_things_are_refused_when_asked_for_by_a_value(name: str, owner: object, compat: bool) -> None:
    with pytest.raises(UnsafeTemplateError, match="not for templates"):
        StringTemplateRenderer(compat=compat).apply("{owner.(name)}", {"owner": owner, "name": name})


def test_methods_are_no_properties_and_are_never_called() -> None:
    with pytest.raises(MissingVariablesError):
        render("{user.greet}", {"user": USER})

    assert render("{m.(key)}", {"m": {"_id": 1}, "key": "_id"}) == "1"


# -- values that fail


class Broken:
    def __str__(self) -> NoReturn:
        raise ArithmeticError("broken")


class BrokenList(list[object]):
    def __iter__(self) -> NoReturn:
        raise ArithmeticError("broken")


class BrokenMapping(dict[str, object]):
    def __getitem__(self, name: str) -> NoReturn:
        raise ArithmeticError("broken")


class BrokenLength(list[object]):
    def __len__(self) -> NoReturn:
        raise ArithmeticError("broken")


def endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Broken(), "ArithmeticError"),
        (b"bytes", "Decode it"),
        (BrokenList([1]), "ArithmeticError"),
        (BrokenLength([1]), "ArithmeticError"),
        (endless(), "contains itself"),
        (10**5000, "cannot be printed"),
        ({"y": USER}, "'x.y.broken' raised ArithmeticError"),
    ],
    ids=["str", "bytes", "iter", "len", "endless", "huge", "property"],
)
def test_a_value_that_cannot_be_printed_is_an_error_with_its_place(value: object, words: str) -> None:
    source = "a\n {x.y.broken}" if isinstance(value, dict) else "a\n {if(x)}{x}{endif}"

    with pytest.raises(TemplateError, match=words) as caught:
        render(source, {"x": value})

    assert (caught.value.line, caught.value.excerpt) == (2, source[2:])


def test_a_mapping_that_raises_is_an_error_that_names_the_variable() -> None:
    with pytest.raises(TemplateError, match="variable 'x' raised ArithmeticError") as caught:
        render("a {x}", BrokenMapping(x=1))

    assert caught.value.column == 4


@pytest.mark.parametrize("compat", [False, True])
def test_a_dot_in_a_name_is_refused(compat: bool) -> None:
    with pytest.raises(TemplateError, match=r"'a\.b' has a dot"):
        StringTemplateRenderer(compat=compat).apply("{x}", {"x": 1, "a.b": 2})


# -- the renderer as a value


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"start": "{{"}, "start='{{' must be one character"),
        ({"end": ""}, "end='' must be one character"),
        ({"start": "a"}, "no letter"),
        ({"end": "\\"}, "must be one character"),
        ({"start": None}, "start=None"),
        ({"validation": None}, "validation mode"),
        ({"validation": "throw"}, "validation mode"),
        ({"compat": True, "literal_braces": True}, "Choose one"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TemplateError, match=words):
        StringTemplateRenderer(**options)


def test_renderers_are_values() -> None:
    renderer = StringTemplateRenderer(start="<", end=">", validation=ValidationMode.KEEP)

    assert renderer == pickle.loads(pickle.dumps(renderer))
    assert renderer != StringTemplateRenderer()
    assert len({renderer, renderer.mutate(), StringTemplateRenderer()}) == 2
    assert repr(renderer) == "StringTemplateRenderer(start='<', end='>', validation=<ValidationMode.KEEP: 'keep'>)"


def test_a_compiled_template_pickles_by_its_source() -> None:
    compiled = StringTemplateRenderer(start="<", end=">").compile("Hi <name>")

    assert pickle.loads(pickle.dumps(compiled)).render({"name": "Ada"}) == "Hi Ada"


def test_large_templates_take_linear_time() -> None:
    source = "".join(f"Line {number} of {{name}} and {{user.name}}\n" for number in range(10_000)) + "x" * 5_000_000
    compiled = StringTemplateRenderer().compile(source)

    rendered = compiled.render({"name": "Ada", "user": {"name": "Bo"}})

    assert rendered == source.replace("{name}", "Ada").replace("{user.name}", "Bo")
