"""Lower a JSON Schema to the subset that a vendor can hold a model to, and say which rules it does not hold.

The rules that are left out go into the descriptions, for the model to read, and are checked here when the answer is
read: a `TypedOutputConverter` reads answers to the lowered schema as it reads those to the whole one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from promptkit import _json
from promptkit._frozen import FrozenDict, freeze_mapping, shown, thaw
from promptkit._schema import NoSchemaError

__all__ = ["SUBSETS", "LoweredSchema", "SchemaSubset", "WeakenedRule", "lower_schema", "raised"]


class SchemaSubset(NamedTuple):
    """Say what of JSON Schema a vendor takes."""

    source: str
    """Where it is written, and when it was read."""
    keywords: frozenset[str]
    """The keywords besides the structural ones that every vendor takes."""
    formats: frozenset[str] | None = None
    """The formats of texts; ``None`` for any."""
    all_required: bool = False
    """Whether every property must be required: an optional one is then one that may be null."""
    closed: bool = False
    """Whether an object may have no properties but the named ones."""
    object_root: bool = False
    """Whether the whole must be an object, and no union of several."""
    most_min_items: int | None = None
    """The largest ``minItems``; ``None`` for any."""
    recursive: bool = True
    """Whether a definition may hold itself."""
    const: bool = True
    """Whether it knows ``const`` beside ``enum``."""


_FORMATS = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"))

SUBSETS: Mapping[str, SchemaSubset] = {
    "openai": SchemaSubset(
        "platform.openai.com/docs/guides/structured-outputs, read 2026-12-01",
        frozenset(
            "pattern multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems".split()  # noqa: SIM905
        ),
        _FORMATS,
        all_required=True,
        closed=True,
        object_root=True,
    ),
    "anthropic": SchemaSubset(
        "anthropic/lib/_parse/_transform.py of anthropic 2.14.0, read 2026-12-01",
        frozenset(("minItems",)),
        _FORMATS | {"uri"},
        closed=True,
        most_min_items=1,
        recursive=False,
    ),
    "gemini": SchemaSubset(
        "ai.google.dev/api/generate-content#GenerationConfig (responseJsonSchema), read 2026-12-01",
        frozenset(("minItems", "maxItems", "minimum", "maximum", "prefixItems")),
        recursive=False,
        const=False,
    ),
}
"""The subsets by name."""

_STRUCTURE = frozenset(("type", "properties", "required", "items", "anyOf", "enum", "const", "description", "$ref"))
_SILENT = frozenset(("title", "default", "examples", "$comment", "$schema", "deprecated", "readOnly", "writeOnly"))
"""Notes that forbid nothing."""
_HANDLED = frozenset(("$defs", "additionalProperties", "oneOf", "discriminator", "format", "prefixItems"))
_LOOKS_AROUND = re.compile(r"\(\?[=!<]|\\[1-9bB]")
"""What grammars of vendors do not know in a pattern."""


class WeakenedRule(NamedTuple):
    """Name a rule that the vendor does not hold the model to."""

    path: str
    """Where in the answer, for example ``$.items[].price``."""
    keyword: str
    value: Any


class LoweredSchema(NamedTuple):
    """Hold a schema that a vendor takes, and what it lets through that the whole one does not."""

    schema: FrozenDict
    weakened: tuple[WeakenedRule, ...] = ()


def lower_schema(schema: Mapping[str, Any], subset: str) -> LoweredSchema:
    """Lower a schema to a vendor's subset.

    Args:
        schema: The whole schema, its definitions in ``$defs``.
        subset: A name in `SUBSETS`.

    Raises:
        NoSchemaError: The vendor has no way to say it: free keys, or a type inside itself, where it knows none.

    >>> lowered = lower_schema({"type": "integer", "minimum": 1}, "anthropic")
    >>> lowered.schema
    {'type': 'integer', 'description': 'minimum: 1'}
    >>> lowered.weakened
    (WeakenedRule(path='$', keyword='minimum', value=1),)
    """
    if subset not in SUBSETS:
        raise NoSchemaError(f"there is no subset {shown(subset)}; there are {', '.join(SUBSETS)}")
    lowering = _Lowering(SUBSETS[subset], subset, freeze_mapping(schema, "schema"))
    return LoweredSchema(freeze_mapping(lowering.whole()), tuple(lowering.weakened))


class _Lowering:
    def __init__(self, subset: SchemaSubset, name: str, schema: FrozenDict) -> None:
        self.subset = subset
        self.name = name
        self.schema = schema
        self.definitions: Mapping[str, Any] = schema.get("$defs", {})
        self.weakened: list[WeakenedRule] = []

    def whole(self) -> dict[str, Any]:
        root = self.root()
        used = self._used(root, {})
        if not self.subset.recursive and (inside := _inside_itself(used)):
            raise NoSchemaError(f"{self.name} knows no type that holds itself, and {inside!r} does")
        lowered = self.lower(root, "$")
        if self.subset.object_root and lowered.get("type") != "object":
            lowered = _object({"value": lowered})
        if used:
            lowered["$defs"] = {name: self.lower(definition, name) for name, definition in used.items()}
        return lowered

    def root(self) -> Mapping[str, Any]:
        """Give the root, and what it refers to in its place: vendors want the type of the whole in sight."""
        root: Mapping[str, Any] = {key: value for key, value in self.schema.items() if key != "$defs"}
        seen: set[str] = set()
        while (reference := root.get("$ref")) is not None:
            if reference in seen:
                raise NoSchemaError(f"the schema is {reference!r}, which is only itself")
            seen.add(reference)
            root = {**self._defined(reference), **{key: value for key, value in root.items() if key != "$ref"}}
        return root

    def _defined(self, reference: str) -> Mapping[str, Any]:
        definition = self.definitions.get(reference.removeprefix("#/$defs/"))
        if not isinstance(definition, Mapping):
            raise NoSchemaError(f"the schema has no definition for {reference!r}")
        return definition

    def _used(self, node: Any, found: dict[str, Any]) -> dict[str, Any]:
        """Find the definitions that are still referred to."""
        for reference in _references(node):
            name = reference.removeprefix("#/$defs/")
            if name not in found:
                found[name] = self._defined(reference)
                self._used(found[name], found)
        return found

    def lower(self, schema: Any, path: str) -> dict[str, Any]:
        """Lower a schema at a place of the answer."""
        if not isinstance(schema, Mapping):
            raise NoSchemaError(f"{self.name} cannot be told {path} is {_json.dumps(schema)}: anything, or nothing")
        if "$ref" in schema:
            return {"$ref": schema["$ref"]}
        lowered: dict[str, Any] = {key: thaw(schema[key]) for key in ("type", "description", "enum") if key in schema}
        left_out = [(key, schema[key]) for key in schema if not self._writes(key, schema[key], lowered)]
        options = schema.get("anyOf", schema.get("oneOf"))
        if options is not None:
            lowered["anyOf"] = [self.lower(option, path) for option in options]
        if schema.get("type") == "object" or "properties" in schema:
            self._lower_object(schema, path, lowered)
        if schema.get("type") == "array":
            self._lower_array(schema, path, lowered, left_out)
        if left_out:
            self.weakened += [WeakenedRule(path, key, value) for key, value in left_out]
            told = ", ".join(
                f"{key}: {value if isinstance(value, str) else _json.dumps(value)}" for key, value in left_out
            )
            lowered["description"] = f"{lowered['description']} ({told})" if "description" in lowered else told
        return lowered

    def _writes(self, key: str, value: Any, lowered: dict[str, Any]) -> bool:
        """Write one rule where the vendor knows it; tell whether nothing of it is lost."""
        subset = self.subset
        if key == "format":
            known = subset.formats is None or value in subset.formats
        elif key == "const":
            lowered.update({"const": thaw(value)} if subset.const else {"enum": [thaw(value)]})
            return True
        elif key in _STRUCTURE or key in _SILENT or key in _HANDLED:
            return True
        elif key == "pattern":
            known = key in subset.keywords and not _LOOKS_AROUND.search(str(value))
        elif key == "minItems" and subset.most_min_items is not None and value > subset.most_min_items:
            lowered[key] = subset.most_min_items
            return False
        else:
            known = key in subset.keywords
        if known:
            lowered[key] = thaw(value)
        return known

    def _lower_object(self, schema: Mapping[str, Any], path: str, lowered: dict[str, Any]) -> None:
        free = schema.get("additionalProperties", True)
        properties: Mapping[str, Any] = schema.get("properties", {})
        if free is not False and self.subset.closed:
            if "properties" not in schema or free is not True:
                raise NoSchemaError(f"{self.name} knows no object with free keys, and {path} is one")
            free = False
        required = list(schema.get("required", ()))
        lowered["type"] = "object"
        lowered["properties"] = {name: self.lower(part, f"{path}.{name}") for name, part in properties.items()}
        if self.subset.all_required:
            for name, part in lowered["properties"].items():
                if name not in required:
                    lowered["properties"][name] = _or_null(part)
            required = list(properties)
        lowered["required"] = required
        if free is False or isinstance(free, Mapping):
            lowered["additionalProperties"] = self.lower(free, f"{path}.*") if free else False

    def _lower_array(self, schema: Mapping[str, Any], path: str, lowered: dict[str, Any], left_out: list[Any]) -> None:
        places = schema.get("prefixItems")
        if places is not None:
            parts = [self.lower(part, f"{path}[{at}]") for at, part in enumerate(places)]
            if "prefixItems" in self.subset.keywords:
                lowered["prefixItems"] = parts
                return
            left_out.append(("prefixItems", places))
            lowered["items"] = {"anyOf": [part for at, part in enumerate(parts) if part not in parts[:at]]}
        elif isinstance(items := schema.get("items"), Mapping) and items:
            lowered["items"] = self.lower(items, f"{path}[]")
        elif self.subset.closed:
            raise NoSchemaError(f"{self.name} must know what a list holds, and {path} holds anything")


def raised(value: Any, schema: Mapping[str, Any]) -> Any:
    """Undo what lowering did to an answer: leave out nulls of optional properties, unwrap what is no object.

    Args:
        value: JSON data that follows the lowered schema, or nearly.
        schema: The whole schema.
    """
    definitions = schema.get("$defs", {})
    if isinstance(value, dict) and value.keys() == {"value"} and "value" not in _properties(schema, definitions):
        value = value["value"]
    try:
        return _without_nulls(value, schema, definitions)
    except RecursionError:
        return value


def _branches(schema: Any, definitions: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Give the schemas without references that a value may follow."""
    found: list[Mapping[str, Any]] = []
    open_: list[Any] = [schema]
    seen: set[str] = set()
    while open_:
        part = open_.pop()
        if not isinstance(part, Mapping):
            continue
        if (reference := part.get("$ref")) is not None:
            if reference not in seen:
                seen.add(reference)
                open_.append(definitions.get(reference.removeprefix("#/$defs/")))
        elif "anyOf" in part or "oneOf" in part:
            open_ += reversed(part.get("anyOf", part.get("oneOf")))
        else:
            found.append(part)
    return found


