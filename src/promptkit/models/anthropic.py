"""Speak to Anthropic's models through the SDK `anthropic`."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from promptkit.adapters.anthropic import ChunkReader, error_of, to_request, to_response
from promptkit.adapters.base import Converted, EventReader
from promptkit.errors import PromptError
from promptkit.models._failures import Failure
from promptkit.models._stainless import StainlessChatModel
from promptkit.models._vendor import CountingChatModel
from promptkit.options import NO_OPTIONS, ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic

__all__ = ["AnthropicChatModel"]


class AnthropicChatModel(StainlessChatModel, CountingChatModel):
    """Answer prompts by the Messages API.

    The SDK is imported and its client made at the first call. What is not given comes from the SDK's own environment
    variables, ``ANTHROPIC_API_KEY`` and ``ANTHROPIC_BASE_URL`` among them, and its defaults: 600 seconds, two retries.
    Threads, tasks and event loops may share a model. An injected client says all that by itself, and stays yours to
    close; any of the SDK will do, with headers of betas too.

    Args:
        model: The model's name, short for ``ChatOptions(model=…)``.
        options: The options that those of a prompt are laid over.
        api_key: The key.
        base_url: Where a server of the same format is.
        timeout: Seconds to wait for a connection, and for each piece of an answer.
        max_retries: How often the SDK asks again after a failure that may pass.
        client: A client of the SDK. With it alone, async calls run it in threads.
        async_client: An async client of the SDK. With it alone, there are only async calls.
        late_system: What becomes of system messages after the first other message; see `promptkit.adapters.anthropic`.
        strict: Refuse a prompt of which the request would lose something that changes what is asked; ``False`` sends
            it. What is lost stands in the answer's ``metadata["losses"]``, and each kind is logged once, as a warning.

    Raises:
        MissingDependencyError: ``anthropic`` is not installed.
        PromptError: An argument is wrong.

    >>> chat_model = AnthropicChatModel("claude-haiku-4-5", options=ChatOptions(max_tokens=500), max_retries=4)
    >>> chat_model.options
    ChatOptions(model='claude-haiku-4-5', max_tokens=500)
    """

    takes_output_schema: ClassVar[str] = "anthropic"

    _vendor = "anthropic"
    _package = "anthropic"
    _module = "anthropic"
    _client_classes = ("Anthropic", "AsyncAnthropic")
    _path = "/v1/messages"
    _count_path = "/v1/messages/count_tokens"
    _count_key = "input_tokens"

    def __init__(
        self,
        model: str | None = None,
        *,
        options: ChatOptions = NO_OPTIONS,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        client: Anthropic | None = None,
        async_client: AsyncAnthropic | None = None,
        late_system: Literal["join", "keep"] = "join",
        strict: bool = True,
    ) -> None:
        if late_system not in ("join", "keep"):
            raise PromptError(f"late_system must be 'join' or 'keep', not {late_system!r:.80}")
        connection = {"api_key": api_key, "base_url": base_url, "timeout": timeout, "max_retries": max_retries}
        super().__init__(
            model, options=options, client=client, async_client=async_client, connection=connection, strict=strict
        )
        self._late_system = late_system

    def _counted(self, body: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in body.items() if key in _COUNTED}

    def _sdk(self) -> ModuleType:
        import anthropic

        return anthropic

    @property
    def _error_of(self) -> Failure:
        return error_of

    def _convert(self, prompt: Prompt, streamed: bool) -> Converted:
        request = to_request(prompt, late_system=self._late_system)
        if streamed:
            request.body["stream"] = True
        return request

    def _read(self, payload: Any) -> ChatResponse:
        return to_response(payload)

    def _reader(self) -> EventReader:
        return ChunkReader()


_COUNTED = frozenset(
    ("cache_control", "messages", "model", "output_config", "speed", "system", "thinking", "tool_choice", "tools")
)
"""What may stand in a request to count, by the types of the SDK 2.14.0: no limit, no sampling."""
