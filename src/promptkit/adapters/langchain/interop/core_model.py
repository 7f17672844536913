"""Be a chat model of LangChain's that a model of promptkit answers for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage as CoreAnswer
from langchain_core.messages import BaseMessage as CoreMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from promptkit import contracts
from promptkit._frozen import shown
from promptkit.adapters.langchain.calls import subtract_usage
from promptkit.adapters.langchain.chunks import AIMessageChunk
from promptkit.adapters.langchain.core import from_core, to_core
from promptkit.adapters.langchain.interop.usage import to_usage_metadata
from promptkit.adapters.langchain.messages import AIMessage
from promptkit.adapters.langchain.native import from_messages, to_messages
from promptkit.adapters.langchain.notes import unpack
from promptkit.adapters.langchain.parts import VENDOR, to_block
from promptkit.errors import AdapterError
from promptkit.options import ChatOptions, ToolDefinition
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse

__all__ = ["PromptkitChatModel", "as_langchain_model"]


class PromptkitChatModel(BaseChatModel):
    """Be a chat model of LangChain's; see `as_langchain_model`.

    >>> from promptkit.testing import EchoChatModel
    >>> PromptkitChatModel(chat_model=EchoChatModel()).invoke("Hi").content
    'Hi'
    """

    chat_model: Any

    @property
    def _llm_type(self) -> str:
        return "promptkit"

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        return {"chat_model": repr(self.chat_model)}

    def _generate(
        self,
        messages: list[CoreMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - what arrives at once needs no callback
        **kwargs: Any,
    ) -> ChatResult:
        return _result(contracts.call(self.chat_model, _prompt(messages, stop, kwargs)))

    async def _agenerate(
        self,
        messages: list[CoreMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        return _result(await contracts.acall(self.chat_model, _prompt(messages, stop, kwargs)))

    def _stream(
        self,
        messages: list[CoreMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        writer = _ChunkWriter()
        for chunk in contracts.stream(self.chat_model, _prompt(messages, stop, kwargs)):
            if chunk.choice:
                continue
            piece = writer.write(chunk)
            if run_manager is not None:
                run_manager.on_llm_new_token(piece.text, chunk=piece)
            yield piece

    async def _astream(
        self,
        messages: list[CoreMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        writer = _ChunkWriter()
        async for chunk in contracts.astream(self.chat_model, _prompt(messages, stop, kwargs)):
            if chunk.choice:
                continue
            piece = writer.write(chunk)
            if run_manager is not None:
                await run_manager.on_llm_new_token(piece.text, chunk=piece)
            yield piece

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | dict[str, Any] | bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, CoreAnswer]:
        """Offer tools with every call: LangChain's in any form, or promptkit's.

        Raises:
            AdapterError: Something is no tool, a vendor's own tool, or no choice of one.
        """
        return self.bind(tools=_definitions(tools), tool_choice=_choice(tool_choice), **kwargs)

    def get_num_tokens_from_messages(self, messages: list[CoreMessage], tools: Sequence[Any] | None = None) -> int:
        """Count tokens, exactly where the model can."""
        count = getattr(self.chat_model, "count_tokens", None)
        if count is None:
            return super().get_num_tokens_from_messages(messages, tools=tools)
        return int(count(_prompt(messages, None, {"tools": _definitions(tools)} if tools else {})))


def as_langchain_model(chat_model: contracts.AnyChatModel) -> PromptkitChatModel:
    """Make a chat model of LangChain's of any model of promptkit.

    It does all that the model can: invoke, stream, batch, their async forms, tools by ``bind_tools``, and with them
    ``with_structured_output``. Call options go to the prompt's options, unknown ones to ``extra``.

    Raises:
        AdapterError: It has none of the forms of a call.

    >>> from promptkit.testing import ScriptedChatModel
    >>> as_langchain_model(ScriptedChatModel(["Ahoy"])).invoke("Hi").content
    'Ahoy'
    """
    if not any(hasattr(chat_model, name) for name in ("call", "stream", "acall", "astream")):
        raise AdapterError(
            f"{shown(chat_model)} is no chat model: it has none of call, stream, acall and astream", format=VENDOR
        )
    return PromptkitChatModel(chat_model=chat_model)


_OPTIONS = frozenset(
    (
        *("model", "temperature", "top_p", "top_k", "max_tokens", "frequency_penalty", "presence_penalty", "seed"),
        *("tools", "tool_choice", "output_schema"),
    )
)


def _prompt(messages: Sequence[CoreMessage], stop: Sequence[str] | None, settings: Mapping[str, Any]) -> Prompt:
    given = {name: value for name, value in settings.items() if value is not None}
    known = {name: value for name, value in given.items() if name in _OPTIONS}
    if "tools" in known:
        known["tools"] = _definitions(known["tools"])
    if "tool_choice" in known:
        known["tool_choice"] = _choice(known["tool_choice"])
    if stop is not None:
        known["stop_sequences"] = stop
    extra = {name: value for name, value in given.items() if name not in _OPTIONS}
    return from_messages(from_core(messages, []), options=ChatOptions(**known, extra=extra))


def _definitions(tools: Any) -> list[ToolDefinition]:
    if isinstance(tools, (str, bytes, Mapping)) or not isinstance(tools, Iterable):
        raise AdapterError(f"must be a list of tools, not {shown(tools)}", format=VENDOR, path="tools")
    return [_definition(tool, f"tools[{index}]") for index, tool in enumerate(tools)]


def _definition(tool: Any, path: str) -> ToolDefinition:
    own = getattr(tool, "definition", tool)
    if isinstance(own, ToolDefinition):
        return own
    try:
        form = convert_to_openai_tool(tool)["function"]
        schema = form.get("parameters") or {"type": "object", "properties": {}}
        return ToolDefinition(form["name"], form.get("description") or "", input_schema=schema)
    except Exception as error:  # LangChain has no type of its own for what it cannot read
        problem = (
            f"{shown(tool)} is no function that a model can call: give a function, a tool, or a dict with its name"
        )
        raise AdapterError(f"{problem} ({type(error).__name__})", format=VENDOR, path=path) from error


def _choice(tool_choice: Any) -> str | None:
    """Translate LangChain's words for what the model must call."""
    if isinstance(tool_choice, Mapping):
        function = tool_choice.get("function", tool_choice)
        kind = tool_choice.get("type")
        name = function.get("name") if isinstance(function, Mapping) else None
        named = name if isinstance(name, str) else kind if kind in ("auto", "none", "any", "required") else None
        if named is None:
            problem = f"{shown(tool_choice)} neither names a tool nor is of a known type"
            raise AdapterError(problem, format=VENDOR, path="tool_choice")
        return _choice(named) if named is kind else named
    if isinstance(tool_choice, bool):
        return "required" if tool_choice else None
    return "required" if tool_choice == "any" else tool_choice


