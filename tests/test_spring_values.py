"""Hold the values against the recorded behaviour of Spring AI (areas MSG, MED, PRM, OPT, RSP, AGG), in our names."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from promptkit import serialization
from promptkit.content import Media, Reasoning, Text
from promptkit.contracts import stream
from promptkit.errors import ModelError, PromptError
from promptkit.messages import (
    AssistantMessage,
    Message,
    MessageType,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.options import ChatOptions, ToolDefinition
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse, Generation, ToolCallChunk, Usage
from tests import oracles

ROWS = oracles.rows("spring_values.jsonl")
COUNTERS = ("prompt_tokens", "completion_tokens", "total_tokens")


# From the neutral form to ours, and back


def media(data: dict[str, Any] | None) -> Media:
    if data is None:
        return None  # type: ignore[return-value]
    raw = {"bytes": base64.b64decode(data["bytes"])} if "bytes" in data else {}
    fields = {"mime": "mime_type", "uri": "url", "text_data": "data", "bytes": "data"}
    return Media(**{fields.get(name, name): value for name, value in (data | raw).items()})


def message(data: Any, tmp_path: Path) -> Any:
    if not isinstance(data, dict):
        return data
    fields: dict[str, Any] = {"metadata": data["metadata"]} if "metadata" in data else {}
    if data["role"] == "tool":
        results = [ToolResponse(one["id"], one["name"], content=one["data"]) for one in data["responses"]]
        return ToolResponseMessage(results, **fields)
    if "tool_calls" in data:
        calls = data["tool_calls"]
        fields["tool_calls"] = calls and [ToolCall(one["id"], one["name"], arguments=one["arguments"]) for one in calls]
    text = data.get("text")
    if "text_file" in data:
        file = tmp_path / "text"
        file.write_text(data["text_file"], encoding="utf-8")
        text = file.read_text(encoding="utf-8")
    content: Any = [text, *map(media, data["media"])] if "media" in data else text
    kinds = {"system": SystemMessage, "user": UserMessage, "assistant": AssistantMessage}
    return kinds[data["role"]](content, **fields)


def plain(value: Message) -> dict[str, Any]:
    """Give a message in the neutral form, as far as the cases look."""
    if isinstance(value, ToolResponseMessage):
        return {
            "role": "tool",
            "responses": [{"id": one.id, "name": one.name, "data": one.text} for one in value.responses],
        }
    assert isinstance(value, SystemMessage | UserMessage | AssistantMessage)
    return {"role": value.message_type.value, "text": value.text}


def refused(then: dict[str, Any], make: Callable[[], object]) -> None:
    """Expect our error for the argument, with the words of the case; their null is our None."""
    assert then["error"] in {"invalid-argument", "invalid-state"}
    with pytest.raises(PromptError) as caught:
        make()
    text = str(caught.value).lower()
    for word in then["mentions"]:
        assert word.lower().replace("null", "none") in text


def agrees(then: dict[str, Any], make: Callable[[], dict[str, Any]]) -> None:
    """Compare what is found with all that the case states, its error too."""
    if "error" in then:
        refused(then, make)
        return
    found = make()
    assert {name: found.get(name, "not looked at") for name in then} == then


# One function for each thing that a case does


def construct_message(given: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
    if "text" in given and "text_file" in given:
        with pytest.raises(TypeError):  # content is one argument: two sources cannot be spelt
            UserMessage("x", "y")  # type: ignore[call-arg,arg-type]
        return

    def make() -> dict[str, Any]:
        made = message(given, tmp_path)
        return {"text": made.text, "type": made.message_type, "metadata_without_type": made.metadata}

    agrees(then, make)


def compare_messages(given: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
    one, two = message(given["a"], tmp_path), message(given["b"], tmp_path)
    assert (one == two) is then["equal"]
    assert hash(one) == hash(two) or "same_hash" not in then


def inspect_message(given: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
    made = message(given["message"], tmp_path)
    agrees(then, lambda: {"type": made.message_type, "text": made.text, **plain(made)})


def copy_message(given: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
    made = message(given["message"], tmp_path)
    copied = made.mutate()
    agrees(then, lambda: {"equal": copied == made, "same_object": copied is made})


def copy_with_media(given: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
    made = message(given["message"], tmp_path)
    copied = made.mutate(content=[made.text, Media(b"\1", "image/png")])
    assert (len(copied.media), len(made.media)) == (then["media_count"], then["original_media_count"])


def copy_with_changes(given: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
    copied = message(given["message"], tmp_path).mutate(content="two", metadata={"k2": "b"})
    agrees(then, lambda: {"text": copied.text, "metadata_without_type": copied.metadata})


def has_tool_calls(given: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
    assert message(given["message"], tmp_path).has_tool_calls is then["result"]


def wire_values(given: dict[str, Any], then: dict[str, Any], _: Path) -> None:
    assert [MessageType[name] for name in given["types"]] == then["result"]
    assert [str(MessageType[name]) for name in given["types"]] == then["result"]


@frozen
class Marked(AssistantMessage):
    marker: str = ""


def copy_subclass(_: dict[str, Any], then: dict[str, Any], __: Path) -> None:
    prompt = Prompt([Marked("hi", marker="m")]).mutate()
    kept = copy.deepcopy(prompt).messages[0]
    agrees(then, lambda: {"class_kept": type(kept) is Marked, "marker": getattr(kept, "marker", None)})


def build_media(given: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
    def make() -> dict[str, Any]:
        made = Media.from_path(tmp_path / "absent") if "resource" in given else media(given)
        return {"bytes": made.data and made.base64, "data": made.url, "id": made.id, "name": made.name}

    if "data_calls" in given:  # decided
        with pytest.raises(PromptError, match="exactly one of data, url and file_id, not data and url"):
            Media(b"\1\2\3", given["mime"], url="https://ex.test/i.png")
        return
    agrees(then, make)


def media_as_bytes(given: dict[str, Any], then: dict[str, Any], _: Path) -> None:
    refused(then, lambda: media(given))
    refused(then, lambda: Media(url="https://ex.test/i.png").bytes)


def construct_prompt(given: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
    if given == {"messages": []}:  # decided
        empty = Prompt([])
        assert (empty.messages, empty.user_message, empty.system_message) == ((), None, None)
        return
    source = given["text"] if "text" in given else given["messages"]
    agrees(then, lambda: {"messages": [plain(one) for one in Prompt(source)]})
    if isinstance(source, list):
        agrees(then, lambda: {"messages": [plain(message(one, tmp_path)) for one in Prompt(source)]})


def prompt_of(given: dict[str, Any], tmp_path: Path) -> Prompt:
    options = ChatOptions(**given.get("options", {}))
    return Prompt([message(one, tmp_path) for one in given["messages"]], options)


def system_message(given: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
    found = prompt_of(given, tmp_path).system_message
    assert found is not None
    agrees(then, lambda: plain(found))


def user_message(given: dict[str, Any], _: dict[str, Any], tmp_path: Path) -> None:
    assert prompt_of(given, tmp_path).user_message is None  # decided


def last_user_or_tool(given: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
    found = prompt_of(given, tmp_path).last_user_or_tool_response_message
    assert found is not None
    agrees(then, lambda: {"role": found.message_type})


def augment(change: Callable[[Prompt], Prompt]) -> Callable[[dict[str, Any], dict[str, Any], Path], None]:
    def run(given: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
        prompt = prompt_of(given, tmp_path)
        changed = change(prompt)
        last: Any = changed.messages[-1]
        same = "same object" if changed.options is prompt.options else "copy"
        agrees(
            then,
            lambda: {
                "messages": [plain(one) for one in changed],
                "original": [plain(one) for one in prompt],
                "text": last.text,
                "metadata_without_type": last.metadata,
                "media_count": len(last.media),
                "options_identity": same,
            },
        )

    return run


def shout(old: Message) -> Message:
    assert isinstance(old, UserMessage)
    return old.with_text(f"{old.text}!")


def copy_prompt(given: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
    class Own:
        message_type = MessageType.USER
        content = "q"
        metadata: dict[str, Any] = {}  # noqa: RUF012 - as somebody may write it

    own = "ok" in then
    prompt = Prompt([Own()]) if own else prompt_of(given, tmp_path)
    copied = [prompt.mutate(), copy.copy(prompt), *([] if own else [copy.deepcopy(prompt)])]
    agrees(then, lambda: {"equal": all(one == prompt for one in copied), "ok": all(one == prompt for one in copied)})


def contents(given: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
    assert prompt_of(given, tmp_path).text == then["result"]


def messages_kept(_: dict[str, Any], then: dict[str, Any], __: Path) -> None:
    mine: list[Message] = [UserMessage("q")]
    prompt = Prompt(mine)
    mine.append(UserMessage("r"))
    assert [plain(one) for one in prompt] == then["messages"]


def construct_options(given: dict[str, Any], then: dict[str, Any], _: Path) -> None:
    options = ChatOptions(**given)
    assert {name: getattr(options, name) for name in then} == {
        name: tuple(value) if isinstance(value, list) else value for name, value in then.items()
    }


def append_stop(given: dict[str, Any], _: dict[str, Any], __: Path) -> None:
    with pytest.raises(AttributeError):
        ChatOptions(**given).stop_sequences.append("b")  # type: ignore[union-attr]


def copy_options(given: dict[str, Any], then: dict[str, Any], _: Path) -> None:
    base = ChatOptions(**given["base"])
    copied = base.mutate(model="m2")
    agrees(then, lambda: {"model": copied.model, "temperature": copied.temperature, "base_model": base.model})


def merge_options(given: dict[str, Any], then: dict[str, Any], _: Path) -> None:
    merged = ChatOptions(**given["base"]).merge(ChatOptions(**given["other"]))
    if "stop_sequences" in given["base"]:  # decided
        assert merged.stop_sequences == tuple(given["other"]["stop_sequences"])
        return
    agrees(then, lambda: {"temperature": merged.temperature})


def compare_options(given: dict[str, Any], then: dict[str, Any], _: Path) -> None:
    one, two = ChatOptions(**given["a"]), ChatOptions(**given["b"])
    agrees(then, lambda: {"equal": one == two, "same_hash": hash(one) == hash(two)})


def merge_tools(given: dict[str, Any], then: dict[str, Any], _: Path) -> None:
    runtime, default = ([ToolDefinition(name) for name in given[layer]] for layer in ("runtime", "default"))
    merged = ChatOptions(tools=default).merge(ChatOptions(tools=runtime)).tools or ()
    names = [tool.name for tool in merged]
    assert names == ([] if runtime == [] else then["result"])  # an empty list is set: decided


def merge_context(given: dict[str, Any], then: dict[str, Any], _: Path) -> None:
    merged = ChatOptions(tools=given["default"]).merge(ChatOptions(tools=given["runtime"]))
    assert merged.tools is then["result"] is None
    assert merged == ChatOptions()


def validate_tools(given: dict[str, Any], then: dict[str, Any], _: Path) -> None:
    refused(then, lambda: ChatOptions(tools=[ToolDefinition(name) for name in given["tools"]]))


def response_of(given: dict[str, Any], tmp_path: Path) -> ChatResponse:
    return ChatResponse([Generation(message(one, tmp_path), one.get("finish_reason")) for one in given["generations"]])


def result(given: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
    response = response_of(given, tmp_path)
    first = response.result
    text = first and first.output.text
    agrees(then, lambda: {"result": first, "result_text": text, "has_tool_calls": response.has_tool_calls})


def finish_reasons(given: dict[str, Any], then: dict[str, Any], tmp_path: Path) -> None:
    response = response_of(given, tmp_path)
    agrees(then, lambda: {"result": response.has_finish_reasons(given["reasons"])})


def usage_of(data: Any) -> Usage:
    if data is None:
        return Usage()
    if isinstance(data, list):
        data = {"t": data}
    prompt, completion, total = data["t"]
    native = {"record": 1}
    return Usage(
        prompt,
        completion,
        total_tokens=total,
        cache_read_tokens=data.get("cache_read"),
        cache_write_tokens=data.get("cache_write"),
        native=native,
    )


def construct_usage(given: dict[str, Any], then: dict[str, Any], _: Path) -> None:
    usage = Usage(**given)
    assert {name: getattr(usage, name) for name in COUNTERS} == then


def usage_to_json(given: dict[str, Any], _: dict[str, Any], __: Path) -> None:
    data = serialization.to_dict(Usage(**given))  # decided
    assert data == {"promptkit": 1, "type": "usage", **given}


def cumulative_usage(given: dict[str, Any], then: dict[str, Any], _: Path) -> None:
    total = usage_of(given["previous"]) + usage_of(given["current"])
    native = None if not total.native else "kept"
    found = {"cache_read": total.cache_read_tokens, "cache_write": total.cache_write_tokens, "native_usage": native}
    agrees(then, lambda: {"result": [getattr(total, name) for name in COUNTERS], **found})


def default_stream(_: dict[str, Any], __: dict[str, Any], ___: Path) -> None:
    class OnlyCall:
        def call(self, prompt: Prompt) -> ChatResponse:
            return ChatResponse(Generation(AssistantMessage(prompt.text)))

    chunks = list(stream(OnlyCall(), Prompt("hi")))  # decided
    assert [chunk.text for chunk in chunks] == ["hi"]


def chunk_of(data: dict[str, Any]) -> ChatChunk:
    calls = data.get("tool_calls") or data.get("response_metadata", {}).get("toolCalls", [])
    if data.get("metadata", {}).get("isThought"):
        return ChatChunk((Reasoning(data["text"]),))
    return ChatChunk(
        data["text"],
        tool_calls=[ToolCallChunk(None, one["id"], name=one["name"], arguments=one["arguments"]) for one in calls],
        id=data.get("id"),
        model=data.get("model"),
        usage=usage_of(data["usage"]) if "usage" in data else None,
        metadata={"rate_limit": data["rate_limit"]} if "rate_limit" in data else {},
        message_metadata=data.get("metadata", {}),
    )


def aggregate(given: dict[str, Any], then: dict[str, Any], _: Path) -> None:
    def chunks() -> Iterator[ChatChunk]:
        for data in given["chunks"]:
            if "raise" in data:
                raise OSError(data["raise"])
            yield chunk_of(data)

    if "error" in then:
        with pytest.raises(ModelError) as caught:
            ChatResponse.from_chunks(chunks())
        assert str(caught.value.__cause__) == then["error"]
        assert caught.value.partial is not None
        assert caught.value.partial.text == then["partial_text_available"]
        return
    response = ChatResponse.from_chunks(chunks())
    assert response.result is not None
    output = response.result.output
    if "thoughts" in then.get("metadata", {}):  # decided
        assert output.content == (Reasoning("hmm "), Text("42"))
        assert output.text == "42"
        return
    found = {
        "text": output.text,
        "tool_calls": [{"id": one.id, "name": one.name, "arguments": one.arguments} for one in output.tool_calls],
        "tool_call_ids": [one.id for one in output.tool_calls],
        "rate_limit": response.metadata.get("rate_limit"),
        "usage": [getattr(response.usage, name) for name in COUNTERS],
        "usage_cache_read": response.usage.cache_read_tokens,
        "metadata": output.metadata,
        "id": response.id,
        "model": response.model,
    }
    agrees(then, lambda: found)


RUN: dict[tuple[str, str], Callable[[dict[str, Any], dict[str, Any], Path], None]] = {
    ("MSG", "construct"): construct_message,
    ("MSG", "build"): construct_message,
    ("MSG", "construct from the file's text"): construct_message,
    ("MSG", "copy"): copy_message,
    ("MSG", "copy with one media item"): copy_with_media,
    ("MSG", "copy with text='two', metadata={'k2':'b'}"): copy_with_changes,
    ("MSG", "compare"): compare_messages,
    ("MSG", "inspect"): inspect_message,
    ("MSG", "has_tool_calls"): has_tool_calls,
    ("MSG", "wire values"): wire_values,
    ("MSG", "copy the prompt holding it"): copy_subclass,
    ("MED", "build"): build_media,
    ("MED", "as_bytes"): media_as_bytes,
    ("PRM", "construct"): construct_prompt,
    ("PRM", "system_message"): system_message,
    ("PRM", "user_message"): user_message,
    ("PRM", "last_user_or_tool"): last_user_or_tool,
    ("PRM", "augment_user(text='three')"): augment(lambda prompt: prompt.augment_user_message("three")),
    ("PRM", "augment_user(text='added')"): augment(lambda prompt: prompt.augment_user_message("added")),
    ("PRM", "augment_user(text='q2')"): augment(lambda prompt: prompt.augment_user_message("q2")),
    ("PRM", "augment_user(text='x')"): augment(lambda prompt: prompt.augment_user_message("x")),
    ("PRM", "augment_user(fn: text + '!')"): augment(lambda prompt: prompt.augment_user_message(shout)),
    ("PRM", "augment_system(text='x')"): augment(lambda prompt: prompt.augment_system_message("x")),
    ("PRM", "augment_system(text='new')"): augment(lambda prompt: prompt.augment_system_message("new")),
    ("PRM", "copy"): copy_prompt,
    ("PRM", "mutate/evolve without changes"): copy_prompt,
    ("PRM", "contents"): contents,
    ("PRM", "messages"): messages_kept,
    ("OPT", "construct"): construct_options,
    ("OPT", "append to options.stop_sequences"): append_stop,
    ("OPT", "copy with model='m2'"): copy_options,
    ("OPT", "merge(base, other)"): merge_options,
    ("OPT", "compare"): compare_options,
    ("OPT", "merge tools"): merge_tools,
    ("OPT", "merge tool context"): merge_context,
    ("OPT", "validate tools"): validate_tools,
    ("RSP", "result / has_tool_calls"): result,
    ("RSP", "has_finish_reasons"): finish_reasons,
    ("RSP", "construct usage"): construct_usage,
    ("RSP", "usage to JSON"): usage_to_json,
    ("RSP", "cumulative usage"): cumulative_usage,
    ("RSP", "stream(prompt)"): default_stream,
    ("AGG", "aggregate"): aggregate,
}
"""What runs a case, by its area and deed; a case of a new kind fails here."""


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_values_agree_with_spring(row: dict[str, Any], tmp_path: Path) -> None:
    RUN[row["id"].split("-")[1], row["when"]](row["given"], row["then"], tmp_path)


def test_what_we_decide_stands_in_the_table() -> None:
    denied = {"SC-OPT-015"}  # ruling 8 names it
    assert {row["id"] for row in ROWS if row["stance"] == "decide"} | denied <= set(oracles.decided())
