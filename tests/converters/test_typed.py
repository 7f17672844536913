from __future__ import annotations

import datetime as dt
import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import attrs
import jsonschema
import msgspec
import pydantic
import pytest
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from promptkit._schema import NoSchemaError, to_json, type_reader
from promptkit.converters import MapOutputConverter, StructuredOutputConverter, TypedOutputConverter
from promptkit.errors import OutputConversionError
from tests import oracles


@frozen
class Person:
    """A person."""

    name: str
    age: Annotated[int, msgspec.Meta(description="in years", ge=0)] = 0
    nick: str | None = None


@dataclass
class Point:
    x: float
    y: float


class Row(TypedDict):
    key: str
    value: int


class Odd(TypedDict):
    what: Book | Toy
    model: NotRequired[Model]


class Dated(pydantic.BaseModel, strict=True):
    day: dt.date


@frozen
class Hidden:
    what: Book | Toy
    _code: int = 0
    other: int = attrs.field(default=0, alias="another")


class Model(pydantic.BaseModel):
    id: int
    tags: list[str] = []


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@frozen
class Book:
    title: str


@frozen
class Toy:
    title: str
    from_age: int


@frozen
class Cart:
    items: list[Book | Toy]
    note: str = ""


EXAMPLES: list[tuple[Any, Any, Any]] = [
    (Person, {"name": "Ada", "age": 36}, Person("Ada", 36)),
    (Point, {"x": 1, "y": 2.5}, Point(1.0, 2.5)),
    (Row, {"key": "a", "value": 1}, {"key": "a", "value": 1}),
    (Model, {"id": 1, "tags": ["a"]}, Model(id=1, tags=["a"])),
    (Colour, "red", Colour.RED),
    (Literal["a", "b"], "b", "b"),
    (int, 3, 3),
    (str, "text", "text"),
    (bool, True, True),
    (list[Person], [{"name": "Ada"}], [Person("Ada")]),
    (list[Model], [{"id": 1}], [Model(id=1)]),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (tuple[int, ...], [1, 2], (1, 2)),
    (Person | None, None, None),
    (Book | Toy, {"title": "t"}, Book("t")),
    (Book | Toy, {"title": "t", "from_age": 3}, Toy("t", 3)),
    (list[Book | Toy], [{"title": "t"}, {"title": "u", "from_age": 3}], [Book("t"), Toy("u", 3)]),
    (dict[str, Book | Toy], {"a": {"title": "t"}}, {"a": Book("t")}),
    (Cart, {"items": [{"title": "t", "from_age": 1}]}, Cart([Toy("t", 1)])),
    (Annotated[Book | Toy, "what"], {"title": "t"}, Book("t")),
    (Sequence[Book | Toy], [{"title": "t"}], [Book("t")]),
    (Mapping[str, Book | Toy], {"a": {"title": "t"}}, {"a": Book("t")}),
    (Odd, {"what": {"title": "t"}}, {"what": Book("t")}),
    (Odd, {"what": {"title": "t"}, "model": {"id": 1}}, {"what": Book("t"), "model": Model(id=1)}),
    (Model | Book, {"title": "t"}, Book("t")),
    (Dated, {"day": "2026-12-01"}, Dated(day=dt.date(2026, 12, 1))),
    (Hidden, {"what": {"title": "t"}, "_code": 1, "other": 2}, Hidden(Book("t"), 1, 2)),
    (dict[int, str], {"1": "a"}, {1: "a"}),
]
IDS = [f"{number}-{target}" for number, (target, _, _) in enumerate(EXAMPLES)]


@pytest.mark.parametrize(("target", "data", "value"), EXAMPLES, ids=IDS)
def test_values_of_every_kind_are_read(target: Any, data: Any, value: Any) -> None:
    converter: StructuredOutputConverter[Any] = TypedOutputConverter(target)

    assert converter.convert(json.dumps(data)) == value
    assert converter.json_schema is not None
    schema = converter.json_schema.thaw()
    assert json.loads(converter.format.rpartition("\n")[2]) == schema
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(data, schema)


