from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import attrs
import jsonschema
import msgspec
import pydantic
import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from promptkit._schema import NoSchemaError, type_reader
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


def test_an_answer_is_text() -> None:
    with pytest.raises(OutputConversionError, match="must be text"):
        TypedOutputConverter(int).convert(3)  # type: ignore[arg-type]


class Plain:
    """Be no record."""


@pytest.mark.parametrize("target", [Plain, list[Plain], "Nowhere", Plain | int, Literal["\ud800"]], ids=ascii)
def test_a_type_without_schema_is_refused_when_the_converter_is_made(target: Any) -> None:
    with pytest.raises(NoSchemaError):
        TypedOutputConverter(target)


def test_a_schema_is_built_once_a_type() -> None:
    assert type_reader(Person) is type_reader(Person)


PEOPLE = st.builds(Person, st.text(), st.integers(0, 2**53), st.none() | st.text())


@given(st.lists(PEOPLE), st.sampled_from(["{}", "Here you are:\n```json\n{}\n```", "<think>hm {{</think>{} Done!"]))
def test_values_survive_noise_around_them(people: list[Person], noise: str) -> None:
    dumped = json.dumps([attrs.asdict(person) for person in people])

    assert TypedOutputConverter(list[Person]).convert(noise.replace("{}", dumped)) == people
