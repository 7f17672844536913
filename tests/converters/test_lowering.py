"""Lower schemas to what vendors take, against the vendors' own SDKs; read the answers back."""

from __future__ import annotations

import copy
import enum
import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import attrs
import jsonschema
import msgspec
import pytest
from anthropic.lib._parse._transform import transform_schema
from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.lib._pydantic import _ensure_strict_json_schema

from promptkit._frozen import thaw
from promptkit._schema import NoSchemaError, to_json
from promptkit.converters import SUBSETS, TypedOutputConverter, WeakenedRule, lower_schema
from promptkit.converters.lowering import raised
from promptkit.errors import OutputConversionError


class Size(enum.Enum):
    SMALL = "S"
    LARGE = "L"


@frozen
class Item:
    name: str
    price: Annotated[float, msgspec.Meta(ge=0, description="in euros")]
    size: Size = Size.SMALL


@frozen
class Order:
    number: Annotated[str, msgspec.Meta(pattern="^[A-Z][0-9]+$", min_length=2)]
    items: Annotated[list[Item], msgspec.Meta(min_length=2)]
    kind: Literal["gift", "own"] = "own"
    note: str | None = None
    place: tuple[int, str] = (0, "")
    main: Item | None = None


@frozen
class Node:
    name: str
    children: list[Node] = attrs.field(factory=list)


@frozen
class Cat:
    meows: bool


TYPES: Mapping[str, Any] = {
    "record": Order,
    "int": Annotated[int, msgspec.Meta(ge=1)],
    "list": list[Item],
    "enum": Size,
    "union": Order | Cat,
    "scalars": int | str | None,
    "literal": Literal["yes"],
}


