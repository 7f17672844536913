"""Write messages as the contents of a generateContent request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from promptkit import _json
from promptkit.adapters._gemini_body import data_of, read_part
from promptkit.adapters._gemini_media import write_medium
from promptkit.adapters._gemini_tables import DATA, FIELDS, FORMAT, INVALID
from promptkit.adapters._order import order_losses
from promptkit.adapters.base import Loss, Losses, add_own, arguments_of, builtin_of, invalid_calls, lose_metadata, plain
from promptkit.content import Content, Opaque, Part, Reasoning, Text
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

__all__ = ["Body", "MessageWriter"]

Body = dict[str, Any]
"""The JSON of an object on its way out."""


class MessageWriter:
    """Write the messages of one request, and remember what results need of the calls before them."""

    __slots__ = ("answered", "calls", "contents", "last", "losses", "odd", "open", "system")

    def __init__(self) -> None:
        self.losses: Losses = []
        self.contents: list[Body] = []
        self.system: Body | None = None
        self.last: type | None = None
        self.calls: list[ToolCall | InvalidToolCall] = []
        self.answered = 0
        self.odd = False
        self.open = False

    def lose(self, path: str, what: str, why: str) -> None:
        """Note a loss."""
        self.losses.append(Loss(path, what, why))

    def write(self, messages: Iterable[Message]) -> None:
        """Write all messages of a prompt, and note what the vendor would refuse in their order."""
        for at, message in enumerate(messages):
            is_written = _PLAIN_WRITERS.get(type(message))
            if is_written is not None and is_written(self, message):
                continue
            self.odd = True
            builtin = builtin_of(message, at, self.losses)
            _WRITERS[type(builtin)](self, builtin, at)
        if self.odd or self.open:
            self.losses += order_losses(messages, FORMAT, hoisted=True)

    def _plain_system(self, message: SystemMessage) -> bool:
        """Write a system message of words alone, if it is the first message of all."""
        content = message.content
        if type(content) is not str or not content or content.isspace() or self.contents or self.system is not None:
            return False
        if message.metadata or message.name is not None or message.id is not None:
            return False
        self.system = {"parts": [{"text": content}]}
        return True

    def _plain_user(self, message: UserMessage) -> bool:
        """Write what a user says in words alone, as nearly always, if it is that and comes where it may."""
        content = message.content
        if type(content) is not str or not content or content.isspace() or self.open or self.last is UserMessage:
            return False
        if message.metadata or message.name is not None or message.id is not None:
            return False
        self.contents.append({"role": "user", "parts": [{"text": content}]})
        self.last = UserMessage
        return True

    def _plain_answer(self, message: AssistantMessage) -> bool:
        """Write an answer of words and calls, as nearly all are, if it is one and comes where it may."""
        content, calls = message.content, message.tool_calls
        if message.metadata or message.invalid_tool_calls or self.open or self.last in _NO_PLACE:
            return False
        if message.name is not None or message.id is not None:
            return False
        parts: list[Body] = []
        if content is not None:
            if type(content) is not str or not content or content.isspace():
                return False
            parts.append({"text": content})
        elif not calls:
            return False
        for call in calls:
            given = None if call.metadata else arguments_of(call.arguments)
            if given is None:
                return False
            inner = {"name": call.name, "args": given}
            parts.append({"functionCall": inner if call.id is None else {"id": call.id} | inner})
        self.contents.append({"role": "model", "parts": parts})
        self.calls, self.answered, self.last, self.open = [*calls], 0, AssistantMessage, bool(calls)
        return True

    def _plain_results(self, message: ToolResponseMessage) -> bool:
        """Write the results of all calls before them, in words and in order, if they are that."""
        calls, responses = self.calls, message.responses
        if message.metadata or message.name is not None or message.id is not None or len(responses) != len(calls):
            return False
        if self.last is not AssistantMessage or not self.open:
            return False
        parts: list[Body] = []
        for response, call in zip(responses, calls, strict=True):
            content = response.content
            if response.id != call.id or response.name != call.name or type(content) is not str or response.metadata:
                return False
            if response.artifact is not None or response.status != "success":
                return False
            inner = {"name": response.name, "response": _response(content)}
            parts.append({"functionResponse": inner if response.id is None else {"id": response.id} | inner})
        self.contents.append({"role": "user", "parts": parts})
        self.open, self.answered, self.last = False, len(calls), ToolResponseMessage
        return True

    def _finish(self, body: Body, message: Any, path: str) -> None:
        """Write what else a message has."""
        for name in ("name", "id"):
            if getattr(message, name) is not None:
                self.lose(f"{path}.{name}", name, f"{FORMAT} has no {name}s of messages")
        if message.metadata:
            add_own(body, message.metadata, FORMAT, path, self.losses)

    def _own(self, body: Body, metadata: Mapping[str, Any], path: str, *, named: bool = False) -> Body:
        """Write the vendor's own fields of a part, and say where they take the place of ours."""
        own = metadata.get(FORMAT)
        if isinstance(own, Mapping):
            data = next(iter(body))
            thought = data == "text" and isinstance(own.get("thought"), bool)
            taken = (DATA | {"thought"} if thought else DATA) & own.keys() - body.keys()
            if isinstance(own.get(data), Mapping):
                ours = FIELDS.get(data, frozenset()) | ({"displayName"} if named else frozenset())
                taken |= ours & own[data].keys() - body[data].keys()
            if taken:
                why = f"what stands there under {min(taken)!r} reads back as a field of ours"
                self.lose(f"{path}.metadata.{FORMAT}", "spelling", why)
        if metadata:
            add_own(body, metadata, FORMAT, path, self.losses)
        return body

    def _system(self, message: SystemMessage, at: int) -> None:
        path = f"messages[{at}]"
        parts = self._parts(message.content, f"{path}.content", SystemMessage)
        body = self.system or {"parts": []}
        if self.contents:
            why = "the system text is a field and no content: it stands before the conversation now"
            self.lose(path, "placement", why)
        elif self.system is not None or not parts:
            self.lose(path, "spelling", "the system text reads back as one message, or as none where it has no text")
        body["parts"] += parts
        self._finish(body, message, path)
        self.system = body if len(body) > 1 or body["parts"] else None

    def _user(self, message: UserMessage, at: int) -> None:
        path = f"messages[{at}]"
        self._append("user", self._parts(message.content, f"{path}.content", UserMessage), message, path)

    def _append(self, role: str, parts: list[Body], message: Message, path: str) -> None:
        body: Body = {"role": role, "parts": parts}
        self._finish(body, message, path)
        self.contents.append(body)
        self.last = type(message)
        self.open = False

    def _assistant(self, message: AssistantMessage, at: int) -> None:
        path = f"messages[{at}]"
        wishes: Sequence[ToolCall | InvalidToolCall] = (*message.tool_calls, *message.invalid_tool_calls)
        content: Any = message.content
        if content == () or (wishes and content == ""):
            self.lose(f"{path}.content", "spelling", "content without a part, or an empty text beside calls, is none")
            content = None
        parts = [] if content is None else self._parts(content, f"{path}.content", AssistantMessage)
        self.calls, self.answered = [], 0
        for index, call in enumerate(message.tool_calls):
            parts.append(self._call(call, f"{path}.tool_calls[{index}]"))
        parts += [self._call(invalid, place) for _, invalid, place in invalid_calls(message, path, self.losses)]
        self._append("model", parts, message, path)

    def _call(self, call: ToolCall | InvalidToolCall, path: str) -> Body:
        self.calls.append(call)
        text = call.arguments or ""
        given = arguments_of(text)
        if given is None:
            self.lose(f"{path}.arguments", "spelling", f"arguments that are no JSON object go out under {INVALID!r}")
            given = {INVALID: text}
        inner: Body = {} if call.id is None else {"id": call.id}
        inner |= {"name": call.name, "args": given}
        return self._own({"functionCall": inner}, call.metadata, path)

    def _results(self, message: ToolResponseMessage, at: int) -> None:
        path = f"messages[{at}]"
        parts = [
            self._result(response, f"{path}.responses[{index}]") for index, response in enumerate(message.responses)
        ]
        joins = self.last is ToolResponseMessage
        self._append("user", parts, message, path)
        if joins and self.contents[-1].keys() == {"role", "parts"}:
            self.lose(path, "spelling", "results that follow each other read back as one message")
            self.contents.pop()
            self.contents[-1]["parts"] += parts

    def _result(self, response: ToolResponse, path: str) -> Body:
        name = response.name
        if not name:
            known = [call.name for call in self.calls if response.id is not None and call.id == response.id]
            known += [call.name for call in self.calls[self.answered : self.answered + 1]]
            name = (known or [None])[0] or "unknown"
            self.lose(f"{path}.name", "name", f"{FORMAT} wants the name of the tool: {name!r:.80} is sent")
        self.answered += 1
        if response.artifact is not None:
            self.lose(f"{path}.artifact", "artifact", "artifacts are not for models")
        inner: Body = {} if response.id is None else {"id": response.id}
        inner["name"] = name
        content, failed = response.content, response.status == "error"
        if type(content) is str:
            inner["response"] = {"error": content} if failed else _response(content)
        else:
            self._write_parts(content, inner, f"{path}.content", failed=failed)
        return self._own({"functionResponse": inner}, response.metadata, path)

    def _write_parts(self, content: Any, inner: Body, path: str, *, failed: bool) -> None:
        """Write a result of several parts: its texts are its response, the rest stands behind."""
        texts = [part.text for part in content if isinstance(part, Text)]
        media: list[Body] = []
        for index, part in enumerate(content):
            if isinstance(part, Text):
                lose_metadata(part.metadata, FORMAT, f"{path}[{index}]", self.losses)
                continue
            written = self._part(part, f"{path}[{index}]", ToolResponse)
            if written is not None:
                media.append(written)
        text = "".join(texts)
        if failed:
            inner["response"] = {"error": text}
        elif media:
            inner["response"] = {} if not texts else {"output": text} if text == "{}" else _response(text)
        else:
            inner["response"] = _response(text)
        if media:
            inner["parts"] = media
        first = isinstance(content[0], Text) if content else False
        if len(texts) > 1 or (texts and not first) or not (texts or media) or (failed and not texts):
            self.lose(path, "spelling", "the texts of a result read back as one, before all else")

    def _parts(self, content: Content, path: str, place: type) -> list[Body]:
        if isinstance(content, str):
            return [{"text": content}]
        parts = [self._part(part, f"{path}[{index}]", place) for index, part in enumerate(content)]
        return [part for part in parts if part is not None]

    def _part(self, part: Part, path: str, place: type) -> Body | None:
        if isinstance(part, Opaque):
            return self._opaque(part, path, place)
        body: Body | None
        if isinstance(part, Text):
            body = {"text": part.text}
        elif isinstance(part, Reasoning):
            if place is ToolResponse or (not part.text and FORMAT not in part.metadata):
                self.lose(path, "reasoning", f"{FORMAT} takes no thoughts without text here")
                return None
            body = {"text": part.text, "thought": True}
        elif place is SystemMessage:
            self.lose(path, part.kind, f"{FORMAT} takes no {part.kind} here")
            return None
        else:
            body = write_medium(part, path, self.losses, named=place is ToolResponse)
        return None if body is None else self._own(body, part.metadata, path, named=place is ToolResponse)

    def _opaque(self, part: Opaque, path: str, place: type) -> Body | None:
        if part.vendor != FORMAT:
            self.lose(path, "opaque", f"the part came from {part.vendor} and goes back only there")
            return None
        body: Body = plain(part.payload, f"{path}.payload", FORMAT)
        kind = data_of(body)
        try:
            known = not isinstance(read_part(body), Opaque) and not (kind == "text" and place is ToolResponse)
        except (AdapterError, PromptError):
            known = True
        if known or (kind is not None and kind == _OWN_KINDS.get(place)):
            self.lose(path, "spelling", "the part reads back as what its data is")
        lose_metadata(part.metadata, FORMAT, path, self.losses)
        return body


