"""What went wrong elsewhere with stored messages, buffer strings and streams does not go wrong here."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import pytest

from promptkit import Prompt
from promptkit.adapters.langchain import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    from_buffer_string,
    from_messages,
    get_buffer_string,
    merge_chunks,
    message_chunk_to_message,
    messages_from_dict,
    messages_to_dict,
    parse_buffer_string,
    to_buffer_string,
    to_messages,
)
from promptkit.content import Media, Reasoning, Text
from promptkit.errors import AdapterError
from promptkit.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.options import ChatOptions
from tests.oracles import rows

ROWS = rows("bug_reports_langchain.jsonl")


def part(given: dict[str, Any]) -> Any:
    if given["kind"] == "text":
        return Text(given["text"])
    return Media.from_base64(given["base64"], given["mime"]) if "base64" in given else Media(url=given["url"])


def message(given: dict[str, Any]) -> Message:
    """Build a message of ours of the reports' neutral form."""
    content: Any = given.get("text")
    if "parts" in given:
        content = [part(item) for item in given["parts"]]
    metadata = {key: value for key, value in given.get("metadata", {}).items() if not key.endswith("_hex")}
    for key, value in given.get("metadata", {}).items():
        if key.endswith("_hex"):
            metadata[key.removesuffix("_hex")] = [bytes.fromhex(item) if len(item) % 2 == 0 else item for item in value]
    if "usage" in given:
        usage = {**given["usage"], "total_tokens": sum(given["usage"].values())}
        metadata["langchain"] = {"usage_metadata": usage}
    match given["role"]:
        case "system":
            return SystemMessage(content)
        case "user":
            return UserMessage(content)
        case "tool":
            if "payload_hex" in given:
                content = [Media(bytes.fromhex(given["payload_hex"]), "application/octet-stream")]
            return ToolResponseMessage(
                ToolResponse(given["for"], content=content, status=given.get("status", "success"))
            )
    calls = [ToolCall(call["id"], call["name"], arguments=call["args"]) for call in given.get("calls", ())]
    return AssistantMessage(content, tool_calls=calls, metadata=metadata)


def stored(messages: list[BaseMessage], *, as_json: bool = True) -> list[BaseMessage]:
    """Store messages and read them back."""
    dicts = messages_to_dict(messages)
    return messages_from_dict(json.loads(json.dumps(dicts)) if as_json else dicts)


def comes_back(given: dict[str, Any], expect: Any) -> None:
    prompt = Prompt([message(given["message"])])
    has_bytes = "thought_signatures_hex" in given["message"].get("metadata", {})

    back = from_messages(stored(to_messages(prompt), as_json=not has_bytes))

    assert back == prompt


def whole_prompt_comes_back(given: dict[str, Any], expect: Any) -> None:
    prompt = Prompt(
        [
            SystemMessage("s"),
            UserMessage([Text("u"), Media(b"x", "image/png")]),
            AssistantMessage(tool_calls=[ToolCall("c", "f", arguments={})]),
            ToolResponseMessage(ToolResponse("c", content="r")),
        ],
        ChatOptions(model="m"),
    )
    assert from_messages(stored(to_messages(prompt, losses=[])), options=prompt.options) == prompt


def no_calls_stay_no_calls(given: dict[str, Any], expect: Any) -> None:
    raw = given["message"]["raw"]
    (back,) = stored([AIMessage("done", tool_calls=[], additional_kwargs=raw)])

    assert isinstance(back, AIMessage)
    assert list(back.tool_calls) == expect["calls"]


def unknown_kinds_are_named(given: dict[str, Any], expect: Any) -> None:
    records = [{"role": record["role"], "content": record["text"]} for record in given["records"]]
    with pytest.raises(AdapterError, match=r"messages\[1\]: the role 'custom-thing' is none of"):
        from_messages(records)


def plain_dicts_are_read(given: dict[str, Any], expect: Any) -> None:
    assert from_messages([{"type": "human", "data": {"content": "x"}}]) == Prompt("x")
    assert from_messages([{"role": "user", "content": "x"}]) == Prompt("x")


def every_kind_is_written(given: dict[str, Any], expect: Any) -> None:
    prompt = Prompt([message(item) for item in given["messages"]])

    assert from_messages(to_messages(prompt)) == prompt
    assert from_buffer_string(to_buffer_string(prompt)) == prompt


def a_dump_is_small(given: dict[str, Any], expect: Any) -> None:
    once = to_messages(Prompt([message(given["message"])]))
    size = len(json.dumps(messages_to_dict(once)))

    assert size <= expect["max_bytes"]
    assert len(json.dumps(messages_to_dict(stored(stored(once))))) == size


def parts_are_no_literals(given: dict[str, Any], expect: Any) -> None:
    messages = to_messages(Prompt([message(item) for item in given["messages"]]))

    for form in ("prefix", "xml", "escaped"):
        text = get_buffer_string(messages, format=form)
        assert not any(bad in text for bad in ((expect or {}).get("must_not_contain") or ["AAAAAAAA"]))
        assert len(text) < 250


