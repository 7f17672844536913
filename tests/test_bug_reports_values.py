"""Hold the values against public bug reports of other projects, restated; their adapter halves are tested elsewhere."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from promptkit import _json
from promptkit.content import Media, Reasoning
from promptkit.errors import PromptError, SerializationError, ToolError
from promptkit.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.options import ChatOptions, ToolDefinition
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse, Generation, ToolCallChunk, Usage
from promptkit.serialization import dumps, from_dict, loads, to_dict
from tests import oracles

ROWS = {row["id"]: row for row in oracles.rows("bug_reports_values.jsonl")}


def bytes_of(data: Any) -> Any:
    """Read the neutral form's bytes: keys that end in ``_hex``."""
    if not isinstance(data, dict):
        return data
    found = {}
    for key, value in data.items():
        if key.endswith("_hex"):
            value = [bytes.fromhex(one) for one in value] if isinstance(value, list) else bytes.fromhex(value)  # noqa: PLW2901
        found[key.removesuffix("_hex")] = value
    return found


def message(data: dict[str, Any]) -> Message:
    metadata = bytes_of(data.get("metadata", {}))
    if data["role"] == "tool":
        artifact = bytes.fromhex(data["payload_hex"]) if "payload_hex" in data else None
        result = ToolResponse(
            data["for"], content=data["text"] or "", status=data.get("status", "success"), artifact=artifact
        )
        return ToolResponseMessage(result, metadata=metadata)
    if data["role"] == "assistant":
        calls = [ToolCall(one["id"], one["name"], arguments=one.get("args", {})) for one in data.get("calls", [])]
        raw = {"raw": data["raw"]} if "raw" in data else {}
        return AssistantMessage(data["text"], tool_calls=calls, metadata={**metadata, **raw})
    kinds = {"system": SystemMessage, "user": UserMessage}
    return kinds[data["role"]](data["text"], metadata=metadata)


def usage(data: dict[str, Any]) -> Usage:
    details = {f"{name}_tokens": data[name] for name in ("cache_read", "cache_write") if name in data}
    return Usage(data["input"], data["output"], **details, native=data.get("native", {}))


def chunk(data: dict[str, Any]) -> ChatChunk:
    """Build a chunk as an adapter does whose vendor counts one block of thoughts."""
    calls = [
        ToolCallChunk(one.get("index"), one.get("id"), name=one.get("name"), arguments=one.get("args"))
        for one in data.get("calls", [])
    ]
    rest: dict[str, Any] = {
        "tool_calls": calls,
        "finish_reason": data.get("finish"),
        "model": data.get("model"),
        "usage": usage(data["usage"]) if "usage" in data else None,
    }
    if "reasoning" in data:
        marks = {"signature": data["signature"]} if "signature" in data else {}
        return ChatChunk((Reasoning(data["reasoning"], metadata=marks),), block=0, **rest)
    return ChatChunk(data.get("text"), **rest)


# One function a case, or a kind of cases


def augment(row: dict[str, Any]) -> None:
    given = row["input"]
    prompt = Prompt([message(one) for one in given["messages"]])
    changed = prompt.augment_system_message(given["augment_system"])
    assert [one.message_type for one in changed] == row["expect"]["roles"]
    assert changed.system_message is not None
    assert changed.system_message.content == row["expect"]["system_text"]
    assert [one.content for one in prompt] == [one["text"] for one in given["messages"]]


def shared_defaults(_: dict[str, Any]) -> None:
    one, two = UserMessage("a"), UserMessage("b")
    with pytest.raises(TypeError):
        one.metadata["k"] = 1
    assert two.metadata == {}


def merged_options(row: dict[str, Any]) -> None:
    given = row["input"]
    base = ChatOptions(**given["model_options"])
    if "default_tools" in given:
        base = base.merge(ChatOptions(tools=[ToolDefinition(name) for name in given["default_tools"]]))
        merged = base.merge(Prompt("hi", given["prompt_options"]).options)
        assert [tool.name for tool in merged.tools or ()] == row["expect"]["tools"]
        assert merged.temperature == row["expect"]["temperature"]
        return
    mine = ChatOptions(**given["prompt_options"])
    before = to_dict(mine)
    assert base.merge(mine) == ChatOptions(**{**given["model_options"], **given["prompt_options"]})
    assert to_dict(mine) == before


