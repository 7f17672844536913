"""Read the items of the Responses format: in requests and in answers they look alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from promptkit._frozen import shown
from promptkit.adapters._reading import MAPPINGS, own_of, text_at
from promptkit.adapters._responses_media import read_file, read_image
from promptkit.adapters._responses_tables import FORMAT, is_part_type
from promptkit.content import Content, Media, Opaque, Part, Reasoning, Text
from promptkit.errors import AdapterError, PromptError
from promptkit.messages import AssistantMessage, ToolCall

__all__ = [
    "Turn",
    "fields_of",
    "is_said",
    "kept_summary",
    "mark_of",
    "marked",
    "read_call",
    "read_content",
    "read_said",
    "read_thought",
    "thoughts_of",
]

_TEXT = frozenset(("type", "text"))
_REFUSAL = frozenset(("type", "refusal"))
_IMAGE = frozenset(("type", "image_url", "file_id"))
_FILE = frozenset(("type", "file_data", "file_id", "file_url", "filename"))
_CALL = frozenset(("type", "call_id", "name", "arguments"))
_THOUGHT = frozenset(("type", "summary"))
_MESSAGE = frozenset(("type", "role", "content"))


def mark_of(part: Part) -> Any:
    """Give the fields of the message item that a part belongs to; ``None`` for the first message of an answer."""
    own = part.metadata.get(FORMAT)
    return own.get("message") if isinstance(own, Mapping) else None


def is_said(part: Part) -> bool:
    """Tell whether a part stands in a message, not as an item of its own."""
    if isinstance(part, Opaque):
        return is_part_type(part.payload.get("type")) or isinstance(mark_of(part), Mapping)
    return not isinstance(part, Reasoning)


def marked(part: Part, mark: Mapping[str, Any]) -> Part:
    """Note on a part which message item it belongs to."""
    own: Any = part.metadata.get(FORMAT, {})
    return part.mutate(metadata={**part.metadata, FORMAT: {**own, "message": mark}})


def _opaque(part: Mapping[str, Any]) -> Part:
    unnamed = not is_part_type(part.get("type"))
    return Opaque(FORMAT, part, metadata={FORMAT: {"message": {}}} if unnamed else {})


def _read_text(part: Mapping[str, Any]) -> Part:
    return Text(text_at(part, "text"), metadata=own_of(FORMAT, part, _TEXT))


def _read_output(part: Mapping[str, Any]) -> Part:
    """Read what the model said; that it cites nothing is no field."""
    own = {key: item for key, item in part.items() if key not in _TEXT and item is not None}
    for key in ("annotations", "logprobs"):
        if own.get(key) == []:
            del own[key]
    return Text(text_at(part, "text"), metadata={FORMAT: own} if own else {})


def _read_refusal(part: Mapping[str, Any]) -> Part:
    return Text(text_at(part, "refusal"), metadata={"refusal": True, **own_of(FORMAT, part, _REFUSAL)})


def _read_medium(part: Mapping[str, Any], found: Media | None, known: frozenset[str]) -> Part:
    if found is None:
        return _opaque(part)
    own = {key: item for key, item in part.items() if key not in known and item is not None}
    if found.kind == "image" and own.get("detail") == "auto":
        del own["detail"]
    return found.mutate(metadata={FORMAT: own}) if own else found


_INPUTS: Mapping[str, Callable[[Mapping[str, Any]], Part]] = {
    "input_text": _read_text,
    "input_image": lambda part: _read_medium(part, read_image(part), _IMAGE),
    "input_file": lambda part: _read_medium(part, read_file(part), _FILE),
}
_OUTPUTS: Mapping[str, Callable[[Mapping[str, Any]], Part]] = {
    "output_text": _read_output,
    "refusal": _read_refusal,
    "input_text": lambda part: _read_text(part) if part.keys() == _TEXT else _opaque(part),
}


def _read(part: Any, readers: Mapping[str, Callable[[Mapping[str, Any]], Part]]) -> Part:
    if not isinstance(part, MAPPINGS):
        raise AdapterError(f"a part must be a mapping, not {shown(part)}")
    kind = part.get("type")
    read = readers.get(kind) if isinstance(kind, str) else None
    return _opaque(part) if read is None or "message" in part else read(part)


def read_said(part: Any) -> Part:
    """Read a part of a message of the model; one that we do not know stays as it is.

    Raises:
        AdapterError: A part that we know is damaged.
    """
    return _read(part, _OUTPUTS)


def read_content(content: Any, *, said: bool = False) -> Content | list[Part]:
    """Read the content of a message or of a result.

    Args:
        content: A text, or a list of parts.
        said: The model says it.

    Raises:
        AdapterError: It is neither, or a part is damaged; the path says which.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        raise AdapterError(f"content must be a str or a list of parts, not {shown(content)}")
    parts: list[Part] = []
    for part in content:
        try:
            parts.append(_read(part, _OUTPUTS if said else _INPUTS))
        except (PromptError, AdapterError) as error:
            raise AdapterError(str(error), path=f"content[{len(parts)}]") from None
    return parts


