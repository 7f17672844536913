"""Write prompts as objects: templates become prompts, chat models answer them.

Every public name can be imported from here; its module is loaded when the name is first used. A new name takes one
line in the block for type checkers and one in the table below.
"""

from __future__ import annotations

TYPE_CHECKING = False  # checkers take the name as true; importing `typing` would double what an empty program costs

_MODULES = {
    "Actions": "promptkit.templates.actions",
    "AdapterError": "promptkit.errors",
    "Advisor": "promptkit.client.advisors.base",
    "AnthropicChatModel": "promptkit.models.anthropic",
    "ApproximateTokenCounter": "promptkit.tokens",
    "AssistantMessage": "promptkit.messages",
    "AssistantPromptTemplate": "promptkit.templates.prompt_template",
    "AsyncChatModel": "promptkit.contracts",
    "AuthenticationError": "promptkit.errors",
    "BasePromptTemplate": "promptkit.templates.base",
    "ChatActions": "promptkit.templates.actions",
    "ChatChunk": "promptkit.response",
    "ChatClient": "promptkit.client.chat_client",
    "ChatClientRequest": "promptkit.client.request",
    "ChatMemory": "promptkit.contracts",
    "ChatMemoryRepository": "promptkit.contracts",
    "ChatModel": "promptkit.contracts",
    "ChatOptions": "promptkit.options",
    "ChatPromptTemplate": "promptkit.templates.chat",
    "ChatResponse": "promptkit.response",
    "ChunkAccumulator": "promptkit.response",
    "CompiledTemplate": "promptkit.renderers.base",
    "ContextLengthError": "promptkit.errors",
    "ConvertedOutput": "promptkit.converters.base",
    "FStringRenderer": "promptkit.renderers.fstring",
    "FewShotExamples": "promptkit.templates.few_shot",
    "GeminiChatModel": "promptkit.models.gemini",
    "Generation": "promptkit.response",
    "HistoryError": "promptkit.errors",
    "InMemoryChatMemoryRepository": "promptkit.memory.in_memory",
    "InvalidToolCall": "promptkit.messages",
    "JinjaRenderer": "promptkit.renderers.jinja",
    "LengthSelector": "promptkit.templates.few_shot",
    "ListOutputConverter": "promptkit.converters.text",
    "ListTokenCounter": "promptkit.history.counters",
    "LlamaCppChatModel": "promptkit.models.local",
    "LoggingAdvisor": "promptkit.client.advisors.logger",
    "MapOutputConverter": "promptkit.converters.typed",
    "Media": "promptkit.content",
    "MediaTemplate": "promptkit.templates.parts",
    "MemoryAdvisor": "promptkit.client.advisors.memory",
    "MemoryStoreError": "promptkit.errors",
    "Message": "promptkit.messages",
    "MessageActions": "promptkit.templates.actions",
    "MessageCounter": "promptkit.history.counters",
    "MessageType": "promptkit.messages",
    "MessageWindowChatMemory": "promptkit.memory.window",
    "MessagesPlaceholder": "promptkit.templates.chat",
    "MissingDependencyError": "promptkit.errors",
    "MissingVariablesError": "promptkit.errors",
    "ModelError": "promptkit.errors",
    "ModelHTTPError": "promptkit.errors",
    "MustacheRenderer": "promptkit.renderers.mustache",
    "NamedPromptTemplate": "promptkit.prompt_files.template",
    "NoOpRenderer": "promptkit.renderers.noop",
    "Opaque": "promptkit.content",
    "OpenAIChatModel": "promptkit.models.openai",
    "OpenAIResponsesChatModel": "promptkit.models.openai",
    "OutputConversionError": "promptkit.errors",
    "OutputValidationAdvisor": "promptkit.client.advisors.validation",
    "PostgresChatMemoryRepository": "promptkit.memory.postgres",
    "Prompt": "promptkit.prompt",
    "PromptError": "promptkit.errors",
    "PromptLibrary": "promptkit.prompt_files.library",
    "PromptTemplate": "promptkit.templates.prompt_template",
    "PromptkitError": "promptkit.errors",
    "RateLimitError": "promptkit.errors",
    "Reasoning": "promptkit.content",
    "RedisChatMemoryRepository": "promptkit.memory.redis",
    "ResponseEntity": "promptkit.client.answers",
    "ResponseFormatError": "promptkit.errors",
    "RetryAdvisor": "promptkit.client.advisors.retry",
    "SQLiteChatMemoryRepository": "promptkit.memory.sqlite",
    "SafeguardAdvisor": "promptkit.client.advisors.safeguard",
    "ScoreSelector": "promptkit.templates.few_shot",
    "SerializationError": "promptkit.errors",
    "StoredMessage": "promptkit.contracts",
    "StreamingChatModel": "promptkit.contracts",
    "StringActions": "promptkit.templates.actions",
    "StringTemplateRenderer": "promptkit.renderers.string_template",
    "StructuredOutputConverter": "promptkit.converters.base",
    "SystemMessage": "promptkit.messages",
    "SystemPromptTemplate": "promptkit.templates.prompt_template",
    "TemplateError": "promptkit.errors",
    "TemplateNotFoundError": "promptkit.errors",
    "TemplateRenderer": "promptkit.renderers.base",
    "TemplateSyntaxError": "promptkit.errors",
    "Text": "promptkit.content",
    "TextResource": "promptkit.templates.resource",
    "TiktokenCounter": "promptkit.history.counters",
    "TokenBudgetSelector": "promptkit.templates.few_shot",
    "TokenCounter": "promptkit.tokens",
    "TokenWindowChatMemory": "promptkit.memory.window",
    "Tool": "promptkit.tools.tool",
    "ToolCall": "promptkit.messages",
    "ToolCallChunk": "promptkit.response",
    "ToolCallingAdvisor": "promptkit.client.advisors.tool_calling",
    "ToolCallingManager": "promptkit.tools.manager",
    "ToolContext": "promptkit.tools.tool",
    "ToolDefinition": "promptkit.options",
    "ToolError": "promptkit.errors",
    "ToolExecutionError": "promptkit.errors",
    "ToolLimitError": "promptkit.errors",
    "ToolNotFoundError": "promptkit.errors",
    "ToolResponse": "promptkit.messages",
    "ToolResponseMessage": "promptkit.messages",
    "ToolResult": "promptkit.tools.tool",
    "ToolRound": "promptkit.tools.manager",
    "TransportError": "promptkit.errors",
    "TypedOutputConverter": "promptkit.converters.typed",
    "TypedPromptTemplate": "promptkit.templates.typed",
    "UNSET": "promptkit.options",
    "UnsafeTemplateError": "promptkit.errors",
    "UnsupportedContentError": "promptkit.errors",
    "Usage": "promptkit.response",
    "UserMessage": "promptkit.messages",
    "ValidationMode": "promptkit.renderers.base",
    "advisor": "promptkit.client.advisors.functions",
    "chat_model": "promptkit.models.registry",
    "check_history": "promptkit.history.doctor",
    "count_tokens": "promptkit.history.counters",
    "filter_messages": "promptkit.history.filter",
    "from_buffer_string": "promptkit.adapters.langchain.native",
    "from_messages": "promptkit.adapters.langchain.native",
    "from_prompt_value": "promptkit.adapters.langchain.native",
    "load_prompt": "promptkit.prompt_files.loading",
    "merge_message_runs": "promptkit.history.merge",
    "repair_history": "promptkit.history.doctor",
    "to_buffer_string": "promptkit.adapters.langchain.native",
    "to_messages": "promptkit.adapters.langchain.native",
    "to_prompt_value": "promptkit.adapters.langchain.native",
    "trim_messages": "promptkit.history.trim",
    "trim_to_window": "promptkit.history.trim",
}

