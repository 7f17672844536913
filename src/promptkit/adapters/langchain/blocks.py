"""Bring content blocks of vendors and of older LangChain versions to LangChain's standard form.

A block that no rule knows comes back as ``{"type": "non_standard", "value": block}``: nothing is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from promptkit import _json

__all__ = ["DATA_URI", "KNOWN_TYPES", "reasoning_block", "standard_block", "standard_blocks"]

Block = Mapping[str, Any]

KNOWN_TYPES = frozenset(
    (
        *("text", "reasoning", "refusal", "tool_call", "invalid_tool_call", "tool_call_chunk"),
        *("image", "audio", "file", "text-plain", "video"),
        *("server_tool_call", "server_tool_call_chunk", "server_tool_result", "non_standard"),
    )
)
"""The block types of LangChain 1.x."""

DATA_URI = re.compile(r"data:([^;]+);base64,(.+)", re.DOTALL)
"""The URL that holds a file: its type and its base64 text."""


def standard_blocks(content: str | Iterable[str | Block]) -> list[Block]:
    """Give content as standard blocks; text alone is one block, no text is none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [
        {"type": "text", "text": item} if isinstance(item, str) else standard_block(item, index)
        for index, item in enumerate(content)
    ]


def standard_block(block: Block, index: int | None = None) -> Block:
    """Give one block in its standard form.

    Args:
        block: The block, in any vendor's form.
        index: Its place in the message: an id is made of it where LangChain invents one. Without it there is no id.
    """
    inner = block.get("value") if block.get("type") == "non_standard" else block
    if not isinstance(inner, Mapping):
        return block
    for rule in _RULES:
        found = rule(inner, index)
        if found is not None:
            return found
    if inner.get("type") in KNOWN_TYPES and "source_type" not in inner:
        return inner
    return block if inner is not block else {"type": "non_standard", "value": block}


def reasoning_block(additional_kwargs: Block, blocks: Sequence[Block]) -> Block | None:
    """Give the reasoning that some vendors put beside the content, unless the content has some."""
    text = additional_kwargs.get("reasoning_content")
    if not isinstance(text, str) or any(block.get("type") == "reasoning" for block in blocks):
        return None
    return {"type": "reasoning", "reasoning": text}


def _data_block(kind: str, fields: Block, extras: Block, block_id: object = None) -> dict[str, Any]:
    """Build a block; an id and an index among the extras are the block's own."""
    found: dict[str, Any] = {"type": kind, **fields}
    own = {"id": extras.get("id", block_id), "index": extras.get("index")}
    rest = {key: value for key, value in extras.items() if key not in own and value is not None}
    found.update({key: value for key, value in own.items() if value is not None})
    return {**found, "extras": rest} if rest else found


def _invented_id(block: Block, index: int | None) -> str | None:
    """Make LangChain's kind of id; the same block at the same place always gets the same one."""
    if index is None:
        return None
    from hashlib import sha256

    return f"lc_{sha256(f'{index} {_json.dumps(_with_text(block))}'.encode()).hexdigest()[:32]}"


def _with_text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {key: _with_text(item) for key, item in value.items()}
    return [_with_text(item) for item in value] if isinstance(value, tuple | list) else value


def _others(block: Block, *known: str, prefix: str = "") -> dict[str, Any]:
    return {prefix + key: value for key, value in block.items() if key not in known}


def _from_version_0(block: Block, _: int | None) -> Block | None:
    """Read what LangChain wrote before version 1: the place of the data stands in ``source_type``."""
    kind, source = block.get("type"), block.get("source_type")
    if kind not in ("image", "audio", "file"):
        return None
    if source == "text" and kind == "file" and "url" in block:
        mime_type = block.get("mime_type") or "text/plain"
        extras = _others(block, "type", "source_type", "url", "mime_type")
        return _data_block("text-plain", {"text": block["url"], "mime_type": mime_type}, extras)
    if source == "id" and "id" in block:
        return _data_block(kind, {"file_id": block["id"]}, _others(block, "type", "source_type", "id"))
    place, name = {"url": ("url", "url"), "base64": ("data", "base64")}.get(str(source), ("", ""))
    if place not in block:
        return None
    fields = {name: block[place]} | ({"mime_type": block["mime_type"]} if block.get("mime_type") else {})
    return _data_block(kind, fields, _others(block, "type", "source_type", "mime_type", place))


