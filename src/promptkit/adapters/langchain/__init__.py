"""Speak LangChain: its messages, chunks, prompt values and history functions as values of ours, and the real package.

All but the last names works without langchain-core, and importing this loads nothing of it: `to_langchain_core`,
`from_langchain_core`, `as_langchain_model`, `from_langchain_model`, `as_runnable` and `as_chat_message_history` load it
when they are first used (``pip install 'promptkit[langchain]'``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from promptkit.adapters.langchain.base import BaseMessage
from promptkit.adapters.langchain.buffer import get_buffer_string
from promptkit.adapters.langchain.buffer_reader import parse_buffer_string
from promptkit.adapters.langchain.calls import (
    InputTokenDetails,
    InvalidToolCall,
    OutputTokenDetails,
    ToolCall,
    ToolCallChunk,
    UsageMetadata,
    add_usage,
    subtract_usage,
)
from promptkit.adapters.langchain.chunks import (
    AIMessageChunk,
    ChatMessageChunk,
    FunctionMessageChunk,
    HumanMessageChunk,
    SystemMessageChunk,
    ToolMessageChunk,
    message_chunk_to_message,
)
from promptkit.adapters.langchain.convert import (
    LanguageModelInput,
    MessageLike,
    convert_to_messages,
    to_language_model_input,
)
from promptkit.adapters.langchain.counting import count_tokens_approximately
from promptkit.adapters.langchain.folding import BaseMessageChunk, merge_chunks
from promptkit.adapters.langchain.history import filter_messages, merge_message_runs, trim_messages
from promptkit.adapters.langchain.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from promptkit.adapters.langchain.native import (
    from_buffer_string,
    from_messages,
    from_prompt_value,
    to_buffer_string,
    to_messages,
    to_prompt_value,
)
from promptkit.adapters.langchain.openai_form import convert_to_openai_messages
from promptkit.adapters.langchain.pretty import pretty_repr
from promptkit.adapters.langchain.prompt_values import (
    ChatPromptValue,
    ChatPromptValueConcrete,
    ImagePromptValue,
    ImageURL,
    PromptValue,
    StringPromptValue,
)
from promptkit.adapters.langchain.steps import LangChainStep
from promptkit.adapters.langchain.stored import message_to_dict, messages_from_dict, messages_to_dict
from promptkit.errors import MissingDependencyError

__all__ = [
    "AIMessage",
    "AIMessageChunk",
    "BaseMessage",
    "BaseMessageChunk",
    "ChatMessage",
    "ChatMessageChunk",
    "ChatPromptValue",
    "ChatPromptValueConcrete",
    "FunctionMessage",
    "FunctionMessageChunk",
    "HumanMessage",
    "HumanMessageChunk",
    "ImagePromptValue",
    "ImageURL",
    "InputTokenDetails",
    "InvalidToolCall",
    "LangChainStep",
    "LanguageModelInput",
    "MessageLike",
    "OutputTokenDetails",
    "PromptValue",
    "RemoveMessage",
    "StringPromptValue",
    "SystemMessage",
    "SystemMessageChunk",
    "ToolCall",
    "ToolCallChunk",
    "ToolMessage",
    "ToolMessageChunk",
    "UsageMetadata",
    "add_usage",
    "as_chat_message_history",
    "as_langchain_model",
    "as_runnable",
    "convert_to_messages",
    "convert_to_openai_messages",
    "count_tokens_approximately",
    "filter_messages",
    "from_buffer_string",
    "from_langchain_core",
    "from_langchain_model",
    "from_messages",
    "from_prompt_value",
    "get_buffer_string",
    "merge_chunks",
    "merge_message_runs",
    "message_chunk_to_message",
    "message_to_dict",
    "messages_from_dict",
    "messages_to_dict",
    "parse_buffer_string",
    "pretty_repr",
    "subtract_usage",
    "to_buffer_string",
    "to_langchain_core",
    "to_language_model_input",
    "to_messages",
    "to_prompt_value",
    "trim_messages",
]

if TYPE_CHECKING:
    from promptkit.adapters.langchain.interop import as_chat_message_history as as_chat_message_history
    from promptkit.adapters.langchain.interop import as_langchain_model as as_langchain_model
    from promptkit.adapters.langchain.interop import as_runnable as as_runnable
    from promptkit.adapters.langchain.interop import from_langchain_core as from_langchain_core
    from promptkit.adapters.langchain.interop import from_langchain_model as from_langchain_model
    from promptkit.adapters.langchain.interop import to_langchain_core as to_langchain_core
else:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
        try:
            interop = import_module("promptkit.adapters.langchain.interop")
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "langchain_core":
                raise
            raise MissingDependencyError("langchain-core", extra="langchain", reason=f"{name}()") from error
        value = globals()[name] = getattr(interop, name)
        return value
