"""Speak to OpenAI, and to the many servers that speak like it, through the SDK `openai`."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from promptkit.adapters import openai_responses as responses
from promptkit.adapters.base import Converted, EventReader
from promptkit.adapters.openai import OPENAI, ChunkReader, Dialect, error_of, to_request, to_response
from promptkit.errors import PromptError
from promptkit.models._failures import Failure
from promptkit.models._stainless import StainlessChatModel
from promptkit.models._vendor import CountingChatModel
from promptkit.options import NO_OPTIONS, ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

__all__ = ["OpenAIChatModel", "OpenAIResponsesChatModel"]


class _OpenAISDK(StainlessChatModel):
    """Hold what the two APIs of OpenAI share."""

    _vendor = "openai"
    _package = "openai"
    _module = "openai"
    _client_classes = ("OpenAI", "AsyncOpenAI")

    def __init__(
        self,
        model: str | None = None,
        *,
        options: ChatOptions = NO_OPTIONS,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        client: OpenAI | None = None,
        async_client: AsyncOpenAI | None = None,
        strict: bool = True,
    ) -> None:
        connection = {"api_key": api_key, "base_url": base_url, "timeout": timeout, "max_retries": max_retries}
        super().__init__(
            model, options=options, client=client, async_client=async_client, connection=connection, strict=strict
        )

    def _sdk(self) -> ModuleType:
        import openai

        return openai

    @property
    def _error_of(self) -> Failure:
        return error_of


class OpenAIChatModel(_OpenAISDK):
    """Answer prompts by Chat Completions.

    The SDK is imported and its client made at the first call. What is not given comes from the SDK's own environment
    variables, ``OPENAI_API_KEY`` and ``OPENAI_BASE_URL`` among them, and its defaults: 600 seconds, two retries.
    Threads, tasks and event loops may share a model. An injected client says all that by itself, and stays yours to
    close; any of the SDK will do, one for Azure too.

    Args:
        model: The model's name, short for ``ChatOptions(model=…)``.
        options: The options that those of a prompt are laid over.
        api_key: The key.
        base_url: Where a server of the same format is.
        timeout: Seconds to wait for a connection, and for each piece of an answer.
        max_retries: How often the SDK asks again after a failure that may pass.
        client: A client of the SDK. With it alone, async calls run it in threads.
        async_client: An async client of the SDK. With it alone, there are only async calls.
        dialect: How the server spells the format.
        strict: Refuse a prompt of which the request would lose something that changes what is asked; ``False`` sends
            it. What is lost stands in the answer's ``metadata["losses"]``, and each kind is logged once, as a warning.

    Raises:
        MissingDependencyError: ``openai`` is not installed.
        PromptError: An argument is wrong.

    >>> chat_model = OpenAIChatModel("gpt-5-mini", options=ChatOptions(seed=7), timeout=20)
    >>> chat_model.options
    ChatOptions(model='gpt-5-mini', seed=7)
    """

    _path = "/chat/completions"

    @property
    def takes_output_schema(self) -> str | bool:
        """The subset of JSON Schema that it is held to; not said of servers that only speak like OpenAI."""
        return "openai" if self._dialect is OPENAI else False

    def __init__(
        self,
        model: str | None = None,
        *,
        options: ChatOptions = NO_OPTIONS,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        client: OpenAI | None = None,
        async_client: AsyncOpenAI | None = None,
        dialect: Dialect = OPENAI,
        strict: bool = True,
    ) -> None:
        if not isinstance(dialect, Dialect):
            raise PromptError(f"dialect must be a Dialect, not {type(dialect).__name__}")
        super().__init__(
            model,
            options=options,
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            max_retries=max_retries,
            client=client,
            async_client=async_client,
            strict=strict,
        )
        self._dialect = dialect

    def _convert(self, prompt: Prompt, streamed: bool) -> Converted:
        request = to_request(prompt, dialect=self._dialect)
        if streamed:
            request.body["stream"] = True
            # Usage comes in a stream only where it is asked for; `extra` may say otherwise.
            if "stream_options" not in prompt.options.extra:
                request.body["stream_options"] = {"include_usage": True}
        return request

    def _read(self, payload: Any) -> ChatResponse:
        return to_response(payload)

    def _reader(self) -> EventReader:
        return ChunkReader()


class OpenAIResponsesChatModel(_OpenAISDK, CountingChatModel):
    """Answer prompts by Responses, OpenAI's newer API: thoughts go back to the model, and it may run tools of its own.

    All else is as with `OpenAIChatModel`. The vendor keeps each answer for a month unless ``extra={"store": False}``.

    Args:
        model: The model's name, short for ``ChatOptions(model=…)``.
        options: The options that those of a prompt are laid over.
        api_key: The key.
        base_url: Where a server of the same format is.
        timeout: Seconds to wait for a connection, and for each piece of an answer.
        max_retries: How often the SDK asks again after a failure that may pass.
        client: A client of the SDK. With it alone, async calls run it in threads.
        async_client: An async client of the SDK. With it alone, there are only async calls.
        strict: Refuse a prompt of which the request would lose something that changes what is asked; ``False`` sends
            it. What is lost stands in the answer's ``metadata["losses"]``, and each kind is logged once, as a warning.

    Raises:
        MissingDependencyError: ``openai`` is not installed.
        PromptError: An argument is wrong.

    >>> chat_model = OpenAIResponsesChatModel("gpt-5", options=ChatOptions(extra={"store": False}))
    >>> chat_model.options.model
    'gpt-5'
    """

    takes_output_schema: ClassVar[str] = "openai"

    _path = "/responses"
    _count_path = "/responses/input_tokens"
    _count_key = "input_tokens"

    def _counted(self, body: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in body.items() if key in _COUNTED}

    def _convert(self, prompt: Prompt, streamed: bool) -> Converted:
        request = responses.to_request(prompt)
        for item in request.body.get("input", ()):
            if "role" in item:
                item.setdefault("type", "message")  # optional at the vendor, but llama.cpp knows an answer by it
        if streamed:
            request.body["stream"] = True
        return request

    def _read(self, payload: Any) -> ChatResponse:
        return responses.to_response(payload)

    def _reader(self) -> EventReader:
        return responses.ChunkReader()


_COUNTED = frozenset(
    (
        *("conversation", "input", "instructions", "model", "parallel_tool_calls", "previous_response_id"),
        *("reasoning", "text", "tool_choice", "tools", "truncation"),
    )
)
"""What may stand in a request to count, by the types of the SDK 3.57.0: no limit, no sampling."""
