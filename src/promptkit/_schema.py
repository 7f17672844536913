"""Read types: their JSON Schema, and their values out of JSON; built once a type, on msgspec, or pydantic for its models."""

from __future__ import annotations

import dataclasses
import itertools
import sys
import types
import typing
from collections import abc
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import attrs

from promptkit import _json
from promptkit._frozen import FrozenDict
from promptkit.errors import PromptkitError

__all__ = ["NoSchemaError", "TypeReader", "ValueMismatchError", "object_schema", "to_json", "type_name", "type_reader"]

MEMO_SIZE = 512
"""Types whose readers are kept, least recently used ones dropped first."""


class NoSchemaError(PromptkitError, TypeError):
    """Report a type that has no JSON Schema."""


class ValueMismatchError(PromptkitError, ValueError):
    """Report a value that is not of a type; ``path`` says where, for example ``$.items[0].price``."""

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path


class TypeReader(Protocol):
    """Know one type."""

    @property
    def schema(self) -> FrozenDict:
        """Its JSON Schema; objects with named properties allow no others."""

    def read(self, value: Any) -> Any:
        """Give the value of the type that JSON data stands for.

        Raises:
            ValueMismatchError: It stands for none.
        """


def type_reader(target: Any) -> TypeReader:
    """Give the reader of a type.

    Raises:
        NoSchemaError: The type, or one inside it, has no JSON Schema.
    """
    try:
        return _memo(target)
    except TypeError as error:
        if isinstance(error, NoSchemaError):
            raise
        return _built(target)  # a type that cannot be hashed


@lru_cache(maxsize=MEMO_SIZE)
def _memo(target: Any) -> TypeReader:
    return _built(target)


def type_name(target: Any) -> str:
    """Name a type for people."""
    return target.__qualname__ if isinstance(target, type) and not typing.get_args(target) else str(target)


def _built(target: Any) -> TypeReader:
    try:
        if any(_is_pydantic(part) for part in _parts(target)):
            return _PydanticReader(target)
        import msgspec

        schemas, components = msgspec.json.schema_components([target])
        return _MsgspecReader(target, _closed(schemas[0], components), msgspec)
    except TypeError as error:
        reader = _composed(target)
        if reader is None and isinstance(error, NoSchemaError):
            raise
        if reader is None:
            raise NoSchemaError(f"{type_name(target)} has no JSON Schema: {_reason(error)}") from error
        return reader
    except (NameError, RecursionError, UnicodeError) as error:
        raise NoSchemaError(f"{type_name(target)} has no JSON Schema: {error}") from error


def _reason(error: TypeError) -> str:
    """Give the line of msgspec's advice that says what is wrong, or what another refusal says."""
    text = str(error)
    return text.rpartition("\n")[2] if text.startswith("Generating JSON schema") else text


def _parts(target: Any) -> Iterator[Any]:
    yield target
    for part in typing.get_args(target):
        yield from _parts(part)


def _is_pydantic(target: Any) -> bool:
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(target, type) and issubclass(target, pydantic.BaseModel)


def _closed(schema: Any, components: Mapping[str, Any]) -> FrozenDict:
    """Put definitions beside a schema, and allow no properties but the named ones."""
    whole = {**schema, "$defs": components} if components else schema
    return FrozenDict(_without_more(whole))


_LITERAL = frozenset(("default", "enum", "const", "examples"))
"""Keywords that hold values, not schemas."""


def _without_more(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_more(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed: dict[str, Any] = {}
    for key, item in schema.items():
        if key in ("properties", "$defs"):
            closed[key] = {name: _without_more(part) for name, part in item.items()}
        else:
            closed[key] = item if key in _LITERAL else _without_more(item)
    if closed.get("type") == "object" and isinstance(closed.get("properties"), dict):
        closed.setdefault("additionalProperties", False)
    return closed


def to_json(value: Any) -> str:
    """Write any value of a type that has a schema as compact JSON.

    Raises:
        TypeError: Something in it has no JSON form.
        ValueError: It nests too deep.
    """
    import msgspec

    try:
        return msgspec.json.encode(value, enc_hook=_plain_model).decode()
    except RecursionError:
        raise ValueError("the value nests too deep for JSON, or contains itself") from None


def _plain_model(value: Any) -> Any:
    if _is_pydantic(type(value)):
        return value.model_dump(mode="json")
    raise TypeError(f"a value of type {type(value).__qualname__} has no JSON form")


class _MsgspecReader(NamedTuple):
    target: Any
    schema: FrozenDict
    msgspec: Any

    def read(self, value: Any) -> Any:
        try:
            return self.msgspec.convert(value, self.target, str_keys=True)
        except self.msgspec.ValidationError as error:
            message, _, place = str(error).partition(" - at ")
            path = place.removeprefix("`key` in ").strip("`")  # of a key it gives the object
            raise ValueMismatchError(message.replace("`", "'"), path=path or "$") from None
        except RecursionError:
            raise ValueMismatchError("the value nests too deep", path="$") from None
        except UnicodeEncodeError:
            raise ValueMismatchError("the value holds half a surrogate pair", path="$") from None


class _PydanticReader:
    """Read with pydantic's own adapter."""

    __slots__ = ("_adapter", "schema")

    def __init__(self, target: Any) -> None:
        from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter
        from pydantic.errors import PydanticInvalidForJsonSchema

        try:
            self._adapter: Any = TypeAdapter(target)
            self.schema = FrozenDict(_without_more(self._adapter.json_schema()))
        except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, PydanticUserError) as error:
            raise NoSchemaError(f"{type_name(target)} has no JSON Schema: {error.message}") from error

    def read(self, value: Any) -> Any:
        from pydantic import ValidationError

        try:
            return self._adapter.validate_json(_json.dumps(value))  # as JSON: a strict model takes dates as text
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in first["loc"])
            raise ValueMismatchError(str(first["msg"]), path=f"${path}") from None
        except ValueError as error:
            raise ValueMismatchError(str(error), path="$") from None