def _result(response: ChatResponse) -> ChatResult:
    generations = []
    for index, generation in enumerate(response.results):
        (message,) = to_messages([generation.output], losses=[])
        assert isinstance(message, AIMessage)
        known = {"finish_reason": generation.finish_reason, "model_name": response.model}
        stated = {key: value for key, value in known.items() if value is not None}
        message = message.mutate(
            response_metadata={**response.metadata, **generation.metadata, **message.response_metadata, **stated},
            usage_metadata=to_usage_metadata(response.usage) if index == 0 else None,
            id=message.id or response.id,
        )
        generations.append(ChatGeneration(message=to_core([message], [])[0]))
    return ChatResult(generations=generations)


class _ChunkWriter:
    """Write the chunks of one stream: LangChain adds usage up and puts texts of metadata together."""

    def __init__(self) -> None:
        self.usage: Any = None
        self.said: set[str] = set()
        self.calls = -1

    def write(self, chunk: ChatChunk) -> ChatGenerationChunk:
        notes = unpack(chunk.message_metadata)
        metadata = {**chunk.metadata, **chunk.generation_metadata, **notes.response_metadata}
        metadata |= {"finish_reason": chunk.finish_reason, "model_name": chunk.model}
        new = {key: value for key, value in metadata.items() if value is not None and key not in self.said}
        self.said |= new.keys()
        message = AIMessageChunk(
            self._content(chunk),
            tool_call_chunks=[self._call(piece) for piece in chunk.tool_calls],  # type: ignore[misc]
            additional_kwargs=notes.additional_kwargs,
            response_metadata=new,
            usage_metadata=self._usage(chunk),
            name=chunk.name,
            id=chunk.message_id or chunk.id,
        )
        return ChatGenerationChunk(message=to_core([message], [])[0])  # type: ignore[arg-type]

    @staticmethod
    def _content(chunk: ChatChunk) -> Any:
        content = chunk.content or ""
        if isinstance(content, str):
            indexed = [{"type": "text", "text": content, "index": chunk.block}]
            return indexed if content and chunk.block is not None else content
        index = {} if chunk.block is None else {"index": chunk.block}
        return [{**to_block(part), **index} for part in content]

    def _call(self, piece: Any) -> dict[str, Any]:
        index = piece.index
        if index is None:
            self.calls += 1 if piece.id or piece.name or self.calls < 0 else 0
            index = self.calls
        return {"name": piece.name, "args": piece.arguments, "id": piece.id, "index": index}

    def _usage(self, chunk: ChatChunk) -> Any:
        if chunk.usage is None:
            return None
        usage = to_usage_metadata(chunk.usage)
        if chunk.usage_is_delta or usage is None:
            return usage
        before, self.usage = self.usage, usage
        return usage if before is None else subtract_usage(usage, before)  # type: ignore[arg-type]
