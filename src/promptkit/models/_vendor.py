"""Share what every chat model over a vendor's SDK has: four forms of a call, losses, clients, their end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType
from typing import Any, ClassVar, Self

from promptkit._frozen import shown
from promptkit.adapters.base import Converted, EventReader, Loss, aread_events, read_events
from promptkit.contracts import astream_in_thread
from promptkit.errors import MissingDependencyError, ModelError, PromptError, ResponseFormatError
from promptkit.models._clients import Clients
from promptkit.models._failures import without_secrets
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse

__all__ = ["CountingChatModel", "VendorChatModel"]


class VendorChatModel(ABC):
    """Answer prompts through an SDK: a subclass states how bodies are made, sent and read.

    Args:
        model: The model's name, short for ``ChatOptions(model=…)``.
        options: The options that those of a prompt are laid over.
        client: A client of the SDK to speak through; it stays yours to close.
        async_client: The same for async calls. With ``client`` alone they run in threads.
        connection: What a client is made of where none is given; ``None`` leaves it to the SDK.
        strict: Refuse a prompt of which the request would lose something that changes what is asked.
    """

    _vendor: ClassVar[str]
    """The wire format's name, and the extra's."""
    _package: ClassVar[str]
    """The SDK's distribution."""
    _module: ClassVar[str]
    """The SDK's module."""
    _path: ClassVar[str]
    """Where requests go, below the base URL."""

    def __init__(
        self,
        model: str | None,
        *,
        options: ChatOptions,
        client: Any,
        async_client: Any,
        connection: Mapping[str, Any],
        strict: bool,
    ) -> None:
        from importlib.util import find_spec

        name = type(self).__name__
        if not isinstance(options, ChatOptions):
            raise PromptError(f"options must be ChatOptions, not {shown(options)}")
        given = {key: value for key, value in connection.items() if value is not None}
        _check_connection(given)
        if given and (client is not None or async_client is not None):
            raise PromptError(f"{name} was given a client, and {', '.join(given)} beside it: say it to the client")
        try:
            installed = find_spec(self._module) is not None
        except ModuleNotFoundError:  # its parent, a namespace package
            installed = False
        if not installed:
            raise MissingDependencyError(self._package, extra=self._vendor, reason=name)
        self._options = options if model is None else options.merge(ChatOptions(model=model))
        self._strict = strict
        self._connection = given
        self._clients = Clients(name, self._made, self._aclose_client, client, async_client)
        self._reported: set[str] = set()

    @property
    def options(self) -> ChatOptions:
        """The options that those of a prompt are laid over."""
        return self._options

    @abstractmethod
    def _make_client(self, asynchronous: bool) -> Any:
        """Make a client of the SDK."""

    async def _aclose_client(self, client: Any) -> None:
        """Close a client that was made for async calls."""
        await client.close()

    @abstractmethod
    def _convert(self, prompt: Prompt, streamed: bool) -> Converted:
        """Write the request, with what asks for a stream where one is wanted."""

    @abstractmethod
    def _read(self, payload: Any) -> ChatResponse:
        """Read a whole answer."""

    @abstractmethod
    def _reader(self) -> EventReader:
        """Give the reader of a stream."""

    @abstractmethod
    def _post(self, client: Any, path: str, body: dict[str, Any]) -> Any:
        """Send a request to a path below the base URL, and give the JSON of the answer."""

    @abstractmethod
    async def _apost(self, client: Any, path: str, body: dict[str, Any]) -> Any:
        """Do `_post` without blocking."""

    @abstractmethod
    def _open(self, client: Any, body: dict[str, Any]) -> AbstractContextManager[Iterable[Any]]:
        """Send a request; inside the context it gives the JSON of each event."""

    @abstractmethod
    async def _aopen(self, client: Any, body: dict[str, Any]) -> AbstractAsyncContextManager[AsyncIterable[Any]]:
        """Do `_open` without blocking."""

    @abstractmethod
    def _secrets(self, client: Any) -> list[str]:
        """Give what of a client must never be shown."""

    @abstractmethod
    def _failure(self, error: Exception) -> Exception:
        """Make our error of one that the SDK raised."""

    def call(self, prompt: Prompt) -> ChatResponse:
        """Answer a prompt, whole; what the request could not take is listed in ``metadata["losses"]``.

        Raises:
            AuthenticationError: The vendor does not take the key.
            RateLimitError: Too much was asked; ``retry_after`` is in seconds.
            ContextLengthError: The prompt does not fit.
            ModelHTTPError: The vendor refused for another reason.
            TransportError: There was no connection, it broke, or it timed out.
            ResponseFormatError: The answer is none.
            ModelError: There is no key, the SDK cannot send the request, or the model is closed.
            AdapterError: The prompt holds what the format cannot say.
        """
        request = self._request(prompt)
        payload = self._sent(self._path, request.body)
        return _with_losses(self._read(payload), request.losses)

    async def acall(self, prompt: Prompt) -> ChatResponse:
        """Do `call` without blocking; cancelling frees the connection."""
        request = self._request(prompt)
        payload = await self._asent(self._path, request.body)
        return _with_losses(self._read(payload), request.losses)

    def stream(self, prompt: Prompt) -> Generator[ChatChunk, None, None]:
        """Answer a prompt in chunks; closing frees the connection. See `call` for errors."""
        request = self._request(prompt, streamed=True)
        yield from read_events(self._reader(), self._events(request.body))
        if request.losses:
            yield ChatChunk(choice=None, metadata=_listed(request.losses))

    def astream(self, prompt: Prompt) -> AsyncGenerator[ChatChunk, None]:
        """Do `stream` without blocking; closing and cancelling free the connection."""
        return astream_in_thread(self, prompt) if self._clients.sync_only else self._astreamed(prompt)

    async def _astreamed(self, prompt: Prompt) -> AsyncGenerator[ChatChunk, None]:
        request = self._request(prompt, streamed=True)
        chunks = aread_events(self._reader(), self._aevents(request.body))
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            await chunks.aclose()
        if request.losses:
            yield ChatChunk(choice=None, metadata=_listed(request.losses))

    def _sent(self, path: str, body: dict[str, Any]) -> Any:
        client = self._clients.sync()
        try:
            return self._discreet(client, self._post(client, path, body))
        except Exception as error:  # noqa: BLE001 - an SDK lets through what lies below it
            raise self._failure(error) from None

    async def _asent(self, path: str, body: dict[str, Any]) -> Any:
        if self._clients.sync_only:
            import asyncio

            return await asyncio.to_thread(self._sent, path, body)
        client = await self._clients.asynchronous()
        try:
            return self._discreet(client, await self._apost(client, path, body))
        except Exception as error:  # noqa: BLE001
            raise self._failure(error) from None

    def _events(self, body: dict[str, Any]) -> Generator[Any, None, None]:
        client = self._clients.sync()
        try:
            with self._open(client, body) as events:
                for event in events:
                    yield self._discreet(client, event)
        except Exception as error:  # noqa: BLE001
            raise self._failure(error) from None

    async def _aevents(self, body: dict[str, Any]) -> AsyncGenerator[Any, None]:
        client = await self._clients.asynchronous()
        try:
            async with await self._aopen(client, body) as events:
                async for event in events:
                    yield self._discreet(client, event)
        except Exception as error:  # noqa: BLE001
            raise self._failure(error) from None

    def _discreet(self, client: Any, payload: Any) -> Any:
        """Keep keys out of what an answer or an event says is wrong; all others pass as they are."""
        if isinstance(payload, dict) and not payload.get("error") and payload.get("type") not in _FAILED:
            return payload
        return without_secrets(payload, self._secrets(client))

    def _made(self, asynchronous: bool) -> Any:
        try:
            return self._make_client(asynchronous)
        except Exception as error:  # noqa: BLE001
            why = without_secrets(str(error), [self._connection.get("api_key", "\0")])
            raise ModelError(f"{self._package} makes no client: {type(error).__name__}: {why[:300]}") from None

    def _request(self, prompt: Prompt, *, streamed: bool = False) -> Converted:
        """Write the request, with the prompt's options over the model's own.

        Raises:
            UnsupportedContentError: Something that changes what is asked is lost, and the model is strict.
        """
        if isinstance(prompt, Prompt):
            prompt = prompt.mutate(options=self._options.merge(prompt.options))
        request = self._convert(prompt, streamed)
        if self._strict:
            request.require(self._vendor)
        for loss in request.losses:
            if loss.what not in self._reported:
                self._report(loss)
        return request

    def _report(self, loss: Loss) -> None:
        """Say once of each kind that requests lose it."""
        import logging

        self._reported.add(loss.what)
        logging.getLogger("promptkit.models").warning(
            "%s: a request lost %s at %s; metadata['losses'] of its answer says why (logged once for this kind)",
            type(self).__name__,
            loss.what,
            loss.path,
        )

    def close(self) -> None:
        """Close the connections of sync calls, unless the client was given; a closed model refuses calls.

        Those of async calls close with their event loop, or by `aclose`. Closing twice does nothing.
        """
        self._clients.close()

    async def aclose(self) -> None:
        """Close the connections of sync calls and of this event loop, unless the clients were given."""
        await self._clients.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