def schemas_in(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Give every schema inside a schema."""
    if isinstance(schema, Mapping):
        yield schema
        for key in ("properties", "$defs"):
            for part in schema.get(key, {}).values():
                yield from schemas_in(part)
        for key in ("items", "additionalProperties"):
            yield from schemas_in(schema.get(key))
        for key in ("anyOf", "prefixItems"):
            for part in schema.get(key, ()):
                yield from schemas_in(part)


STRUCTURE = {
    "type",
    "properties",
    "required",
    "items",
    "anyOf",
    "enum",
    "const",
    "description",
    "$ref",
    "$defs",
    "additionalProperties",
    "format",
}


@pytest.mark.parametrize("subset", SUBSETS)
@pytest.mark.parametrize("name", TYPES)
def test_a_lowered_schema_holds_only_what_the_vendor_takes(name: str, subset: str) -> None:
    lowered = thaw(lower_schema(TypedOutputConverter(TYPES[name]).json_schema, subset).schema)

    rules = SUBSETS[subset]
    for schema in schemas_in(lowered):
        assert set(schema) <= STRUCTURE | rules.keywords, schema
        if schema.get("type") == "object":
            assert not rules.closed or schema["additionalProperties"] is False
            assert not rules.all_required or list(schema["properties"]) == list(schema["required"])
        assert "$ref" not in schema or set(schema) == {"$ref"}
        assert rules.const or "const" not in schema
        assert rules.most_min_items is None or schema.get("minItems", 0) <= rules.most_min_items
    assert not rules.object_root or lowered["type"] == "object"
    jsonschema.Draft202012Validator.check_schema(lowered)


@pytest.mark.parametrize("name", TYPES)
def test_the_vendors_own_sdk_has_nothing_to_change(name: str) -> None:
    whole = TypedOutputConverter(TYPES[name]).json_schema
    openai = thaw(lower_schema(whole, "openai").schema)
    anthropic = thaw(lower_schema(whole, "anthropic").schema)

    assert _ensure_strict_json_schema(copy.deepcopy(openai), path=(), root=openai) == openai
    assert without(transform_schema(copy.deepcopy(anthropic)), "description", "type") == without(
        anthropic, "description", "type"
    )


def without(schema: Any, *keys: str) -> Any:
    """Leave out what the SDK words in its own way: descriptions, and types beside their values."""
    if isinstance(schema, list):
        return [without(item, *keys) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: without(item, *keys) for key, item in schema.items() if key not in keys or isinstance(item, dict)}


@pytest.mark.parametrize(
    ("subset", "expected"),
    [
        (
            "openai",
            [
                ("$.number", "minLength", 2),
                ("$.place", "prefixItems", [{"type": "integer"}, {"type": "string"}]),
            ],
        ),
        ("anthropic", [("$.number", "minLength", 2), ("$.items", "minItems", 2), ("Item.price", "minimum", 0)]),
        ("gemini", [("$.number", "minLength", 2), ("$.number", "pattern", "^[A-Z][0-9]+$")]),
    ],
)
def test_rules_that_the_vendor_does_not_hold_are_named(subset: str, expected: list[Any]) -> None:
    lowered = lower_schema(TypedOutputConverter(Order).json_schema, subset)

    for rule in expected:
        assert WeakenedRule(*rule) in lowered.weakened
        assert rule[1] in json.dumps(lowered.schema)


ITEMS = st.builds(Item, st.text(max_size=5), st.floats(0, 9), st.sampled_from(Size))
ORDERS = st.builds(
    Order,
    st.from_regex("[A-Z][0-9]{1,3}", fullmatch=True),
    st.lists(ITEMS, min_size=2, max_size=3),
    st.sampled_from(["gift", "own"]),
    st.none() | st.text(max_size=5),
    st.tuples(st.integers(-9, 9), st.text(max_size=5)),
    st.none() | ITEMS,
)
VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "record": ORDERS,
    "int": st.integers(1, 9),
    "list": st.lists(ITEMS, max_size=3),
    "enum": st.sampled_from(Size),
    "union": ORDERS | st.builds(Cat, st.booleans()),
    "scalars": st.none() | st.integers() | st.text(),
    "literal": st.just("yes"),
}


@pytest.mark.parametrize("subset", SUBSETS)
@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=25)
@given(data=st.data())
def test_every_value_can_be_answered_and_read(name: str, subset: str, data: st.DataObject) -> None:
    value = data.draw(VALUES[name])
    converter = TypedOutputConverter[Any](TYPES[name])
    lowered = thaw(lower_schema(converter.json_schema, subset).schema)
    answer = json.loads(to_json(value))
    if "value" in lowered.get("properties", {}) and lowered["required"] == ["value"]:
        answer = {"value": answer}

    jsonschema.validate(answer, thaw(lowered))
    assert converter.convert(json.dumps(answer)) == value


@pytest.mark.parametrize("name", ["record", "union"])
def test_null_stands_for_absent(name: str) -> None:
    items = [{"name": "a", "price": 1, "size": None}] * 2
    answer = {"number": "A1", "items": items, "kind": None, "note": None, "place": None, "main": None}

    output = TypedOutputConverter[Any](TYPES[name]).read(json.dumps(answer))

    assert output.value == Order("A1", [Item("a", 1.0)] * 2)
    assert output.repairs == ("took null for absent, or a value out of its wrapper",)


def test_what_the_vendor_lets_through_is_refused_here() -> None:
    with pytest.raises(OutputConversionError, match="length >= 2"):
        TypedOutputConverter(Order).convert('{"number": "A1", "items": [{"name": "a", "price": 1}]}')


@pytest.mark.parametrize(
    ("schema", "subset", "told"),
    [
        (TypedOutputConverter(dict[str, int]).json_schema, "openai", "free keys"),
        (TypedOutputConverter(dict[str, int]).json_schema, "anthropic", "free keys"),
        (TypedOutputConverter(Node).json_schema, "anthropic", "holds itself"),
        (TypedOutputConverter(Node).json_schema, "gemini", "holds itself"),
        (TypedOutputConverter(list[Any]).json_schema, "openai", "holds anything"),
        (
            {"type": "object", "properties": {"x": True}, "additionalProperties": False},
            "gemini",
            "anything, or nothing",
        ),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, "openai", "only itself"),
        ({"$ref": "#/$defs/B", "$defs": {}}, "openai", "no definition"),
        ({"type": "string"}, "other", "no subset 'other'"),
    ],
)
def test_what_a_vendor_cannot_be_told_is_an_error(schema: Mapping[str, Any], subset: str, told: str) -> None:
    with pytest.raises(NoSchemaError, match=told):
        lower_schema(schema, subset)


def test_a_type_may_hold_itself_where_the_vendor_knows_it() -> None:
    converter = TypedOutputConverter(Node)
    lowered = lower_schema(converter.json_schema, "openai").schema
    answer = {"name": "a", "children": [{"name": "b", "children": None}]}

    jsonschema.validate(answer, thaw(lowered))
    assert converter.convert(json.dumps(answer)) == Node("a", [Node("b")])


@pytest.mark.parametrize(
    ("keyword", "value", "subset", "kept"),
    [
        ("pattern", "(?=a)b", "openai", False),
        ("pattern", "^a+$", "openai", True),
        ("format", "uri", "openai", False),
        ("format", "uri", "anthropic", True),
        ("title", "T", "openai", True),
        ("minLength", 3, "gemini", False),
    ],
)
def test_single_rules(keyword: str, value: object, subset: str, kept: bool) -> None:
    lowered = lower_schema({"type": "string", "description": "A word", keyword: value}, subset)

    assert lowered.weakened == (() if kept else (WeakenedRule("$", keyword, value),))
    assert (f"A word ({keyword}: {value})" in json.dumps(lowered.schema)) is not kept


def test_one_of_is_any_of_and_deep_answers_stay() -> None:
    lowered = lower_schema({"oneOf": [{"type": "string"}, {"const": 1}]}, "gemini")
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]

    assert lowered.schema == {"anyOf": [{"type": "string"}, {"enum": [1]}]}
    assert raised(deep, {"type": "array"}) is deep


def test_properties_may_be_called_like_keywords() -> None:
    @frozen
    class Setting:
        default: Inner
        const: list[Inner]

    schema = TypedOutputConverter(Setting).json_schema

    assert schema["$defs"]["Inner"]["additionalProperties"] is False
    for subset in SUBSETS:
        assert list(lower_schema(schema, subset).schema["$defs"]) == ["Inner"]


@frozen
class Inner:
    text: str