@pytest.mark.parametrize(
    ("target", "data", "path"),
    [
        (Person, {"age": 1}, "$"),
        (Person, {"name": 3}, "$.name"),
        (Person, {"name": "a", "age": "36"}, "$.age"),
        (Person, {"name": "a", "age": -1}, "$.age"),
        (list[Person], [{"name": "a"}, {"name": None}], "$[1].name"),
        (Model, {"id": "x"}, "$.id"),
        (Cart, {"items": [{"title": "t"}, {"title": 3}]}, "$.items[1].title"),
        (Cart, {"note": "n"}, "$"),
        (Cart, [], "$"),
        (list[Book | Toy], {"title": "t"}, "$"),
        (dict[str, Book | Toy], {"a": 3}, "$.a"),
        (Colour, "green", "$"),
        (int, "\ud800", "$"),
        (dict[str, int], {"a": "\ud800"}, "$"),
    ],
    ids=ascii,
)
def test_wrong_values_are_errors_with_their_place(target: Any, data: Any, path: str) -> None:
    text = json.dumps(data)

    with pytest.raises(OutputConversionError) as caught:
        TypedOutputConverter(target).convert(text)

    assert (caught.value.path, caught.value.text) == (path, text)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, type_reader(target).schema.thaw())


def test_spring_cases() -> None:
    rows = {row["id"]: row for row in oracles.rows("spring_converters.jsonl")}

    @frozen
    class Named:
        name: str

    @frozen
    class Nicked:
        name: str
        nick: str | None = None

    assert TypedOutputConverter(Named).convert(rows["SC-CNV-034"]["given"]["text"]) == Named("Kim")
    assert TypedOutputConverter(list[Named]).convert(rows["SC-CNV-036"]["given"]["text"]) == [Named("Kim")]
    (schema,) = TypedOutputConverter(Nicked).json_schema["$defs"].values()
    then = rows["SC-CNV-037"]["then"]
    assert (schema["required"], schema["additionalProperties"]) == (then["required"], then["additionalProperties"])


def test_every_spring_case_is_held() -> None:
    others = {
        row["id"]
        for row in oracles.rows("spring_converters.jsonl")
        if row["when"] != "list converter" and row["given"].get("cleaner") not in ("fence", "thinking")
    }

    assert others == {f"SC-CNV-{number:03}" for number in (32, 33, 34, 36, 37)}


@pytest.mark.parametrize("row", oracles.rows("bug_reports_parse.jsonl"), ids=lambda row: row["id"])
def test_bug_report(row: dict[str, Any]) -> None:
    expect = row.get("expect", {})
    for text in row["input"].get("texts", [row["input"].get("text")]):
        if expect.get("error"):
            with pytest.raises(OutputConversionError) as caught:
                MapOutputConverter().convert(text)
            assert caught.value.text == text
            assert "line 1" in str(caught.value)
            continue
        value = MapOutputConverter().convert(text)
        assert value == expect.get("value", value)
        assert isinstance(value, dict)
    if "first_value_contains" in expect:
        assert expect["first_value_contains"] in MapOutputConverter().convert(row["input"]["texts"][0])["a"]


def test_repairs_are_on_the_result() -> None:
    output = TypedOutputConverter(Point).read('So: {"x": 1, "y": 2,} ok?')

    assert output.value == Point(1, 2)
    assert output.cleaned == '{"x": 1, "y": 2}'
    assert len(output.repairs) == 2
    assert TypedOutputConverter(int).read("7").repairs == ()


def test_of_several_values_the_fitting_one_is_taken() -> None:
    answer = 'Draft [1] then {"name": "Ada"} and {"name": "Ada"}'

    assert TypedOutputConverter(Person).convert(answer) == Person("Ada")
    with pytest.raises(OutputConversionError, match="2 different values"):
        TypedOutputConverter(Person).convert('{"name": "Ada"} or {"name": "Bo"}')
    with pytest.raises(OutputConversionError, match="none of the 2"):
        TypedOutputConverter(Person).convert("[1] [2]")


@pytest.mark.parametrize("text", ["", " \n", "I cannot do that.", '{"name": "Ad', '{"name": NaN}', "<think>hm"])
def test_no_answer_is_an_error_with_the_text(text: str) -> None:
    with pytest.raises(OutputConversionError) as caught:
        TypedOutputConverter(Person).convert(text)

    assert caught.value.text == text
    assert caught.value.target.endswith("Person")


def test_text_and_enums_may_be_bare() -> None:
    assert TypedOutputConverter(str).convert("<think>x</think>just words") == "just words"
    assert TypedOutputConverter(Colour).convert(" red\n") is Colour.RED


@pytest.mark.parametrize("text", ["<think>4?</think>42", "```json\n42\n```", "<think>hm</think>```\n42\n```"])
def test_scalars_may_stand_behind_thoughts_and_in_a_fence(text: str) -> None:
    output = TypedOutputConverter(int).read(text)

    assert (output.value, output.cleaned) == (42, "42")
    assert output.repairs == ("left out text around the JSON",)
    assert TypedOutputConverter(Colour).convert("```\nred\n```") is Colour.RED