class CountingChatModel(VendorChatModel):
    """Count the tokens of prompts through the vendor, too."""

    _count_path: ClassVar[str]
    _count_key: ClassVar[str]
    """The field of the answer that is the count."""

    @abstractmethod
    def _counted(self, body: dict[str, Any]) -> dict[str, Any]:
        """Make the body of a request to count of that of a call."""

    def count_tokens(self, prompt: Prompt) -> int:
        """Ask the vendor how many tokens a prompt has, its tools included.

        Raises:
            ModelError: As from `call`.
        """
        return self._count(self._sent(self._count_path, self._counted(self._request(prompt).body)))

    async def acount_tokens(self, prompt: Prompt) -> int:
        """Do `count_tokens` without blocking."""
        return self._count(await self._asent(self._count_path, self._counted(self._request(prompt).body)))

    def _count(self, payload: Any) -> int:
        count = payload.get(self._count_key) if isinstance(payload, dict) else None
        if type(count) is not int:
            raise ResponseFormatError("the answer is damaged: it holds no count of tokens")
        return count


_FAILED = ("error", "response.failed")
"""The types of the events that tell of an error in other places than ``error``."""


def _check_connection(given: Mapping[str, Any]) -> None:
    for name in ("api_key", "base_url", "api_version"):
        value = given.get(name, "-")
        if not isinstance(value, str) or not value.strip():
            # A key must not be shown, whatever it is.
            kind = "an empty one" if isinstance(value, str) else type(value).__name__
            raise PromptError(f"{name} must be a text, not {kind}")
    timeout, retries = given.get("timeout", 1), given.get("max_retries", 0)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < float("inf"):
        raise PromptError(f"timeout must be seconds above 0, not {shown(timeout)}")
    if type(retries) is not int or retries < 0:
        raise PromptError(f"max_retries must be an int from 0 on, not {shown(retries)}")


def _listed(losses: Iterable[Loss]) -> dict[str, Any]:
    return {"losses": [{"path": loss.path, "what": loss.what, "why": loss.why} for loss in losses]}


def _with_losses(response: ChatResponse, losses: tuple[Loss, ...]) -> ChatResponse:
    return response.mutate(metadata={**response.metadata, **_listed(losses)}) if losses else response