def stops_of_a_copy(_: dict[str, Any]) -> None:
    first = ChatOptions(stop_sequences=["a"])
    second = first.mutate(stop_sequences=(*(first.stop_sequences or ()), "b"))
    assert (first.stop_sequences, second.stop_sequences) == (("a",), ("a", "b"))


def round_trip(row: dict[str, Any]) -> None:
    data = row["input"]["message"]
    value = message(data)
    stored: list[Any] = [value]
    if "usage" in data:
        used = Usage(data["usage"]["input_tokens"], data["usage"]["output_tokens"])
        assert isinstance(value, AssistantMessage)
        stored.append(ChatResponse(Generation(value), usage=used))
    for one in stored:
        again = loads(dumps(one))
        assert again == one
        assert from_dict(json.loads(json.dumps(to_dict(one)))) == one
    if "calls" in row["expect"]:
        assert list(loads(dumps(value)).tool_calls) == row["expect"]["calls"]
        assert "tool_calls" not in to_dict(value)


def unknown_kind(row: dict[str, Any]) -> None:
    kinds = [
        {"type": one["role"], "content": one["text"], **({"extra": one["extra"]} if "extra" in one else {})}
        for one in row["input"]["records"]
    ]
    with pytest.raises(SerializationError, match=r"messages\[1\]: .*'custom-thing'") as caught:
        from_dict({"promptkit": 1, "type": "messages", "messages": kinds})
    assert caught.value.path == "messages[1]"


def whole_prompt(_: dict[str, Any]) -> None:
    history = [
        SystemMessage("rules", metadata={"cache": True}),
        UserMessage(["what?", Media(b"\x89PNG\r\n\x1a\n")]),
        AssistantMessage(tool_calls=[ToolCall("c1", "f", arguments={"a": 1})]),
        ToolResponseMessage(ToolResponse("c1", "f", content="3", artifact={"raw": b"\xff"})),
    ]
    prompt = Prompt(history, ChatOptions(model="m", temperature=0, tools=[ToolDefinition("f")]))
    assert loads(dumps(prompt)) == prompt


def plain_dicts(_: dict[str, Any]) -> None:
    history: Any = [{"type": "user", "content": "a"}]
    with pytest.raises(PromptError, match=r"messages\[0\] is a mapping, not a message"):
        Prompt(history)
    with pytest.raises(SerializationError, match="is a mapping, not a message") as caught:
        dumps(history)
    assert caught.value.path == "messages[0]"
    with pytest.raises(SerializationError, match="an object with 'promptkit' and 'type'"):
        from_dict(history)


def every_kind_is_handled(row: dict[str, Any]) -> None:
    history = tuple(message(one) for one in row["input"]["messages"])
    assert loads(dumps(history)) == history


def growth(row: dict[str, Any]) -> None:
    value: Any = message(row["input"]["message"])
    for _ in range(10):
        value = loads(dumps(value))
    assert len(dumps(value)) <= row["expect"]["max_bytes"]


def joined(row: dict[str, Any]) -> None:
    chunks = [chunk(one) for one in row["input"]["chunks"]]
    response = ChatResponse.from_chunks(chunks)
    assert response.result is not None
    output = response.result.output
    thoughts = [part for part in output.content or () if isinstance(part, Reasoning)]
    found = {
        "text": output.text,
        "calls": [{"id": one.id, "name": one.name, "args": one.parsed_arguments} for one in output.tool_calls],
        "invalid": len(output.invalid_tool_calls),
        "finish": response.result.finish_reason,
        "model": response.model,
        "reasoning": "".join(part.text for part in thoughts),
        "signature": next((part.metadata["signature"] for part in thoughts if part.metadata), ""),
        "usage": {
            "input": response.usage.prompt_tokens,
            "output": response.usage.completion_tokens,
            "total": response.usage.total_tokens,
            "cache_read": response.usage.cache_read_tokens,
            "cache_write": response.usage.cache_write_tokens,
        },
    }
    for name, wanted in row["expect"].items():
        if name == "usage":
            wanted = {**found["usage"], **wanted}  # type: ignore[dict-item]  # noqa: PLW2901
        assert found[name] == wanted, name
    natives = [one["usage"]["native"] for one in row["input"]["chunks"] if "native" in one.get("usage", {})]
    assert [response.usage.native] == natives or not natives
    pieces = [
        one["calls"][0]["args"] for one in row["input"]["chunks"] if row["expect"].get("calls") == [] and "calls" in one
    ]
    assert [one.arguments for one in output.invalid_tool_calls] == pieces


