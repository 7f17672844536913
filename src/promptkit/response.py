"""Hold what a chat model gives back: generations, usage, and the chunks of a stream with the way to join them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

from attrs import field, frozen

from promptkit._frozen import (
    EMPTY,
    FrozenDict,
    ShownValue,
    Value,
    bare_fields,
    exact_int,
    freeze_mapping,
    settle,
    shown,
    tuple_of,
)
from promptkit._joining import OpenAnswer, last_of, lay_over, shape_of
from promptkit.content import Content, content_text, freeze_optional_content
from promptkit.errors import ModelError, PromptError, PromptkitError
from promptkit.messages import AssistantMessage, InvalidToolCall, ToolCall

__all__ = ["ChatChunk", "ChatResponse", "ChunkAccumulator", "Generation", "ToolCallChunk", "Usage"]

_COUNTERS = ("prompt_tokens", "completion_tokens", "total_tokens")
_DETAILS = ("cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


def _count(value: int | None) -> int:
    return 0 if value is None else value


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
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

    Raises:
        PromptError: A counter is no int. Negative ones are taken as they come: some vendors correct by them.

    >>> Usage(10, 5) + Usage(20, 1, cache_read_tokens=8)
    Usage(30, 6, total_tokens=36, cache_read_tokens=8)
    """

    prompt_tokens: int = field(default=0, converter=_count)
    completion_tokens: int = field(default=0, converter=_count)
    total_tokens: int = field(default=None, kw_only=True, converter=_count)
    cache_read_tokens: int | None = field(default=None, kw_only=True)
    cache_write_tokens: int | None = field(default=None, kw_only=True)
    reasoning_tokens: int | None = field(default=None, kw_only=True)
    native: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)

    def __attrs_post_init__(self) -> None:
        for name in (*_COUNTERS, *_DETAILS):
            value = getattr(self, name)
            if value is None and name in _COUNTERS:
                value = self.prompt_tokens + self.completion_tokens if name == "total_tokens" else 0
            if value is not None:
                object.__setattr__(self, name, exact_int(value, f"Usage.{name}"))
        object.__setattr__(self, "native", freeze_mapping(self.native, "Usage.native"))

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in (*_COUNTERS, *_DETAILS))

    def __add__(self, other: Usage) -> Usage:
        """Sum over calls; a counter that neither side states stays ``None``, the vendor's record is dropped.

        The sum with a usage of nothing is the other usage itself.
        """
        if not isinstance(other, Usage):
            return NotImplemented
        if not other or not self:
            return other or self
        sums: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in _COUNTERS}
        for name in _DETAILS:
            pair = (getattr(self, name), getattr(other, name))
            sums[name] = None if pair == (None, None) else sum(value or 0 for value in pair)
        return Usage(**sums)

    def mutate(self, **changes: Any) -> Self:
        """Make a changed copy; a total that is the sum stays the sum."""
        if self.total_tokens == self.prompt_tokens + self.completion_tokens:
            changes.setdefault("total_tokens", None)
        return super().mutate(**changes)

    def followed_by(self, other: Usage) -> Usage:
        """Lay a later running total over this one: of each counter the last value that is not 0 stays."""
        last: dict[str, Any] = {
            name: last_of(getattr(self, name), getattr(other, name)) for name in (*_COUNTERS, *_DETAILS)
        }
        if other.total_tokens == other.prompt_tokens + other.completion_tokens:
            same = (last["prompt_tokens"], last["completion_tokens"]) == (self.prompt_tokens, self.completion_tokens)
            last["total_tokens"] = self.total_tokens if same else None
        return Usage(**last, native=other.native or self.native)


_NO_USAGE = Usage()


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
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

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.output, AssistantMessage):
            raise PromptError(f"Generation.output must be an AssistantMessage, not {shown(self.output)}")
        settle(self, "finish_reason")


