"""Read the settings of a generateContent request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptkit._frozen import freeze_mapping, shown
from promptkit.adapters._gemini_tables import CHOICES, FORMAT, JSON_TYPE, OPTION_KEYS
from promptkit.adapters._reading import leave, text_at
from promptkit.errors import AdapterError, PromptError
from promptkit.options import ChatOptions, ToolDefinition

__all__ = ["json_schema", "read_options"]


def read_options(body: Mapping[str, Any]) -> ChatOptions:
    """Read the settings of a request; what no option stands for goes into ``extra``, word for word.

    Raises:
        AdapterError: A setting has a value that it cannot have.
    """
    extra = {key: value for key, value in body.items() if value is not None}
    fields: dict[str, Any] = {"model": extra.pop("model")} if "model" in extra else {}
    try:
        _read_config(extra, fields)
        _read_tools(extra, fields)
        _read_tool_choice(extra, fields)
        return ChatOptions(**fields, extra=extra)
    except (AdapterError, PromptError) as error:
        raise AdapterError(str(error), format=FORMAT, path="options") from None


def _read_config(extra: dict[str, Any], fields: dict[str, Any]) -> None:
    config = extra.get("generationConfig")
    if not isinstance(config, Mapping) or not config:
        return
    rest = {key: value for key, value in config.items() if value is not None}
    for name, key in OPTION_KEYS.items():
        value = rest.get(key)
        if isinstance(value, float) and name in ("top_k", "max_tokens", "seed"):
            if not value.is_integer():
                continue
            value = int(value)
        if value is not None:
            fields[name] = value
            del rest[key]
    if rest.get("responseMimeType", JSON_TYPE) == JSON_TYPE:
        new, old = rest.get("responseJsonSchema"), rest.get("responseSchema")
        if isinstance(new, Mapping) and old is None:
            fields["output_schema"] = new
        elif isinstance(old, Mapping) and new is None:
            fields["output_schema"] = json_schema(freeze_mapping(old, "responseSchema"))
    if "output_schema" in fields:
        rest = {key: value for key, value in rest.items() if key not in _SCHEMA_KEYS}
    leave(extra, "generationConfig", rest)


_SCHEMA_KEYS = ("responseMimeType", "responseJsonSchema", "responseSchema")


def _read_tools(extra: dict[str, Any], fields: dict[str, Any]) -> None:
    """Take the functions out of ``tools``; the vendor's tools stay in ``extra``."""
    entries = extra.get("tools")
    if not isinstance(entries, list | tuple):
        return
    tools: list[ToolDefinition] = []
    others = []
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            raise AdapterError(f"must be a mapping, not {shown(entry)}", format=FORMAT, path=f"tools[{index}]")
        declared = entry.get("functionDeclarations")
        if declared is not None and not isinstance(declared, list | tuple):
            why = f"functionDeclarations must be a list, not {shown(declared)}"
            raise AdapterError(why, format=FORMAT, path=f"tools[{index}]")
        for place, function in enumerate(declared or ()):
            try:
                tools.append(_tool(function))
            except (AdapterError, PromptError) as error:
                path = f"tools[{index}].functionDeclarations[{place}]"
                raise AdapterError(str(error), format=FORMAT, path=path) from None
        rest = {key: value for key, value in entry.items() if key != "functionDeclarations"}
        if rest or declared is None:
            others.append(rest)
    del extra["tools"]
    if tools or not others:
        fields["tools"] = tools
    if others:
        extra["tools"] = others


def _tool(function: Any) -> ToolDefinition:
    if not isinstance(function, Mapping):
        raise AdapterError(f"must be a mapping, not {shown(function)}")
    name = text_at(function, "name")
    schema, old = function.get("parametersJsonSchema"), function.get("parameters")
    known = ["name", "description", "parametersJsonSchema"]
    if schema is None and old is not None:
        if not isinstance(old, Mapping):
            raise AdapterError(f"parameters must be a mapping, not {shown(old)}")
        schema = json_schema(freeze_mapping(old, "parameters"))
        known.append("parameters")
    own = {key: value for key, value in function.items() if key not in known and value is not None}
    given = {} if schema is None else {"input_schema": schema}
    return ToolDefinition(name, function.get("description") or "", metadata={FORMAT: own} if own else {}, **given)


def _read_tool_choice(extra: dict[str, Any], fields: dict[str, Any]) -> None:
    """Take the mode of calling out; what else is said with it stays in ``extra``."""
    settings = extra.get("toolConfig")
    config = settings.get("functionCallingConfig") if isinstance(settings, Mapping) else None
    if not isinstance(settings, Mapping) or not isinstance(config, Mapping):
        return
    rest = {key: value for key, value in config.items() if value is not None}
    mode = rest.get("mode")
    names: Any = rest.get("allowedFunctionNames")
    for ours, theirs in CHOICES.items():
        if mode == theirs:
            fields["tool_choice"] = ours
            del rest["mode"]
    one = isinstance(names, list | tuple) and len(names) == 1 and isinstance(names[0], str)
    if mode == CHOICES["required"] and one and names[0] not in CHOICES:
        fields["tool_choice"] = names[0]
        del rest["allowedFunctionNames"]
    if "tool_choice" in fields:
        others = {key: value for key, value in settings.items() if key != "functionCallingConfig" and value is not None}
        leave(extra, "toolConfig", others | ({"functionCallingConfig": rest} if rest else {}))


def json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Say a schema of the vendor's own kind, which is OpenAPI's, as JSON Schema.

    Args:
        schema: The schema, frozen, so that it is no deeper than can be walked.

    >>> json_schema({"type": "STRING", "nullable": True, "maxLength": "9"})
    {'type': ['string', 'null'], 'maxLength': 9}
    """
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if value is None or key == "nullable" or value == "TYPE_UNSPECIFIED":
            continue
        if key == "type" and isinstance(value, str):
            found[key] = value.lower()
        elif key in _COUNTS and isinstance(value, str) and value.isdecimal() and len(value) < 20:
            found[key] = int(value)
        elif key in ("properties", "defs") and isinstance(value, Mapping):
            found[_RENAMED.get(key, key)] = {name: _inner(item) for name, item in value.items()}
        elif key == "anyOf" and isinstance(value, list | tuple):
            found[key] = [_inner(item) for item in value]
        elif key == "example":
            found["examples"] = [value]
        else:
            found[_RENAMED.get(key, key)] = _inner(value) if key in ("items", "additionalProperties") else value
    if schema.get("nullable") is True:
        if "enum" in found and isinstance(found["enum"], list | tuple):
            found["enum"] = [*found["enum"], None]
        if isinstance(found.get("type"), str):
            found["type"] = [found["type"], "null"]
        elif isinstance(found.get("anyOf"), list):
            found["anyOf"].append({"type": "null"})
    return found


def _inner(value: Any) -> Any:
    return json_schema(value) if isinstance(value, Mapping) else value


_RENAMED = {"defs": "$defs", "ref": "$ref"}
_COUNTS = frozenset(("maxItems", "minItems", "maxLength", "minLength", "maxProperties", "minProperties"))
