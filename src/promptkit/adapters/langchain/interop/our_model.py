"""Be a chat model of promptkit that a model of LangChain's answers for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from attrs import field, frozen
from langchain_core import exceptions as core_errors
from langchain_core.messages import AIMessage as CoreAnswer

from promptkit._frozen import Value, shown
from promptkit.adapters.langchain.chunks import AIMessageChunk
from promptkit.adapters.langchain.core import from_core, to_core
from promptkit.adapters.langchain.interop.usage import from_usage_metadata
from promptkit.adapters.langchain.messages import AIMessage
from promptkit.adapters.langchain.native import from_messages, to_messages
from promptkit.adapters.langchain.notes import Notes, pack
from promptkit.adapters.langchain.parts import VENDOR, from_block
from promptkit.content import Reasoning
from promptkit.errors import (
    AdapterError,
    AuthenticationError,
    ContextLengthError,
    ModelError,
    ModelHTTPError,
    PromptkitError,
    RateLimitError,
    ResponseFormatError,
    TransportError,
    UnsupportedContentError,
)
from promptkit.messages import AssistantMessage
from promptkit.options import NO_OPTIONS, ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse, ChunkAccumulator, Generation, ToolCallChunk

__all__ = ["LangChainChatModel", "from_langchain_model"]


@frozen(repr=False)
class LangChainChatModel(Value):
    """Be a chat model of promptkit over a model of LangChain's; see `from_langchain_model`.

    >>> from langchain_core.language_models.fake_chat_models import FakeListChatModel
    >>> LangChainChatModel(FakeListChatModel(responses=["Ahoy"])).call(Prompt("Hi")).text
    'Ahoy'
    """

    model: Any
    options: ChatOptions = field(default=NO_OPTIONS, kw_only=True)

    def call(self, prompt: Prompt) -> ChatResponse:
        """Answer a prompt, whole."""
        model, messages, settings = self._prepared(prompt)
        with _mapped():
            answer = model.invoke(messages, **settings)
        return _response(answer)

    async def acall(self, prompt: Prompt) -> ChatResponse:
        """Answer a prompt without blocking."""
        model, messages, settings = self._prepared(prompt)
        with _mapped():
            answer = await model.ainvoke(messages, **settings)
        return _response(answer)

    def stream(self, prompt: Prompt) -> Iterator[ChatChunk]:
        """Answer a prompt in chunks; closing the iterator closes LangChain's."""
        model, messages, settings = self._prepared(prompt)
        arrived = ChunkAccumulator()
        with _mapped(arrived):
            pieces = model.stream(messages, **settings)
            try:
                for piece in pieces:
                    for chunk in _chunks(piece):
                        arrived.add(chunk)
                        yield chunk
            finally:
                getattr(pieces, "close", _nothing)()

    async def astream(self, prompt: Prompt) -> AsyncIterator[ChatChunk]:
        """Answer a prompt in chunks without blocking."""
        model, messages, settings = self._prepared(prompt)
        arrived = ChunkAccumulator()
        with _mapped(arrived):
            pieces = model.astream(messages, **settings)
            try:
                async for piece in pieces:
                    for chunk in _chunks(piece):
                        arrived.add(chunk)
                        yield chunk
            finally:
                await getattr(pieces, "aclose", _anothing)()

    def _prepared(self, prompt: Prompt) -> tuple[Any, list[Any], dict[str, Any]]:
        """Give the model with its tools, the messages, and the settings of the call."""
        options = self.options.merge(prompt.options)
        messages = to_core(to_messages(prompt.messages), [])
        settings = {**options.set_fields(), **options.extra}
        if "output_schema" in settings:
            raise UnsupportedContentError(
                "LangChain has no common way to ask for a schema: use its with_structured_output, or the vendor's own "
                "setting in ChatOptions.extra",
                feature="output_schema",
                format=VENDOR,
            )
        if "stop_sequences" in settings:
            settings["stop"] = list(settings.pop("stop_sequences"))
        tools, choice = settings.pop("tools", ()), settings.pop("tool_choice", None)
        return (_with_tools(self.model, tools, choice) if tools else self.model), messages, settings


def from_langchain_model(model: Any, *, options: ChatOptions | None = None) -> LangChainChatModel:
    """Make a chat model of promptkit of any chat model of LangChain's, or of a chain that takes messages and answers.

    All four calls, tools (by the model's ``bind_tools``), usage and finish reasons go through; errors become
    promptkit's, with what had arrived of a stream. Options are handed to LangChain by their own names, stop sequences
    as ``stop``, ``extra`` as it is.

    Args:
        model: The model.
        options: The options of all calls; those of a prompt win.

    Raises:
        AdapterError: It is no model: it has no ``invoke``.

    >>> from langchain_core.language_models.fake_chat_models import FakeListChatModel
    >>> from_langchain_model(FakeListChatModel(responses=["Ahoy"])).call(Prompt("Hi")).text
    'Ahoy'
    """
    if not hasattr(model, "invoke"):
        raise AdapterError(f"{shown(model)} is no chat model of LangChain: it has no invoke", format=VENDOR)
    return LangChainChatModel(model, options=options or NO_OPTIONS)


def _with_tools(model: Any, tools: Any, choice: str | None) -> Any:
    forms = [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema.thaw()},
        }
        for tool in tools
    ]
    more = {} if choice is None else {"tool_choice": "any" if choice == "required" else choice}
    try:
        return model.bind_tools(forms, **more)
    except (NotImplementedError, AttributeError) as error:
        problem = f"{type(model).__name__} takes no tools"
        raise UnsupportedContentError(problem, feature="tools", format=VENDOR) from error


