"""Blocks of every vendor and of older versions come in LangChain's standard form."""

from __future__ import annotations

from typing import Any

import pytest

from promptkit.adapters.langchain import AIMessage, HumanMessage

BLOCKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "v0 text file": (
        {"type": "file", "source_type": "text", "url": "some text", "mime_type": "text/markdown", "title": "t"},
        {"type": "text-plain", "text": "some text", "mime_type": "text/markdown", "extras": {"title": "t"}},
    ),
    "v0 text file without type": (
        {"type": "file", "source_type": "text", "url": "some text"},
        {"type": "text-plain", "text": "some text", "mime_type": "text/plain"},
    ),
    "v0 id": (
        {"type": "image", "source_type": "id", "id": "f1", "alt": "x"},
        {"type": "image", "file_id": "f1", "extras": {"alt": "x"}},
    ),
    "v0 base64": (
        {"type": "audio", "source_type": "base64", "data": "QQ==", "mime_type": "audio/wav", "metadata": {"k": 1}},
        {"type": "audio", "base64": "QQ==", "mime_type": "audio/wav", "extras": {"metadata": {"k": 1}}},
    ),
    "v0 url": (
        {"type": "image", "source_type": "url", "url": "https://e.org/a.png"},
        {"type": "image", "url": "https://e.org/a.png"},
    ),
    "v0 nowhere": (
        {"type": "image", "source_type": "url"},
        {"type": "non_standard", "value": {"type": "image", "source_type": "url"}},
    ),
    "openai url+detail": (
        {"type": "image_url", "image_url": {"url": "https://e.org/a.png", "detail": "low", "k": 1}},
        {"type": "image", "url": "https://e.org/a.png", "id": "made", "extras": {"image_url_k": 1, "detail": "low"}},
    ),
    "openai data": (
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}},
        {"type": "image", "base64": "QQ==", "mime_type": "image/png", "id": "made"},
    ),
    "openai audio": (
        {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "wav", "k": 2}},
        {"type": "audio", "base64": "QQ==", "mime_type": "audio/wav", "id": "made", "extras": {"audio_k": 2}},
    ),
    "openai file id": (
        {"type": "file", "file": {"file_id": "f1", "filename": "a.pdf"}},
        {"type": "file", "file_id": "f1", "id": "made", "extras": {"file_filename": "a.pdf"}},
    ),
    "openai file data": (
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,QQ==", "filename": "a.pdf"}},
        {
            "type": "file",
            "base64": "QQ==",
            "mime_type": "application/pdf",
            "id": "made",
            "extras": {"filename": "a.pdf"},
        },
    ),
    "openai file nothing": ({"type": "file", "file": {"k": 1}}, {"type": "file", "file": {"k": 1}}),
    "anthropic image base64": (
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="},
            "cache_control": {"type": "ephemeral"},
        },
        {
            "type": "image",
            "base64": "QQ==",
            "mime_type": "image/png",
            "extras": {"cache_control": {"type": "ephemeral"}},
        },
    ),
    "anthropic image url": (
        {"type": "image", "source": {"type": "url", "url": "https://e.org/a.png"}},
        {"type": "image", "url": "https://e.org/a.png"},
    ),
    "anthropic image file": (
        {"type": "image", "source": {"type": "file", "file_id": "f1"}},
        {"type": "image", "id": "f1"},
    ),
    "anthropic doc text": (
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}, "title": "t"},
        {"type": "text-plain", "text": "words", "mime_type": "text/plain", "extras": {"title": "t"}},
    ),
    "anthropic doc pdf": (
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "QQ=="}},
        {"type": "file", "base64": "QQ==", "mime_type": "application/pdf"},
    ),
    "anthropic doc url": (
        {"type": "document", "source": {"type": "url", "url": "https://e.org/a.pdf"}},
        {"type": "file", "url": "https://e.org/a.pdf"},
    ),
    "anthropic odd": (
        {"type": "document", "source": {"type": "content", "content": []}},
        {"type": "non_standard", "value": {"type": "document", "source": {"type": "content", "content": []}}},
    ),
    "bedrock text": ({"text": "hi"}, {"type": "text", "text": "hi"}),
    "bedrock image": (
        {"image": {"format": "png", "source": {"bytes": b"A"}, "k": 1}},
        {"type": "image", "base64": "QQ==", "mime_type": "image/png", "extras": {"k": 1}},
    ),
    "bedrock pdf": (
        {"document": {"format": "pdf", "source": {"bytes": b"A"}, "name": "n"}},
        {"type": "file", "base64": "QQ==", "mime_type": "application/pdf", "extras": {"name": "n"}},
    ),
    "bedrock txt": (
        {"document": {"format": "txt", "source": {"text": "words"}}},
        {"type": "text-plain", "text": "words", "mime_type": "text/plain"},
    ),
    "bedrock csv": (
        {"document": {"format": "csv", "source": {"bytes": b"A"}}},
        {"type": "non_standard", "value": {"document": {"format": "csv", "source": {"bytes": b"A"}}}},
    ),
    "bedrock s3": (
        {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/k"}}}},
        {"type": "non_standard", "value": {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/k"}}}}},
    ),
    "bedrock no source": (
        {"image": {"format": "png"}},
        {"type": "non_standard", "value": {"image": {"format": "png"}}},
    ),
    "bedrock other": (
        {"cachePoint": {"type": "default"}},
        {"type": "non_standard", "value": {"cachePoint": {"type": "default"}}},
    ),
    "google file": (
        {"type": "file_data", "file_uri": "gs://b/k", "mime_type": "image/png"},
        {"type": "file", "url": "gs://b/k", "mime_type": "image/png"},
    ),
    "google call": (
        {"type": "function_call", "name": "f", "args": {"a": 1}, "id": "c1"},
        {"type": "tool_call", "name": "f", "args": {"a": 1}, "id": "c1"},
    ),
    "google code": (
        {"type": "executable_code", "executable_code": "1+1", "language": "python", "id": "e1"},
        {
            "type": "server_tool_call",
            "name": "code_interpreter",
            "args": {"code": "1+1", "language": "python"},
            "id": "e1",
        },
    ),
    "google result": (
        {"type": "code_execution_result", "code_execution_result": "2", "outcome": 1, "tool_call_id": "e1"},
        {
            "type": "server_tool_result",
            "tool_call_id": "e1",
            "status": "success",
            "output": "2",
            "extras": {"outcome": 1},
        },
    ),
    "google bad result": (
        {"type": "code_execution_result", "code_execution_result": "boom", "outcome": 2, "tool_call_id": "e1"},
        {
            "type": "server_tool_result",
            "tool_call_id": "e1",
            "status": "error",
            "output": "boom",
            "extras": {"outcome": 2},
        },
    ),
    "google no outcome": (
        {"type": "code_execution_result", "code_execution_result": "boom", "outcome": None, "tool_call_id": "e1"},
        {"type": "server_tool_result", "tool_call_id": "e1", "status": "error", "output": "boom"},
    ),
    "wrapped": (
        {"type": "non_standard", "value": {"type": "thing", "k": 1}},
        {"type": "non_standard", "value": {"type": "thing", "k": 1}},
    ),
    "wrapped text": ({"type": "non_standard", "value": "words"}, {"type": "non_standard", "value": "words"}),
    "wrapped known": ({"type": "non_standard", "value": {"type": "text", "text": "t"}}, {"type": "text", "text": "t"}),
    "unknown": ({"type": "thing"}, {"type": "non_standard", "value": {"type": "thing"}}),
}
"""A block, and its standard form; an id that is made up is "made"."""


def masked(block: Any) -> dict[str, Any]:
    return {**block, "id": "made"} if str(block.get("id")).startswith("lc_") else dict(block)


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_has_a_standard_form(name: str) -> None:
    block, standard = BLOCKS[name]

    assert [masked(found) for found in HumanMessage([block]).content_blocks] == [standard]
    assert [masked(found) for found in AIMessage([block]).content_blocks] == [standard]


def test_an_id_that_is_made_up_is_that_of_the_block_and_its_place() -> None:
    block = BLOCKS["openai data"][0]
    one, other = HumanMessage([block, block]).content_blocks

    assert one["id"] != other["id"]
    assert HumanMessage([block]).content_blocks == [one]


def test_thoughts_beside_the_content_come_first() -> None:
    beside = {"reasoning_content": "Hm."}

    assert AIMessage("Yes.", additional_kwargs=beside).content_blocks == [
        {"type": "reasoning", "reasoning": "Hm."},
        {"type": "text", "text": "Yes."},
    ]
    thought = {"type": "reasoning", "reasoning": "Well."}
    assert AIMessage([thought], additional_kwargs=beside).content_blocks == [thought]