class _ComposedReader(NamedTuple):
    """Read what msgspec alone cannot: unions of several classes, and what holds them."""

    schema: FrozenDict
    convert: Callable[[Any], Any]

    def read(self, value: Any) -> Any:
        return self.convert(value)


_SEQUENCES = (list, tuple, set, frozenset, abc.Sequence, abc.MutableSequence, abc.Collection)
_MAPPINGS = (dict, abc.Mapping, abc.MutableMapping)


def _composed(target: Any) -> TypeReader | None:
    origin, args = typing.get_origin(target), typing.get_args(target)
    if origin is typing.Annotated:
        plain = all(isinstance(note, str) for note in args[1:])
        return type_reader(args[0]) if plain else None
    if origin in (typing.Union, types.UnionType):
        return _union([type_reader(arg) for arg in args], args)
    if origin in _SEQUENCES and args and (origin is not tuple or args[1:] == (...,)):
        return _sequence(origin if isinstance(origin, type) and origin.__module__ == "builtins" else list, args[0])
    if origin in _MAPPINGS and args[0] is str:
        item = type_reader(args[1])
        schema = _lifted({"type": "object"}, additionalProperties=item)
        return _ComposedReader(schema, lambda value: {k: _inside(item, v, f".{k}") for k, v in _object(value).items()})
    if _is_record(target):
        return _record(target)
    return None


def _union(readers: list[TypeReader], args: tuple[Any, ...]) -> TypeReader:
    """Take the first member that reads the value and knows all its keys, else the first that reads it."""
    keys = [_property_names(reader.schema) for reader in readers]

    def convert(value: Any) -> Any:
        failures: list[ValueMismatchError] = []
        order = sorted(range(len(readers)), key=lambda at: isinstance(value, dict) and not keys[at] >= value.keys())
        for at in order:
            try:
                return readers[at].read(value)
            except ValueMismatchError as error:
                failures.append(error)
        names = " or ".join(map(type_name, args))
        raise ValueMismatchError(f"Expected {names}: {failures[0]}", path=failures[0].path)

    merged: dict[str, Any] = {}
    options = [_without_definitions(reader.schema, merged) for reader in readers]
    return _ComposedReader(FrozenDict({"anyOf": options, **({"$defs": merged} if merged else {})}), convert)


def object_schema(
    parts: Mapping[str, TypeReader], notes: Mapping[str, Mapping[str, Any]], required: list[str]
) -> FrozenDict:
    """Give the schema of an object with one property a reader.

    Args:
        parts: The readers by name.
        notes: What is added to a property's schema, by its name: a description, a default.
        required: The names that must be given.
    """
    merged: dict[str, Any] = {}
    properties = {
        name: {**_without_definitions(part.schema, merged), **notes.get(name, {})} for name, part in parts.items()
    }
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    schema["additionalProperties"] = False
    return FrozenDict({**schema, "$defs": merged} if merged else schema)


def _property_names(schema: Mapping[str, Any]) -> set[str]:
    reference = schema.get("$ref", "")
    named = schema.get("$defs", {}).get(reference.rpartition("/")[2], schema) if reference else schema
    return set(named.get("properties", ()))


