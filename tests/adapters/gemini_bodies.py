"""Make bodies of generateContent requests, and state the one form that they come back in.

`bodies` follows the docstrings of the request types of the SDK `google-genai` 3.6.1 by hand; `sdk_bodies` is derived from
the fields of these types. `test_gemini` holds both against the types.
"""

from __future__ import annotations

import base64
import json
import types as python_types
from enum import Enum
from typing import Any, Union, get_args, get_origin

from google.genai import types
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import BaseModel

from promptkit.adapters._gemini_options import json_schema
from tests.strategies import names, schemas

PNG = {"mimeType": "image/png", "data": "iVBORw0KGgo="}
FILE = "https://generativelanguage.googleapis.com/v1beta/files/abc"
CODE = {"executableCode": {"language": "PYTHON", "code": "print(1)"}}
RAN = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}
DATA = ("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
        "toolCall", "toolResponse")  # fmt: skip


def _optional(required: dict[str, Any], **optional: Any) -> SearchStrategy[dict[str, Any]]:
    """A mapping with fixed and drawn keys; an optional one is there, ``null`` or absent."""
    fixed = {key: value if isinstance(value, SearchStrategy) else st.just(value) for key, value in required.items()}
    return st.fixed_dictionaries(fixed, optional={key: st.none() | value for key, value in optional.items()})


def _words() -> SearchStrategy[str]:
    return st.sampled_from(("Hi", "你好", "a\nb", "{x}", "", '{"a":1}', "{}", '{"output":"x"}')) | names()


def _signed() -> dict[str, Any]:
    return {"thoughtSignature": st.just("c2ln"), "partMetadata": st.just({"k": [1, None]})}


def _texts() -> SearchStrategy[Any]:
    return _optional({"text": _words()}, thought=st.booleans(), **_signed())


def _media() -> SearchStrategy[Any]:
    blob = st.sampled_from(
        (
            PNG,
            PNG | {"displayName": "a.png"},
            {"mimeType": "audio/L16;rate=24000", "data": "eHh4"},
            {"mimeType": "application/pdf", "data": "JVBERi0="},
            {"mimeType": "image/bmp", "data": "Qk0="},
            {"mimeType": "text/plain", "data": ""},
            {"data": "eHh4"},
        )
    )
    file = st.sampled_from(
        (
            {"fileUri": FILE, "mimeType": "video/mp4", "displayName": "film"},
            {"fileUri": FILE, "mimeType": None},
            {"fileUri": "files/abc"},
            {"fileUri": "gs://bucket/cat.png"},
            {"fileUri": "https://www.youtube.com/watch?v=x"},
            {"fileUri": "https://example.org/a", "mimeType": "image/jpeg"},
            {"fileUri": "https://example.org/a", "mimeType": "image/*"},
            {"fileUri": "data:text/plain,x://y"},
            {"mimeType": "image/png"},
            {"fileUri": "https://example.org/a", "mimeType": 5},
        )
    )
    own = {"videoMetadata": st.just({"fps": 2, "startOffset": None}), "mediaResolution": st.just({"level": "L"})}
    return _optional({"inlineData": blob}, **own, **_signed()) | _optional({"fileData": file}, **own)


def _calls() -> SearchStrategy[Any]:
    given = st.sampled_from(({}, {"city": "Oslo"}, {"a": [1, None, {"b": 2.5}]}))
    ids = st.sampled_from(("c1", "c2", ""))
    call = _optional({"name": names()}, id=ids, args=given, willContinue=st.just(False))
    return _optional({"functionCall": call}, thought=st.booleans(), **_signed())


def _results() -> SearchStrategy[Any]:
    said = _optional({}, output=_words()) | _optional({}, error=_words(), code=st.just(3))
    response = said | st.sampled_from(({"output": {"a": 1}}, {"t": 3.0}, {"output": "x", "error": None}))
    media = st.sampled_from(
        (
            {"inlineData": PNG | {"displayName": "a.png"}},
            {"fileData": {"fileUri": FILE}},
            {"inlineData": {"mimeType": "image/bmp", "data": "Qk0="}},
        )
    )
    inner = _optional(
        {"name": names()},
        id=st.sampled_from(("c1", "c2")),
        response=response,
        parts=st.lists(media, max_size=2),
        scheduling=st.just("SILENT"),
    )
    return _optional({"functionResponse": inner}, **_signed())


