"""Read what Chat Completions gives back: whole answers, and the events of a stream."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from promptkit import _json
from promptkit._frozen import EMPTY
from promptkit.adapters._openai_body import read_content
from promptkit.adapters._openai_records import error_of, read_usage
from promptkit.adapters._openai_tables import FORMAT, LEGACY, REASONING_KEYS
from promptkit.adapters.base import damaged, read_events, text_of
from promptkit.content import Media, Opaque, Part, Reasoning, Text
from promptkit.errors import AdapterError, PromptError, ResponseFormatError, TransportError
from promptkit.response import ChatChunk, ChatResponse, ToolCallChunk

__all__ = ["ChunkReader", "to_chunks", "to_response"]


def to_response(payload: Mapping[str, Any]) -> ChatResponse:
    """Read a whole answer.

    Args:
        payload: The JSON of the answer.

    Raises:
        ModelError: It is the record of an error.
        ResponseFormatError: It is damaged; the message says where.

    >>> answer = {"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    >>> to_response({"choices": [answer]}).text
    'Hi'
    """
    if isinstance(payload, Mapping) and not payload.get("choices") and payload.get("error") is None:
        damaged("choices", "a list with an answer in it", payload.get("choices"))
    return ChatResponse.from_chunks(read_events(ChunkReader(whole=True), (payload,)))


def to_chunks(events: Iterable[Any]) -> Generator[ChatChunk, None, None]:
    """Read the events of a stream as they come; closing the result closes the events.

    Usage is a running total here: the last report counts.

    Args:
        events: The JSON of each event; the text ``[DONE]`` may end them.

    Raises:
        ModelError: The stream reported an error, is damaged or was cut off; ``partial`` holds what had arrived.

    >>> events = [{"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}]
    >>> ChatResponse.from_chunks(to_chunks(events)).text
    'Hi'
    """
    return read_events(ChunkReader(), events)


class _Answer:
    """Hold what is known of one answer but stands complete only at its end."""

    __slots__ = ("called", "customs", "finish_reason", "lists", "logprobs", "sound", "sound_data", "spoken")

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.called = False
        self.spoken = False
        self.logprobs: dict[str, list[Any]] = {}
        self.lists: dict[str, list[Any]] = {}
        self.customs: dict[int, dict[str, Any]] = {}
        self.sound: dict[str, Any] = {}
        self.sound_data: list[bytes] = []


class ChunkReader:
    """Turn the events of one stream into chunks, one at a time; an async stream uses it directly.

    Args:
        whole: The one event is a whole answer.

    >>> reader = ChunkReader()
    >>> [chunk.text for chunk in reader.read({"choices": [{"delta": {"content": "Hi"}}]})]
    ['Hi']
    """

    __slots__ = ("_answers", "_done", "_head", "_keys", "_metadata", "_repeated", "_whole")

    def __init__(self, *, whole: bool = False) -> None:
        self._answers: dict[int, _Answer] = {}
        self._done = self._whole = whole
        self._head: tuple[Any, Any] = (None, None)
        self._metadata: dict[str, Any] = {}
        self._keys: AbstractSet[str] = frozenset()
        self._repeated: list[tuple[str, Any]] = []

    def read(self, event: Any) -> list[ChatChunk]:
        """Give what is new in one event.

        Raises:
            ModelError: The event reports an error.
            ResponseFormatError: It is damaged; the message says where.
        """
        if self._done and not self._whole:
            return []
        if type(event) is dict and (text := self._only_text(event)) is not None:
            return [ChatChunk(text)]
        if event == "[DONE]":
            self._done = True
            return []
        if not isinstance(event, Mapping):
            damaged("the event", "a mapping", event)
        if event.get("error") is not None:
            raise error_of(event["error"])
        choices = event.get("choices")
        if choices is not None and not isinstance(choices, list | tuple):
            damaged("choices", "a list", choices)
        chunks: list[ChatChunk] = []
        for place, choice in enumerate(choices or ()):
            self._read_choice(choice, place, chunks)
        common = self._common(event)
        self._keys = event.keys()
        self._repeated = [(key, value) for key, value in event.items() if key not in _CHANGING]
        if common:
            if not chunks:
                chunks.append(ChatChunk(choice=None))
            chunks[0] = chunks[0].mutate(**common)
        return chunks

    def _only_text(self, event: dict[str, Any]) -> str | None:
        """Give the text of an event that has nothing else new in it, as nearly all have."""
        choices = event.get("choices")
        if (
            type(choices) is not list
            or len(choices) != 1
            or event.keys() != self._keys
            or event.get("usage") is not None
        ):
            return None
        for key, value in self._repeated:
            if event[key] != value:
                return None
        choice = choices[0]
        if type(choice) is not dict:
            return None
        delta = choice.get("delta")
        if type(delta) is not dict or len(delta) != 1 or not choice.keys() <= _PLAIN_CHOICE_KEYS:
            return None
        text = delta.get("content")
        answer = self._answers.get(0)
        if (
            type(text) is not str
            or not text
            or answer is None
            or not answer.spoken
            or choice.get("index") not in (0, None)
        ):
            return None
        return text if choice.get("finish_reason") is None and choice.get("logprobs") is None else None

    def _common(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Collect what is new of the call as a whole."""
        common: dict[str, Any] = {}
        head = (event.get("id"), event.get("model"))
        if head != self._head:
            self._head = head
            for name, value in zip(("id", "model"), head, strict=True):
                if value is not None and not isinstance(value, str):
                    damaged(name, "a str", value)
                common[name] = value
        metadata = {key: value for key, value in event.items() if key not in _EVENT_KEYS and value is not None}
        if metadata != self._metadata:
            self._metadata = metadata
            common["metadata"] = metadata
        if event.get("usage") is not None:
            common["usage"] = read_usage(event["usage"])
        return common

    def _read_choice(self, choice: Any, place: int, chunks: list[ChatChunk]) -> None:
        path = f"choices[{place}]"
        if not isinstance(choice, Mapping):
            damaged(path, "a mapping", choice)
        index = choice.get("index")
        index = place if index is None else index
        if type(index) is not int:
            damaged(f"{path}.index", "an int", index)
        answer = self._answers.get(index)
        if answer is None:
            answer = self._answers[index] = _Answer()
        key = "message" if self._whole else "delta"
        delta = choice.get(key)
        if delta is None and not self._whole:
            delta = {}
        if not isinstance(delta, Mapping):
            damaged(f"{path}.{key}", "a mapping", delta)
        finish_reason = choice.get("finish_reason")
        if finish_reason is not None and not isinstance(finish_reason, str):
            damaged(f"{path}.finish_reason", "a str", finish_reason)
        answer.finish_reason = finish_reason or answer.finish_reason
        contents = list(self._contents(delta, answer, f"{path}.{key}"))
        answer.spoken = answer.spoken or bool(contents)
        rest: dict[str, Any] = {"choice": index}
        if finish_reason:
            rest["finish_reason"] = finish_reason
        calls = self._calls(delta, answer, f"{path}.{key}")
        if calls:
            rest["tool_calls"] = calls
        metadata = _rest(delta, _DELTA_KEYS, answer.lists)
        if metadata:
            rest["message_metadata"] = metadata
        metadata = self._generation_metadata(choice, answer, path)
        if metadata:
            rest["generation_metadata"] = metadata
        for content, block in contents[:-1]:
            chunks.append(ChatChunk(content, block=block, choice=index))
        if contents:
            chunks.append(ChatChunk(contents[-1][0], block=contents[-1][1], **rest))
        elif len(rest) > 1:
            chunks.append(ChatChunk(**rest))

    def _contents(self, delta: Mapping[str, Any], answer: _Answer, path: str) -> Iterator[tuple[Any, int | None]]:
        """Give the pieces of content in one delta, each with the block that it belongs to."""
        for key in REASONING_KEYS:
            if (thought := text_of(delta, key, path)) is not None:
                yield (Reasoning(thought),), 0
                break
        content = delta.get("content")
        if isinstance(content, str):
            if content:
                yield content, None
        elif content is not None:
            try:
                yield read_content(content), None
            except AdapterError as error:
                raise ResponseFormatError(f"the answer is damaged: {path}.{error}") from None
        if (refusal := text_of(delta, "refusal", path)) is not None:
            yield (Text(refusal, metadata={"refusal": True}),), 1
        if delta.get("audio") is not None:
            _hear(delta["audio"], answer, f"{path}.audio")

    def _calls(self, delta: Mapping[str, Any], answer: _Answer, path: str) -> list[ToolCallChunk]:
        entries = delta.get("tool_calls")
        pieces: list[ToolCallChunk] = []
        if entries is not None and not isinstance(entries, list | tuple):
            damaged(f"{path}.tool_calls", "a list", entries)
        for place, entry in enumerate(entries or ()):
            at = f"{path}.tool_calls[{place}]"
            if not isinstance(entry, Mapping):
                damaged(at, "a mapping", entry)
            index = entry.get("index", place if self._whole else None)
            if index is not None and type(index) is not int:
                damaged(f"{at}.index", "an int", index)
            if entry.get("type") == "custom" or entry.get("custom") is not None:
                _collect_custom(answer.customs.setdefault(index or 0, {}), entry)
            else:
                pieces.append(_call_chunk(entry, index, at))
        if delta.get("function_call") is not None:
            piece = _call_chunk({"function": delta["function_call"]}, 0, f"{path}.function_call")
            pieces.append(piece.mutate(metadata={FORMAT: LEGACY}))
        answer.called = answer.called or bool(pieces) or bool(answer.customs)
        return pieces

    def _generation_metadata(self, choice: Mapping[str, Any], answer: _Answer, path: str) -> dict[str, Any]:
        logprobs = choice.get("logprobs")
        if logprobs is not None:
            if not isinstance(logprobs, Mapping):
                damaged(f"{path}.logprobs", "a mapping", logprobs)
            for key, value in logprobs.items():
                if isinstance(value, list | tuple):
                    answer.logprobs.setdefault(key, []).extend(value)
        return {key: value for key, value in choice.items() if key not in _CHOICE_KEYS and value is not None}

    def rest(self) -> list[ChatChunk]:
        """Give what is known only at the end: log probabilities, lists of citations, sound, calls of custom tools."""
        chunks = []
        for index, answer in sorted(self._answers.items()):
            parts: list[Part] = []
            if answer.sound_data or answer.sound:
                parts.append(_sound(answer))
            parts += [Opaque(FORMAT, call) for _, call in sorted(answer.customs.items())]
            generation = {"logprobs": answer.logprobs} if answer.logprobs else EMPTY
            message = answer.lists or EMPTY
            content: Any = parts or (None if answer.spoken or answer.called else "")
            if content is not None or generation or message:
                chunks.append(
                    ChatChunk(content, choice=index, generation_metadata=generation, message_metadata=message)
                )
        return chunks

    def check(self) -> None:
        """Raise unless the stream ended as its format says.

        Raises:
            TransportError: It is cut off.
            ResponseFormatError: It holds no answer, or promises calls and has none.
        """
        open_answers = [index for index, answer in self._answers.items() if answer.finish_reason is None]
        if (open_answers or not self._answers) and not self._done:
            raise TransportError("the stream ended before the answer did; .partial holds what had arrived")
        if not self._answers:
            raise ResponseFormatError("the stream ended without an answer")
        for index, answer in self._answers.items():
            if answer.finish_reason in ("tool_calls", "function_call") and not answer.called:
                raise ResponseFormatError(f"choices[{index}] ended for {answer.finish_reason!r} but has no calls")


_EVENT_KEYS = frozenset(("id", "model", "choices", "usage", "object", "obfuscation", "error"))
_CHANGING = frozenset(("choices", "usage", "obfuscation"))
_PLAIN_CHOICE_KEYS = frozenset(("index", "delta", "finish_reason", "logprobs"))
_CHOICE_KEYS = frozenset(("index", "delta", "message", "finish_reason", "logprobs"))
_DELTA_KEYS = frozenset(("role", "content", "refusal", "audio", "tool_calls", "function_call", *REASONING_KEYS))


def _rest(value: Mapping[str, Any], known: frozenset[str], lists: dict[str, list[Any]]) -> dict[str, Any]:
    """Collect unknown fields; of lists each piece adds to those before it, and they are given at the end."""
    rest = {}
    for key, item in value.items():
        if key in known or item is None:
            continue
        if isinstance(item, list | tuple):
            lists.setdefault(key, []).extend(item)
        else:
            rest[key] = item
    return rest


def _call_chunk(entry: Mapping[str, Any], index: int | None, path: str) -> ToolCallChunk:
    function = entry.get("function") or {}
    if not isinstance(function, Mapping):
        damaged(f"{path}.function", "a mapping", function)
    arguments = function.get("arguments")
    if isinstance(arguments, Mapping):
        arguments = _json.dumps(arguments)
    elif arguments is not None and not isinstance(arguments, str):
        damaged(f"{path}.function.arguments", "JSON text", arguments)
    own = {key: value for key, value in entry.items() if key not in _CALL_KEYS and value is not None}
    metadata = {FORMAT: own} if own else EMPTY
    name = text_of(function, "name", f"{path}.function")
    return ToolCallChunk(index, text_of(entry, "id", path), name=name, arguments=arguments, metadata=metadata)


_CALL_KEYS = frozenset(("index", "id", "type", "function"))


def _collect_custom(call: dict[str, Any], entry: Mapping[str, Any]) -> None:
    """Join the pieces of a call of a custom tool, whose input is text."""
    custom = entry.get("custom")
    call.update({key: value for key, value in entry.items() if key not in ("index", "custom") and value is not None})
    if isinstance(custom, Mapping):
        known = call.setdefault("custom", {})
        for key, value in custom.items():
            if value is not None:
                known[key] = known[key] + value if key == "input" and key in known else value


def _hear(audio: Any, answer: _Answer, path: str) -> None:
    """Take a piece of sound: its bytes are encoded piece by piece, its transcript is text."""
    if not isinstance(audio, Mapping):
        damaged(path, "a mapping", audio)
    for key, value in audio.items():
        if value is None:
            continue
        if key == "data":
            try:
                answer.sound_data.append(Media.from_base64(value, "audio/*").bytes if value else b"")
            except PromptError as error:
                raise ResponseFormatError(f"the answer is damaged: {path}.data: {error}") from None
        elif key == "transcript":
            answer.sound.setdefault("transcript", []).append(str(value))
        else:
            answer.sound[key] = value


def _sound(answer: _Answer) -> Media:
    """Make a medium of the sound; without bytes it is named by the vendor's id."""
    metadata = {key: value for key, value in answer.sound.items() if key != "id"}
    if "transcript" in metadata:
        metadata["transcript"] = "".join(metadata["transcript"])
    data, sound_id = b"".join(answer.sound_data), answer.sound.get("id")
    if not data and sound_id is None:
        raise ResponseFormatError("the answer is damaged: its sound has neither data nor an id")
    if not data:
        return Media(file_id=sound_id, mime_type="audio/*", metadata=metadata)
    try:
        return Media(data, id=sound_id, metadata=metadata)
    except PromptError:
        return Media(data, "audio/*", id=sound_id, metadata=metadata)
