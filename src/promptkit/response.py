"""Hold what a chat model gives back: generations, usage, and the chunks of a stream with the way to join them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from promptkit import _json
from promptkit._frozen import EMPTY, FrozenDict, Value, bare_fields, freeze_mapping
from promptkit.content import Content, Part, Reasoning, Text, content_text, freeze_content
from promptkit.errors import ModelError, PromptError, PromptkitError
from promptkit.messages import AssistantMessage, InvalidToolCall, ToolCall

__all__ = ["ChatChunk", "ChatResponse", "ChunkAccumulator", "Generation", "ToolCallChunk", "Usage"]

_COUNTERS = ("prompt_tokens", "completion_tokens", "total_tokens")
_DETAILS = ("cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


def _count(value: int | None) -> int:
    return 0 if value is None else value


def _total(value: int | None) -> int:
    return value  # type: ignore[return-value]  # filled in after the others


@frozen(repr=False, weakref_slot=False)
class Usage(Value):
    """Count the tokens of a call; a usage of nothing is falsy.

    Args:
        prompt_tokens: Tokens of the prompt, cached ones included.
        completion_tokens: Tokens of the answer, reasoning included.
        total_tokens: Their sum, unless the vendor states another number.
        cache_read_tokens: Tokens of the prompt that came from the vendor's cache; ``None`` if it does not say.
        cache_write_tokens: Tokens of the prompt that went into it; ``None`` if it does not say.
        reasoning_tokens: Tokens of the answer spent on reasoning; ``None`` if it does not say.
        native: The vendor's own record, as it came.

    >>> Usage(10, 5) + Usage(20, 1, cache_read_tokens=8)
    Usage(30, 6, total_tokens=36, cache_read_tokens=8)
    """

    prompt_tokens: int = field(default=0, converter=_count)
    completion_tokens: int = field(default=0, converter=_count)
    total_tokens: int = field(default=None, kw_only=True, converter=_total)
    cache_read_tokens: int | None = field(default=None, kw_only=True)
    cache_write_tokens: int | None = field(default=None, kw_only=True)
    reasoning_tokens: int | None = field(default=None, kw_only=True)
    native: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)

    def __attrs_post_init__(self) -> None:
        if self.total_tokens is None:
            object.__setattr__(self, "total_tokens", self.prompt_tokens + self.completion_tokens)
        for name in (*_COUNTERS, *_DETAILS):
            value = getattr(self, name)
            if type(value) is not int and value is not None:
                raise PromptError(f"Usage.{name} must be an int, not {value!r:.80}")

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in (*_COUNTERS, *_DETAILS))

    def __add__(self, other: Usage) -> Usage:
        """Sum over calls; a counter that neither side states stays ``None``, the vendor's record is dropped.

        The sum with a usage of nothing is the other usage itself.
        """
        if not isinstance(other, Usage):
            return NotImplemented
        if not other or not self:
            return self if not other else other
        sums: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in _COUNTERS}
        for name in _DETAILS:
            pair = (getattr(self, name), getattr(other, name))
            sums[name] = None if pair == (None, None) else sum(value or 0 for value in pair)
        return Usage(**sums)


@frozen(repr=False, weakref_slot=False)
class Generation(Value):
    """Hold one answer of the model.

    Args:
        output: The message.
        finish_reason: Why it ended, in the vendor's word (``stop``, ``length``, ``tool_calls``…).
        metadata: What else the vendor says of this answer (filters, log probabilities).

    >>> Generation(AssistantMessage("Hi"), "stop").output.text
    'Hi'
    """

    output: AssistantMessage
    finish_reason: str | None = None
    metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)


def _generations(value: Generation | Iterable[Generation]) -> tuple[Generation, ...]:
    if isinstance(value, Generation):
        return (value,)
    if value is None or isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise PromptError(f"results must hold Generation objects, not {value!r:.80}")
    results = tuple(value)
    for index, result in enumerate(results):
        if not isinstance(result, Generation):
            raise PromptError(f"results[{index}] must be a Generation, not {result!r:.80}")
    return results


@frozen(repr=False, weakref_slot=False)
class ChatResponse(Value):
    """Hold the answers of one call, most often one.

    Args:
        results: The generations, in the vendor's order.
        id: The vendor's id of the call.
        model: The model that answered.
        usage: The tokens it took.
        metadata: What else the vendor says of the call (rate limits, a fingerprint).

    >>> response = ChatResponse(Generation(AssistantMessage("Ahoy")), usage=Usage(12, 3))
    >>> response.text, response.usage.total_tokens
    ('Ahoy', 15)
    """

    results: tuple[Generation, ...] = field(converter=_generations)
    id: str | None = field(default=None, kw_only=True)
    model: str | None = field(default=None, kw_only=True)
    usage: Usage = field(default=Usage(), kw_only=True)
    metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)

    @property
    def result(self) -> Generation | None:
        """The first generation, or ``None`` when the model gave none."""
        return self.results[0] if self.results else None

    @property
    def text(self) -> str:
        """The text of the first generation; ``""`` where it has none."""
        return self.results[0].output.text or "" if self.results else ""

    @property
    def has_tool_calls(self) -> bool:
        """Whether any generation calls a tool."""
        return any(result.output.tool_calls for result in self.results)

    def has_finish_reasons(self, reasons: Iterable[str]) -> bool:
        """Tell whether any generation ended for one of these reasons, upper and lower case alike.

        Args:
            reasons: The reasons; ``""`` stands for an absent one.

        Raises:
            PromptError: ``reasons`` is no collection of str.
        """
        if isinstance(reasons, str) or not isinstance(reasons, Iterable):
            raise PromptError(f"finish reasons must be a collection of str, not {reasons!r:.80}")
        wanted = {reason.lower() for reason in reasons}
        return any((result.finish_reason or "").lower() in wanted for result in self.results)

    def to_chunks(self) -> Iterator[ChatChunk]:
        """Give the response as a stream of one chunk a generation."""
        for choice, result in enumerate(self.results):
            message = result.output
            wanted: tuple[ToolCall | InvalidToolCall, ...] = (*message.tool_calls, *message.invalid_tool_calls)
            calls = [
                ToolCallChunk(index, call.id, name=call.name, arguments=call.arguments, metadata=call.metadata)
                for index, call in enumerate(wanted)
            ]
            yield ChatChunk(
                "" if message.content is None else message.content,
                tool_calls=calls,
                finish_reason=result.finish_reason,
                choice=choice,
                id=self.id,
                model=self.model,
                usage=self.usage if choice == 0 and self.usage else None,
                metadata=self.metadata if choice == 0 else EMPTY,
                generation_metadata=result.metadata,
                message_metadata=message.metadata,
                message_id=message.id,
                name=message.name,
            )

    @classmethod
    def from_chunks(cls, chunks: Iterable[ChatChunk]) -> ChatResponse:
        """Join a whole stream, in time linear in its length.

        Raises:
            ModelError: The stream broke; ``partial`` holds what had arrived.
        """
        accumulator = ChunkAccumulator()
        try:
            accumulator.extend(chunks)
        except ModelError as error:
            if error.partial is None:
                error.partial = accumulator.partial()
            raise
        except PromptkitError:
            raise
        except Exception as error:
            raise ModelError(
                f"the stream broke with {type(error).__name__}; .partial holds what had arrived",
                partial=accumulator.partial(),
            ) from error
        return accumulator.result()


@frozen(repr=False, weakref_slot=False)
class ToolCallChunk(Value):
    """Hold a piece of a tool call.

    Args:
        index: Which call of the answer it belongs to; ``None`` where the vendor counts none.
        id: The call's id, as a rule on its first piece only.
        name: The tool's name, as a rule on the first piece only.
        arguments: The next piece of the JSON text.

    >>> ToolCallChunk(0, "c1", name="weather", arguments='{"ci')
    ToolCallChunk(0, 'c1', name='weather', arguments='{"ci')
    """

    index: int | None = None
    id: str | None = None
    name: str | None = field(default=None, kw_only=True)
    arguments: str | None = field(default=None, kw_only=True)
    metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)


def _call_chunks(value: Iterable[ToolCallChunk]) -> tuple[ToolCallChunk, ...]:
    return tuple(value)


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class ChatChunk(Value):
    """Hold a piece of a streamed answer: everything in it is new since the last one.

    Args:
        content: The next piece of text, or parts. Pieces of one ``block`` join; a part without block stands alone.
        block: The vendor's number of the content block.
        tool_calls: Pieces of tool calls.
        finish_reason: Why the answer ended, on its last piece.
        choice: Which answer it belongs to, where a call asks for several.
        usage: The tokens so far; with ``usage_is_delta``, since the last chunk that said any.
        metadata: What the vendor says of the call; the last value that is not ``None`` wins, key by key.
        generation_metadata: The same for this answer.
        message_metadata: The same for its message.

    >>> ChatResponse.from_chunks([ChatChunk("Hel"), ChatChunk("lo", finish_reason="stop")]).text
    'Hello'
    """

    content: Content = field(default="", converter=freeze_content)
    tool_calls: tuple[ToolCallChunk, ...] = field(default=(), kw_only=True, converter=_call_chunks)
    finish_reason: str | None = field(default=None, kw_only=True)
    block: int | None = field(default=None, kw_only=True)
    choice: int = field(default=0, kw_only=True)
    id: str | None = field(default=None, kw_only=True)
    model: str | None = field(default=None, kw_only=True)
    usage: Usage | None = field(default=None, kw_only=True)
    usage_is_delta: bool = field(default=False, kw_only=True)
    metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)
    generation_metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)
    message_metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)
    message_id: str | None = field(default=None, kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    shape: str = field(init=False, eq=False, repr=False)
    """What alone is in it: ``text``, ``arguments`` of one call, or ``mixed``; joining looks at this first."""

    def __attrs_post_init__(self) -> None:
        setter = object.__setattr__
        bare = self.block is None and self.choice == 0
        if type(self.content) is not str:
            setter(self, "content", freeze_content(self.content))
        if type(self.tool_calls) is not tuple:
            setter(self, "tool_calls", _call_chunks(self.tool_calls))
        for name in ("metadata", "generation_metadata", "message_metadata"):
            value = getattr(self, name)
            if value is not EMPTY:
                setter(self, name, freeze_mapping(value, name))
                bare = False
        rest = (self.finish_reason, self.id, self.model, self.usage, self.message_id, self.name)
        setter(self, "shape", _shape(self) if bare and rest == _NOTHING else "mixed")

    @property
    def text(self) -> str:
        """The piece of text in it, ``""`` where there is none."""
        return content_text(self.content)


_NOTHING = (None,) * 6


def _shape(chunk: ChatChunk) -> str:
    if not chunk.tool_calls:
        return "text" if type(chunk.content) is str else "mixed"
    piece = chunk.tool_calls[0]
    more = chunk.content or len(chunk.tool_calls) > 1 or piece.id or piece.name or piece.metadata
    return "mixed" if more or piece.index is None or not piece.arguments else "arguments"


class _OpenPart:
    """Collect the pieces of one content part."""

    __slots__ = ("kind", "metadata", "pieces", "whole")

    def __init__(self, kind: type[Part], whole: Part | None = None) -> None:
        self.kind = kind
        self.whole = whole
        self.pieces: list[str] = []
        self.metadata: dict[str, Any] = {}

    def close(self) -> Part:
        if self.whole is not None:
            return self.whole
        return self.kind("".join(self.pieces), metadata=self.metadata)  # type: ignore[call-arg,arg-type]


class _OpenCall:
    """Collect the pieces of one tool call."""

    __slots__ = ("arguments", "id", "metadata", "name")

    def __init__(self) -> None:
        self.id: str | None = None
        self.name: str | None = None
        self.arguments: list[str] = []
        self.metadata: dict[str, Any] = {}

    def close(self, complete: bool) -> ToolCall | InvalidToolCall:
        """Give the call if it is whole; JSON of an object cannot be cut and still parse, nothing at all can."""
        arguments = "".join(self.arguments)
        error = None if complete or arguments.strip() else "the stream broke before the arguments came"
        if not self.name:
            error = "the call has no tool name"
        if error is None:
            error = _not_an_object(arguments)
        if error is not None:
            return InvalidToolCall(self.id, self.name, arguments=arguments, error=error, metadata=self.metadata)
        return ToolCall(self.id, self.name or "", arguments=arguments, metadata=self.metadata)


def _not_an_object(arguments: str) -> str | None:
    if not arguments.strip():
        return None
    try:
        parsed = _json.loads(arguments)
    except ValueError as error:
        return f"the arguments are not JSON: {error}"
    return None if isinstance(parsed, dict) else f"the arguments are a JSON {type(parsed).__name__}, not an object"


class _OpenGeneration:
    """Collect the pieces of one answer."""

    __slots__ = (
        "blocks",
        "by_id",
        "by_index",
        "calls",
        "finish_reason",
        "last",
        "message",
        "metadata",
        "name",
        "own_id",
        "parts",
    )

    def __init__(self) -> None:
        self.parts: list[_OpenPart] = []
        self.blocks: dict[tuple[type[Part], int], _OpenPart] = {}
        self.calls: list[_OpenCall] = []
        self.by_index: dict[int, _OpenCall] = {}
        self.by_id: dict[str, _OpenCall] = {}
        self.finish_reason: str | None = None
        self.metadata: dict[str, Any] = {}
        self.message: dict[str, Any] = {}
        self.own_id: str | None = None
        self.name: str | None = None

    def add_text(self, text: str, block: int | None) -> None:
        self.open_part(Text, block, joins=True).pieces.append(text)

    def open_part(self, kind: type[Part], block: int | None, *, joins: bool) -> _OpenPart:
        """Find the part that a piece continues, or open one."""
        if block is not None:
            known = self.blocks.get((kind, block))
        else:
            known = self.parts[-1] if joins and self.parts and self.parts[-1].kind is kind else None
            if known is not None and known in self.blocks.values():
                known = None
        if known is None:
            known = _OpenPart(kind)
            self.parts.append(known)
            if block is not None:
                self.blocks[kind, block] = known
        return known

    def add_part(self, part: Part, block: int | None) -> None:
        if isinstance(part, Text | Reasoning):
            open_part = self.open_part(type(part), block, joins=False)
            open_part.pieces.append(part.text)
            open_part.metadata.update(part.metadata)
        else:
            self.parts.append(_OpenPart(type(part), part))

    def add_call(self, piece: ToolCallChunk) -> None:
        call = self.find_call(piece)
        call.id = call.id or piece.id
        call.name = call.name or piece.name
        if piece.arguments:
            call.arguments.append(piece.arguments)
        if piece.metadata:
            call.metadata.update(piece.metadata)

    def find_call(self, piece: ToolCallChunk) -> _OpenCall:
        """Find the call that a piece belongs to: by index, by id, else the one before it; an unknown id opens one."""
        if piece.index is not None:
            call = self.by_index.get(piece.index)
            if call is not None and piece.id and call.id and call.id != piece.id:
                call = self.by_id.get(piece.id)  # some servers number every call 0
        elif piece.id:
            call = self.by_id.get(piece.id)
        else:
            call = self.calls[-1] if self.calls else None
        if call is None:
            call = _OpenCall()
            self.calls.append(call)
        if piece.index is not None:
            self.by_index[piece.index] = call
        if piece.id:
            self.by_id[piece.id] = call
        return call

    def close(self, complete: bool) -> Generation:
        calls = [call.close(complete) for call in self.calls]
        parts = [part for part in (open_part.close() for open_part in self.parts) if part != Text("")]
        message = AssistantMessage(
            parts or (None if calls else ""),
            tool_calls=[call for call in calls if isinstance(call, ToolCall)],
            invalid_tool_calls=[call for call in calls if isinstance(call, InvalidToolCall)],
            metadata=self.message,
            name=self.name,
            id=self.own_id,
        )
        return Generation(message, self.finish_reason, metadata=self.metadata)


class ChunkAccumulator:
    """Join the chunks of a stream into a response: add them as they come, join once at the end.

    Time and memory are linear in the length of the stream. It belongs to one thread.

    >>> accumulator = ChunkAccumulator()
    >>> accumulator.extend([ChatChunk("Hel"), ChatChunk("lo")])
    >>> accumulator.result().text
    'Hello'
    """

    __slots__ = ("_generations", "_id", "_metadata", "_model", "_usage")

    def __init__(self) -> None:
        self._generations: dict[int, _OpenGeneration] = {}
        self._id: str | None = None
        self._model: str | None = None
        self._usage = Usage()
        self._metadata: dict[str, Any] = {}

    def add(self, chunk: ChatChunk) -> None:
        """Add one chunk."""
        self.extend((chunk,))

    def extend(self, chunks: Iterable[ChatChunk]) -> None:
        """Add chunks as an iterable gives them; those added before it raised stay."""
        append = None
        for chunk in chunks:
            shape = chunk.shape
            if shape == "text":
                if append is None:
                    append = self._generation(0).open_part(Text, None, joins=True).pieces.append
                append(chunk.content)  # type: ignore[arg-type]
            elif shape == "arguments":
                piece = chunk.tool_calls[0]
                call = self._generation(0).by_index.get(piece.index)  # type: ignore[arg-type]
                if call is None:
                    self._add(chunk)
                else:
                    call.arguments.append(piece.arguments)  # type: ignore[arg-type]
            else:
                append = None
                self._add(chunk)

    def _generation(self, choice: int) -> _OpenGeneration:
        generation = self._generations.get(choice)
        if generation is None:
            generation = self._generations[choice] = _OpenGeneration()
        return generation

    def _add(self, chunk: ChatChunk) -> None:
        generation = self._generation(chunk.choice)
        if type(chunk.content) is str:
            if chunk.content:
                generation.add_text(chunk.content, chunk.block)
        else:
            for part in chunk.content:
                generation.add_part(part, chunk.block)  # type: ignore[arg-type]
        for piece in chunk.tool_calls:
            generation.add_call(piece)
        generation.finish_reason = chunk.finish_reason or generation.finish_reason
        generation.own_id = chunk.message_id or generation.own_id
        generation.name = chunk.name or generation.name
        self._id = chunk.id or self._id
        self._model = chunk.model or self._model
        if chunk.usage is not None:
            self._usage = _joined_usage(self._usage, chunk.usage, chunk.usage_is_delta)
        _lay_over(self._metadata, chunk.metadata)
        _lay_over(generation.metadata, chunk.generation_metadata)
        _lay_over(generation.message, chunk.message_metadata)

    def result(self) -> ChatResponse:
        """Give the response of a stream that has ended; calls whose arguments are broken come back as invalid."""
        return self._response(complete=True)

    def partial(self) -> ChatResponse:
        """Give what has arrived of a stream that has not ended; no unfinished tool call looks finished."""
        return self._response(complete=False)

    def _response(self, *, complete: bool) -> ChatResponse:
        results = [self._generations[choice].close(complete) for choice in sorted(self._generations)]
        return ChatResponse(results, id=self._id, model=self._model, usage=self._usage, metadata=self._metadata)


def _lay_over(old: dict[str, Any], new: Mapping[str, Any]) -> None:
    for key, value in new.items():
        if value is not None or key not in old:
            old[key] = value


def _joined_usage(old: Usage, new: Usage, is_delta: bool) -> Usage:
    """Add a delta; of a running total keep the last positive value of each counter."""
    if is_delta:
        return old + new
    last: dict[str, Any] = {name: getattr(new, name) or getattr(old, name) for name in (*_COUNTERS, *_DETAILS)}
    last["native"] = new.native or old.native
    return Usage(**last)
