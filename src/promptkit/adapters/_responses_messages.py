"""Write messages as the items of a Responses request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from promptkit.adapters._responses_body import read_items
from promptkit.adapters._responses_items import fields_of, is_said, kept_summary, mark_of, read_content
from promptkit.adapters._responses_media import write_medium
from promptkit.adapters._responses_tables import FORMAT
from promptkit.adapters.base import Loss, Losses, add_own, builtin_of, invalid_calls, lose_metadata, plain, without_own
from promptkit.content import Content, Media, Opaque, Part, Reasoning, Text
from promptkit.errors import AdapterError, PromptError
from promptkit.messages import (
    AssistantMessage,
    InvalidToolCall,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)

__all__ = ["MessageWriter"]

Body = dict[str, Any]
_SYSTEM_ROLES = ("system", "developer")


class MessageWriter:
    """Write the messages of one request, and remember what results need of the calls before them.

    Args:
        continued: The vendor has what comes before the request.
    """

    __slots__ = (
        "answered", "calls", "continued", "instructions", "items", "last", "losses", "names", "odd", "open",
    )  # fmt: skip

    def __init__(self, *, continued: bool) -> None:
        self.continued = continued
        self.losses: Losses = []
        self.items: list[Body] = []
        self.instructions: str | None = None
        self.last: type | None = None
        self.names: dict[str | None, str | None] = {}
        self.calls: list[str] = []
        self.answered = 0
        self.open: list[str] = []
        self.odd = False

    def lose(self, path: str, what: str, why: str) -> None:
        """Note a loss."""
        self.losses.append(Loss(path, what, why))

    def write(self, messages: tuple[Message, ...]) -> None:
        """Write all messages of a prompt; the plain ones, as nearly all are, without a detour."""
        start = self._instruct(messages)
        last: type | None = None
        for at, message in enumerate(messages[start:], start):
            kind: type = type(message)
            if kind not in _WRITERS or message.metadata or message.name is not None or message.id is not None:  # type: ignore[attr-defined]
                plain = False
            elif kind is UserMessage:
                plain = type(message.content) is str and not self.open
                if plain:
                    self.items.append({"role": "user", "content": message.content})
            elif kind is AssistantMessage:
                plain = last is not kind and not self.open and self._is_plain_answer(message)
            else:
                plain = kind is ToolResponseMessage and last is AssistantMessage and self._are_plain_results(message)
            if not plain:
                builtin = builtin_of(message, at, self.losses)
                kind = type(builtin)
                self.last = last
                _WRITERS[kind](self, builtin, at)
            last = kind
        self.odd = self.odd or bool(self.open)

    def _instruct(self, messages: tuple[Message, ...]) -> int:
        """Take the text of the system at the beginning for the instructions, if something else follows."""
        first = messages[0] if messages else None
        if type(first) is not SystemMessage or (len(messages) == 1 and not self.continued):
            return 0
        if type(first.content) is not str or first.metadata or first.name is not None or first.id is not None:
            return 0
        self.instructions = first.content
        self.odd = not first.content.strip()
        return 1

    def _is_plain_answer(self, message: Any) -> bool:
        """Write an answer of words and calls, as nearly all are, if it is one."""
        content, calls = message.content, message.tool_calls
        if message.invalid_tool_calls or not (content if type(content) is str else content is None and calls):
            return False
        if not calls:
            self.items.append({"role": "assistant", "content": content})
            self.calls, self.answered = [], 0
            return True
        written: list[Body] = [] if content is None else [{"role": "assistant", "content": content}]
        names: dict[str | None, str | None] = {}
        for call in calls:
            call_id, name = call.id, call.name
            if call_id is None or call_id in names or call.metadata:
                return False
            names[call_id] = name
            written.append({"type": "function_call", "call_id": call_id, "name": name, "arguments": call.arguments})
        self.items += written
        self.names |= names
        self.open = self.calls = [*names]  # type: ignore[list-item]
        self.answered = 0
        return True

    def _are_plain_results(self, message: Any) -> bool:
        """Write the results of all calls before them, in words and in order, if they are that."""
        names = self.names
        if [response.id for response in message.responses] != self.open:
            return False
        written: list[Body] = []
        for response in message.responses:
            call_id, content = response.id, response.content
            if type(content) is not str or response.metadata or response.artifact is not None:
                return False
            if response.status != "success" or response.name != names[call_id]:
                return False
            written.append({"type": "function_call_output", "call_id": call_id, "output": content})
        self.items += written
        self.open = []
        self.answered = len(written)
        return True

    def _check(self, message: Message, start: int, path: str, before: int) -> None:
        """Read back what was written of a message: where nothing is lost it must be the message."""
        if len(self.losses) == before:
            try:
                same = read_items(self.items[start:]) == [message]
            except (AdapterError, PromptError):
                same = False
            if not same:
                self.lose(path, "spelling", f"{FORMAT} reads back the message in another form")

    def _named(self, message: Any, path: str, *, id: bool = True) -> None:
        for name in ("name", "id") if id else ("name",):
            if getattr(message, name) is not None:
                self.lose(f"{path}.{name}", name, f"{FORMAT} has no {name}s of such messages")

    def _system(self, message: SystemMessage, at: int) -> None:
        path, start, before = f"messages[{at}]", len(self.items), len(self.losses)
        self.odd = True
        self._named(message, path)
        metadata: Mapping[str, Any] = message.metadata
        role = "system"
        own = metadata.get(FORMAT)
        if isinstance(own, Mapping) and own.get("role") in _SYSTEM_ROLES:
            role = own["role"]
            metadata = without_own(metadata, FORMAT, "role")
        body: Body = {"role": role, "content": self._content(message.content, f"{path}.content", media=True)}
        if metadata:
            add_own(body, metadata, FORMAT, path, self.losses)
        self.items.append(body)
        if role == "developer" or "role" not in (own or ()):
            self._check(message, start, path, before)
        elif at > 0 or self.instructions is not None or len(body) > 2 or type(body["content"]) is not str:
            self.lose(path, "spelling", "the role of the system is the usual one here, and no mark of it reads back")

    def _user(self, message: UserMessage, at: int) -> None:
        path, start, before = f"messages[{at}]", len(self.items), len(self.losses)
        self.odd = True
        self.open = []
        self._named(message, path)
        content = message.content
        said: list[Part] = []
        if isinstance(content, tuple):
            for index, part in enumerate(content):
                if isinstance(part, Opaque) and part.vendor == FORMAT and not is_said(part):
                    if said:
                        self._append_user(said, message, f"{path}.content", index - len(said), path)
                    said = []
                    lose_metadata(part.metadata, FORMAT, f"{path}.content[{index}]", self.losses)
                    self.items.append(plain(part.payload, f"{path}.content[{index}].payload", FORMAT))
                else:
                    said.append(part)
        if said or not content or isinstance(content, str):
            place = len(content) - len(said) if isinstance(content, tuple) else 0
            parts = content if isinstance(content, str) else tuple(said)
            self._append_user(parts, message, f"{path}.content", place, path)
        elif message.metadata:
            lose_metadata(message.metadata, FORMAT, path, self.losses)
        self._check(message, start, path, before)

    def _append_user(self, parts: Any, message: UserMessage, content: str, first: int, path: str) -> None:
        body: Body = {"role": "user", "content": self._content(parts, content, media=True, first=first)}
        if message.metadata:
            add_own(body, message.metadata, FORMAT, path, self.losses)
        self.items.append(body)

    def _content(self, content: Any, path: str, *, media: bool, first: int = 0) -> str | list[Body]:
        """Write content that the model does not say: a text alone as itself, else a list of parts."""
        if isinstance(content, str):
            return content
        parts = [self._part(part, f"{path}[{at}]", media=media, said=False) for at, part in enumerate(content, first)]
        found = [part for part in parts if part is not None]
        if len(found) == 1 and found[0].keys() == {"type", "text"} and found[0]["type"] == "input_text":
            return found[0]["text"]  # type: ignore[no-any-return]
        return found

    def _part(self, part: Part, path: str, *, media: bool, said: bool) -> Body | None:
        metadata = without_own(part.metadata, FORMAT, "message") if mark_of(part) is not None else part.metadata
        body: Body | None
        if isinstance(part, Opaque):
            if part.vendor != FORMAT:
                self.lose(path, "opaque", f"the block came from {part.vendor} and goes back only there")
                return None
            lose_metadata(metadata, FORMAT, path, self.losses)
            return plain(part.payload, f"{path}.payload", FORMAT)  # type: ignore[no-any-return]
        if isinstance(part, Text):
            if said and metadata.get("refusal") is True:
                body = {"type": "refusal", "refusal": part.text}
                metadata = {key: value for key, value in metadata.items() if key != "refusal"}
            else:
                body = {"type": "output_text" if said else "input_text", "text": part.text}
        elif isinstance(part, Media):
            body = self._medium(part, path, allowed=media)
        else:
            self.lose(path, "reasoning", f"{FORMAT} takes reasoning only from the model")
            body = None
        if body is not None:
            if metadata:
                own: Any = metadata.get(FORMAT)
                if isinstance(part, Media) and isinstance(own, Mapping) and "detail" in own:
                    body.pop("detail", None)
                add_own(body, metadata, FORMAT, path, self.losses)
            if said and body["type"] == "output_text":
                body.setdefault("annotations", [])
        return body

    def _medium(self, part: Media, path: str, *, allowed: bool) -> Body | None:
        body = write_medium(part) if allowed else f"{FORMAT} takes no {part.kind} here"
        if isinstance(body, str):
            self.lose(path, part.kind, body)
            return None
        read: Any = read_content([body])[0]
        for name in ("mime_type", "name", "id"):
            if getattr(part, name) != getattr(read, name, None):
                self.lose(f"{path}.{name}", name, f"{FORMAT} does not say the {name} of this medium in this form")
        return body

    def _assistant(self, message: AssistantMessage, at: int) -> None:
        path, start, before = f"messages[{at}]", len(self.items), len(self.losses)
        self.odd = True
        called = bool(self.calls)
        self.calls, self.answered = [], 0
        self._named(message, path, id=False)
        content: Any = message.content
        parts: tuple[Part, ...] = (Text(content),) if isinstance(content, str) else content or ()
        places = [self._place(call, len(parts)) for call in message.tool_calls]
        own = {} if message.id is None else {"id": message.id}
        unsaid, index = True, 0
        while index <= len(parts):
            for number, call in enumerate(message.tool_calls):
                if places[number] == index:
                    self._call(call, f"{path}.tool_calls[{number}]", f"call_{at}_{number}")
            if index == len(parts):
                break
            end = index + 1
            mark = mark_of(parts[index])
            if not is_said(parts[index]):
                self._item(parts[index], f"{path}.content[{index}]")
                index = end
                continue
            while (
                end < len(parts)
                and end not in places
                and is_said(parts[end])
                and ((mark_of(parts[end]) or None) == (mark or None))
            ):
                end += 1
            first = not mark and unsaid
            self._say(parts[index:end], own if first else mark or {}, message if first else None, index, path)
            unsaid = unsaid and not first
            index = end
        for number, invalid, place in invalid_calls(message, path, self.losses):
            self._call(invalid, place, f"call_{at}_{number}")
        if unsaid:
            if message.id is not None:
                self.lose(f"{path}.id", "id", f"{FORMAT} has ids only of messages with text")
            lose_metadata(message.metadata, FORMAT, path, self.losses)
        self.open = [*self.calls]
        if self.items[start : start + 1] == [_BLANK] and 0 < len(self.calls) == len(self.items) - start - 1:
            self.lose(f"{path}.content", "spelling", "an empty text beside calls reads back as none")
            del self.items[start]
        if self.last is AssistantMessage and self._continues(start, called):
            self.lose(path, "spelling", "answers that follow each other read back as one")
        self._check(message, start, path, before)

    def _continues(self, start: int, called: bool) -> bool:
        """Tell whether nothing says that a new answer begins: a message without fields does, behind another or calls."""
        old, new = (self.items[start - 1], self.items[start]) if 0 < start < len(self.items) else ({}, {})
        told = called or old.get("role") == "assistant"
        return not told or new.get("role") != "assistant" or bool(fields_of(new))

    def _place(self, call: ToolCall, length: int) -> int:
        place = call.metadata.get("position")
        return place if type(place) is int and 0 <= place < length else length

    def _say(self, parts: tuple[Part, ...], own: Any, message: AssistantMessage | None, first: int, path: str) -> None:
        """Write parts as one message item; a text alone, of which nothing else is said, in the short form."""
        given = [
            self._part(part, f"{path}.content[{at}]", media=False, said=True) for at, part in enumerate(parts, first)
        ]
        content: Any = [part for part in given if part is not None]
        if not content:
            return
        body: Body = {"role": "assistant"}
        fields = plain(own, path, FORMAT)
        if "id" in fields:
            body |= {"type": "message", "status": "completed"}
        elif len(content) == 1 and content[0].keys() == _BARE and not content[0]["annotations"]:
            content = content[0]["text"]
        body |= fields
        body["content"] = content
        if message is not None and message.metadata:
            own_fields = message.metadata.get(FORMAT)
            if isinstance(own_fields, Mapping) and "status" in own_fields:
                body.pop("status", None)
            add_own(body, message.metadata, FORMAT, path, self.losses)
        self.items.append(body)

    def _item(self, part: Part, path: str) -> None:
        """Write what stands as an item of its own: thoughts of the vendor's model, and its other items."""
        if isinstance(part, Opaque):
            body = self._part(part, path, media=False, said=True)
            if body is not None:
                self.items.append(body)
            return
        own = part.metadata.get(FORMAT)
        if not isinstance(part, Reasoning) or not isinstance(own, Mapping) or not own:
            self.lose(path, "reasoning", f"{FORMAT} takes back only thoughts of its own models, by id or encrypted")
            return
        kept = kept_summary(part)
        written = [{"type": "summary_text", "text": part.text}] if part.text else []
        body = {"type": "reasoning", "summary": written if kept is None else plain(kept, path, FORMAT)}
        metadata = part.metadata if kept is None else without_own(part.metadata, FORMAT, "summary")
        add_own(body, metadata, FORMAT, path, self.losses)
        self.items.append(body)

    def _call(self, call: ToolCall | InvalidToolCall, path: str, made: str) -> None:
        call_id = call.id
        if call_id is None:
            call_id = made
            self.lose(f"{path}.id", "id", f"{FORMAT} wants an id: {made!r} is made from the place of the call")
        body: Body = {"type": "function_call", "call_id": call_id, "name": call.name, "arguments": call.arguments or ""}
        self.calls.append(call_id)
        self.names[call_id] = call.name
        metadata: Mapping[str, Any] = call.metadata
        if type(metadata.get("position")) is int:
            metadata = {key: value for key, value in metadata.items() if key != "position"}
        if metadata:
            add_own(body, metadata, FORMAT, path, self.losses)
        self.items.append(body)

    def _results(self, message: ToolResponseMessage, at: int) -> None:
        path = f"messages[{at}]"
        self.odd = True
        self.open = []
        if self.last is ToolResponseMessage:
            self.lose(path, "spelling", "results that follow each other read back as one message")
        self._named(message, path)
        lose_metadata(message.metadata, FORMAT, path, self.losses)
        for index, response in enumerate(message.responses):
            self._result(response, f"{path}.responses[{index}]", f"call_{at}_{index}")

    def _result(self, response: ToolResponse, path: str, made: str) -> None:
        if response.status != "success":
            self.lose(f"{path}.status", "status", f"{FORMAT} does not mark results of failed calls")
        if response.artifact is not None:
            self.lose(f"{path}.artifact", "artifact", "artifacts are not for models")
        call_id = response.id
        if call_id is None:
            call_id = self.calls[self.answered] if self.answered < len(self.calls) else made
            self.lose(f"{path}.id", "id", f"{FORMAT} wants an id: {call_id!r} is that of the call at the same place")
        self.answered += 1
        content = self._content(response.content, f"{path}.content", media=True)
        body: Body = {"type": "function_call_output", "call_id": call_id, "output": content}
        known = self.names.get(call_id)
        if response.name is None and known is not None:
            self.lose(f"{path}.name", "name", "the result reads back with the name of the tool that was called")
        elif response.name != known:
            body["name"] = response.name
        if response.metadata:
            add_own(body, response.metadata, FORMAT, path, self.losses)
        before = len(self.losses)
        if type(response.content) is not str and not self._reads_back(response.content, content):
            self.losses[before:] = [Loss(f"{path}.content", "spelling", "the parts read back in another form")]
        self.items.append(body)

    def _reads_back(self, content: Content, written: Any) -> bool:
        lossy = any(type(part) is Reasoning for part in content)
        try:
            return lossy or ToolResponse(None, content=read_content(written)).content == content
        except (AdapterError, PromptError):
            return False


_BLANK = {"role": "assistant", "content": ""}
_BARE = {"type", "text", "annotations"}


_WRITERS: Mapping[type, Callable[[MessageWriter, Any, int], None]] = {
    SystemMessage: MessageWriter._system,
    UserMessage: MessageWriter._user,
    AssistantMessage: MessageWriter._assistant,
    ToolResponseMessage: MessageWriter._results,
}
