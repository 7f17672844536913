"""Read what the bodies of all formats have in common: texts that must be there, a vendor's own fields, tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from promptkit._frozen import shown
from promptkit.content import Media
from promptkit.errors import AdapterError, PromptError
from promptkit.options import ToolDefinition

__all__ = ["MAPPINGS", "leave", "own_of", "split_tools", "text_at", "type_of_url"]

MAPPINGS = (dict, Mapping)
"""What an object may be; the exact class first, since asking an ABC costs ten times as much."""


def text_at(value: Mapping[str, Any], key: str) -> str:
    """Give a field that must be a text.

    Raises:
        AdapterError: It is none.
    """
    text = value.get(key)
    if not isinstance(text, str):
        raise AdapterError(f"{key} must be a str, not {shown(text)}")
    return text


def own_of(vendor: str, value: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Give the fields that no field of ours stands for, as the metadata that holds them."""
    own = {key: item for key, item in value.items() if key not in known and item is not None}
    return {vendor: own} if own else {}


def type_of_url(url: str, kind: str) -> str:
    """Tell the type of an image or document by URL from that URL, which is all that a format says of it."""
    try:
        found = Media(url=url)
    except PromptError:
        found = None
    if found is not None and found.mime_type is not None and found.kind == kind:
        return found.mime_type
    return "image/*" if kind == "image" else "application/*"


def split_tools(
    extra: dict[str, Any], is_function: Callable[[Any], bool], read: Callable[[Mapping[str, Any]], ToolDefinition]
) -> list[ToolDefinition] | None:
    """Take the functions out of ``tools``; the vendor's tools stay in ``extra``.

    Args:
        extra: The settings; it is changed.
        is_function: Whether the ``type`` of a tool is that of a function.
        read: How a function reads.

    Raises:
        AdapterError: A tool is damaged; the path says which.
    """
    entries = extra.get("tools")
    if not isinstance(entries, list | tuple):
        return None
    tools: list[ToolDefinition] = []
    others: list[Any] = []
    for index, entry in enumerate(entries):
        try:
            if not isinstance(entry, MAPPINGS):
                raise AdapterError(f"must be a mapping, not {shown(entry)}")
            if is_function(entry.get("type")):
                tools.append(read(entry))
            else:
                others.append(entry)
        except (AdapterError, PromptError) as error:
            raise AdapterError(str(error), path=f"tools[{index}]") from None
    del extra["tools"]
    if others:
        extra["tools"] = others
    return tools


def leave(extra: dict[str, Any], key: str, rest: Mapping[str, Any]) -> None:
    """Leave in the settings what is not read of one of them."""
    rest = {name: item for name, item in rest.items() if item is not None}
    if rest:
        extra[key] = rest
    else:
        del extra[key]