def _response(text: str) -> Body:
    """Say a result: text that is the compact JSON of an object is that object, so that both ways say the same."""
    if text[:1] == "{":
        try:
            given = _json.loads(text)
            exact = _json.dumps(given) == text
        except ValueError:
            exact = False
        if exact and not (len(given) == 1 and any(isinstance(given.get(key), str) for key in ("output", "error"))):
            return given  # type: ignore[no-any-return]
    return {"output": text}


_OWN_KINDS: Mapping[type, str] = {AssistantMessage: "functionCall", UserMessage: "functionResponse"}
_NO_PLACE = (None, AssistantMessage)  # where no answer may stand: first, and behind another

_PLAIN_WRITERS: Mapping[type, Callable[[MessageWriter, Any], bool]] = {
    SystemMessage: MessageWriter._plain_system,
    UserMessage: MessageWriter._plain_user,
    AssistantMessage: MessageWriter._plain_answer,
    ToolResponseMessage: MessageWriter._plain_results,
}
_WRITERS: Mapping[type, Callable[[MessageWriter, Any, int], None]] = {
    SystemMessage: MessageWriter._system,
    UserMessage: MessageWriter._user,
    AssistantMessage: MessageWriter._assistant,
    ToolResponseMessage: MessageWriter._results,
}