def _generations(value: Generation | Iterable[Generation]) -> tuple[Generation, ...]:
    return tuple_of(Generation, value, "ChatResponse.results")


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class ChatResponse(ShownValue):
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

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "results", _generations(self.results))
        if not isinstance(self.usage, Usage):
            raise PromptError(f"ChatResponse.usage must be a Usage, not {shown(self.usage)}")
        settle(self, "id", "model")

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
            raise PromptError(f"finish reasons must be a collection of str, not {shown(reasons)}")
        wanted = {reason.lower() for reason in tuple_of(str, reasons, "reasons")}
        return any((result.finish_reason or "").lower() in wanted for result in self.results)

    def to_chunks(self) -> Iterator[ChatChunk]:
        """Give the response as a stream of one chunk a generation; `from_chunks` joins them to an equal response.

        Only a tool call whose arguments are broken comes back as an invalid one: joining judges them.
        """
        call: dict[str, Any] = {"id": self.id, "model": self.model, "metadata": self.metadata}
        call["usage"] = None if self.usage == Usage() else self.usage
        if not self.results:
            yield ChatChunk(choice=None, **call)
        for choice, result in enumerate(self.results):
            message = result.output
            calls: tuple[ToolCall | InvalidToolCall, ...] = (*message.tool_calls, *message.invalid_tool_calls)
            yield ChatChunk(
                message.content,
                tool_calls=[_whole_call(index, wish) for index, wish in enumerate(calls)],
                finish_reason=result.finish_reason,
                choice=choice,
                generation_metadata=result.metadata,
                message_metadata=message.metadata,
                message_id=message.id,
                name=message.name,
                **(call if choice == 0 else {}),
            )

    @classmethod
    def from_chunks(cls, chunks: Iterable[ChatChunk]) -> ChatResponse:
        """Join a whole stream, in time linear in its length.

        Raises:
            ModelError: The stream broke; ``partial`` holds what had arrived. Other errors of promptkit pass as they are.
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


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class ToolCallChunk(Value):
    """Hold a piece of a tool call.

    Args:
        index: Which call of the answer it belongs to; ``None`` where the vendor counts none.
        id: The call's id, as a rule on its first piece only.
        name: The tool's name, as a rule on the first piece only.
        arguments: The next piece of the JSON text.
        error: Why the call is known to be invalid, ``""`` where nobody says why; ``None`` leaves it to its arguments.

    >>> ToolCallChunk(0, "c1", name="weather", arguments='{"ci')
    ToolCallChunk(0, 'c1', name='weather', arguments='{"ci')
    """

    index: int | None = None
    id: str | None = None
    name: str | None = field(default=None, kw_only=True)
    arguments: str | None = field(default=None, kw_only=True)
    error: str | None = field(default=None, kw_only=True)
    metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)

    def __attrs_post_init__(self) -> None:
        if type(self.index) is not int and self.index is not None:
            object.__setattr__(self, "index", exact_int(self.index, "ToolCallChunk.index"))
        settle(self, "id", "name", "arguments", "error")


def _whole_call(index: int, call: ToolCall | InvalidToolCall) -> ToolCallChunk:
    error = (call.error or "") if isinstance(call, InvalidToolCall) else None
    return ToolCallChunk(index, call.id, name=call.name, arguments=call.arguments, error=error, metadata=call.metadata)


def _call_chunks(value: Iterable[ToolCallChunk]) -> tuple[ToolCallChunk, ...]:
    return tuple_of(ToolCallChunk, value, "ChatChunk.tool_calls")


@frozen(repr=False, weakref_slot=False, field_transformer=bare_fields)
class ChatChunk(Value):
    """Hold a piece of a streamed answer: everything in it is new since the last one.

    Args:
        content: The next piece of text, or parts. Text continues the text before it. Parts stand as they are, unless
            ``block`` is given: then the texts and thoughts of one block join.
        block: The vendor's number of the content block.
        tool_calls: Pieces of tool calls.
        finish_reason: Why the answer ended, on its last piece.
        choice: Which answer it belongs to, where a call asks for several; ``None`` for none, only for the call.
        usage: The tokens so far; with ``usage_is_delta``, since the last chunk that said any.
        metadata: What the vendor says of the call; the last value that is not ``None`` wins, key by key.
        generation_metadata: The same for this answer.
        message_metadata: The same for its message.
        starts_over: Whether another answer begins here: of what came before only the usage counts, and the usage of
            what follows is added to it. A ``usage`` beside it stands for all of the usage so far. So do the words that
            a model says around its tool calls stay out of its answer.

    >>> ChatResponse.from_chunks([ChatChunk("Hel"), ChatChunk("lo", finish_reason="stop")]).text
    'Hello'
    """

    content: Content | None = field(default=None, converter=freeze_optional_content)
    tool_calls: tuple[ToolCallChunk, ...] = field(default=(), kw_only=True, converter=_call_chunks)
    finish_reason: str | None = field(default=None, kw_only=True)
    block: int | None = field(default=None, kw_only=True)
    choice: int | None = field(default=0, kw_only=True)
    id: str | None = field(default=None, kw_only=True)
    model: str | None = field(default=None, kw_only=True)
    usage: Usage | None = field(default=None, kw_only=True)
    usage_is_delta: bool = field(default=False, kw_only=True)
    metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)
    generation_metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)
    message_metadata: FrozenDict = field(default=EMPTY, kw_only=True, hash=False, converter=freeze_mapping)
    message_id: str | None = field(default=None, kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    starts_over: bool = field(default=False, kw_only=True)
    shape: str = field(init=False, eq=False, repr=False)
    """What alone is in it: ``text``, ``arguments`` of one call, or ``mixed``; joining looks at this first."""

    def __attrs_post_init__(self) -> None:
        if type(self.content) is not str:
            object.__setattr__(self, "content", freeze_optional_content(self.content))
        if self.tool_calls != ():
            object.__setattr__(self, "tool_calls", _call_chunks(self.tool_calls))
        rest = (self.finish_reason, self.id, self.model, self.usage, self.message_id, self.name)
        maps = self.metadata is EMPTY and self.generation_metadata is EMPTY and self.message_metadata is EMPTY
        numbered = self.block is not None
        plain = maps and self.choice == 0 and self.starts_over is False
        if plain and rest == (None,) * 6 and (not numbered or type(self.block) is int):
            object.__setattr__(self, "shape", "mixed" if numbered else shape_of(self))
        else:
            self._check()
            object.__setattr__(self, "shape", "mixed")

    def _check(self) -> None:
        settle(self, "finish_reason", "id", "model", "message_id", "name")
        for name in ("generation_metadata", "message_metadata"):
            object.__setattr__(self, name, freeze_mapping(getattr(self, name), f"ChatChunk.{name}"))
        for name in ("block", "choice"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, exact_int(getattr(self, name), f"ChatChunk.{name}"))
        if self.usage is not None and not isinstance(self.usage, Usage):
            raise PromptError(f"ChatChunk.usage must be a Usage or None, not {shown(self.usage)}")
        if not isinstance(self.starts_over, bool):
            raise PromptError(f"ChatChunk.starts_over must be a bool, not {shown(self.starts_over)}")

    @property
    def text(self) -> str:
        """The piece of text in it, ``""`` where there is none."""
        return "" if self.content is None else content_text(self.content)


class ChunkAccumulator:
    """Join the chunks of a stream into a response: add them as they come, join once at the end.

    Time and memory are linear in the length of the stream. It belongs to one thread.

    >>> accumulator = ChunkAccumulator()
    >>> accumulator.extend([ChatChunk("Hel"), ChatChunk("lo")])
    >>> accumulator.result().text
    'Hello'
    """

    __slots__ = ("_answers", "_earlier", "_id", "_metadata", "_model", "_usage")

    def __init__(self) -> None:
        self._earlier = _NO_USAGE
        self._begin()

    def _begin(self) -> None:
        self._answers: dict[int, OpenAnswer] = {}
        self._id: str | None = None
        self._model: str | None = None
        self._metadata: dict[str, Any] = {}
        self._usage = _NO_USAGE

    def add(self, chunk: ChatChunk) -> None:
        """Add one chunk."""
        self.extend((chunk,))

    def extend(self, chunks: Iterable[ChatChunk]) -> None:
        """Add chunks as an iterable gives them; those added before it raised stay."""
        add_text = add_arguments = index = None
        for chunk in chunks:
            shape = chunk.shape
            if shape == "text":
                if add_text is None:
                    add_text = self._answer(0).open_text().append
                add_text(chunk.content)  # type: ignore[arg-type]
            elif shape == "arguments" and (piece := chunk.tool_calls[0]).index == index:
                add_arguments(piece.arguments)  # type: ignore[misc,arg-type]
            else:
                add_text = index = None
                self._add(chunk)
                if shape == "arguments":
                    index = piece.index
                    add_arguments = self._answer(0).open_arguments[index].append

    def _answer(self, choice: int) -> OpenAnswer:
        answer = self._answers.get(choice)
        if answer is None:
            answer = self._answers[choice] = OpenAnswer()
        return answer

    def _add(self, chunk: ChatChunk) -> None:
        if chunk.starts_over:
            self._earlier += self._usage
            self._begin()
            if chunk.usage is not None:
                self._earlier = chunk.usage
                chunk = chunk.mutate(usage=None)
        self._id = last_of(self._id, chunk.id)
        self._model = last_of(self._model, chunk.model)
        lay_over(self._metadata, chunk.metadata)
        if chunk.usage is not None:
            old, new = self._usage, chunk.usage
            if chunk.usage_is_delta:
                self._usage = (old + new).mutate(native=new.native or old.native)
            else:
                self._usage = new if old is _NO_USAGE else old.followed_by(new)
        if chunk.choice is None:
            return
        answer = self._answer(chunk.choice)
        if chunk.content is not None:
            answer.add_content(chunk.content, chunk.block)
        for piece in chunk.tool_calls:
            answer.add_call(piece)
        answer.finish_reason = last_of(answer.finish_reason, chunk.finish_reason)
        answer.id = last_of(answer.id, chunk.message_id)
        answer.name = last_of(answer.name, chunk.name)
        lay_over(answer.metadata, chunk.generation_metadata)
        lay_over(answer.message_metadata, chunk.message_metadata)

    def result(self) -> ChatResponse:
        """Give the response of a stream that has ended; calls whose arguments are broken come back as invalid."""
        return self._response(complete=True)

    def partial(self) -> ChatResponse:
        """Give what has arrived of a stream that has not ended; no unfinished tool call looks finished."""
        return self._response(complete=False)

    def _response(self, *, complete: bool) -> ChatResponse:
        results = [
            Generation(answer.message(complete=complete), answer.finish_reason, metadata=answer.metadata)
            for _, answer in sorted(self._answers.items())
        ]
        usage = self._earlier + self._usage if self._earlier else self._usage
        return ChatResponse(results, id=self._id, model=self._model, usage=usage, metadata=self._metadata)