def _contents() -> SearchStrategy[Any]:
    odd = st.sampled_from((CODE, RAN, {"thoughtSignature": "c2ln"}, {"text": "x", **CODE}, {"new": {"x": None}}))
    said = _texts() | _media() | odd
    user = st.lists(said | _results(), max_size=3)
    model = st.lists(said | _calls(), max_size=3)
    own = {"futureField": st.just(1)}
    return st.one_of(
        st.builds(lambda parts: {"parts": parts}, user),
        _optional({"role": st.sampled_from(("user", "function"))}, parts=user, **own),
        _optional({"role": "model"}, parts=model, **own),
    )


def _functions() -> SearchStrategy[Any]:
    old = st.sampled_from(
        (
            {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True, "maxLength": "9"}}},
            {"type": "OBJECT", "properties": {"b": {"type": "ARRAY", "items": {"type": "INTEGER"}}}, "required": ["b"]},
        )
    )
    return _optional(
        {"name": "f"},
        description=_words(),
        parametersJsonSchema=schemas(),
        parameters=old,
        responseJsonSchema=st.just({"type": "string"}),
    )


def _tools() -> SearchStrategy[Any]:
    functions = _optional({}, functionDeclarations=st.lists(_functions(), max_size=2), codeExecution=st.just({}))
    return st.lists(functions | st.just({"googleSearch": {}}), max_size=2)


def bodies() -> SearchStrategy[dict[str, Any]]:
    """A body: any contents, any settings."""
    config = _optional(
        {},
        temperature=st.floats(0, 2),
        topP=st.floats(0, 1),
        topK=st.sampled_from((1, 40.0, 2.5)),
        maxOutputTokens=st.integers(1, 9),
        stopSequences=st.lists(_words(), max_size=7),
        seed=st.integers(0, 9),
        presencePenalty=st.floats(-2, 2),
        frequencyPenalty=st.floats(-2, 2),
        candidateCount=st.just(2),
        thinkingConfig=st.just({"includeThoughts": True}),
        responseMimeType=st.sampled_from(("application/json", "text/x.enum", "text/plain")),
        responseJsonSchema=schemas(),
        responseSchema=st.just({"type": "STRING", "enum": ["a", "b"], "example": "a"}),
    )
    calling = _optional(
        {},
        mode=st.sampled_from(("AUTO", "ANY", "NONE", "VALIDATED")),
        allowedFunctionNames=st.lists(st.sampled_from(("f", "auto")), max_size=2),
    )
    tool_config = _optional({}, functionCallingConfig=calling, retrievalConfig=st.just({"languageCode": "nb"}))
    return st.fixed_dictionaries(
        {"model": names(), "contents": st.lists(_contents(), min_size=1, max_size=4)},
        optional={
            "systemInstruction": _optional({}, parts=st.lists(_texts(), max_size=2), role=st.just("user")),
            "generationConfig": config,
            "tools": _tools(),
            "toolConfig": tool_config,
            "safetySettings": st.just([{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]),
            "cachedContent": st.just("cachedContents/1"),
        },
    ).map(numbered)


def numbered(body: dict[str, Any]) -> dict[str, Any]:
    """Give each function its own name."""
    copy: dict[str, Any] = json.loads(json.dumps(body))
    declared = [item for tool in copy.get("tools") or () for item in tool.get("functionDeclarations") or ()]
    for number, function in enumerate(declared):
        function["name"] = f"f{number}"
    return copy


_FIXED: dict[str, SearchStrategy[Any]] = {
    "mimeType": st.sampled_from(("image/png", "audio/wav", "application/pdf", "application/zip")),
    "fileUri": st.sampled_from((FILE, "gs://bucket/cat.png", "https://example.org/a")),
    "responseMimeType": st.sampled_from(("application/json", "text/plain")),
    "topK": st.sampled_from((1.0, 40.0)),
    "parametersJsonSchema": schemas(),
    "responseJsonSchema": schemas(),
}
_NEEDED = {"functionCall": {"name"}, "functionResponse": {"name", "response"}}


def _field(key: str, annotation: Any, depth: int) -> SearchStrategy[Any] | None:
    """A value of a field of the SDK's types, as its JSON; ``None`` for one of a class that has none."""
    if key in _FIXED:
        return _FIXED[key]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, python_types.UnionType):
        return _field(key, next(kind for kind in arguments if kind is not type(None)), depth)
    if origin is list:
        item = _field(key, arguments[0], depth)
        return None if item is None else st.lists(item, max_size=2)
    if origin is dict:
        item = _field(key, arguments[1], depth)
        return None if item is None else st.dictionaries(st.sampled_from(("a", "b")), item, max_size=1)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _model(annotation, depth - 1, _NEEDED.get(key, set())) if depth else None
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return st.sampled_from([member.value for member in annotation][:3])
    return _SCALARS.get(annotation)