def test_an_answer_is_text() -> None:
    with pytest.raises(OutputConversionError, match="must be text"):
        TypedOutputConverter(int).convert(3)  # type: ignore[arg-type]


class Plain:
    """Be no record."""


@pytest.mark.parametrize("target", [Plain, list[Plain], "Nowhere", Plain | int, Literal["\ud800"]], ids=ascii)
def test_a_type_without_schema_is_refused_when_the_converter_is_made(target: Any) -> None:
    with pytest.raises(NoSchemaError):
        TypedOutputConverter(target)


@dataclass
class Tree:
    kids: list[Tree | Leaf]


@dataclass
class Leaf:
    text: str


def test_a_type_that_holds_itself_in_a_union_of_classes_is_refused() -> None:
    with pytest.raises(NoSchemaError, match=r"Tree\.kids .* holds its own class"):
        TypedOutputConverter(Tree)


def test_what_has_no_schema_is_said_in_one_line() -> None:
    with pytest.raises(NoSchemaError, match=r"^Plain has no JSON Schema: type .* is not supported$"):
        TypedOutputConverter(list[Plain])


def twins() -> tuple[type, type]:
    @frozen
    class Item:
        number: int

    first = Item

    @frozen
    class Item:  # type: ignore[no-redef]
        text: str

    return first, Item


def test_classes_of_one_name_keep_their_own_definitions() -> None:
    one, two = twins()
    target: Any = dict[str, one | list[two] | list[one]]  # type: ignore[valid-type]
    schema = type_reader(target).schema.thaw()

    assert len(schema["$defs"]) == 2
    for data in ({"a": {"number": 1}}, {"a": [{"text": "x"}]}, {"a": [{"number": 1}]}):
        jsonschema.validate(data, schema)
        assert type_reader(target).read(data)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"a": {"text": "x"}}, schema)


def test_a_schema_is_built_once_a_type() -> None:
    assert type_reader(Person) is type_reader(Person)


WORDS = st.text()
BOOKS, TOYS = st.builds(Book, WORDS), st.builds(Toy, WORDS, st.integers(0, 99))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
MODELS = st.builds(Model, id=st.integers(), tags=st.lists(WORDS))
VALUES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (list[Person], st.lists(st.builds(Person, WORDS, st.integers(0, 2**53), st.none() | WORDS))),
    (Point, st.builds(Point, FLOATS, FLOATS)),
    (Row, st.fixed_dictionaries({"key": WORDS, "value": st.integers(-(2**63), 2**63)})),
    (Model, MODELS),
    (dict[str, Model], st.dictionaries(WORDS, MODELS)),
    (Colour, st.sampled_from(Colour)),
    (Literal["a", 1] | None, st.sampled_from(["a", 1, None])),
    (int, st.integers(-(2**63), 2**63)),
    (float | None, FLOATS | st.none()),
    (str, WORDS),
    (dt.datetime, st.datetimes(timezones=st.just(dt.UTC))),
    (tuple[int, bool], st.tuples(st.integers(-9, 9), st.booleans())),
    (frozenset[str], st.frozensets(WORDS)),
    (dict[int, str], st.dictionaries(st.integers(-9, 9), WORDS)),
    (Book | Toy, BOOKS | TOYS),
    (Cart, st.builds(Cart, st.lists(BOOKS | TOYS), WORDS)),
    (Odd, st.fixed_dictionaries({"what": BOOKS | TOYS}, optional={"model": MODELS})),
]
NOISE = ["{}", "```json\n{}\n```", "<think>hm {{</think>{}", "<think>a</think>\n```json {}\n```", "So: {} Done!"]


@pytest.mark.parametrize(("target", "values"), VALUES, ids=[str(target) for target, _ in VALUES])
@settings(max_examples=25)
@given(data=st.data())
def test_any_value_survives_noise_around_it(target: Any, values: st.SearchStrategy[Any], data: st.DataObject) -> None:
    value = data.draw(values)
    dumped = to_json(value)
    converter = TypedOutputConverter(target)

    jsonschema.validate(json.loads(dumped), converter.json_schema.thaw())
    noises = NOISE if dumped[0] == "{" or dumped[:2] in ('["', "[{", "[]") else NOISE[:2]
    for noise in noises:
        assert converter.convert(noise.replace("{}", dumped)) == value
