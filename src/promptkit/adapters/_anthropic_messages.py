"""Write messages as those of a Messages request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from promptkit.adapters._anthropic_body import read_block
from promptkit.adapters._anthropic_media import write_medium
from promptkit.adapters._anthropic_tables import CACHE_MARKS, FORMAT, INVALID, is_id
from promptkit.adapters._order import order_losses
from promptkit.adapters.base import (
    Loss,
    Losses,
    add_own,
    arguments_of,
    builtin_of,
    invalid_calls,
    lose_metadata,
    plain,
    without_own,
)
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

__all__ = ["Body", "MessageWriter"]

Body = dict[str, Any]
"""The JSON of an object on its way out."""

_WITH_MEDIA = frozenset((UserMessage, ToolResponse))


class MessageWriter:
    """Write the messages of one request, and remember what results need of the calls before them."""

    __slots__ = (
        "answered", "calls", "last", "late_system", "losses", "made_ids", "marks", "messages", "names", "odd", "open",
        "rank", "seen", "system",
    )  # fmt: skip

    def __init__(self, late_system: Literal["join", "keep"]) -> None:
        self.late_system = late_system
        self.losses: Losses = []
        self.messages: list[Body] = []
        self.system: list[Body] | None = None
        self.marks: dict[int, tuple[int, str, Body]] = {}
        self.rank = 0
        self.last: type | None = None
        self.calls: list[str] = []
        self.names: dict[str, str] = {}
        self.made_ids: dict[str | None, str] = {}
        self.answered = 0
        self.odd = False
        self.open: Sequence[str | None] = ()
        self.seen: set[str | None] = set()

    def lose(self, path: str, what: str, why: str) -> None:
        """Note a loss."""
        self.losses.append(Loss(path, what, why))

    def write(self, messages: Iterable[Message]) -> None:
        """Write all messages of a prompt, and note what the vendor would refuse in their order."""
        for at, message in enumerate(messages):
            is_written = _PLAIN_WRITERS.get(type(message))
            if is_written is not None and is_written(self, message):
                continue
            builtin = builtin_of(message, at, self.losses)
            _WRITERS[type(builtin)](self, builtin, at)
        if self.odd or self.open:
            self._consult(messages)

    def _plain_user(self, message: UserMessage) -> bool:
        """Write what a user says in words alone, as nearly always, if it is that and nothing is open before it."""
        content = message.content
        if type(content) is not str or not content or content.isspace() or self.open:
            return False
        if self.last is ToolResponseMessage or message.metadata or message.name is not None or message.id is not None:
            return False
        self.messages.append({"role": "user", "content": content})
        self.last = UserMessage
        return True

    def _plain_answer(self, message: AssistantMessage) -> bool:
        """Write an answer of words and calls, as nearly all are, if it is one and comes where it may."""
        content, calls = message.content, message.tool_calls
        if message.metadata or message.invalid_tool_calls or self.open or self.last is None:
            return False
        if message.name is not None or message.id is not None:
            return False
        blocks: list[Body] = []
        if content is not None:
            if type(content) is not str or not content or content.isspace():
                return False
            blocks.append({"type": "text", "text": content})
        elif not calls:
            return False
        names: dict[str, str] = {}
        for call in calls:
            call_id = call.id
            if call_id is None or call_id in self.seen or call_id in names or call.metadata or not is_id(call_id):
                return False
            given = arguments_of(call.arguments)
            if given is None:
                return False
            names[call_id] = call.name
            blocks.append({"type": "tool_use", "id": call_id, "name": call.name, "input": given})
        self.messages.append({"role": "assistant", "content": blocks if calls else content})
        self.names, self.answered, self.last = {**names}, 0, AssistantMessage
        self.open = self.calls = [*names]
        if calls:
            self.seen.update(names)
        return True

    def _plain_results(self, message: ToolResponseMessage) -> bool:
        """Write the results of all calls before them, in words and in order, if they are that."""
        calls, responses = self.calls, message.responses
        if message.metadata or message.name is not None or message.id is not None or len(responses) != len(calls):
            return False
        blocks: list[Body] = []
        for response, call_id in zip(responses, calls, strict=True):
            content = response.content
            if response.id != call_id or type(content) is not str or response.metadata:
                return False
            if response.artifact is not None or response.status != "success" or response.name != self.names[call_id]:
                return False
            blocks.append({"type": "tool_result", "tool_use_id": call_id, "content": content})
        if self.last is not AssistantMessage or len(self.open) != len(calls):
            return False
        self.messages.append({"role": "user", "content": blocks})
        self.open, self.answered, self.last = (), len(calls), ToolResponseMessage
        return True

    def _consult(self, messages: Iterable[Message]) -> None:
        """Ask the doctor, whose rules these are; where all is plainly regular its four passes are spared."""
        self.losses += order_losses(messages, FORMAT, hoisted=self.late_system == "join")

    def _finish(self, body: Body, message: Any, path: str) -> None:
        """Write what else a message has; its cache mark is that of its last block."""
        for name in ("name", "id"):
            if getattr(message, name) is not None:
                self.lose(f"{path}.{name}", name, f"{FORMAT} has no {name}s of messages")
        metadata = message.metadata
        if not metadata:
            return
        own = metadata.get(FORMAT)
        if isinstance(own, Mapping) and own.get("cache_control") is not None:
            blocks = body["content"]
            if isinstance(blocks, str):
                blocks = body["content"] = [{"type": "text", "text": blocks}]
            place = f"{path}.metadata.{FORMAT}.cache_control"
            if blocks and blocks[-1].get("type") not in ("thinking", "redacted_thinking"):
                blocks[-1].setdefault("cache_control", plain(own["cache_control"], place, FORMAT))
                self.lose(place, "spelling", "the mark of a message reads back as that of its last block")
                self._count_mark(blocks[-1], place)
            else:
                self.lose(place, "metadata", f"{FORMAT} marks blocks, and here is none that can have a mark")
            metadata = without_own(metadata, FORMAT, "cache_control")
        add_own(body, metadata, FORMAT, path, self.losses)

    def own(self, body: Body, metadata: Mapping[str, Any], path: str) -> None:
        """Write the vendor's own fields of a block, call, result or tool, and count its cache mark."""
        if metadata:
            add_own(body, metadata, FORMAT, path, self.losses)
            self._count_mark(body, path)

    def mark(self, body: Body, path: str) -> None:
        """Count the cache marks in a block that is written word for word; blocks can stand in it."""
        self._count_mark(body, path)
        source = body.get("source")
        for inner in (body.get("content"), source.get("content") if isinstance(source, dict) else None):
            for block in inner if isinstance(inner, list) else ():
                if isinstance(block, dict):
                    self._count_mark(block, path)

    def _count_mark(self, body: Body, path: str) -> None:
        if body.get("cache_control") is not None:
            self.marks.setdefault(id(body), (self.rank, path, body))

    def unmark(self, *, reserved: int = 0) -> None:
        """Take out the cache marks that are too many: the oldest of messages, then those of system text and tools."""
        ranked = sorted(self.marks.values(), key=lambda mark: mark[0])
        for _, path, body in ranked[: max(0, len(ranked) + reserved - CACHE_MARKS)]:
            del body["cache_control"]
            self.lose(path, "cache_control", f"{FORMAT} takes {CACHE_MARKS} cache marks: the later ones stay")

    def _system(self, message: SystemMessage, at: int) -> None:
        path = f"messages[{at}]"
        self.odd = self.odd or type(message.content) is not str or not message.content.strip()
        late = bool(self.messages)
        kept = late and self.late_system == "keep"
        self.rank = 0 if kept else 1
        body: Body = {"role": "system", "content": self._blocks(message.content, f"{path}.content", SystemMessage)}
        self._finish(body, message, path)
        self.rank = 0
        if kept:
            self.odd = self.odd or bool(self.open)
            body["content"] = _compact(body["content"])
            self.messages.append(body)
            self.last = SystemMessage
            return
        for key in body.keys() - {"role", "content"}:
            self.lose(f"{path}.metadata.{FORMAT}.{key}", "metadata", "the system text is no message with fields")
        if late:
            why = "the system text is a parameter and no message: it stands before the conversation now"
            self.lose(path, "placement", why)
        elif self.system is not None or not body["content"]:
            self.lose(path, "spelling", "the system text reads back as one message, or as none where it has no text")
        self.system = (self.system or []) + body["content"]

    def _user(self, message: UserMessage, at: int) -> None:
        path = f"messages[{at}]"
        content: Any = message.content
        self.odd = self.odd or bool(self.open) or type(content) is not str or not content.strip()
        self.open = ()
        if type(content) is not str:
            content = self._blocks(content, f"{path}.content", UserMessage)
        body = {"role": "user", "content": _compact(content)}
        self._finish(body, message, path)
        if self.last is ToolResponseMessage and len(body) == 2 and message.content != ():
            self.messages[-1]["content"] += _listed(body["content"])
        else:
            self.messages.append(body)
        self.last = UserMessage

    def _assistant(self, message: AssistantMessage, at: int) -> None:
        path = f"messages[{at}]"
        content: Any = message.content
        wishes: tuple[ToolCall | InvalidToolCall, ...] = (*message.tool_calls, *message.invalid_tool_calls)
        self.calls, self.names, self.answered = [], {}, 0
        self._watch(message, [call.id for call in wishes])
        if content is None:
            content = []
        elif type(content) is not str:
            content = self._blocks(content, f"{path}.content", AssistantMessage)
            if not message.content:
                self.lose(f"{path}.content", "spelling", "content without a part reads back as none")
        if wishes:
            if message.content == "":
                self.lose(f"{path}.content", "spelling", "an empty text beside calls reads back as none")
                content = []
            content = _listed(content)
            for index, call in enumerate(message.tool_calls):
                content.append(self._call(call, f"{path}.tool_calls[{index}]", f"call_{at}_{index}"))
            for index, invalid, place in invalid_calls(message, path, self.losses):
                content.append(self._call(invalid, place, f"call_{at}_{index}"))
        body = {"role": "assistant", "content": _compact(content)}
        self._finish(body, message, path)
        self.messages.append(body)
        self.last = AssistantMessage

    def _watch(self, message: AssistantMessage, ids: list[str | None]) -> None:
        """Note whether an answer is anything but plainly regular: the doctor judges the rest."""
        content = message.content
        blank = type(content) is not str or not content.strip()
        regular = (message.tool_calls and content is None) or not blank
        known = not self.seen.isdisjoint(ids) or len(set(ids)) < len(ids)
        self.odd = self.odd or not regular or known or bool(self.open) or self.last is None
        self.seen.update(ids)
        self.open = ids

    def _call(self, call: ToolCall | InvalidToolCall, path: str, made: str) -> Body:
        call_id = call.id
        if call_id is None or not is_id(call_id):
            call_id = self.made_ids[call_id] = made
            self.lose(f"{path}.id", "id", f"{FORMAT} wants an id of letters, digits, _ and -: {made!r} is sent")
        self.calls.append(call_id)
        self.names[call_id] = call.name or ""
        block = {"type": "tool_use", "id": call_id, "name": call.name, "input": self._input(call, path)}
        self.own(block, call.metadata, path)
        return block

    def _input(self, call: ToolCall | InvalidToolCall, path: str) -> Body:
        text = call.arguments or ""
        given = arguments_of(text)
        if given is None:
            self.lose(f"{path}.arguments", "spelling", f"arguments that are no JSON object go out under {INVALID!r}")
            return {INVALID: text}
        return given

    def _results(self, message: ToolResponseMessage, at: int) -> None:
        path = f"messages[{at}]"
        self.odd = self.odd or [*self.open] != [response.id for response in message.responses]
        self.open = ()
        blocks = [
            self._result(response, f"{path}.responses[{index}]", f"call_{at}_{index}")
            for index, response in enumerate(message.responses)
        ]
        body: Body = {"role": "user", "content": blocks}
        self._finish(body, message, path)
        if self.last is ToolResponseMessage and len(body) == 2:
            self.lose(path, "spelling", "results that follow each other read back as one message")
            self.messages[-1]["content"] += blocks
        else:
            self.messages.append(body)
        self.last = ToolResponseMessage

    def _result(self, response: ToolResponse, path: str, made: str) -> Body:
        call_id = response.id
        if call_id is None or not is_id(call_id):
            known = self.calls[self.answered] if self.answered < len(self.calls) else made
            call_id = self.made_ids.get(call_id, known) if call_id is not None else known
            self.lose(f"{path}.id", "id", f"{FORMAT} wants an id of letters, digits, _ and -: {call_id!r} is sent")
        self.answered += 1
        if response.name != self.names.get(call_id):
            self.lose(f"{path}.name", "name", f"{FORMAT} says a tool's name only with its call")
        if response.artifact is not None:
            self.lose(f"{path}.artifact", "artifact", "artifacts are not for models")
        content: Any = response.content
        if type(content) is not str:
            content = _compact(self._blocks(content, f"{path}.content", ToolResponse))
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        if response.status == "error":
            block["is_error"] = True
        self.own(block, response.metadata, path)
        return block

    def _blocks(self, content: Content, path: str, place: type) -> list[Body]:
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        blocks = [self._block(part, f"{path}[{index}]", place) for index, part in enumerate(content)]
        return [block for block in blocks if block is not None]

    def _block(self, part: Part, path: str, place: type) -> Body | None:
        if isinstance(part, Opaque):
            return self._opaque(part, path)
        metadata: Mapping[str, Any] = part.metadata
        block: Body | None
        if isinstance(part, Text):
            block = {"type": "text", "text": part.text}
        elif isinstance(part, Media):
            block = self._medium(part, path) if place in _WITH_MEDIA else None
            if place not in _WITH_MEDIA:
                self.lose(path, part.kind, f"{FORMAT} takes no {part.kind} here")
        else:
            block, metadata = self._thought(part, path)
        if block is not None:
            self.own(block, metadata, path)
        return block

    def _thought(self, part: Reasoning, path: str) -> tuple[Body | None, Mapping[str, Any]]:
        """Write thoughts that the vendor signed or encrypted; it takes no others."""
        for key, block in (
            ("signature", {"type": "thinking", "thinking": part.text}),
            ("redacted", {"type": "redacted_thinking"}),
        ):
            proof = part.metadata.get(key)
            if isinstance(proof, str) and (key == "signature" or not part.text):
                rest = {name: value for name, value in part.metadata.items() if name != key}
                return {**block, "signature" if key == "signature" else "data": proof}, rest
        self.lose(path, "reasoning", f"{FORMAT} takes back only thoughts that it signed")
        return None, part.metadata

    def _medium(self, part: Media, path: str) -> Body | None:
        block = write_medium(part)
        if isinstance(block, str):
            self.lose(path, part.kind, block)
            return None
        read = read_block(block)
        for name in ("mime_type", "name", "id"):
            if getattr(part, name) != getattr(read, name, None):
                self.lose(f"{path}.{name}", name, f"{FORMAT} does not say the {name} of this medium in this form")
        return block

    def _opaque(self, part: Opaque, path: str) -> Body | None:
        if part.vendor != FORMAT:
            self.lose(path, "opaque", f"the block came from {part.vendor} and goes back only there")
            return None
        block: Body = plain(part.payload, f"{path}.payload", FORMAT)
        try:
            known = block.get("type") in ("tool_use", "tool_result") or not isinstance(read_block(block), Opaque)
        except (AdapterError, PromptError):
            known = True
        if known:
            self.lose(path, "spelling", "the block reads back as what its type names")
        lose_metadata(part.metadata, FORMAT, path, self.losses)
        self.mark(block, path)
        return block


def _listed(content: str | list[Body]) -> list[Body]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _compact(content: str | list[Body]) -> str | list[Body]:
    """Say a text alone as itself."""
    if len(content) == 1 and not isinstance(content, str) and content[0].keys() == {"type", "text"}:
        return content[0]["text"] if content[0]["type"] == "text" else content
    return content


_PLAIN_WRITERS: Mapping[type, Callable[[MessageWriter, Any], bool]] = {
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
