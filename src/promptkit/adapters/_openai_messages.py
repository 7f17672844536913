"""Write messages as those of a Chat Completions request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from promptkit._frozen import EMPTY
from promptkit.adapters._openai_media import write_medium
from promptkit.adapters._openai_tables import FORMAT, LEGACY, Dialect
from promptkit.adapters.base import Loss, Losses, add_own, builtin_of, invalid_calls, lose_metadata, plain, without_own
from promptkit.content import Content, Media, Opaque, Part, Reasoning, Text
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

_KNOWN_PARTS = frozenset(("text", "refusal", "image_url", "input_audio", "file"))
_SYSTEM_ROLES = ("system", "developer")


class MessageWriter:
    """Write the messages of one request, and remember what results need of the calls before them."""

    __slots__ = ("answered", "calls", "dialect", "last", "losses", "messages", "names", "no_tools")

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.losses: Losses = []
        self.messages: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = []
        self.names: dict[Any, str | None] | None = None
        self.answered = 0
        self.last: type | None = None
        self.no_tools = "tools" in dialect.refuses

    def lose(self, path: str, what: str, why: str) -> None:
        """Note a loss."""
        self.losses.append(Loss(path, what, why))

    def write(self, messages: Iterable[Message]) -> None:
        """Write the messages of a prompt, in order; the plain ones, as nearly all are, without a detour."""
        append = self.messages.append
        last: type | None = None
        for at, message in enumerate(messages):
            kind: type = type(message)
            if kind not in _WRITERS or message.metadata or message.name is not None or message.id is not None:  # type: ignore[attr-defined]
                builtin = builtin_of(message, at, self.losses)
                kind = type(builtin)
                self.last = last
                _WRITERS[kind](self, builtin, at)
            elif kind is UserMessage and type(content := message.content) is str:
                append({"role": "user", "content": content})
            elif kind is AssistantMessage:
                if type(content := message.content) is str and not (message.tool_calls or message.invalid_tool_calls):  # type: ignore[attr-defined]
                    append({"role": "assistant", "content": content})
                    self.calls, self.names = [], None
                elif not self._are_plain_calls(message):
                    self._assistant(message, at)  # type: ignore[arg-type]
            elif kind is not ToolResponseMessage or last is kind or not self._are_plain_results(message):
                self.last = last
                _WRITERS[kind](self, message, at)
            last = kind

    def _user(self, message: UserMessage, at: int) -> None:
        content = self._content(message.content, f"messages[{at}].content", media=True)
        self._append({"role": "user", "content": content}, message, message.metadata, f"messages[{at}]")

    def _system(self, message: SystemMessage, at: int) -> None:
        role: str = self.dialect.system_role
        metadata: Mapping[str, Any] = message.metadata
        path = f"messages[{at}]"
        own = metadata.get(FORMAT)
        if role == "user":
            self.lose(path, "role", "the system message is sent with the role of the user")
        elif isinstance(own, Mapping) and own.get("role") in _SYSTEM_ROLES and own["role"] != role:
            role = own["role"]
            metadata = without_own(metadata, FORMAT, "role")
        content = self._content(message.content, f"{path}.content", media=False)
        self._append({"role": role, "content": content}, message, metadata, path)

    def _append(self, body: dict[str, Any], message: Any, metadata: Mapping[str, Any], path: str) -> None:
        if message.name is not None:
            body["name"] = message.name
        if message.id is not None:
            self.lose(f"{path}.id", "id", f"{FORMAT} has no ids of messages")
        if metadata:
            add_own(body, metadata, FORMAT, path, self.losses)
        self.messages.append(body)

    def _content(self, content: Content, path: str, *, media: bool) -> str | list[Any]:
        """Write the content of what is no answer: a text alone as itself, else a list of parts."""
        if isinstance(content, str):
            return content
        written = [self._part(part, f"{path}[{index}]", media=media) for index, part in enumerate(content)]
        return _one_text([part for part in written if part is not None])

    def _part(self, part: Part, path: str, *, media: bool) -> dict[str, Any] | None:
        if isinstance(part, Opaque):
            return self._opaque(part, path)
        body: dict[str, Any] | None = None
        if isinstance(part, Text):
            body = {"type": "text", "text": part.text}
        elif isinstance(part, Media):
            body = self._medium(part, path, allowed=media)
        else:
            self.lose(path, "reasoning", f"{self.dialect.name} takes no reasoning here")
        if body is not None and part.metadata:
            add_own(body, part.metadata, FORMAT, path, self.losses)
        return body

    def _opaque(self, part: Opaque, path: str) -> dict[str, Any] | None:
        if part.vendor != FORMAT or "opaque" in self.dialect.refuses:
            self.lose(path, "opaque", f"the block came from {part.vendor} and goes back only there")
            return None
        if part.payload.get("type") in _KNOWN_PARTS:
            self.lose(path, "spelling", "the block reads back as the part that its type names")
        lose_metadata(part.metadata, FORMAT, path, self.losses)
        return plain(part.payload, f"{path}.payload", FORMAT)  # type: ignore[no-any-return]

    def _medium(self, part: Media, path: str, *, allowed: bool) -> dict[str, Any] | None:
        allowed = allowed and part.kind not in self.dialect.refuses
        written = write_medium(part) if allowed else f"{self.dialect.name} takes no {part.kind} here"
        if isinstance(written, str):
            self.lose(path, part.kind, written)
            return None
        body, read_type = written
        if part.mime_type != read_type:
            self.lose(f"{path}.mime_type", "mime_type", f"the type {part.mime_type} is not said in this form")
        if part.id is not None:
            self.lose(f"{path}.id", "id", f"{FORMAT} has no ids of parts")
        if part.name is not None and "file" not in body:
            self.lose(f"{path}.name", "name", f"{FORMAT} has no names of this kind of part")
        if part.name is None and "file_data" in body.get("file", ()):
            name = "file.pdf" if read_type == "application/pdf" else "file"
            body["file"]["filename"] = name
            self.lose(f"{path}.name", "name", f"{FORMAT} wants a file name: {name!r} is sent")
        return body

    def _assistant(self, message: AssistantMessage, at: int) -> None:
        body: dict[str, Any] = {"role": "assistant"}
        content = message.content
        path = f"messages[{at}]"
        self.calls, self.names, self.answered = [], None, 0
        if message.tool_calls or message.invalid_tool_calls:
            self._tool_calls(message, body, path, at)
        if isinstance(content, tuple):
            self._answer(content, body, f"{path}.content")
        elif content == "" and len(body) > 1:
            self.lose(f"{path}.content", "spelling", "an empty text beside calls reads back as none")
        elif content is not None:
            body["content"] = content
        if self.calls:
            body["tool_calls"] = self.calls
        self._append(body, message, message.metadata, path)

    def _are_plain_calls(self, message: Any) -> bool:
        """Write an answer of nothing but text and calls with ids if it is one."""
        content, calls = message.content, message.tool_calls
        if message.invalid_tool_calls or not (content is None or type(content) is str):
            return False
        if not calls or content == "" or self.no_tools:
            return False
        written: list[dict[str, Any]] = []
        names: dict[Any, str | None] = {}
        for call in calls:
            call_id, name = call.id, call.name
            if call_id is None or call.metadata:
                return False
            names[call_id] = name
            function = {"name": name, "arguments": call.arguments}
            written.append({"id": call_id, "type": "function", "function": function})
        body: dict[str, Any] = {"role": "assistant"}
        if content is not None:
            body["content"] = content
        body["tool_calls"] = self.calls = written
        self.names, self.answered = names, 0
        self.messages.append(body)
        return True

    def _answer(self, content: tuple[Part, ...], body: dict[str, Any], path: str) -> None:
        """Write the parts of an answer where the format has them: most of its places are no parts there."""
        thoughts: list[str] = []
        parts: list[dict[str, Any]] = []
        order = []
        for index, part in enumerate(content):
            place = f"{path}[{index}]"
            if isinstance(part, Reasoning) and self.dialect.reasoning_key is not None:
                order.append(0)
                thoughts.append(part.text)
                lose_metadata(part.metadata, FORMAT, place, self.losses)
            elif isinstance(part, Media) and part.kind == "audio":
                order.append(2)
                self._sound(part, body, place)
            elif isinstance(part, Opaque) and part.vendor == FORMAT and part.payload.get("type") == "custom":
                order.append(3)
                self._custom_call(part, place)
            else:
                order.append(1)
                written = self._answer_part(part, place)
                parts += [] if written is None else [written]
        if thoughts and self.dialect.reasoning_key is not None:
            body[self.dialect.reasoning_key] = "".join(thoughts)
        text = _one_text(parts)
        if not text and (len(body) > 1 or self.calls) and (parts or not content):
            self.lose(path, "spelling", "an empty text beside other content reads back as none")
        elif parts or not content:
            body["content"] = text
        if order != sorted(order) or order.count(0) > 1 or order.count(2) > 1:
            self.lose(path, "spelling", "reasoning, text, sound and custom calls read back in this order, joined")

    def _answer_part(self, part: Part, path: str) -> dict[str, Any] | None:
        if not isinstance(part, Text) or part.metadata.get("refusal") is not True:
            return self._part(part, path, media=False)
        body = {"type": "refusal", "refusal": part.text}
        rest = {key: value for key, value in part.metadata.items() if key != "refusal"}
        add_own(body, rest, FORMAT, path, self.losses)
        return body

    def _sound(self, part: Media, body: dict[str, Any], path: str) -> None:
        """Name a sound that the vendor made by the id under which the vendor keeps it."""
        known = part.file_id or part.id
        if known is None or "audio" in self.dialect.refuses:
            self.lose(path, "audio", f"{self.dialect.name} takes back only sounds that it made, by their id")
            return
        body["audio"] = {"id": known}
        if part.mutate(metadata=EMPTY) != Media(file_id=known, mime_type="audio/*"):
            self.lose(path, "spelling", "of a sound only its id goes back: the vendor has the rest")
        add_own(body["audio"], part.metadata, FORMAT, path, self.losses)

    def _custom_call(self, part: Opaque, path: str) -> None:
        if self.no_tools:
            self.lose(path, "tools", f"{self.dialect.name} takes no tools")
            return
        self.calls.append(plain(part.payload, f"{path}.payload", FORMAT))
        lose_metadata(part.metadata, FORMAT, path, self.losses)

    def _tool_calls(self, message: AssistantMessage, body: dict[str, Any], path: str, at: int) -> None:
        if self.no_tools:
            self.lose(f"{path}.tool_calls", "tools", f"{self.dialect.name} takes no tools")
            return
        for index, call in enumerate(message.tool_calls):
            last = index == len(message.tool_calls) - 1
            if last and call.id is None and call.metadata.get(FORMAT) == LEGACY:
                body["function_call"] = {"name": call.name, "arguments": call.arguments}
            else:
                self._call(call, f"{path}.tool_calls[{index}]", f"call_{at}_{index}")
        for index, invalid, place in invalid_calls(message, path, self.losses):
            self._call(invalid, place, f"call_{at}_{index}")
        if self.calls:
            body["tool_calls"] = self.calls

    def _call(self, call: ToolCall | InvalidToolCall, path: str, made: str) -> None:
        call_id = call.id
        if call_id is None:
            call_id = made
            self.lose(f"{path}.id", "id", f"{FORMAT} wants an id: {made!r} is made from the place of the call")
        function = {"name": call.name, "arguments": call.arguments or ""}
        body = {"id": call_id, "type": "function", "function": function}
        if call.metadata:
            add_own(body, call.metadata, FORMAT, path, self.losses)
        self.calls.append(body)

    def _results(self, message: ToolResponseMessage, at: int) -> None:
        if self.no_tools:
            self.lose(f"messages[{at}]", "tools", f"{self.dialect.name} takes no tools")
            return
        if self.last is ToolResponseMessage:
            self.lose(f"messages[{at}]", "spelling", "results that follow each other read back as one message")
        if message.name is not None:
            self.lose(f"messages[{at}].name", "name", f"{FORMAT} has no names of messages with results")
        if message.id is not None:
            self.lose(f"messages[{at}].id", "id", f"{FORMAT} has no ids of messages")
        if message.metadata:
            lose_metadata(message.metadata, FORMAT, f"messages[{at}]", self.losses)
        for index, response in enumerate(message.responses):
            self._result(response, f"messages[{at}].responses[{index}]", f"call_{at}_{index}")

    def _are_plain_results(self, message: Any) -> bool:
        """Write results of text for known calls, as nearly all are, if they are that."""
        names = self.names
        if names is None or self.no_tools:
            return False
        written: list[dict[str, Any]] = []
        for response in message.responses:
            call_id, content = response.id, response.content
            if call_id is None or type(content) is not str or response.metadata or response.artifact is not None:
                return False
            if response.status != "success" or response.name != names.get(call_id):
                return False
            written.append({"role": "tool", "tool_call_id": call_id, "content": content})
        self.answered += len(written)
        self.messages += written
        return True

    def _result(self, response: ToolResponse, path: str, made: str) -> None:
        if response.status != "success":
            self.lose(f"{path}.status", "status", f"{FORMAT} does not mark results of failed calls")
        if response.artifact is not None:
            self.lose(f"{path}.artifact", "artifact", "artifacts are not for models")
        content = self._content(response.content, f"{path}.content", media=False)
        metadata: Mapping[str, Any] = response.metadata
        if response.id is None and metadata and _is_legacy(metadata):
            body = {"role": "function", "name": response.name, "content": content}
            metadata = without_own(metadata, FORMAT, *LEGACY)
        else:
            body = {"role": "tool", "tool_call_id": self._call_id(response, path, made), "content": content}
        if metadata:
            add_own(body, metadata, FORMAT, path, self.losses)
        self.messages.append(body)

    def _call_id(self, response: ToolResponse, path: str, made: str) -> str:
        """Give the id of the call that a result answers; without one it is the call at the same place in the turn."""
        call_id = response.id
        if call_id is None:
            call_id = str(self.calls[self.answered].get("id", made)) if self.answered < len(self.calls) else made
            self.lose(f"{path}.id", "id", f"{FORMAT} wants an id: {call_id!r} is that of the call at the same place")
        self.answered += 1
        if response.name != self._name_of(call_id):
            self.lose(f"{path}.name", "name", f"{FORMAT} says a tool's name only with its call")
        return call_id

    def _name_of(self, call_id: str) -> str | None:
        """Give the name of the tool that a call of this turn calls."""
        if self.names is None:
            self.names = {call.get("id"): _called(call) for call in self.calls}
        return self.names.get(call_id)


def _is_legacy(metadata: Mapping[str, Any]) -> bool:
    own = metadata.get(FORMAT)
    return isinstance(own, Mapping) and LEGACY.items() <= own.items()


def _called(call: Mapping[str, Any]) -> str | None:
    tool = call.get("function") or call.get("custom")
    name = tool.get("name") if isinstance(tool, dict) else None
    return name if isinstance(name, str) else None


def _one_text(parts: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    if len(parts) == 1 and parts[0].get("type") == "text" and parts[0].keys() == {"type", "text"}:
        return parts[0]["text"]  # type: ignore[no-any-return]
    return parts


_WRITERS: Mapping[type, Callable[[MessageWriter, Any, int], None]] = {
    SystemMessage: MessageWriter._system,
    UserMessage: MessageWriter._user,
    AssistantMessage: MessageWriter._assistant,
    ToolResponseMessage: MessageWriter._results,
}
