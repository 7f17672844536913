"""Count tokens of LangChain's messages: its own estimate, and whatever else can count."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from promptkit._frozen import shown
from promptkit.adapters.langchain.base import BaseMessage
from promptkit.adapters.langchain.convert import LanguageModelInput, to_language_model_input
from promptkit.adapters.langchain.core import to_core
from promptkit.adapters.langchain.messages import AIMessage, ToolMessage
from promptkit.adapters.langchain.native import from_messages
from promptkit.adapters.langchain.openai_form import openai_role
from promptkit.errors import HistoryError, PromptkitError
from promptkit.history.counters import ListTokenCounter
from promptkit.options import ToolDefinition

__all__ = ["Counter", "Meter", "count_tokens_approximately", "meter_of"]

Counter = Any
"""What messages can be counted with; see `trim_messages`."""


@frozen
class Meter:
    """Measure messages of ours by whatever counts, and check what comes back.

    >>> meter_of(len, per_message=None).measure([AIMessage("Hello"), AIMessage("Bye")])
    2
    """

    function: Callable[[Any], int]
    of_lists: bool = True
    overhead: int = 0

    def size(self, message: BaseMessage) -> int:
        """Count one message; of a function of lists, what it adds to none."""
        if not self.of_lists:
            return self._checked(message)
        return max(0, self._checked([message]) - self.overhead)

    def measure(self, messages: list[BaseMessage]) -> int:
        """Measure a list; no messages measure 0."""
        if not self.of_lists:
            return self.overhead + sum(map(self.size, messages))
        return self._checked(messages) if messages else 0

    def _checked(self, given: Any) -> int:
        try:
            value = self.function(given)
        except PromptkitError:
            raise
        except Exception as error:
            kind = "a list of messages" if self.of_lists else "one message"
            raise HistoryError(f"the token_counter, handed {kind}, failed: {type(error).__name__}: {error}") from error
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise HistoryError(f"the token_counter gave {shown(value)}: a count is an int of at least 0")
        return value


def meter_of(token_counter: Counter, *, per_message: bool | None) -> Meter:
    """Make a meter of whatever counts; see `trim_messages`.

    Raises:
        HistoryError: Nothing about it counts.
    """
    if isinstance(token_counter, str):
        return _named(token_counter)
    if isinstance(token_counter, ListTokenCounter):
        return _of_lists(token_counter.function)
    if hasattr(token_counter, "get_num_tokens_from_messages"):
        return _of_lists(lambda given: token_counter.get_num_tokens_from_messages(to_core(given, [])))
    if hasattr(token_counter, "count_tokens"):
        return _of_lists(lambda given: token_counter.count_tokens(from_messages(given)))
    if hasattr(token_counter, "overhead") and hasattr(token_counter, "count"):

        def count(message: BaseMessage) -> int:
            return sum(token_counter.count(own) for own in from_messages([message]).messages)

        return Meter(count, of_lists=False, overhead=token_counter.overhead)
    if not callable(token_counter):
        raise HistoryError(
            "token_counter must be 'approximate', a chat model, a TokenCounter or a function of a list of messages, not "
            f"{shown(token_counter)}"
        )
    one = _takes_one(token_counter) if per_message is None else per_message
    return Meter(token_counter, of_lists=False) if one else _of_lists(token_counter)


def _named(name: str) -> Meter:
    if name == "approximate":
        return Meter(lambda message: count_tokens_approximately([message]), of_lists=False)
    raise HistoryError(f"token_counter {shown(name)} is not known; the one name is 'approximate'")


def _of_lists(function: Callable[[Any], int]) -> Meter:
    """Measure by a function of lists; what it gives for none is left out of every message's size, if it can say."""
    try:
        return Meter(function, overhead=Meter(function)._checked([]))
    except PromptkitError:
        return Meter(function)


def _takes_one(function: Callable[..., Any]) -> bool:
    """Tell from its annotation whether a function takes one message, as LangChain does."""
    import inspect

    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin such as len
        return False
    kind = parameters[0].annotation if parameters else None
    if isinstance(kind, str):
        return kind.rpartition(".")[2] == "BaseMessage"
    return isinstance(kind, type) and kind.__name__ == "BaseMessage"