def fields_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a message item says beside its content; with an id it is complete unless it says otherwise."""
    own = {key: value for key, value in item.items() if key not in _MESSAGE and value is not None}
    if "id" in own:
        text_at(own, "id")
        if own.get("status") == "completed":
            del own["status"]
    return own


def thoughts_of(summary: Any, content: Any) -> str:
    """Join the texts of a reasoning item: the thoughts themselves where the vendor shows them, else their summary."""
    for name, parts in (("content", content), ("summary", summary)):
        if parts is not None and not isinstance(parts, list | tuple):
            raise AdapterError(f"{name} must be a list, not {shown(parts)}")
    found = [part.get("text") for part in content or summary or () if isinstance(part, MAPPINGS)]
    return "\n\n".join([text for text in found if isinstance(text, str)])


def read_thought(item: Mapping[str, Any]) -> Reasoning:
    """Read a reasoning item; a summary of anything but one text is kept word for word beside the text.

    Raises:
        AdapterError: It is damaged.
    """
    summary, content = item.get("summary"), item.get("content")
    own = {key: value for key, value in item.items() if key not in _THOUGHT and value is not None}
    text = thoughts_of(summary, content)
    one = [{"type": "summary_text", "text": text}] if text else []
    if not own or (summary or []) != ([] if content is not None else one):
        own["summary"] = summary or []
    return Reasoning(text, metadata={FORMAT: own})


def kept_summary(part: Reasoning) -> Any:
    """Give the summary that was kept beside a thought; ``None`` if there is none, or the text is another since."""
    own: Any = part.metadata[FORMAT]
    kept = own.get("summary", () if "content" in own else None)
    try:
        return kept if kept is not None and thoughts_of(kept, own.get("content")) == part.text else None
    except AdapterError:
        return None


def read_call(item: Mapping[str, Any]) -> ToolCall:
    """Read a call of a function.

    Raises:
        AdapterError: It is damaged.
    """
    call_id, name, arguments = item.get("call_id"), item.get("name"), item.get("arguments")
    if type(call_id) is str and type(name) is str and type(arguments) is str and len(item) == len(_CALL):
        return ToolCall(call_id, name, arguments=arguments)
    call_id, name, arguments = text_at(item, "call_id"), text_at(item, "name"), text_at(item, "arguments")
    return ToolCall(call_id, name, arguments=arguments, metadata=own_of(FORMAT, item, _CALL))


class Turn:
    """Collect the items that one answer is made of."""

    __slots__ = ("calls", "id", "metadata", "parts", "places", "spoken")

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.calls: list[ToolCall] = []
        self.places: list[int] = []  # how many parts stand before each call
        self.id: str | None = None
        self.metadata: dict[str, Any] = {}
        self.spoken = False

    def takes(self, fields: Mapping[str, Any]) -> bool:
        """Tell whether a further message with these fields can be told from what is there; else it is a new answer."""
        before = self.parts[-1] if self.parts and is_said(self.parts[-1]) else None
        if not fields:
            return before is None and not self.calls
        return before is None or mark_of(before) != fields

    def say(self, item: Mapping[str, Any], fields: dict[str, Any]) -> None:
        """Add a message item: what the first one says of itself, the answer says; parts of later ones say it."""
        content = item.get("content")
        if isinstance(content, list | tuple) and not content:
            self.parts.append(Opaque(FORMAT, item))
            return
        read = read_content(content, said=True)
        parts = [Text(read)] if isinstance(read, str) else read
        if not self.spoken:
            self.spoken = True
            self.id = fields.pop("id", None)
            self.metadata = {FORMAT: fields} if fields else {}
        elif fields:
            parts = [marked(part, fields) for part in parts]
        self.parts += parts

    def call(self, call: ToolCall) -> None:
        """Add a call."""
        self.calls.append(call)
        self.places.append(len(self.parts))

    def message(self) -> AssistantMessage:
        """Give the answer; a call stands behind all content unless its ``position`` says otherwise."""
        parts, calls = self.parts, self.calls
        content: Any = parts or None
        if len(parts) == 1 and type(parts[0]) is Text and not parts[0].metadata:
            content = parts[0].text
        if calls and parts and self.places[0] < len(parts):
            calls = [
                call.mutate(metadata={**call.metadata, "position": place}) if place < len(parts) else call
                for call, place in zip(calls, self.places, strict=True)
            ]
        if self.id is not None or self.metadata:
            return AssistantMessage(content, tool_calls=tuple(calls), id=self.id, metadata=self.metadata)
        return AssistantMessage(content or None if calls else content, tool_calls=tuple(calls))
