"""Make bodies of Chat Completions requests, and state the one form that they come back in."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.strategies import names, schemas, texts

IMAGE_URL = "https://example.org/cat"
DATA_URL = "data:image/png;base64,iVBORw0KGgo="
BREAKPOINT = {"mode": "explicit"}


def _optional(required: dict[str, Any], **optional: Any) -> SearchStrategy[dict[str, Any]]:
    """A mapping with fixed and drawn keys; an optional one is there, ``null`` or absent."""
    constant = {key: value if isinstance(value, SearchStrategy) else st.just(value) for key, value in required.items()}
    return st.fixed_dictionaries(constant, optional={key: st.none() | value for key, value in optional.items()})


def _text_parts() -> SearchStrategy[Any]:
    return _optional({"type": "text", "text": texts()}, prompt_cache_breakpoint=st.just(BREAKPOINT))


def _parts() -> SearchStrategy[Any]:
    urls = st.sampled_from((IMAGE_URL, f"{IMAGE_URL}.png", DATA_URL))
    image = _optional({"url": urls}, detail=st.sampled_from(("auto", "high")))
    audio = st.fixed_dictionaries({"data": st.just("UklG"), "format": st.sampled_from(("wav", "mp3"))})
    by_data = {"file_data": st.just("data:application/pdf;base64,JVBERi0="), "filename": st.just("a.pdf")}
    by_id = _optional({"file_id": "file-1"}, filename=st.just("a.pdf"))
    return st.one_of(
        _text_parts(),
        _optional({"type": "image_url", "image_url": image}, prompt_cache_breakpoint=st.just(BREAKPOINT)),
        _optional({"type": "input_audio", "input_audio": audio}),
        _optional({"type": "file", "file": st.fixed_dictionaries(by_data) | by_id}),
        st.just({"type": "of_tomorrow", "x": [1, {"y": None}]}),
    )


def _content(parts: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return texts() | st.lists(parts, min_size=1, max_size=3)


def _calls() -> SearchStrategy[Any]:
    function = st.fixed_dictionaries({"name": names(), "arguments": st.sampled_from(("", "{}", '{"a": 1}', '{"a'))})
    custom = st.fixed_dictionaries({"name": names(), "input": texts()})
    ids = st.sampled_from(("c1", "c2"))
    return st.one_of(
        _optional({"id": ids, "type": "function", "function": function}, extra_content=st.just({"signature": "s"})),
        st.fixed_dictionaries({"id": ids, "type": st.just("custom"), "custom": custom}),
    )


def _messages() -> SearchStrategy[Any]:
    answer_parts = _text_parts() | st.fixed_dictionaries({"type": st.just("refusal"), "refusal": texts()})
    function = st.fixed_dictionaries({"name": names(), "arguments": st.just("{}")})
    return st.one_of(
        _optional({"role": st.sampled_from(("system", "developer")), "content": _content(_text_parts())}, name=names()),
        _optional({"role": "user", "content": _content(_parts())}, name=names()),
        _optional(
            {"role": "assistant"},
            content=_content(answer_parts),
            name=names(),
            refusal=texts(),
            audio=st.just({"id": "audio_1"}),
            tool_calls=st.lists(_calls(), min_size=1, max_size=3),
            function_call=function,
        ),
        _optional({"role": "tool", "tool_call_id": st.sampled_from(("c1", "c2")), "content": _content(_text_parts())}),
        st.fixed_dictionaries({"role": st.just("function"), "name": names(), "content": texts()}),
    )


def _tools() -> SearchStrategy[Any]:
    function = st.builds(
        lambda name, rest: {"name": name} | rest,
        st.sampled_from(("f", "g", "h")),
        _optional({}, description=texts(), parameters=schemas(), strict=st.booleans()),
    )
    functions = st.lists(
        st.fixed_dictionaries({"type": st.just("function"), "function": function}),
        max_size=2,
        unique_by=lambda tool: tool["function"]["name"],
    )
    customs = st.lists(st.just({"type": "custom", "custom": {"name": "sh"}}), max_size=1)
    return st.builds(lambda before, after: before + after, functions, customs).filter(bool)


def bodies() -> SearchStrategy[dict[str, Any]]:
    """A body: any messages, any settings."""
    form = _optional({"name": names(), "schema": schemas()}, strict=st.booleans(), description=texts())
    return _optional(
        {"messages": st.lists(_messages(), min_size=1, max_size=4)},
        model=names(),
        temperature=st.floats(0, 2),
        top_p=st.floats(0, 1),
        max_completion_tokens=st.integers(1, 9),
        stop=texts() | st.lists(texts(), max_size=2),
        seed=st.integers(),
        frequency_penalty=st.floats(-2, 2),
        presence_penalty=st.floats(-2, 2),
        tools=_tools(),
        tool_choice=st.sampled_from(
            (
                "auto",
                "none",
                "required",
                {"type": "function", "function": {"name": "f"}},
                {"type": "function", "function": {"name": "auto"}},
                {"type": "custom", "custom": {"name": "sh"}},
            )
        ),
        response_format=st.one_of(
            st.just({"type": "text"}),
            st.just({"type": "json_object"}),
            st.fixed_dictionaries({"type": st.just("json_schema"), "json_schema": form}),
        ),
        n=st.integers(1, 3),
        logit_bias=st.just({"50256": -100}),
        modalities=st.just(["text"]),
    )


def canonical(body: dict[str, Any]) -> dict[str, Any]:
    """Say a body in the form that it comes back in.

    ``null`` is absent. A text alone is a text, not a list. Text beside calls, sound or refusals is absent when empty. A
    refusal is a part. Calls stand before calls of custom tools, functions before other tools. ``stop`` is a list, a
    tool has parameters.
    """
    form = {key: value for key, value in body.items() if value is not None}
    form["messages"] = [_message(message) for message in body["messages"]]
    if isinstance(form.get("stop"), str):
        form["stop"] = [form["stop"]]
    if "tools" in form:
        form["tools"] = [_tool(tool) for tool in form["tools"]]
    if "response_format" in form and "json_schema" in form["response_format"]:
        inner = _present(form["response_format"]["json_schema"])
        form["response_format"] = {"type": "json_schema", "json_schema": inner}
    return form


def _present(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}


def _message(message: dict[str, Any]) -> dict[str, Any]:
    form = _present(message)
    if "content" in form:
        form["content"] = _canonical_content(form["content"])
    if form["role"] != "assistant":
        return form
    parts = form.pop("content", None)
    refusal = form.pop("refusal", None)
    if refusal is not None:
        parts = [{"type": "text", "text": parts}] if isinstance(parts, str) and parts else parts or []
        parts = [*parts, {"type": "refusal", "refusal": refusal}]
    if "tool_calls" in form:
        calls = [_present(call) for call in form["tool_calls"]]
        form["tool_calls"] = sorted(calls, key=lambda call: call["type"] == "custom")
    beside = form.keys() & {"audio", "tool_calls", "function_call"}
    if parts is not None and not (parts == "" and beside):
        form["content"] = parts
    return form


def _canonical_content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    parts = [
        {
            key: _present(value) if isinstance(value, dict) and key in ("image_url", "file") else value
            for key, value in _present(part).items()
        }
        for part in content
    ]
    return parts[0]["text"] if len(parts) == 1 and parts[0].keys() == {"type", "text"} else parts


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    if tool["type"] != "function":
        return tool
    function = {"parameters": {"type": "object", "properties": {}}} | _present(tool["function"])
    if not function.get("description"):
        function.pop("description", None)
    return {"type": "function", "function": function}