def _properties(schema: Any, definitions: Mapping[str, Any]) -> set[str]:
    return {name for branch in _branches(schema, definitions) for name in branch.get("properties", ())}


def _without_nulls(value: Any, schema: Any, definitions: Mapping[str, Any]) -> Any:
    branches = _branches(schema, definitions)
    if isinstance(value, list):
        items = {"anyOf": [branch["items"] for branch in branches if "items" in branch]}
        return [_without_nulls(item, items, definitions) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for name, item in value.items():
        parts = [branch["properties"][name] for branch in branches if name in branch.get("properties", ())]
        optional = any(
            name in branch.get("properties", ()) and name not in branch.get("required", ()) for branch in branches
        )
        if item is not None or not optional:
            kept[name] = _without_nulls(item, {"anyOf": parts}, definitions)
    return kept


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    null = {"type": "null"}
    options = schema.get("anyOf", [schema])
    if null in options:
        return schema
    return {**schema, "anyOf": [*options, null]} if "anyOf" in schema else {"anyOf": [schema, null]}


def _references(node: Any) -> list[str]:
    if isinstance(node, list | tuple):
        return [found for item in node for found in _references(item)]
    if not isinstance(node, Mapping):
        return []
    found = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
    for key, item in node.items():
        if key == "properties" and isinstance(item, Mapping):
            found += _references(list(item.values()))
        elif key not in ("enum", "const", "default", "examples"):
            found += _references(item)
    return found


def _inside_itself(definitions: Mapping[str, Any]) -> str | None:
    from graphlib import CycleError, TopologicalSorter

    names = {
        name: {reference.removeprefix("#/$defs/") for reference in _references(definition)}
        for name, definition in definitions.items()
    }
    try:
        TopologicalSorter(names).prepare()
    except CycleError as error:
        return str(error.args[1][0])
    return None