def count_tokens_approximately(
    messages: LanguageModelInput,
    *,
    chars_per_token: float = 4.0,
    extra_tokens_per_message: float = 3.0,
    count_name: bool = True,
    tokens_per_image: int = 85,
    use_usage_metadata_scaling: bool = False,
    tools: Iterable[Any] | None = None,
) -> int:
    """Estimate tokens as LangChain does: by the number of characters.

    It is LangChain's estimate, with its errors: text of Chinese, Japanese or Korean counts a quarter of what it should,
    base64 data other than images counts as text, and the calls of a message whose content are blocks do not count.
    `ApproximateTokenCounter` has none of these.

    Args:
        messages: Messages, or what stands for them.
        chars_per_token: Characters for each token.
        extra_tokens_per_message: Tokens that each message costs beside its text.
        count_name: Whether names count.
        tokens_per_image: Tokens of an image.
        use_usage_metadata_scaling: Whether the estimate is scaled, by at most a quarter, by what the last answer of a
            model says it cost.
        tools: Tools that go with the messages: dicts, definitions of ours, or tools of LangChain's.

    Raises:
        HistoryError: A number is none, or a tool is no tool.

    >>> from promptkit.adapters.langchain import HumanMessage
    >>> count_tokens_approximately([HumanMessage("What is the capital of France?")])
    12
    """
    numbers = {"extra_tokens_per_message": extra_tokens_per_message, "tokens_per_image": tokens_per_image}
    for name, number in {"chars_per_token": chars_per_token, **numbers}.items():
        wrong = isinstance(number, bool) or not isinstance(number, (int, float)) or not abs(number) < math.inf
        if wrong or (name == "chars_per_token" and number <= 0):
            above = " above 0" if name == "chars_per_token" else ""
            raise HistoryError(f"{name} must be a finite number{above}, not {shown(number)}")
    total = 0.0
    if tools:
        total += math.ceil(_tools_size(tools) / chars_per_token)
    history = to_language_model_input(messages).to_messages()
    providers: list[Any] = []
    scale = 1.0
    for message in history:
        chars, images = _size(message)
        if count_name and message.name:
            chars += len(message.name)
        total += math.ceil(chars / chars_per_token) + images * tokens_per_image + extra_tokens_per_message
        if isinstance(message, AIMessage):
            providers.append(message.response_metadata.get("model_provider"))
            if message.usage_metadata is not None and total > 0:
                scale = message.usage_metadata["total_tokens"] / total
    known = len(history) > 1 and bool(providers) and providers[0] is not None and len(set(providers)) == 1
    if use_usage_metadata_scaling and known:
        total *= min(1.25, max(1.0, scale))
    return math.ceil(total)


def _size(message: BaseMessage) -> tuple[int, int]:
    """Count characters and images."""
    chars, images = len(openai_role(message)), 0
    if isinstance(message.content, str):
        chars += len(message.content)
        if isinstance(message, AIMessage) and message.tool_calls:
            chars += len(repr([{key: call[key] for key in ("name", "args", "id", "type")} for call in _calls(message)]))
    for item in () if isinstance(message.content, str) else message.content:
        kind = "" if isinstance(item, str) else item.get("type")
        if kind in ("image", "image_url"):
            images += 1
        elif kind == "text":
            chars += len(str(item.get("text", "")))  # type: ignore[union-attr]
        else:
            chars += len(item if isinstance(item, str) else repr(item))
    if isinstance(message, ToolMessage):
        chars += len(message.tool_call_id)
    return chars, images


def _calls(message: AIMessage) -> Sequence[Mapping[str, Any]]:
    return message.tool_calls


def _tools_size(tools: Any) -> int:
    """Count the characters of tools."""
    if isinstance(tools, (str, bytes, Mapping)) or not isinstance(tools, Iterable):
        raise HistoryError(f"tools must be a list of tools, not {shown(tools)}")
    size = 0
    for index, tool in enumerate(tools):
        try:
            size += len(_tool_text(tool))
        except (AttributeError, TypeError, ValueError, RecursionError) as error:
            problem = f"{shown(tool)}, which cannot be written as JSON: {type(error).__name__}"
            raise HistoryError(f"tools[{index}] must be a dict or a tool, not {problem}") from error
    return size


def _tool_text(tool: Any) -> str:
    import json

    if isinstance(tool, Mapping):
        return json.dumps(tool)
    own = getattr(tool, "definition", tool)
    if isinstance(own, ToolDefinition):
        parameters: Mapping[str, Any] = own.input_schema
    else:  # a tool of LangChain's
        schema = own.tool_call_schema
        parameters = schema if isinstance(schema, Mapping) else schema.model_json_schema()
        parameters = {key: value for key, value in parameters.items() if key not in ("title", "description")}
    return json.dumps({"name": own.name, "description": own.description, "parameters": parameters})
