"""Make bodies of Responses requests, and state the one form that they come back in.

The shapes are those of the request types of the SDK `openai` 3.57.0; `test_openai_responses` holds them against these.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.strategies import names, schemas

BREAKPOINT = {"mode": "explicit"}
CITATION = {"type": "url_citation", "start_index": 0, "end_index": 1, "title": "t", "url": "https://example.org"}
CODE = {"type": "code_interpreter_call", "id": "ci_1", "code": "1", "container_id": "c", "outputs": None}
ITEMS: tuple[dict[str, Any], ...] = (
    {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "x"},
    },
    {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["x"]},
    CODE | {"status": "completed"},
    {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBORw0KGgo="},
    {"type": "mcp_call", "id": "mcp_1", "arguments": "{}", "name": "f", "server_label": "s", "output": "x"},
    {"type": "custom_tool_call", "call_id": "c9", "name": "sh", "input": "ls"},
    {"type": "item_reference", "id": "msg_0"},
)
CLIENT_ITEMS: tuple[dict[str, Any], ...] = (
    {"type": "custom_tool_call_output", "call_id": "c9", "output": "x"},
    {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
)


def _optional(required: dict[str, Any], **optional: Any) -> SearchStrategy[dict[str, Any]]:
    """A mapping with fixed and drawn keys; an optional one is there or absent."""
    constant = {key: value if isinstance(value, SearchStrategy) else st.just(value) for key, value in required.items()}
    return st.fixed_dictionaries(constant, optional=optional)


def _words() -> SearchStrategy[str]:
    return st.sampled_from(("Hi", "你好", "a\nb", "{x}", "")) | names()


def _parts() -> SearchStrategy[Any]:
    mark = {"prompt_cache_breakpoint": st.just(BREAKPOINT)}
    details = st.sampled_from(("auto", "high"))
    urls = st.sampled_from(("https://example.org/cat", "https://example.org/cat.png", "data:image/png;base64,iVBORw0="))
    files = st.sampled_from(
        (
            {"file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"},
            {"file_id": "file_1"},
            {"file_id": "file_1", "filename": "a.png"},
            {"file_url": "https://example.org/a.pdf"},
            {"file_url": "https://example.org/cat.png", "filename": "cat"},
        )
    )
    return st.one_of(
        _optional({"type": "input_text", "text": _words()}, **mark),
        _optional({"type": "input_image", "detail": details, "image_url": urls}, **mark),
        _optional({"type": "input_image", "detail": details, "file_id": "file_1"}, **mark),
        st.builds(lambda file, more: more | file, files, _optional({"type": "input_file"}, **mark)),
    )


def _content() -> SearchStrategy[Any]:
    return _words() | st.lists(_parts(), max_size=3)


def _answers() -> SearchStrategy[Any]:
    text: dict[str, Any] = {"type": "output_text", "text": _words()}
    text["annotations"] = st.lists(st.just(CITATION), max_size=1)
    refusal = _optional({"type": "refusal", "refusal": _words()})
    shape: dict[str, Any] = {"type": "message", "role": "assistant", "id": st.sampled_from(("m1", "m2"))}
    shape["status"] = st.sampled_from(("completed", "incomplete"))
    shape["content"] = st.lists(_optional(text) | refusal, min_size=1, max_size=3)
    phases = {"phase": st.sampled_from(("commentary", "final_answer"))}
    return _optional(shape, **phases) | _optional({"role": "assistant", "content": _words()}, **phases)


def _made() -> SearchStrategy[Any]:
    call: dict[str, Any] = {"type": "function_call", "call_id": st.sampled_from(("c1", "c2")), "name": names()}
    call["arguments"] = st.sampled_from(("", "{}", '{"a": 1}', '{"a'))
    summary = st.lists(st.fixed_dictionaries({"type": st.just("summary_text"), "text": _words()}), max_size=2)
    thoughts = st.lists(st.just({"type": "reasoning_text", "text": "hm"}), max_size=2)
    reasoning: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": summary}
    return st.one_of(
        _answers(),
        _optional(call, id=st.just("fc_1"), status=st.just("completed")),
        _optional(reasoning, encrypted_content=st.just("ZW5j"), content=thoughts),
        st.sampled_from(ITEMS),
    )


def _items() -> SearchStrategy[Any]:
    result: dict[str, Any] = {"type": "function_call_output", "call_id": st.sampled_from(("c1", "c2"))}
    result["output"] = _content()
    spoken = {"role": st.sampled_from(("user", "system", "developer")), "content": _content()}
    return st.one_of(
        _made(),
        _made(),
        _optional(spoken, type=st.just("message")),
        _optional(result, id=st.just("fo_1"), name=st.just("f"), status=st.just("completed")),
        st.sampled_from(CLIENT_ITEMS),
    )


def _tools() -> SearchStrategy[Any]:
    shape: dict[str, Any] = {"type": "function", "name": st.sampled_from(("f", "g"))}
    shape |= {"parameters": st.none() | schemas(), "strict": st.none() | st.booleans()}
    own = st.lists(
        _optional(shape, description=_words(), defer_loading=st.booleans()),
        max_size=2,
        unique_by=lambda tool: tool["name"],
    )
    others = st.lists(st.just({"type": "web_search"}), max_size=1)
    return st.builds(lambda before, after: before + after, own, others)


def bodies() -> SearchStrategy[dict[str, Any]]:
    """A body: any items, any settings."""
    shape: dict[str, Any] = {"type": "json_schema", "name": names(), "schema": schemas()}
    form = _optional(shape, strict=st.none() | st.booleans(), description=_words())
    choices = ("auto", "none", "required", {"type": "function", "name": "f"}, {"type": "function", "name": "auto"})
    return _optional(
        {"input": _words() | st.lists(_items(), min_size=1, max_size=5)},
        model=names(),
        instructions=st.none() | _words(),
        temperature=st.floats(0, 2),
        top_p=st.floats(0, 1),
        max_output_tokens=st.integers(1, 9),
        tools=_tools(),
        tool_choice=st.sampled_from((*choices, {"type": "web_search_preview"})),
        text=_optional({}, verbosity=st.just("low"), format=form | st.just({"type": "json_object"})),
        reasoning=st.just({"effort": "low", "summary": "auto"}),
        include=st.just(["reasoning.encrypted_content"]),
        store=st.booleans(),
        previous_response_id=st.just("resp_1"),
        parallel_tool_calls=st.booleans(),
    )


def canonical(body: dict[str, Any]) -> dict[str, Any]:
    """Say a body in the form that it comes back in.

    ``null`` is absent. A text as ``input`` is the user's. A text alone is a text, not a list, and a message of the
    program has no ``type``. A message of the model with an id is ``completed`` unless it says otherwise; a text of it
    has ``annotations``. An empty text of the model that is all beside calls is absent. A result has no name that its
    call has. Functions stand before other tools, and have parameters; an empty description is absent.
    """
    form = {key: value for key, value in body.items() if value is not None}
    items = form["input"]
    items = [{"role": "user", "content": items}] if isinstance(items, str) else items
    names: dict[str, str] = {}
    form["input"] = [_item(item, names) for item in items]
    form["input"] = _without_blanks(form["input"])
    if "tools" in form:
        form["tools"] = sorted(map(_tool, form["tools"]), key=lambda tool: tool["type"] != "function")
    if "text" in form and "schema" in form["text"].get("format", {}):
        inner = {key: value for key, value in form["text"]["format"].items() if value is not None}
        form["text"] = form["text"] | {"format": inner}
    return form


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    tool = {key: value for key, value in tool.items() if value is not None}
    if tool["type"] == "function":
        tool = {"parameters": {"type": "object", "properties": {}}} | tool
        if not tool.get("description"):
            tool.pop("description", None)
    return tool


def _item(item: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    kind = item.get("type")
    if kind == "function_call":
        names[item["call_id"]] = item["name"]
    if kind == "function_call_output":
        item = item | {"output": _said(item["output"])}
        if item.get("name") == names.get(item["call_id"]):
            item = {key: value for key, value in item.items() if key != "name"}
    if "role" not in item:
        return item
    item = item | {"content": _said(item["content"])}
    return item if "id" in item else {key: value for key, value in item.items() if key != "type"}


def _said(content: Any) -> Any:
    only = content[0] if isinstance(content, list) and len(content) == 1 else {}
    return only["text"] if only.keys() == {"type", "text"} else content


def _without_blanks(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Take out an empty text of the model that calls follow, and nothing else of the same answer stands beside."""
    kept = []
    for at, item in enumerate(items):
        blank = item == {"role": "assistant", "content": ""}
        if not (blank and _stands_alone(items, at)):
            kept.append(item)
    return kept


def _stands_alone(items: list[dict[str, Any]], at: int) -> bool:
    """Tell whether an answer begins with an empty text and goes on with nothing but calls."""
    before = items[at - 1] if at else {"role": "user"}
    begins = before.get("role") is not None or _is_of_program(before) or before.get("type") == "function_call"
    end = at + 1
    while end < len(items) and items[end].get("type") == "function_call":
        end += 1
    after = items[end] if end < len(items) else {"role": "user"}
    ends = _is_of_program(after) or after.keys() == {"role", "content"}
    return begins and ends and end > at + 1


def _is_of_program(item: dict[str, Any]) -> bool:
    kind = item.get("type") or ""
    return item.get("role") not in (None, "assistant") or kind.endswith(("_output", "_response"))