def _response(answer: Any) -> ChatResponse:
    if not isinstance(answer, CoreAnswer):
        raise ResponseFormatError(f"a chat model of LangChain answers with an AIMessage, not a {type(answer).__name__}")
    (ours,) = from_core([answer], [])
    assert isinstance(ours, AIMessage)
    usage = from_usage_metadata(ours.usage_metadata)
    (message,) = from_messages([ours.mutate(usage_metadata=None)], losses=[]).messages
    assert isinstance(message, AssistantMessage)
    known = ours.response_metadata
    return ChatResponse(Generation(message, _reason(known)), id=_vendor_id(ours), model=_model(known), usage=usage)


def _vendor_id(message: AIMessage) -> str | None:
    """Give the vendor's id of the call; one that LangChain made up is none."""
    return None if message.id is None or message.id.startswith("lc_") else message.id


def _reason(metadata: Mapping[str, Any]) -> str | None:
    """Give why the answer ended, in the words that LangChain's integrations use."""
    return next(
        (str(metadata[key]) for key in ("finish_reason", "stop_reason", "done_reason") if metadata.get(key)), None
    )


def _model(metadata: Mapping[str, Any]) -> str | None:
    return next((str(metadata[key]) for key in ("model_name", "model") if metadata.get(key)), None)


_CALL_BLOCKS = frozenset(("tool_use", "input_json_delta", "tool_call", "tool_call_chunk", "function_call"))


def _chunks(piece: Any) -> Iterator[ChatChunk]:
    if not isinstance(piece, CoreAnswer):
        raise ResponseFormatError(f"a chat model of LangChain streams AIMessages, not {type(piece).__name__}")
    (ours,) = from_core([piece], [])
    if not isinstance(ours, AIMessageChunk):
        yield from _response(piece).to_chunks()
        return
    kwargs = dict(ours.additional_kwargs)
    thought = kwargs.pop("reasoning_content", None)
    if isinstance(thought, str) and thought:
        yield ChatChunk([Reasoning(thought)], block=-1)
    for item in ours.content if isinstance(ours.content, tuple) else ():
        if isinstance(item, str):
            yield ChatChunk(item)
        elif item.get("type") not in _CALL_BLOCKS:
            index = item.get("index")
            block = from_block({key: value for key, value in item.items() if key != "index"})
            yield ChatChunk([block], block=index if isinstance(index, int) else None)
    metadata = ours.response_metadata
    yield ChatChunk(
        ours.content if isinstance(ours.content, str) and ours.content else None,
        tool_calls=[
            ToolCallChunk(call["index"], call["id"], name=call["name"], arguments=call["args"])
            for call in ours.tool_call_chunks
        ],
        finish_reason=_reason(metadata),
        id=_vendor_id(ours),
        message_id=ours.id,
        name=ours.name,
        model=_model(metadata),
        usage=None if ours.usage_metadata is None else from_usage_metadata(ours.usage_metadata),
        usage_is_delta=ours.usage_metadata is not None,
        message_metadata=pack(Notes(metadata, additional_kwargs=kwargs)),
    )


def _nothing() -> None:
    """Close nothing."""


async def _anothing() -> None:
    """Close nothing."""


@contextmanager
def _mapped(arrived: ChunkAccumulator | None = None) -> Iterator[None]:
    """Turn the errors of LangChain and of the vendors below into promptkit's, with what had arrived."""
    try:
        yield
    except ModelError as error:
        if error.partial is None and arrived is not None:
            error.partial = arrived.partial()
        raise
    except PromptkitError:
        raise
    except Exception as error:
        mapped = _as_ours(error)
        mapped.partial = None if arrived is None else arrived.partial()
        raise mapped from error


_KINDS: Mapping[type[Exception], int | None] = {
    core_errors.ModelAuthenticationError: 401,
    core_errors.ModelPermissionDeniedError: 403,
    core_errors.ModelInvalidRequestError: 400,
    core_errors.ModelNotFoundError: 404,
    core_errors.ModelRateLimitError: 429,
    core_errors.ModelAPIError: 500,
}


_STATUSES = range(100, 600)
"""The status codes of HTTP; a vendor's class may keep something else under that name."""


def _said(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an error of a stranger may raise anything
        return "an error that cannot be printed"


def _fact(error: Exception, name: str) -> object:
    try:
        return getattr(error, name, None)
    except Exception:  # noqa: BLE001 - as above
        return None


def _as_ours(error: Exception) -> ModelError:
    text = f"{type(error).__name__} of LangChain: {_said(error):.500}"
    if isinstance(error, core_errors.ContextOverflowError):
        return ContextLengthError(text)
    transport = (core_errors.ModelConnectionError, core_errors.ModelTimeoutError, ConnectionError, TimeoutError)
    if isinstance(error, transport):
        return TransportError(text)
    known = next((status for kind, status in _KINDS.items() if isinstance(error, kind)), None)
    status = _fact(error, "status_code")
    status = status if type(status) is int and status in _STATUSES else known
    if status is None:
        return ModelError(text, retryable=_fact(error, "is_retryable") is True)
    request_id = _fact(error, "request_id")
    common: dict[str, Any] = {"status": status, "request_id": request_id if isinstance(request_id, str) else None}
    if status in (401, 403):
        return AuthenticationError(text, **common)
    return RateLimitError(text, **common) if status == 429 else ModelHTTPError(text, **common, retryable=status >= 500)