def text_forges_nothing(given: dict[str, Any], expect: Any) -> None:
    messages = to_messages(Prompt([message(item) for item in given["messages"]]))

    assert len(parse_buffer_string(get_buffer_string(messages, format="escaped"))) == expect["parsed_count"]
    assert len(parse_buffer_string(get_buffer_string(messages, format="xml"), format="xml")) == expect["parsed_count"]


def prefixes_reach_every_text(given: dict[str, Any], expect: Any) -> None:
    prompt = Prompt([message(item) for item in given["messages"]])
    words = (given["prefixes"]["user"], given["prefixes"]["assistant"])

    for form in ("prefix", "escaped"):
        text = to_buffer_string(prompt, *words, format=form)
        assert text == expect["text"]
        assert from_buffer_string(text, *words, format=form) == prompt
    assert 'type="bob"' in to_buffer_string(prompt, *words, format="xml")


def usage_of(given: dict[str, Any]) -> dict[str, Any]:
    details = {key.replace("write", "creation"): given[key] for key in ("cache_read", "cache_write") if key in given}
    total = {
        "input_tokens": given["input"],
        "output_tokens": given["output"],
        "total_tokens": given["input"] + given["output"],
    }
    return {**total, "input_token_details": details} if details else total


def chunk(given: dict[str, Any]) -> AIMessageChunk:
    """Build a chunk of the reports' neutral form."""
    content: Any = given.get("text") or ""
    if "reasoning" in given:
        extras = {"extras": {"signature": given["signature"]}} if "signature" in given else {}
        content = [{"type": "reasoning", "reasoning": given["reasoning"], "index": 0, **extras}]
    pieces = [
        {"name": call.get("name"), "args": call.get("args"), "id": call.get("id"), "index": call.get("index")}
        for call in given.get("calls", ())
    ]
    metadata = {"finish": given.get("finish"), "model": given.get("model")}
    return AIMessageChunk(
        content,
        tool_call_chunks=pieces,  # type: ignore[arg-type]
        usage_metadata=usage_of(given["usage"]) if "usage" in given else None,  # type: ignore[arg-type]
        response_metadata={key: value for key, value in metadata.items() if value is not None},
    )


def adds_up(given: dict[str, Any], expect: dict[str, Any]) -> None:
    chunks = [chunk(item) for item in given["chunks"]]
    one = message_chunk_to_message(reduce(add, chunks))
    assert isinstance(one, AIMessage)
    assert message_chunk_to_message(merge_chunks(chunks)) == one
    blocks: Any = one.content if isinstance(one.content, tuple) else ()
    thoughts = [block for block in blocks if not isinstance(block, str) and block["type"] == "reasoning"]
    found: dict[str, Callable[[], Any]] = {
        "calls": lambda: [{key: call[key] for key in ("id", "name", "args")} for call in one.tool_calls],
        "invalid": lambda: len(one.invalid_tool_calls),
        "text": lambda: one.text,
        "finish": lambda: one.response_metadata["finish"],
        "model": lambda: one.response_metadata["model"],
        "reasoning": lambda: "".join(block["reasoning"] for block in thoughts),
        "signature": lambda: thoughts[0]["extras"]["signature"],
        "usage": lambda: one.usage_metadata,
    }
    for name, value in expect.items():
        wanted = usage_of(value) if name == "usage" else value
        assert found[name]() == wanted, name
    if "reasoning" in expect:
        (thought,) = [part for part in from_messages([one]).messages[0].content or () if isinstance(part, Reasoning)]
        assert thought.text == expect["reasoning"]
        assert thought.metadata.get("signature") == expect.get("signature")


def counted_once(given: dict[str, Any], expect: dict[str, Any]) -> None:
    total = merge_chunks([chunk(item) for item in given["chunks"]], running_total=True)

    assert total.usage_metadata == usage_of(expect["usage"])


def previewed_but_not_called(given: dict[str, Any], expect: dict[str, Any]) -> None:
    adds_up(given, expect)
    arriving = reduce(add, map(chunk, given["chunks"]))
    assert arriving.tool_calls[0]["args"] == {"target": "t1"}


CHECKS: dict[str, Callable[[dict[str, Any], Any], None]] = {
    "B061": comes_back,
    "B063": no_calls_stay_no_calls,
    "B064": unknown_kinds_are_named,
    "B065": whole_prompt_comes_back,
    "B066": comes_back,
    "B068": plain_dicts_are_read,
    "B070": every_kind_is_written,
    "B071": a_dump_is_small,
    "B072": comes_back,
    "B073": comes_back,
    "B075": comes_back,
    "B076": parts_are_no_literals,
    "B078": parts_are_no_literals,
    "B079": text_forges_nothing,
    "B081": prefixes_reach_every_text,
    "B100": adds_up,
    "B102": adds_up,
    "B104": adds_up,
    "B105": adds_up,
    "B107": adds_up,
    "B109": counted_once,
    "B110": adds_up,
    "B111": adds_up,
    "B112": adds_up,
    "B114": adds_up,
    "B116": adds_up,
    "B118": previewed_but_not_called,
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_it_does_not_go_wrong_here(row: dict[str, Any]) -> None:
    CHECKS[row["id"]](row["input"], row.get("expect"))