__all__ = list(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll] - checkers see the block below

if TYPE_CHECKING:
    from promptkit.adapters.langchain.native import from_buffer_string as from_buffer_string
    from promptkit.adapters.langchain.native import from_messages as from_messages
    from promptkit.adapters.langchain.native import from_prompt_value as from_prompt_value
    from promptkit.adapters.langchain.native import to_buffer_string as to_buffer_string
    from promptkit.adapters.langchain.native import to_messages as to_messages
    from promptkit.adapters.langchain.native import to_prompt_value as to_prompt_value
    from promptkit.client.advisors.base import Advisor as Advisor
    from promptkit.client.advisors.functions import advisor as advisor
    from promptkit.client.advisors.logger import LoggingAdvisor as LoggingAdvisor
    from promptkit.client.advisors.memory import MemoryAdvisor as MemoryAdvisor
    from promptkit.client.advisors.retry import RetryAdvisor as RetryAdvisor
    from promptkit.client.advisors.safeguard import SafeguardAdvisor as SafeguardAdvisor
    from promptkit.client.advisors.tool_calling import ToolCallingAdvisor as ToolCallingAdvisor
    from promptkit.client.advisors.validation import OutputValidationAdvisor as OutputValidationAdvisor
    from promptkit.client.answers import ResponseEntity as ResponseEntity
    from promptkit.client.chat_client import ChatClient as ChatClient
    from promptkit.client.request import ChatClientRequest as ChatClientRequest
    from promptkit.content import Media as Media
    from promptkit.content import Opaque as Opaque
    from promptkit.content import Reasoning as Reasoning
    from promptkit.content import Text as Text
    from promptkit.contracts import AsyncChatModel as AsyncChatModel
    from promptkit.contracts import ChatMemory as ChatMemory
    from promptkit.contracts import ChatMemoryRepository as ChatMemoryRepository
    from promptkit.contracts import ChatModel as ChatModel
    from promptkit.contracts import StoredMessage as StoredMessage
    from promptkit.contracts import StreamingChatModel as StreamingChatModel
    from promptkit.converters.base import ConvertedOutput as ConvertedOutput
    from promptkit.converters.base import StructuredOutputConverter as StructuredOutputConverter
    from promptkit.converters.text import ListOutputConverter as ListOutputConverter
    from promptkit.converters.typed import MapOutputConverter as MapOutputConverter
    from promptkit.converters.typed import TypedOutputConverter as TypedOutputConverter
    from promptkit.errors import AdapterError as AdapterError
    from promptkit.errors import AuthenticationError as AuthenticationError
    from promptkit.errors import ContextLengthError as ContextLengthError
    from promptkit.errors import HistoryError as HistoryError
    from promptkit.errors import MemoryStoreError as MemoryStoreError
    from promptkit.errors import MissingDependencyError as MissingDependencyError
    from promptkit.errors import MissingVariablesError as MissingVariablesError
    from promptkit.errors import ModelError as ModelError
    from promptkit.errors import ModelHTTPError as ModelHTTPError
    from promptkit.errors import OutputConversionError as OutputConversionError
    from promptkit.errors import PromptError as PromptError
    from promptkit.errors import PromptkitError as PromptkitError
    from promptkit.errors import RateLimitError as RateLimitError
    from promptkit.errors import ResponseFormatError as ResponseFormatError
    from promptkit.errors import SerializationError as SerializationError
    from promptkit.errors import TemplateError as TemplateError
    from promptkit.errors import TemplateNotFoundError as TemplateNotFoundError
    from promptkit.errors import TemplateSyntaxError as TemplateSyntaxError
    from promptkit.errors import ToolError as ToolError
    from promptkit.errors import ToolExecutionError as ToolExecutionError
    from promptkit.errors import ToolLimitError as ToolLimitError
    from promptkit.errors import ToolNotFoundError as ToolNotFoundError
    from promptkit.errors import TransportError as TransportError
    from promptkit.errors import UnsafeTemplateError as UnsafeTemplateError
    from promptkit.errors import UnsupportedContentError as UnsupportedContentError
    from promptkit.history.counters import ListTokenCounter as ListTokenCounter
    from promptkit.history.counters import MessageCounter as MessageCounter
    from promptkit.history.counters import TiktokenCounter as TiktokenCounter
    from promptkit.history.counters import count_tokens as count_tokens
    from promptkit.history.doctor import check_history as check_history
    from promptkit.history.doctor import repair_history as repair_history
    from promptkit.history.filter import filter_messages as filter_messages
    from promptkit.history.merge import merge_message_runs as merge_message_runs
    from promptkit.history.trim import trim_messages as trim_messages
    from promptkit.history.trim import trim_to_window as trim_to_window
    from promptkit.memory.in_memory import InMemoryChatMemoryRepository as InMemoryChatMemoryRepository
    from promptkit.memory.postgres import PostgresChatMemoryRepository as PostgresChatMemoryRepository
    from promptkit.memory.redis import RedisChatMemoryRepository as RedisChatMemoryRepository
    from promptkit.memory.sqlite import SQLiteChatMemoryRepository as SQLiteChatMemoryRepository
    from promptkit.memory.window import MessageWindowChatMemory as MessageWindowChatMemory
    from promptkit.memory.window import TokenWindowChatMemory as TokenWindowChatMemory
    from promptkit.messages import AssistantMessage as AssistantMessage
    from promptkit.messages import InvalidToolCall as InvalidToolCall
    from promptkit.messages import Message as Message
    from promptkit.messages import MessageType as MessageType
    from promptkit.messages import SystemMessage as SystemMessage
    from promptkit.messages import ToolCall as ToolCall
    from promptkit.messages import ToolResponse as ToolResponse
    from promptkit.messages import ToolResponseMessage as ToolResponseMessage
    from promptkit.messages import UserMessage as UserMessage
    from promptkit.models.anthropic import AnthropicChatModel as AnthropicChatModel
    from promptkit.models.gemini import GeminiChatModel as GeminiChatModel
    from promptkit.models.local import LlamaCppChatModel as LlamaCppChatModel
    from promptkit.models.openai import OpenAIChatModel as OpenAIChatModel
    from promptkit.models.openai import OpenAIResponsesChatModel as OpenAIResponsesChatModel
    from promptkit.models.registry import chat_model as chat_model
    from promptkit.options import ChatOptions as ChatOptions
    from promptkit.options import ToolDefinition as ToolDefinition
    from promptkit.options import UNSET as UNSET
    from promptkit.prompt import Prompt as Prompt
    from promptkit.prompt_files.library import PromptLibrary as PromptLibrary
    from promptkit.prompt_files.loading import load_prompt as load_prompt
    from promptkit.prompt_files.template import NamedPromptTemplate as NamedPromptTemplate
    from promptkit.renderers.base import CompiledTemplate as CompiledTemplate
    from promptkit.renderers.base import TemplateRenderer as TemplateRenderer
    from promptkit.renderers.base import ValidationMode as ValidationMode
    from promptkit.renderers.fstring import FStringRenderer as FStringRenderer
    from promptkit.renderers.jinja import JinjaRenderer as JinjaRenderer
    from promptkit.renderers.mustache import MustacheRenderer as MustacheRenderer
    from promptkit.renderers.noop import NoOpRenderer as NoOpRenderer
    from promptkit.renderers.string_template import StringTemplateRenderer as StringTemplateRenderer
    from promptkit.response import ChatChunk as ChatChunk
    from promptkit.response import ChatResponse as ChatResponse
    from promptkit.response import ChunkAccumulator as ChunkAccumulator
    from promptkit.response import Generation as Generation
    from promptkit.response import ToolCallChunk as ToolCallChunk
    from promptkit.response import Usage as Usage
    from promptkit.templates.actions import Actions as Actions
    from promptkit.templates.actions import ChatActions as ChatActions
    from promptkit.templates.actions import MessageActions as MessageActions
    from promptkit.templates.actions import StringActions as StringActions
    from promptkit.templates.base import BasePromptTemplate as BasePromptTemplate
    from promptkit.templates.chat import ChatPromptTemplate as ChatPromptTemplate
    from promptkit.templates.chat import MessagesPlaceholder as MessagesPlaceholder
    from promptkit.templates.few_shot import FewShotExamples as FewShotExamples
    from promptkit.templates.few_shot import LengthSelector as LengthSelector
    from promptkit.templates.few_shot import ScoreSelector as ScoreSelector
    from promptkit.templates.few_shot import TokenBudgetSelector as TokenBudgetSelector
    from promptkit.templates.parts import MediaTemplate as MediaTemplate
    from promptkit.templates.prompt_template import AssistantPromptTemplate as AssistantPromptTemplate
    from promptkit.templates.prompt_template import PromptTemplate as PromptTemplate
    from promptkit.templates.prompt_template import SystemPromptTemplate as SystemPromptTemplate
    from promptkit.templates.resource import TextResource as TextResource
    from promptkit.templates.typed import TypedPromptTemplate as TypedPromptTemplate
    from promptkit.tokens import ApproximateTokenCounter as ApproximateTokenCounter
    from promptkit.tokens import TokenCounter as TokenCounter
    from promptkit.tools.manager import ToolCallingManager as ToolCallingManager
    from promptkit.tools.manager import ToolRound as ToolRound
    from promptkit.tools.tool import Tool as Tool
    from promptkit.tools.tool import ToolContext as ToolContext
    from promptkit.tools.tool import ToolResult as ToolResult
else:
    # Hidden from checkers: for them it would make every misspelt name an `object`.
    def __getattr__(name: str) -> object:
        import importlib
        import sys

        if name not in _MODULES:
            raise AttributeError(f"module 'promptkit' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
        value = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
