"""Give what is wanted of an answer: its text, a value of a type, the whole response; at once or as it comes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from attrs import frozen

from promptkit._frozen import FrozenDict, Value
from promptkit._schema import NoSchemaError
from promptkit.client import chain
from promptkit.client.request import ChatClientRequest
from promptkit.content import Text
from promptkit.contracts import AnyChatModel
from promptkit.converters import StructuredOutputConverter, TypedOutputConverter
from promptkit.converters.lowering import lower_schema
from promptkit.converters.partial import NOTHING_YET, PartialJson
from promptkit.errors import ModelError
from promptkit.messages import Message, as_builtin
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse, ChunkAccumulator

if TYPE_CHECKING:
    from typing_extensions import TypeForm

__all__ = ["AsyncCallAnswer", "AsyncStreamAnswer", "CallAnswer", "ResponseEntity", "StreamAnswer"]

T = TypeVar("T")


@frozen(repr=False)
class ResponseEntity(Value, Generic[T]):
    """Hold an answer and the value that was read from it.

    >>> ResponseEntity(ChatResponse(()), 42).entity
    42
    """

    response: ChatResponse
    entity: T


def _converter(target: Any) -> StructuredOutputConverter[Any]:
    """Take a converter as it is, and a type by its `TypedOutputConverter`."""
    is_converter = not isinstance(target, type) and callable(getattr(target, "convert", None))
    return target if is_converter else TypedOutputConverter(target)


class _Answer:
    """Hold a request that is ready, and its way to the model."""

    __slots__ = ("_advisors", "_chat_model", "_request", "_response")

    def __init__(self, chat_model: AnyChatModel, advisors: tuple[Any, ...], request: ChatClientRequest) -> None:
        self._chat_model = chat_model
        self._advisors = advisors
        self._request = request
        self._response: ChatResponse | None = None

    def _way(self, make: Callable[..., Callable[[ChatClientRequest], T]]) -> Callable[[ChatClientRequest], T]:
        return make(self._advisors, self._chat_model, self._finished)

    def _finished(self, request: ChatClientRequest) -> Prompt:
        """Say how to answer, to the model alone: memory and advisors keep the prompt as the application wrote it."""
        prompt, output = request.prompt, request.output
        if output is None:
            return prompt
        schema = self._output_schema(output)
        if schema is not None:
            return prompt.mutate(options=ChatOptions(output_schema=schema).merge(prompt.options))
        if not output.format.strip():
            return prompt
        return prompt.augment_user_message(lambda message: _with_more(message, output.format))

    def _output_schema(self, output: StructuredOutputConverter[Any]) -> FrozenDict | None:
        """Give the schema that the model can be held to, if there is any; the answer is checked by the whole one."""
        takes = getattr(self._chat_model, "takes_output_schema", False)
        if output.json_schema is None or not isinstance(takes, str):
            return output.json_schema if takes else None
        try:
            lowered = lower_schema(output.json_schema, takes)
        except NoSchemaError as error:
            _log("the answer is asked for in words: %s", error)
            return None
        for rule in lowered.weakened:
            _log("%s does not hold the model to the %s of %s", takes, rule.keyword, rule.path)
        return lowered.schema


def _log(message: str, *arguments: object) -> None:
    import logging

    logging.getLogger("promptkit.client").info(message, *arguments)


def _with_more(message: Message, text: str) -> Message:
    builtin = as_builtin(message)
    content: Any = builtin.content
    if isinstance(content, str):
        return builtin.mutate(content=f"{content}\n\n{text}" if content else text)
    return builtin.mutate(content=(*content, Text(f"\n\n{text}")))


class CallAnswer(_Answer):
    """Give what is wanted of an answer; the model is asked once, by the first method that is called.

    >>> from promptkit import ChatClient
    >>> from promptkit.testing import ScriptedChatModel
    >>> answer = ChatClient(ScriptedChatModel(["[1, 2]"])).prompt("Two numbers?").call()
    >>> answer.entity(list[int]), answer.content()
    ([1, 2], '[1, 2]')
    """

    __slots__ = ()

    def response(self) -> ChatResponse:
        """Give the whole response.

        Raises:
            ModelError: The call failed.
            TypeError: The model or an advisor is async only.
        """
        return self._asked(None)

    def content(self) -> str:
        """Give the text; ``""`` where the answer has none. See `response`."""
        return self.response().text

    @overload
    def entity(self, target: StructuredOutputConverter[T], /) -> T: ...
    @overload
    def entity(self, target: TypeForm[T], /) -> T: ...
    def entity(self, target: Any, /) -> Any:
        """Give the answer as a value of a type, or as a converter reads it; the model is told how to answer.

        Raises:
            OutputConversionError: The answer is none.
            ModelError: The call failed.
        """
        return self.response_entity(target).entity

    @overload
    def response_entity(self, target: StructuredOutputConverter[T], /) -> ResponseEntity[T]: ...
    @overload
    def response_entity(self, target: TypeForm[T], /) -> ResponseEntity[T]: ...
    def response_entity(self, target: Any, /) -> ResponseEntity[Any]:
        """Give the response and the value; see `entity`."""
        converter = _converter(target)
        response = self._asked(converter)
        return ResponseEntity(response, converter.convert(response.text))

    def _asked(self, output: StructuredOutputConverter[Any] | None) -> ChatResponse:
        if self._response is None:
            self._response = self._way(chain.call_way)(self._request.mutate(output=output))
        return self._response


class AsyncCallAnswer(_Answer):
    """Give what is wanted of an answer, without blocking; see `CallAnswer`.

    >>> import asyncio
    >>> from promptkit import ChatClient
    >>> from promptkit.testing import ScriptedChatModel
    >>> request = ChatClient(ScriptedChatModel(["Ahoy!"])).prompt("Hello.")
    >>> asyncio.run(request.acall().content())
    'Ahoy!'
    """

    __slots__ = ()

    async def response(self) -> ChatResponse:
        """Give the whole response; see `CallAnswer.response`."""
        return await self._asked(None)

    async def content(self) -> str:
        """Give the text; ``""`` where the answer has none."""
        return (await self.response()).text

    @overload
    async def entity(self, target: StructuredOutputConverter[T], /) -> T: ...
    @overload
    async def entity(self, target: TypeForm[T], /) -> T: ...
    async def entity(self, target: Any, /) -> Any:
        """Give the answer as a value of a type; see `CallAnswer.entity`."""
        return (await self.response_entity(target)).entity

    @overload
    async def response_entity(self, target: StructuredOutputConverter[T], /) -> ResponseEntity[T]: ...
    @overload
    async def response_entity(self, target: TypeForm[T], /) -> ResponseEntity[T]: ...
    async def response_entity(self, target: Any, /) -> ResponseEntity[Any]:
        """Give the response and the value; see `CallAnswer.entity`."""
        converter = _converter(target)
        response = await self._asked(converter)
        return ResponseEntity(response, converter.convert(response.text))

    async def _asked(self, output: StructuredOutputConverter[Any] | None) -> ChatResponse:
        if self._response is None:
            self._response = await self._way(chain.acall_way)(self._request.mutate(output=output))
        return self._response


class _Partials:
    """Read values of an answer that is arriving, and begin anew when it does."""

    def __init__(self) -> None:
        self._reader = PartialJson()

    def read(self, chunk: ChatChunk) -> Any:
        """Give what has arrived, or `NOTHING_YET` where there is no more of it than before."""
        if chunk.starts_over:
            self._reader = PartialJson()
        return self._reader.add(chunk.text) if chunk.choice == 0 else NOTHING_YET


class StreamAnswer(_Answer):
    """Give an answer as it comes: one of the methods below, once; after it, `response` has the whole.

    Closing an iterator stops the model and frees the connection.

    >>> from promptkit import ChatClient
    >>> from promptkit.testing import ScriptedChatModel
    >>> answer = ChatClient(ScriptedChatModel(["Ahoy there!"])).prompt("Hello.").stream()
    >>> list(answer.content()), answer.response().text
    (['Ahoy ', 'there!'], 'Ahoy there!')
    """

    __slots__ = ("_accumulator", "_chunks")

    def __init__(self, chat_model: AnyChatModel, advisors: tuple[Any, ...], request: ChatClientRequest) -> None:
        super().__init__(chat_model, advisors, request)
        self._accumulator = ChunkAccumulator()
        self._chunks: Any = None

    def chunks(self) -> Iterator[ChatChunk]:
        """Give the chunks. Joined, they are the response; a chunk that ``starts_over`` begins another answer.

        Raises:
            ModelError: The stream broke; ``partial`` holds what had arrived.
            TypeError: The model or an advisor is async only.
        """
        with closing(self._opened(None)) as chunks:  # type: ignore[type-var]
            yield from chunks

    def content(self) -> Iterator[str]:
        """Give the pieces of the text, also of what a model says before it calls a tool."""
        with closing(self._opened(None)) as chunks:  # type: ignore[type-var]
            for chunk in chunks:
                if chunk.choice == 0 and (text := chunk.text):
                    yield text

    def partials(self, target: Any, /) -> Iterator[Any]:
        """Give a value as it comes: plain dicts and lists, each a prefix of the next, at last the value itself, checked.

        Args:
            target: A type or a converter.

        Raises:
            OutputConversionError: At the end, if the answer is no such value.
        """
        converter = _converter(target)
        partials = _Partials()
        with closing(self._opened(converter)) as chunks:  # type: ignore[type-var]
            for chunk in chunks:
                if (value := partials.read(chunk)) is not NOTHING_YET:
                    yield value
        yield converter.convert(self.response().text)

    def response(self) -> ChatResponse:
        """Give the whole response, reading what is still to come; what had arrived, if the stream was closed."""
        for _ in self._opened(None):
            pass
        return self._response if self._response is not None else self._accumulator.partial()

    def _opened(self, output: StructuredOutputConverter[Any] | None) -> Iterator[ChatChunk]:
        if self._chunks is None:
            self._chunks = self._read(output)
        return self._chunks  # type: ignore[no-any-return]

    def _read(self, output: StructuredOutputConverter[Any] | None) -> Iterator[ChatChunk]:
        way = self._way(chain.stream_way)
        try:
            with closing(chain.closable(way(self._request.mutate(output=output)))) as chunks:
                for chunk in chunks:
                    self._accumulator.add(chunk)
                    yield chunk
        except ModelError as error:
            if error.partial is None:
                error.partial = self._accumulator.partial()
            raise
        self._response = self._accumulator.result()


class AsyncStreamAnswer(_Answer):
    """Give an answer as it comes, without blocking; see `StreamAnswer`.

    Leave an iterator before its end only by ``aclose()``, as ``contextlib.aclosing`` does: so the model stops at once.

    >>> import asyncio
    >>> from promptkit import ChatClient
    >>> from promptkit.testing import ScriptedChatModel
    >>> async def main():
    ...     answer = ChatClient(ScriptedChatModel(["Ahoy there!"])).prompt("Hello.").astream()
    ...     return [text async for text in answer.content()]
    >>> asyncio.run(main())
    ['Ahoy ', 'there!']
    """

    __slots__ = ("_accumulator", "_chunks")

    def __init__(self, chat_model: AnyChatModel, advisors: tuple[Any, ...], request: ChatClientRequest) -> None:
        super().__init__(chat_model, advisors, request)
        self._accumulator = ChunkAccumulator()
        self._chunks: Any = None

    async def chunks(self) -> AsyncIterator[ChatChunk]:
        """Give the chunks; see `StreamAnswer.chunks`."""
        async with aclosing(self._opened(None)) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                yield chunk

    async def content(self) -> AsyncIterator[str]:
        """Give the pieces of the text; see `StreamAnswer.content`."""
        async with aclosing(self._opened(None)) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                if chunk.choice == 0 and (text := chunk.text):
                    yield text

    async def partials(self, target: Any, /) -> AsyncIterator[Any]:
        """Give a value as it comes; see `StreamAnswer.partials`."""
        converter = _converter(target)
        partials = _Partials()
        async with aclosing(self._opened(converter)) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                if (value := partials.read(chunk)) is not NOTHING_YET:
                    yield value
        yield converter.convert((await self.response()).text)

    async def response(self) -> ChatResponse:
        """Give the whole response; see `StreamAnswer.response`."""
        async for _ in self._opened(None):
            pass
        return self._response if self._response is not None else self._accumulator.partial()

    def _opened(self, output: StructuredOutputConverter[Any] | None) -> AsyncIterator[ChatChunk]:
        if self._chunks is None:
            self._chunks = self._read(output)
        return self._chunks  # type: ignore[no-any-return]

    async def _read(self, output: StructuredOutputConverter[Any] | None) -> AsyncIterator[ChatChunk]:
        way = self._way(chain.astream_way)
        try:
            async with aclosing(chain.aclosable(way(self._request.mutate(output=output)))) as chunks:
                async for chunk in chunks:
                    self._accumulator.add(chunk)
                    yield chunk
        except ModelError as error:
            if error.partial is None:
                error.partial = self._accumulator.partial()
            raise
        self._response = self._accumulator.result()