_SCALARS: dict[Any, SearchStrategy[Any]] = {
    str: st.sampled_from(("a", "b c", "{}")),
    int: st.integers(0, 9),
    float: st.sampled_from((0.0, 0.5, 2.0)),
    bool: st.booleans(),
    bytes: st.sampled_from(("aGk=", "c2ln")),
    Any: st.sampled_from(("a", 1)),
}


def _model(model: type[BaseModel], depth: int, needed: set[str]) -> SearchStrategy[dict[str, Any]]:
    """The JSON of one of the SDK's types: what its docstring says is required, and few of its other fields."""
    fields: dict[str, SearchStrategy[Any]] = {}
    required: dict[str, SearchStrategy[Any]] = {}
    for name, info in model.model_fields.items():
        key = info.alias or name
        value = _field(key, info.annotation, depth)
        if value is None:
            continue
        always = key in needed or (info.description or "").startswith("Required.")
        (required if always else fields)[key] = value
    some = st.lists(st.sampled_from(sorted(fields)), max_size=3, unique=True) if fields else st.just([])
    return some.flatmap(lambda keys: st.fixed_dictionaries(required | {key: fields[key] for key in keys}))


def sdk_bodies() -> SearchStrategy[dict[str, Any]]:
    """A body whose every field comes from the SDK's types."""
    part = _model(types.Part, 3, set()).filter(bool)
    content = st.fixed_dictionaries(
        {"role": st.sampled_from(("user", "model")), "parts": st.lists(part, min_size=1, max_size=3)}
    )
    return st.fixed_dictionaries(
        {"contents": st.lists(content, min_size=1, max_size=3)},
        optional={
            "generationConfig": _model(types.GenerationConfig, 2, set()),
            "tools": st.lists(_model(types.Tool, 3, set()), max_size=2),
            "toolConfig": _model(types.ToolConfig, 3, set()),
            "safetySettings": st.lists(_model(types.SafetySetting, 1, set()), max_size=2),
        },
    ).map(numbered)


def canonical(body: dict[str, Any]) -> dict[str, Any]:
    """Say a body in the form that it comes back in.

    ``null`` is absent; so is ``thought: false``, and so is a thought without text, signature or other fields. Every
    content has a role, ``function`` being ``user``, and parts. Results stand before what the user says, in a content of
    their own, and those of contents that follow each other in one; calls stand behind what the model says; an empty text
    that is all there is beside calls is absent. Arguments and results are there; a text result that is the compact JSON
    of an object is that object. A schema is JSON Schema, under the names for that. All functions stand in the first tool.
    Settings of one object are absent when they are empty. No more stop sequences than five.
    """
    form = _present(body)
    system = _present(form.pop("systemInstruction", {}))
    system.pop("role", None)
    if system.get("parts"):
        form["systemInstruction"] = system | {"parts": _said(system["parts"])}
    form["contents"] = _joined([piece for content in body["contents"] for piece in _content(content)])
    if form.get("generationConfig"):
        form["generationConfig"] = _config(_present(form["generationConfig"]))
    if "tools" in form:
        form["tools"] = _tool_list(form["tools"])
    if form.get("toolConfig", {}).get("functionCallingConfig") is not None:
        _tidy_choice(form)
    return _present(form)


def _present(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}


def data_of(part: dict[str, Any]) -> str | None:
    """Name the one field that is the data of a part."""
    found = [key for key in DATA if part.get(key) is not None]
    return found[0] if len(found) == 1 else None


