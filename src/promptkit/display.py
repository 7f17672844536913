"""Show messages, prompts and responses as HTML in notebooks: what `_repr_html_` gives.

Everything is escaped, nothing is loaded, no script or link is made. Characters that change how text reads without
being seen (bidi marks, zero width, tags, controls) appear by their number. Long texts and lists are cut in the middle;
media appear by type and size. Text has the colour of the page, light or dark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import TypeVar

from promptkit._frozen import shown
from promptkit.content import Content, Media, Opaque, Part, Reasoning, Text
from promptkit.messages import (
    AssistantMessage,
    InvalidToolCall,
    Message,
    MessageType,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    as_builtin,
)
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse

__all__ = ["html_of"]

HEAD_CHARS, TAIL_CHARS = 4_000, 1_000
"""What is shown of a longer text."""
HEAD_ITEMS, TAIL_ITEMS = 30, 10
"""What is shown of a longer list."""
LABEL_CHARS = 200

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
# As legible on white as on black.
_COLOURS = {
    MessageType.SYSTEM: "#9059e6",
    MessageType.USER: "#1c8a3c",
    MessageType.ASSISTANT: "#2278e0",
    MessageType.TOOL: "#a06d00",
}
_BOX = "border-left:4px solid {colour};padding:2px 0 2px 10px;margin:0 0 8px 0;text-align:left;overflow-wrap:anywhere"
_PRE = (
    "margin:2px 0;padding:0;border:0;background:none;color:inherit;font:inherit;white-space:pre-wrap;"
    "unicode-bidi:plaintext;max-height:40em;overflow:auto"
)
_NOTE = "opacity:.7;font-size:90%"
_MARK = "border:1px solid;border-radius:3px;padding:0 2px;font:75% monospace;opacity:.7"

Item = TypeVar("Item")


def html_of(value: Message | Prompt | ChatResponse) -> str:
    """Give the HTML of a message, a prompt or a response: one element, with styles of its own.

    >>> from promptkit import UserMessage
    >>> "&lt;script&gt;" in html_of(UserMessage("<script>alert(1)</script>"))
    True
    """
    if isinstance(value, Prompt):
        body = [*_cut(value.messages, "messages", _message), _options(value.options)]
    elif isinstance(value, ChatResponse):
        body = [*_cut(value.results, "answers", lambda each: _message(each.output, each.finish_reason)), _call(value)]
    else:
        body = [_message(value)]
    return f'<div style="unicode-bidi:isolate">{"".join(body)}</div>'


def _message(message: Message, note: str | None = None) -> str:
    try:
        builtin = as_builtin(message)
    except Exception as error:  # noqa: BLE001 - a class of the user's may raise anything, and a notebook shows the rest
        return _line(f"a message of the class {type(message).__name__} cannot be shown: {shown(error)}")
    role = builtin.message_type
    labels = [f'<strong style="color:{_COLOURS[role]}">{role.value}</strong>']
    labels += [_label(each) for each in (builtin.name, note) if each]
    body = list(_content(builtin.content))
    if isinstance(builtin, AssistantMessage):
        calls: tuple[ToolCall | InvalidToolCall, ...] = (*builtin.tool_calls, *builtin.invalid_tool_calls)
        body += _cut(calls, "calls", _tool_call)
    if isinstance(builtin, ToolResponseMessage):
        body += _cut(builtin.responses, "results", _tool_response)
    if builtin.metadata:
        body.append(_line(f"metadata: {', '.join(builtin.metadata)}"))
    return f'<div style="{_BOX.format(colour=_COLOURS[role])}">{" · ".join(labels)}{"".join(body)}</div>'


def _content(content: Content | None) -> Iterator[str]:
    if isinstance(content, str):
        yield _text(content) if content else ""
    elif content is not None:
        yield from _cut(content, "parts", _part)


def _part(part: Part) -> str:
    match part:
        case Text(text=text):
            return _text(text)
        case Media():
            return _line(_described(part))
        case Reasoning(text=text):
            return f'<details style="{_NOTE}"><summary>reasoning</summary>{_text(text)}</details>'
        case Opaque(vendor=vendor, payload=payload):
            return _line(f"a block of {vendor}: {payload.get('type', 'of no type')!s}")


def _described(media: Media) -> str:
    """Say what a medium is and where it is, without its bytes."""
    facts = [media.mime_type or media.kind]
    if media.data is not None:
        facts.append(_size(len(media.data)))
    facts += [fact for fact in (media.name, media.url, media.file_id and f"file {media.file_id}") if fact]
    return f"{media.kind}: {', '.join([_short(fact) for fact in facts])}"


def _size(count: int) -> str:
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"


def _tool_call(call: ToolCall | InvalidToolCall) -> str:
    wrong = f" · invalid: {_label(call.error or 'nobody said why')}" if isinstance(call, InvalidToolCall) else ""
    name = _label(call.name or "no name")
    return f"<div>calls <strong>{name}</strong> {_id(call.id)}{wrong}{_text(call.arguments or '')}</div>"


def _tool_response(response: ToolResponse) -> str:
    failed = " · error" if response.status == "error" else ""
    body = "".join(_content(response.content))
    return f"<div><strong>{_label(response.name or 'result')}</strong> {_id(response.id)}{failed}{body}</div>"


def _id(value: str | None) -> str:
    return f'<span style="{_NOTE}">{_label(value)}</span>' if value else ""


def _options(options: ChatOptions) -> str:
    """Show the options that are set; of long ones their names."""
    facts = []
    for name, value in options.set_fields().items():
        if name == "tools":
            value = [tool.name for tool in value]  # noqa: PLW2901 - the short form of the same
        facts.append(f"{name}: {'…' if name == 'output_schema' else _short(str(value))}")
    facts += [f"{name}: …" for name in options.extra]
    return _line(", ".join(facts)) if facts else ""


def _call(response: ChatResponse) -> str:
    usage = response.usage
    tokens = f"{usage.prompt_tokens} + {usage.completion_tokens} tokens" if usage else None
    facts = [fact for fact in (response.model, tokens, response.id) if fact]
    return _line(" · ".join([_short(fact) for fact in facts])) if facts else ""


def _cut(items: Sequence[Item], what: str, show: Callable[[Item], str]) -> list[str]:
    """Show the items of a list, of a long one the first and the last."""
    left_out = len(items) - HEAD_ITEMS - TAIL_ITEMS
    if left_out <= 0:
        return [show(item) for item in items]
    head, tail = items[:HEAD_ITEMS], items[-TAIL_ITEMS:]
    return [*map(show, head), _line(f"… {left_out:,} more {what} …"), *map(show, tail)]


def _text(text: str) -> str:
    left_out = len(text) - HEAD_CHARS - TAIL_CHARS
    if left_out <= 0:
        return f'<pre dir="auto" style="{_PRE}">{_safe(text)}</pre>'
    gap = _line(f"… {left_out:,} characters left out …")
    return _text(text[:HEAD_CHARS]) + gap + _text(text[-TAIL_CHARS:])


def _line(text: str) -> str:
    return f'<div dir="auto" style="{_NOTE}">{_safe(_short(text, 5 * LABEL_CHARS))}</div>'


def _label(text: str) -> str:
    return f"<bdi>{_safe(_short(text))}</bdi>"


def _short(text: str, length: int = LABEL_CHARS) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _safe(text: str) -> str:
    """Escape text, and show what changes it unseen."""
    return _UNSEEN.sub(_shown_mark, escape(text.replace("\r\n", "\n")))


def _shown_mark(found: re.Match[str]) -> str:
    return f'<span style="{_MARK}">U+{ord(found[0]):04X}</span>'
