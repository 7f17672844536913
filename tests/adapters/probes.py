"""Hold what a prompt can say in small prompts, row by row of the table in the README."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from promptkit.content import Content, Media, Opaque, Part, Reasoning, Text
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

Probe = Callable[[str], Prompt]
"""Make a prompt for a vendor's format, whose name is the key of its own fields."""

_LIMIT = ChatOptions(max_tokens=9)
_SCHEMA = {"type": "object", "title": "Report", "properties": {"t": {"type": "number"}}}
_Q, _A = UserMessage("q"), AssistantMessage("a")
_PNG = Media(b"\x89PNG\r\n\x1a\n")
_PDF = Media(b"%PDF-1.7", name="a.pdf")
_PDFS = _PDF, Media(url="https://h/a.pdf"), Media(file_id="file-1")
_MARKS = {
    "anthropic": "cache_control",
    "openai": "prompt_cache_breakpoint",
    "openai_responses": "prompt_cache_breakpoint",
}
_CITATIONS = {"anthropic": "citations", "openai_responses": "annotations"}
_SIGNATURES: Mapping[str, dict[str, Any]] = {
    "anthropic": {"signature": "c2ln"},
    "gemini": {"gemini": {"thoughtSignature": "c2ln"}},
    "openai_responses": {"openai_responses": {"id": "r", "summary": [{"type": "summary_text", "text": "hm"}]}},
}
_ENCRYPTED: Mapping[str, dict[str, Any]] = {
    "anthropic": {"redacted": "eHl6"},
    "gemini": {"gemini": {"thoughtSignature": "eHl6"}},
    "openai_responses": {"openai_responses": {"id": "r", "encrypted_content": "eHl6"}},
}
_BLOCKS: Mapping[str, dict[str, Any]] = {"gemini": {"codeExecutionResult": {"outcome": "OUTCOME_OK"}}}


def _messages(*messages: Message) -> Probe:
    return lambda _: Prompt(messages, _LIMIT)


def _said(*parts: Part | str) -> Probe:
    return _messages(UserMessage(["See:", *parts]))


def _thought(text: str, metadata: Mapping[str, dict[str, Any]]) -> Probe:
    thought = {vendor: Reasoning(text, metadata=own) for vendor, own in metadata.items()}
    return lambda vendor: Prompt([_Q, AssistantMessage([thought.get(vendor, Reasoning(text)), "a"])], _LIMIT)


def _called(*calls: ToolCall, said: str | None = None) -> Probe:
    results = [ToolResponse(call.id, call.name, content="1") for call in calls]
    return _messages(_Q, AssistantMessage(said, tool_calls=calls), ToolResponseMessage(results))


def _result(content: Content | list[Part | str], status: Any = "success") -> Probe:
    call = AssistantMessage(tool_calls=[ToolCall("c1", "f")])
    return _messages(_Q, call, ToolResponseMessage(ToolResponse("c1", "f", content=content, status=status)))


def _options(**fields: Any) -> Probe:
    return lambda _: Prompt(_Q, _LIMIT.mutate(**fields))


def _marked(number: int) -> Probe:
    def probe(vendor: str) -> Prompt:
        own = {vendor: {_MARKS[vendor]: {"type": "ephemeral"}}} if vendor in _MARKS else {"cache": True}
        return Prompt([UserMessage([Text(str(at), metadata=own) for at in range(number)])], _LIMIT)

    return probe


def _own(part: Callable[[str], Message]) -> Probe:
    return lambda vendor: Prompt([_Q, part(vendor)], _LIMIT)


PROBES: Mapping[str, Mapping[str, Probe]] = {
    "system text": {
        "first": _messages(SystemMessage("S"), _Q),
        "in several messages": _messages(SystemMessage("S"), SystemMessage("T"), _Q),
        "later": _messages(SystemMessage("S"), _Q, _A, SystemMessage("T"), _Q),
    },
    "names of speakers": {"name": _messages(UserMessage("q", name="Ada"))},
    "images": {
        "bytes": _said(_PNG, "and"),
        "URL": _said(Media(url="https://h/cat.png"), "and"),
        "id": _said(Media(file_id="files/1", mime_type="image/*"), "and"),
    },
    "PDF": dict(zip(("bytes", "URL", "id"), map(_said, _PDFS), strict=True)),
    "sound": {"bytes": _said(Media(b"RIFF\0\0\0\0WAVE")), "URL": _said(Media(url="https://h/a.wav"))},
    "other media": {
        "films": _said(Media(url="gs://b/a.mp4")),
        "plain text": _said(Media(b"x", "text/plain", name="a")),
    },
    "tool calls": {
        "one": _called(ToolCall("c1", "f")),
        "several": _called(ToolCall("c1", "f"), ToolCall("c2", "f")),
        "beside text": _called(ToolCall("c1", "f"), said="Wait."),
        "without ids": _called(ToolCall(None, "f")),
    },
    "results of tools": {
        "text": _result("1"),
        "failures": _result("no", "error"),
        "images": _result(["map:", _PNG]),
        "PDF": _result(["map:", _PDF]),
    },
    "reasoning": {
        "signed": _thought("hm", _SIGNATURES),
        "encrypted": _thought("", _ENCRYPTED),
        "plain": _thought("hm", {}),
    },
    "answers": {
        "refusals": _messages(_Q, AssistantMessage([Text("No.", metadata={"refusal": True})])),
        "citations": _own(
            lambda vendor: AssistantMessage(
                [
                    Text(
                        "a",
                        metadata={vendor: {_CITATIONS[vendor]: [{"type": "x"}]}}
                        if vendor in _CITATIONS
                        else {"cites": 1},
                    )
                ]
            )
        ),
    },
    "cache marks": {"four": _marked(4), "five": _marked(5)},
    "structured output": {"schema": _options(output_schema=_SCHEMA)},
    "tools": {"functions": _options(tools=[ToolDefinition("f", "F.", input_schema=_SCHEMA)])},
    "tool choice": {
        choice: _options(tools=[ToolDefinition("f")], tool_choice="f" if choice == "one tool" else choice)
        for choice in ("auto", "none", "required", "one tool")
    },
    "options": {
        name: _options(**{name: value})
        for name, value in {
            "model": "m",
            "temperature": 0.5,
            "top_p": 0.5,
            "top_k": 3,
            "max_tokens": 9,
            "stop_sequences": ["END"],
            "frequency_penalty": 0.5,
            "presence_penalty": 0.5,
            "seed": 7,
        }.items()
    },
    "its own words": {
        "blocks": _own(
            lambda vendor: AssistantMessage([Opaque(vendor, _BLOCKS.get(vendor, {"type": "new_call"})), "a"])
        ),
        "fields": _own(lambda vendor: AssistantMessage([Text("a", metadata={vendor: {"new": 1}})])),
        "settings": _options(extra={"new": {"x": 1}}),
    },
    "another vendor's words": {"blocks": _messages(_Q, AssistantMessage([Opaque("other", {"type": "new"}), "a"]))},
}
