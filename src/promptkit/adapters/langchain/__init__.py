"""Speak LangChain: its messages, chunks, prompt values and history functions as values of ours, and the real package.

All but the names of `interop` works without LangChain, and importing it loads nothing of LangChain.
"""

from __future__ import annotations

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
    message_to_dict,
    messages_from_dict,
    messages_to_dict,
    to_language_model_input,
)
from promptkit.adapters.langchain.folding import BaseMessageChunk, merge_chunks
from promptkit.adapters.langchain.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from promptkit.adapters.langchain.openai_form import convert_to_openai_messages
from promptkit.adapters.langchain.prompt_values import (
    ChatPromptValue,
    ChatPromptValueConcrete,
    ImagePromptValue,
    ImageURL,
    PromptValue,
    StringPromptValue,
)

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
    "convert_to_messages",
    "convert_to_openai_messages",
    "get_buffer_string",
    "merge_chunks",
    "message_chunk_to_message",
    "message_to_dict",
    "messages_from_dict",
    "messages_to_dict",
    "parse_buffer_string",
    "subtract_usage",
    "to_language_model_input",
]
