"""Make bodies of Messages requests, and state the one form that they come back in.

The shapes are those of the request types of the SDK `anthropic` 2.14.0; `test_anthropic` holds them against these.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.strategies import names, schemas

MARK = {"type": "ephemeral", "ttl": "1h"}
CITATION = {
    "type": "char_location",
    "cited_text": "x",
    "document_index": 0,
    "document_title": None,
    "start_char_index": 0,
    "end_char_index": 1,
}


def _optional(required: dict[str, Any], **optional: Any) -> SearchStrategy[dict[str, Any]]:
    """A mapping with fixed and drawn keys; an optional one is there, ``null`` or absent."""
    constant = {key: value if isinstance(value, SearchStrategy) else st.just(value) for key, value in required.items()}
    return st.fixed_dictionaries(constant, optional={key: st.none() | value for key, value in optional.items()})


def _marks() -> SearchStrategy[Any]:
    return st.just(MARK)


def _words() -> SearchStrategy[str]:
    return st.sampled_from(("Hi", "你好", "a\nb", "{x}", "")) | names()


def _text_blocks() -> SearchStrategy[Any]:
    citations = st.lists(st.just(CITATION), min_size=1, max_size=2)
    return _optional({"type": "text", "text": _words()}, cache_control=_marks(), citations=citations)


def _images() -> SearchStrategy[Any]:
    source = st.sampled_from(
        (
            {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
            {"type": "url", "url": "https://example.org/cat"},
            {"type": "url", "url": "https://example.org/cat.webp"},
            {"type": "file", "file_id": "file_1"},
        )
    )
    return _optional({"type": "image", "source": source}, cache_control=_marks())


def _documents() -> SearchStrategy[Any]:
    source = st.sampled_from(
        (
            {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
            {"type": "text", "media_type": "text/plain", "data": "Hi"},
            {"type": "text", "media_type": "text/plain", "data": ""},
            {"type": "url", "url": "https://example.org/paper"},
            {"type": "file", "file_id": "file_1"},
            {"type": "content", "content": [{"type": "text", "text": "x"}]},
            {"type": "content", "content": "x"},
        )
    )
    own = {"cache_control": _marks(), "citations": st.just({"enabled": True}), "context": names()}
    return _optional({"type": "document", "source": source}, title=st.sampled_from(("a.txt", "A paper")), **own)


SEARCH_RESULT = {
    "type": "search_result",
    "content": [{"type": "text", "text": "x"}],
    "source": "https://example.org",
    "title": "t",
}
SERVER_CALL = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
SERVER_RESULT = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "encrypted_content": "e", "title": "t", "url": "https://example.org"}],
}


def _results() -> SearchStrategy[Any]:
    inner = st.one_of(_text_blocks(), _images(), _documents(), st.just(SEARCH_RESULT))
    return st.fixed_dictionaries(
        {"type": st.just("tool_result"), "tool_use_id": st.sampled_from(("c1", "c2"))},
        optional={
            "content": _words() | st.lists(inner, max_size=2),
            "is_error": st.booleans(),
            "cache_control": _marks(),
        },
    )


def _thoughts() -> SearchStrategy[Any]:
    thinking = _optional({"type": "thinking", "thinking": _words(), "signature": "c2ln"})
    return thinking | st.just({"type": "redacted_thinking", "data": "ZW5j"})


def _calls() -> SearchStrategy[Any]:
    given = st.sampled_from(({}, {"city": "Oslo"}, {"a": [1, None, {"b": 2.5}]}))
    shape: dict[str, Any] = {"type": "tool_use", "id": st.sampled_from(("c1", "c2")), "name": names(), "input": given}
    return _optional(shape, cache_control=_marks())


def _messages() -> SearchStrategy[Any]:
    said = st.one_of(_text_blocks(), _images(), _documents(), st.just(SEARCH_RESULT))
    user = st.lists(said | _results(), max_size=3)
    answer = st.one_of(_text_blocks(), _thoughts(), _calls(), st.just(SERVER_CALL), st.just(SERVER_RESULT))
    return st.one_of(
        st.fixed_dictionaries({"role": st.just("user"), "content": _words() | user}),
        st.fixed_dictionaries({"role": st.just("assistant"), "content": _words() | st.lists(answer, max_size=3)}),
        st.fixed_dictionaries({"role": st.just("system"), "content": _words() | st.lists(_text_blocks(), max_size=2)}),
    )


def _tools() -> SearchStrategy[Any]:
    rest = {"strict": st.booleans(), "type": st.just("custom"), "description": _words(), "cache_control": _marks()}
    own = st.builds(
        lambda name, tool, more: (
            {"name": name} | tool | {key: value for key, value in more.items() if value is not None}
        ),
        st.sampled_from(("f", "g")),
        st.fixed_dictionaries({"input_schema": schemas()}),
        _optional({}, **rest),
    )
    functions = st.lists(own, max_size=2, unique_by=lambda tool: tool["name"])
    others = st.lists(st.just({"type": "web_search_20250305", "name": "web_search", "max_uses": 3}), max_size=1)
    return st.builds(lambda before, after: before + after, functions, others)


def bodies() -> SearchStrategy[dict[str, Any]]:
    """A body: any messages, any settings; a system message does not stand first, where it is no late one."""
    messages = st.lists(_messages(), min_size=1, max_size=4).filter(lambda found: found[0]["role"] != "system")
    choices = st.one_of(
        _optional({"type": st.sampled_from(("auto", "any"))}, disable_parallel_tool_use=st.booleans()),
        st.sampled_from(({"type": "none"}, {"type": "tool", "name": "f"}, {"type": "tool", "name": "auto"})),
    ).map(lambda choice: {key: value for key, value in choice.items() if value is not None})
    form = st.fixed_dictionaries({"type": st.just("json_schema"), "schema": schemas()})
    return st.fixed_dictionaries(
        {"model": names(), "max_tokens": st.integers(1, 9), "messages": messages},
        optional={
            "system": _words() | st.lists(_text_blocks(), max_size=2),
            "temperature": st.floats(0, 1),
            "top_p": st.floats(0, 1),
            "top_k": st.integers(1, 9),
            "stop_sequences": st.lists(_words(), max_size=2),
            "tools": _tools(),
            "tool_choice": choices,
            "output_config": _optional({}, effort=st.just("low"), format=form),
            "thinking": st.just({"type": "enabled", "budget_tokens": 1024}),
            "metadata": st.just({"user_id": "u"}),
            "service_tier": st.just("auto"),
            "stream": st.booleans(),
        },
    )


def canonical(body: dict[str, Any]) -> dict[str, Any]:
    """Say a body in the form that it comes back in.

    ``null`` is absent. A text alone is a text, not a list. Results stand before what the user says, calls behind what
    the model says; an empty text that is all there is beside calls is absent. Results and a user's message behind them
    are one message. The system text is absent where it is an empty list. A result has content, and no ``is_error`` unless
    it is one; a tool's empty description is absent. Settings of one object are absent when they are empty.
    """
    form = {key: value for key, value in body.items() if value is not None}
    if form.get("system") == []:
        del form["system"]
    elif "system" in form:
        form["system"] = _content(form["system"])
    form["messages"] = _joined([_message(message) for message in body["messages"]])
    if "tools" in form:
        form["tools"] = sorted(map(_tool, form["tools"]), key=lambda tool: tool.get("type") not in (None, "custom"))
    if form.get("output_config", {}).get("format") is not None:
        form["output_config"] = _present(form["output_config"]) or None
    return _without_excess({key: value for key, value in form.items() if value is not None})


def _present(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if item is not None}


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in _present(tool).items() if key != "description" or value}


def _message(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if isinstance(content, str):
        return message
    first: list[Any] = []
    last: list[Any] = []
    for block in map(_block, content):
        moved = block["type"] == ("tool_result" if message["role"] == "user" else "tool_use")
        (first if moved == (message["role"] == "user") else last).append(block)
    if message["role"] == "assistant" and last and first == [{"type": "text", "text": ""}]:
        first = []
    return message | {"content": _content(first + last)}


def _block(block: dict[str, Any]) -> dict[str, Any]:
    known = block["type"] in ("text", "image", "document", "tool_result", "tool_use")
    if not known or (block["type"] == "document" and _is_kept(block["source"])):
        return block
    block = _present(block)
    if block["type"] == "tool_result":
        block["content"] = _content(block.get("content", ""))
        if not block.get("is_error"):
            block.pop("is_error", None)
    return block


def _is_kept(source: dict[str, Any]) -> bool:
    return source["type"] == "content" or source.get("data") == ""


def _content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    blocks = [_block(block) for block in content]
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} else blocks


def _results_only(message: dict[str, Any]) -> bool:
    content = message["content"]
    return isinstance(content, list) and bool(content) and all(block["type"] == "tool_result" for block in content)


def _joined(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    joined: list[dict[str, Any]] = []
    for message in messages:
        content = message["content"]
        if joined and _results_only(joined[-1]) and message["role"] == "user" and content != []:
            more = [{"type": "text", "text": content}] if isinstance(content, str) else content
            joined[-1] = joined[-1] | {"content": joined[-1]["content"] + more}
        else:
            joined.append(message)
    return joined


def _without_excess(body: dict[str, Any]) -> dict[str, Any]:
    """Take out the first cache marks of messages, then those of the system text, until no more than four are left."""
    copy: dict[str, Any] = json.loads(json.dumps(body))
    marked = [*_marked(copy["messages"]), *_marked(copy.get("system", [])), *_marked(copy.get("tools", []))]
    for block in marked[: max(0, len(marked) - 4)]:
        del block["cache_control"]
    return copy


def _marked(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [block for item in value for block in _marked(item)]
    if not isinstance(value, dict):
        return []
    inner = _marked(value.get("content"))
    return inner + ([value] if value.get("cache_control") else [])
