"""Read types: their JSON Schema, and their values out of JSON; built once a type, on msgspec, or pydantic for its models."""

from __future__ import annotations

import dataclasses
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import attrs

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
    if any(_is_pydantic(part) for part in _parts(target)):
        return _PydanticReader(target)
    try:
        import msgspec

        schemas, components = msgspec.json.schema_components([target])
        return _MsgspecReader(target, _closed(schemas[0], components), msgspec)
    except TypeError as error:
        reader = _composed(target)
        if reader is None:
            raise NoSchemaError(f"{type_name(target)} has no JSON Schema: {str(error).splitlines()[0]}") from error
        return reader
    except (NameError, RecursionError, UnicodeError) as error:
        raise NoSchemaError(f"{type_name(target)} has no JSON Schema: {error}") from error


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


def _without_more(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_more(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {
        key: item if key in ("default", "enum", "const", "examples") else _without_more(item)
        for key, item in schema.items()
    }
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
            return self.msgspec.convert(value, self.target)
        except self.msgspec.ValidationError as error:
            message, _, path = str(error).partition(" - at ")
            raise ValueMismatchError(message.replace("`", "'"), path=path.strip("`") or "$") from None
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
            return self._adapter.validate_python(value, strict=None)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in first["loc"])
            raise ValueMismatchError(str(first["msg"]), path=f"${path}") from None


class _ComposedReader(NamedTuple):
    """Read what msgspec alone cannot: unions of several classes, and what holds them."""

    schema: FrozenDict
    convert: Callable[[Any], Any]

    def read(self, value: Any) -> Any:
        return self.convert(value)


def _composed(target: Any) -> TypeReader | None:
    origin, args = typing.get_origin(target), typing.get_args(target)
    if origin in (typing.Union, types.UnionType):
        return _union([type_reader(arg) for arg in args], args)
    if origin in (list, tuple, set, frozenset) and args and (origin is not tuple or args[1:] == (...,)):
        return _sequence(origin, type_reader(args[0]))
    if origin is dict and args[0] is str:
        item = type_reader(args[1])
        schema = _lifted({"type": "object"}, additionalProperties=item)
        return _ComposedReader(schema, lambda value: {k: _inside(item, v, f".{k}") for k, v in _object(value).items()})
    if isinstance(target, type) and (attrs.has(target) or dataclasses.is_dataclass(target)):
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
    merged.update(schema.get("$defs", {}))
    return {key: value for key, value in schema.items() if key != "$defs"}


def _lifted(schema: dict[str, Any], **parts: TypeReader) -> FrozenDict:
    """Put schemas into a schema, their definitions beside it."""
    merged: dict[str, Any] = {}
    whole = {**schema, **{key: _without_definitions(part.schema, merged) for key, part in parts.items()}}
    return FrozenDict({**whole, "$defs": merged} if merged else whole)


def _sequence(origin: Any, item: TypeReader) -> TypeReader:
    def convert(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise ValueMismatchError(f"Expected an array, got {type(value).__name__}", path="$")
        return origin([_inside(item, entry, f"[{at}]") for at, entry in enumerate(value)])

    return _ComposedReader(_lifted({"type": "array"}, items=item), convert)


def _record(target: type) -> TypeReader:
    """Read a class field by field."""
    hints = typing.get_type_hints(target, include_extras=True)
    fields = attrs.fields(target) if attrs.has(target) else dataclasses.fields(target)
    readers = {field.name: type_reader(hints[field.name]) for field in fields if field.init}
    required = [field.name for field in fields if field.init and _has_no_default(field)]
    schema = FrozenDict({"title": target.__name__, **object_schema(readers, {}, required)})

    def convert(value: Any) -> Any:
        given = _object(value)
        for name in required:
            if name not in given:
                raise ValueMismatchError(f"Object missing required field '{name}'", path="$")
        known = {name: _inside(reader, given[name], f".{name}") for name, reader in readers.items() if name in given}
        try:
            return target(**known)
        except (ValueError, TypeError) as error:
            raise ValueMismatchError(str(error), path="$") from error

    return _ComposedReader(schema, convert)


def _has_no_default(field: Any) -> bool:
    if isinstance(field, dataclasses.Field):
        return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    return field.default is attrs.NOTHING


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueMismatchError(f"Expected an object, got {type(value).__name__}", path="$")
    return value


def _inside(reader: TypeReader, value: Any, step: str) -> Any:
    try:
        return reader.read(value)
    except ValueMismatchError as error:
        raise ValueMismatchError(str(error), path=f"${step}{error.path[1:]}") from None