def mime_type(row: dict[str, Any]) -> None:
    given, expect = row["input"], row["expect"]
    if "part" in given:
        found = Media(url=given["part"]["url"])
        parameters = Media(url=given["part"]["url"].replace(";base64", ";name=a.pdf;base64"))
        assert found.kind == expect["block"]
        assert found.mime_type == parameters.mime_type == expect["mime"]
        return
    data = bytes.fromhex(given["bytes_hex"])
    assert Media(data).mime_type == Media(data, name=given["name"]).mime_type == expect["mime"]
    with pytest.raises(PromptError, match="mime_type"):
        Media(b"who knows")


def document_by_url(row: dict[str, Any]) -> None:
    part = row["input"]["part"]
    found = Media(url=part["url"], mime_type=part["mime"])
    assert found == Media(url=part["url"])
    with pytest.raises(PromptError, match="has no bytes here"):
        _ = found.data_uri


def image_by_url(row: dict[str, Any]) -> None:
    found = Media(url=row["input"]["part"]["url"], mime_type="image/*")
    assert (found.kind, found.data) == ("image", None)


def audio(row: dict[str, Any]) -> None:
    for part in row["input"]["parts"]:
        found = Media.from_base64(part["base64"], part["mime"])
        assert (found.kind, found.mime_type, found.data) == ("audio", part["mime"], base64.b64decode(part["base64"]))


def escapes(row: dict[str, Any]) -> None:
    text, cut = row["input"]["json_text"], row["input"]["partial_cut"]
    assert ToolCall("c", "f", arguments=text).parsed_arguments == {"e": row["expect"]["value"]}
    with pytest.raises(ToolError, match="cannot be read"):
        _ = ToolCall("c", "f", arguments=cut).parsed_arguments
    high, low = json.loads('"\\ud83e"'), json.loads('"\\udd84"')
    assert ChatResponse.from_chunks([ChatChunk(high), ChatChunk(low)]).text == row["expect"]["value"]
    broken = ChatResponse.from_chunks([ChatChunk(tool_calls=[ToolCallChunk(0, "c", name="f", arguments=cut)])])
    assert broken.result is not None
    assert broken.result.output.invalid_tool_calls[0].arguments == cut
    _json.dumps({"cut": high}).encode()


RUN: dict[str, Callable[[dict[str, Any]], None]] = {
    "B052": augment,
    "B056": shared_defaults,
    "B057": merged_options,
    "B059": merged_options,
    "B060": stops_of_a_copy,
    "B061": round_trip,
    "B063": round_trip,
    "B064": unknown_kind,
    "B065": whole_prompt,
    "B066": round_trip,
    "B068": plain_dicts,
    "B070": every_kind_is_handled,
    "B071": growth,
    "B072": round_trip,
    "B073": round_trip,
    "B075": round_trip,
    "B100": joined,
    "B102": joined,
    "B104": joined,
    "B105": joined,
    "B107": joined,
    "B109": joined,
    "B110": joined,
    "B111": joined,
    "B112": joined,
    "B114": joined,
    "B116": joined,
    "B118": joined,
    "B135": mime_type,
    "B137": document_by_url,
    "B139": mime_type,
    "B140": image_by_url,
    "B142": audio,
    "B173": escapes,
}
"""What runs a case; a case without an entry fails."""


@pytest.mark.parametrize("case", ROWS)
def test_reports_hold(case: str) -> None:
    RUN[case](ROWS[case])


def test_every_function_has_its_case() -> None:
    assert set(RUN) == set(ROWS)