def _said(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    read = [_part(part) for part in parts]
    return [part for part in read if part != {"text": "", "thought": True}]


def _part(part: dict[str, Any]) -> dict[str, Any]:
    kind = data_of(part)
    if kind == "text":
        part = _present(part)
        return {key: item for key, item in part.items() if (key, item) != ("thought", False)}
    if kind in ("inlineData", "fileData") and _is_medium(_present(part[kind]), kind):
        inner = _present(part[kind])
        if "mimeType" in inner:
            name, semicolon, rest = inner["mimeType"].partition(";")
            inner["mimeType"] = name.lower() + semicolon + rest
        return _present(part) | {kind: inner}
    return part


def _is_medium(inner: dict[str, Any], kind: str) -> bool:
    if not inner.get("data" if kind == "inlineData" else "fileUri"):
        return False
    mime_type = inner.get("mimeType")
    if mime_type is None:
        return kind == "fileData"
    return mime_type not in (5, "image/bmp", "image/*", "application/zip")


def _content(content: dict[str, Any]) -> list[dict[str, Any]]:
    content = _present(content)
    role = "model" if content.get("role") == "model" else "user"
    moved = "functionCall" if role == "model" else "functionResponse"
    parts = content.get("parts", [])
    wishes = [_call(part) if role == "model" else _result(part) for part in parts if data_of(part) == moved]
    said = _said([part for part in parts if data_of(part) != moved])
    raw = [_part(part) for part in parts if data_of(part) != moved]
    if role == "model":
        said = [] if wishes and raw == [{"text": ""}] else said
        return [content | {"role": role, "parts": said + wishes}]
    if wishes and raw:
        return [content | {"role": role, "parts": wishes}, {"role": role, "parts": said}]
    return [content | {"role": role, "parts": wishes or said}]


def _call(part: dict[str, Any]) -> dict[str, Any]:
    return _present(part) | {"functionCall": {"args": {}} | _present(part["functionCall"])}


def _result(part: dict[str, Any]) -> dict[str, Any]:
    inner = _present(part["functionResponse"])
    given, media = inner.get("response"), inner.pop("parts", None)
    if media:
        inner["parts"] = [_part(item) for item in media]
    if given is None:
        given = {} if media else {"output": ""}
    if given.keys() == {"output"} and isinstance(given["output"], str):
        given = _object(given["output"], bool(media)) or given
    return _present(part) | {"functionResponse": inner | {"response": given}}


def _object(text: str, with_media: bool) -> dict[str, Any] | None:
    return {'{"a":1}': {"a": 1}, "{}": None if with_media else {}}.get(text)


def _joined(contents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    joined: list[dict[str, Any]] = []
    for content in contents:
        if joined and _results_only(joined[-1]) and _results_only(content) and content.keys() == {"role", "parts"}:
            joined[-1] = joined[-1] | {"parts": joined[-1]["parts"] + content["parts"]}
        else:
            joined.append(content)
    return joined


def _results_only(content: dict[str, Any]) -> bool:
    parts = content["parts"]
    return content["role"] == "user" and bool(parts) and all(data_of(part) == "functionResponse" for part in parts)


def _config(config: dict[str, Any]) -> dict[str, Any] | None:
    new, old = config.get("responseJsonSchema"), config.get("responseSchema")
    if config.get("responseMimeType", "application/json") == "application/json" and (new is None) != (old is None):
        config.pop("responseSchema", None)
        schema = new or json_schema(old or {})
        config |= {"responseJsonSchema": schema, "responseMimeType": "application/json"}
    if "stopSequences" in config:
        config["stopSequences"] = config["stopSequences"][:5]
    return config or None


def _tool_list(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    functions: list[Any] = []
    others = []
    for tool in tools:
        declared = tool.get("functionDeclarations")
        functions += declared or ()
        rest = {key: value for key, value in tool.items() if key != "functionDeclarations"}
        if rest or declared is None:
            others.append(rest)
    return ([{"functionDeclarations": [_function(item) for item in functions]}] if functions else []) + others


def _function(function: dict[str, Any]) -> dict[str, Any]:
    function = {key: value for key, value in _present(function).items() if key != "description" or value}
    if "parametersJsonSchema" not in function and "parameters" in function:
        function["parametersJsonSchema"] = json_schema(function.pop("parameters"))
    return function


def _tidy_choice(form: dict[str, Any]) -> None:
    settings = _present(form["toolConfig"])
    calling = _present(settings["functionCallingConfig"])
    if calling.get("mode") not in ("AUTO", "NONE", "ANY"):
        return
    form["toolConfig"] = settings | {"functionCallingConfig": calling}


def standard(text: str) -> bytes:
    """Read base64 text of either alphabet."""
    return base64.b64decode(text.replace("-", "+").replace("_", "/"))