def _without_definitions(schema: Mapping[str, Any], merged: dict[str, Any]) -> dict[str, Any]:
    """Move the definitions of a schema to others; where a name there stands for another class, theirs get an ending."""
    definitions = schema.get("$defs", {})
    for count in itertools.count(1):
        names = {name: name if count == 1 else f"{name}_{count}" for name in definitions}
        moved = {names[name]: _renamed(part, names) for name, part in definitions.items()}
        if all(merged.get(name, part) == part for name, part in moved.items()):
            break
    merged.update(moved)
    return {key: _renamed(value, names) for key, value in schema.items() if key != "$defs"}


def _renamed(schema: Any, names: Mapping[str, str]) -> Any:
    """Let references, also those of a discriminator, speak of definitions by their new names."""
    if isinstance(schema, Mapping):
        return {key: value if key in _LITERAL else _renamed(value, names) for key, value in schema.items()}
    if isinstance(schema, list | tuple):
        return [_renamed(item, names) for item in schema]
    if isinstance(schema, str) and schema.startswith("#/$defs/"):
        name = schema.removeprefix("#/$defs/")
        return f"#/$defs/{names.get(name, name)}"
    return schema


def _lifted(schema: dict[str, Any], **parts: TypeReader) -> FrozenDict:
    """Put schemas into a schema, their definitions beside it."""
    merged: dict[str, Any] = {}
    whole = {**schema, **{key: _without_definitions(part.schema, merged) for key, part in parts.items()}}
    return FrozenDict({**whole, "$defs": merged} if merged else whole)


def _sequence(kind: Any, target: Any) -> TypeReader:
    item = type_reader(target)

    def convert(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise ValueMismatchError(f"Expected an array, got {type(value).__name__}", path="$")
        return kind([_inside(item, entry, f"[{at}]") for at, entry in enumerate(value)])

    return _ComposedReader(_lifted({"type": "array"}, items=item), convert)


class _Field(NamedTuple):
    """Hold what a record's field is called in JSON, what its class calls it, its type, and whether it must be given."""

    name: str
    parameter: str
    hint: Any
    required: bool


def _is_record(target: Any) -> bool:
    if not isinstance(target, type):
        return False
    return attrs.has(target) or dataclasses.is_dataclass(target) or typing.is_typeddict(target)


def _fields(target: Any) -> list[_Field]:
    hints = typing.get_type_hints(target, include_extras=True)
    if typing.is_typeddict(target):
        return [_entry(name, hint, required=name in target.__required_keys__) for name, hint in hints.items()]
    if attrs.has(target):
        return [
            _Field(field.name, field.alias or field.name, hints[field.name], field.default is attrs.NOTHING)
            for field in attrs.fields(target)
            if field.init
        ]
    none = dataclasses.MISSING
    return [
        _Field(field.name, field.name, hints[field.name], field.default is none and field.default_factory is none)
        for field in dataclasses.fields(target)
        if field.init
    ]


def _entry(name: str, hint: Any, *, required: bool) -> _Field:
    """Read an entry of a TypedDict; where annotations are texts, only the hint tells what ``NotRequired`` says."""
    origin = typing.get_origin(hint)
    if origin in (typing.Required, typing.NotRequired):
        return _Field(name, name, typing.get_args(hint)[0], origin is typing.Required)
    return _Field(name, name, hint, required)


def _holds(hint: Any, target: type, seen: set[Any]) -> bool:
    """Tell whether values of a type may hold values of a class."""
    for part in _parts(hint):
        if part is target:
            return True
        if _is_record(part) and part not in seen:
            seen.add(part)
            if any(_holds(field.hint, target, seen) for field in _fields(part)):
                return True
    return False


def _record(target: type) -> TypeReader:
    """Read a class field by field."""
    fields = _fields(target)
    for field in fields:
        if _holds(field.hint, target, set()):
            name = f"{type_name(target)}.{field.name}"
            raise NoSchemaError(f"{name} has no JSON Schema: it holds its own class beside a union of several classes")
    readers = {field.name: type_reader(field.hint) for field in fields}
    required = [field.name for field in fields if field.required]
    schema = FrozenDict({"title": target.__name__, **object_schema(readers, {}, required)})

    def convert(value: Any) -> Any:
        given = _object(value)
        for name in required:
            if name not in given:
                raise ValueMismatchError(f"Object missing required field '{name}'", path="$")
        known = {
            field.parameter: _inside(readers[field.name], given[field.name], f".{field.name}")
            for field in fields
            if field.name in given
        }
        try:
            return target(**known)
        except (ValueError, TypeError) as error:
            raise ValueMismatchError(str(error), path="$") from error

    return _ComposedReader(schema, convert)


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueMismatchError(f"Expected an object, got {type(value).__name__}", path="$")
    return value


def _inside(reader: TypeReader, value: Any, step: str) -> Any:
    try:
        return reader.read(value)
    except ValueMismatchError as error:
        raise ValueMismatchError(str(error), path=f"${step}{error.path[1:]}") from None