def _from_openai(block: Block, index: int | None) -> Block | None:
    """Read the data blocks of OpenAI's Chat Completions."""
    kind = str(block.get("type"))
    data = block.get({"image_url": "image_url", "input_audio": "input_audio", "file": "file"}.get(kind, ""))
    if not isinstance(data, Mapping):
        return None
    extras, made = _others(block, "type", kind), _invented_id(block, index)
    if kind == "image_url" and isinstance(url := data.get("url"), str) and block.keys() <= {"type", kind, "detail"}:
        extras |= _others(data, "url", "detail", prefix="image_url_")
        extras |= {"detail": data["detail"]} if "detail" in data else {}
        found = DATA_URI.fullmatch(url)
        fields = {"url": url} if found is None else {"base64": found[2], "mime_type": found[1]}
        return _data_block("image", fields, extras, made)
    if kind == "input_audio" and isinstance(data.get("data"), str) and isinstance(data.get("format"), str):
        extras |= _others(data, "data", "format", prefix="audio_")
        return _data_block("audio", {"base64": data["data"], "mime_type": f"audio/{data['format']}"}, extras, made)
    if kind == "file" and isinstance(data.get("file_id"), str):
        extras |= _others(data, "file_id", prefix="file_")
        return _data_block("file", {"file_id": data["file_id"]}, extras, made)
    if kind == "file" and (found := DATA_URI.fullmatch(str(data.get("file_data")))):
        extras |= _others(data, "file_data", "filename", prefix="file_") | {"filename": data.get("filename")}
        return _data_block("file", {"base64": found[2], "mime_type": "application/pdf"}, extras, made)
    return None


_ANTHROPIC_SOURCES = {
    "base64": {"data": "base64", "media_type": "mime_type"},
    "url": {"url": "url"},
    "file": {"file_id": "id"},
}


def _from_anthropic(block: Block, _: int | None) -> Block | None:
    """Read Anthropic's images and documents."""
    kind, source = block.get("type"), block.get("source")
    if kind not in ("image", "document") or not isinstance(source, Mapping):
        return None
    extras = _others(block, "type", "source")
    rest = {"extras": extras} if extras else {}
    if kind == "document" and source.get("type") == "text" and "data" in source:
        return {
            "type": "text-plain",
            "text": source["data"],
            "mime_type": block.get("media_type", "text/plain"),
            **rest,
        }
    names = _ANTHROPIC_SOURCES.get(str(source.get("type")))
    if names is None or not names.keys() <= source.keys():
        return None
    return {"type": "image" if kind == "image" else "file", **{names[key]: source[key] for key in names}, **rest}


def _from_bedrock(block: Block, _: int | None) -> Block | None:
    """Read the blocks of Bedrock Converse and Google that have one key, the kind."""
    if len(block) != 1:
        return None
    ((kind, value),) = block.items()
    if kind == "text" and value:
        return {"type": "text", "text": value}
    if kind not in ("image", "document") or not isinstance(value, Mapping):
        return None
    source, form = value.get("source"), value.get("format")
    if not isinstance(source, Mapping):
        return None
    extras = _others(value, "format", "source")
    rest = {"extras": extras} if extras else {}
    if form == "txt" and kind == "document" and "text" in source:
        return {"type": "text-plain", "text": source["text"], "mime_type": "text/plain", **rest}
    if "bytes" not in source or not isinstance(form, str) or (kind == "document" and form != "pdf"):
        return None
    data, mime_type = _base64(source["bytes"]), f"image/{form}" if kind == "image" else "application/pdf"
    return {"type": "image" if kind == "image" else "file", "base64": data, "mime_type": mime_type, **rest}


def _base64(data: object) -> object:
    from base64 import b64encode

    return b64encode(data).decode("ascii") if isinstance(data, bytes) else data


def _from_google(block: Block, _: int | None) -> Block | None:
    """Read Google's files, calls and code."""
    kind = block.get("type")
    if kind == "file_data" and "file_uri" in block:
        mime_type = {"mime_type": block["mime_type"]} if block.get("mime_type") else {}
        return {"type": "file", "url": block["file_uri"], **mime_type}
    if kind == "function_call" and "name" in block:
        return {"type": "tool_call", "name": block["name"], "args": block.get("args", {}), "id": block.get("id", "")}
    if kind == "executable_code":
        args = {"code": block.get("executable_code", ""), "language": block.get("language", "python")}
        return {"type": "server_tool_call", "name": "code_interpreter", "args": args, "id": block.get("id", "")}
    if kind == "code_execution_result":
        outcome = block.get("outcome", 1)
        found = {
            "type": "server_tool_result",
            "tool_call_id": block.get("tool_call_id", ""),
            "status": "success" if outcome == 1 else "error",
            "output": block.get("code_execution_result", ""),
        }
        return found if outcome is None else {**found, "extras": {"outcome": outcome}}
    return None


_RULES: Sequence[Callable[[Block, int | None], Block | None]] = (
    _from_version_0,
    _from_openai,
    _from_anthropic,
    _from_bedrock,
    _from_google,
)
