"""Define every error that promptkit raises: one root, facts as fields.

    PromptkitError
    ├── TemplateError(ValueError) .template_name .line .column
    │   ├── TemplateSyntaxError      ├── MissingVariablesError(LookupError) .missing .available
    │   ├── UnsafeTemplateError      └── TemplateNotFoundError(LookupError)
    ├── PromptError(ValueError)      ├── SerializationError(ValueError) .path
    ├── AdapterError(ValueError) .format .path └── UnsupportedContentError .feature
    ├── ModelError .retryable .partial
    │   ├── TransportError   ├── ResponseFormatError   ├── ContextLengthError .needed .available
    │   └── ModelHTTPError .status .request_id → AuthenticationError, RateLimitError .retry_after
    ├── ToolError .tool_name → ToolNotFoundError, ToolExecutionError, ToolLimitError .limit .partial
    ├── OutputConversionError(ValueError) .text .target .path
    ├── HistoryError(ValueError) .budget .needed   ├── MemoryStoreError .conversation_id
    └── MissingDependencyError(ImportError) .package .extra

The second base of a class is the builtin that a caller would catch. Every error pickles with its fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from promptkit.response import ChatResponse

__all__ = [
    "AdapterError",
    "AuthenticationError",
    "ContextLengthError",
    "HistoryError",
    "MemoryStoreError",
    "MissingDependencyError",
    "MissingVariablesError",
    "ModelError",
    "ModelHTTPError",
    "OutputConversionError",
    "PromptError",
    "PromptkitError",
    "RateLimitError",
    "ResponseFormatError",
    "SerializationError",
    "TemplateError",
    "TemplateNotFoundError",
    "TemplateSyntaxError",
    "ToolError",
    "ToolExecutionError",
    "ToolLimitError",
    "ToolNotFoundError",
    "TransportError",
    "UnsafeTemplateError",
    "UnsupportedContentError",
]


def _restore(cls: type[PromptkitError], args: tuple[Any, ...], state: dict[str, Any]) -> PromptkitError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(state)
    return error


class PromptkitError(Exception):
    """Catch every error that promptkit raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__.copy())


class TemplateError(PromptkitError, ValueError):
    """Report a template that cannot be built or rendered.

    Args:
        message: What is wrong and what to do.
        template_name: The template's name, if it has one.
        line: The line of the mistake, counted from 1.
        column: The column of the mistake in characters, counted from 1.
        excerpt: The source line itself; it is shown above a caret at ``column``.
    """

    def __init__(
        self,
        message: str,
        *,
        template_name: str | None = None,
        line: int | None = None,
        column: int | None = None,
        excerpt: str | None = None,
    ) -> None:
        super().__init__(message)
        self.template_name = template_name
        self.line = line
        self.column = column
        self.excerpt = excerpt

    def named(self, template_name: str | None) -> Self:
        """Fill in the template's name where the raiser could not know it, and return the error."""
        if self.template_name is None:
            self.template_name = template_name
        return self

    def __str__(self) -> str:
        place = [f"template {self.template_name!r}"] if self.template_name else []
        if self.line is not None:
            place.append(f"line {self.line}")
        if self.column is not None:
            place.append(f"column {self.column}")
        text = str(self.args[0])
        if place:
            text = f"{text} ({', '.join(place)})"
        if self.excerpt is None or self.line is None or self.column is None:
            return text
        return f"{text}\n{_caret(self.excerpt, self.line, self.column)}"


def _caret(excerpt: str, line: int, column: int, width: int = 100) -> str:
    """Draw a window of the source line with a caret below the column; tabs stay aligned."""
    start = max(0, column - 1 - width // 2)
    shown = excerpt[start : start + width]
    gutter = f"  {line} | "
    blank = "".join("\t" if char == "\t" else " " for char in shown[: column - 1 - start])
    return f"{gutter}{shown}\n{' ' * (len(gutter) - 2)}| {blank}^"


class TemplateSyntaxError(TemplateError):
    """Report template text that breaks its language's grammar, or that the language would mangle."""


class MissingVariablesError(TemplateError, LookupError):
    """Report variables or properties that a template needs and was not given.

    Args:
        message: The sentence that names them.
        missing: Every missing name, dotted for a property, in order of first appearance.
        available: The names that were given, sorted.
    """

    def __init__(
        self,
        message: str,
        *,
        missing: tuple[str, ...],
        available: tuple[str, ...] = (),
        template_name: str | None = None,
        line: int | None = None,
        column: int | None = None,
        excerpt: str | None = None,
    ) -> None:
        super().__init__(message, template_name=template_name, line=line, column=column, excerpt=excerpt)
        self.missing = missing
        self.available = available


class UnsafeTemplateError(TemplateError):
    """Report a template that reaches for what a sandbox denies."""


class TemplateNotFoundError(TemplateError, LookupError):
    """Report a template, a partial or a text resource that does not exist."""


class PromptError(PromptkitError, ValueError):
    """Report a wrong part, message, option or prompt, at its construction."""


class SerializationError(PromptkitError, ValueError):
    """Report stored data that cannot be read or a value that cannot be stored.

    Args:
        message: What is wrong.
        path: Where, for example ``messages[2].content[0].mime_type``; empty for the whole.
    """

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path

    def below(self, place: str) -> Self:
        """Put a place in front of the path, as a reader does on its way up, and return the error."""
        if not place.isprintable() or len(place) > 80:
            place = ascii(place[:80])  # a key may be anything
        self.path = f"{place}.{self.path}" if self.path[:1] not in ("", "[") else place + self.path
        return self

    def __str__(self) -> str:
        return f"{self.path}: {self.args[0]}" if self.path else str(self.args[0])


class AdapterError(PromptkitError, ValueError):
    """Report a value that a foreign format cannot take, or a foreign value that cannot be read.

    Args:
        message: What is wrong.
        format: The foreign format, for example ``openai``.
        path: Where, for example ``messages[2].content[0]``.
    """

    def __init__(self, message: str, *, format: str | None = None, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.format = format
        self.path = path


class UnsupportedContentError(AdapterError):
    """Report content or an option that the target cannot express.

    Args:
        feature: What is not supported, for example ``image`` or ``tools``.
    """

    def __init__(self, message: str, *, feature: str, format: str | None = None, path: str = "") -> None:
        super().__init__(message, format=format, path=path)
        self.feature = feature


class ModelError(PromptkitError):
    """Report a call to a chat model that failed.

    Args:
        message: What is wrong, without keys, headers or the prompt.
        retryable: Whether the same call may succeed later.
        partial: What had arrived before a stream broke, or ``None``.
    """

    def __init__(self, message: str, *, retryable: bool = False, partial: ChatResponse | None = None) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.partial = partial


class TransportError(ModelError):
    """Report a connection that could not be made, broke or timed out."""

    def __init__(self, message: str, *, retryable: bool = True, partial: ChatResponse | None = None) -> None:
        super().__init__(message, retryable=retryable, partial=partial)


class ResponseFormatError(ModelError):
    """Report an answer of a model that does not follow its own format."""


class ContextLengthError(ModelError):
    """Report a prompt that does not fit a model's context.

    Args:
        needed: Tokens of the prompt, if known.
        available: Tokens that the model can take, if known.
    """

    def __init__(
        self,
        message: str,
        *,
        needed: int | None = None,
        available: int | None = None,
        partial: ChatResponse | None = None,
    ) -> None:
        super().__init__(message, partial=partial)
        self.needed = needed
        self.available = available


class ModelHTTPError(ModelError):
    """Report a refusal by a model's server.

    Args:
        status: The HTTP status code.
        request_id: The vendor's id of the request, for its support.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        request_id: str | None = None,
        retryable: bool = False,
        partial: ChatResponse | None = None,
    ) -> None:
        super().__init__(message, retryable=retryable, partial=partial)
        self.status = status
        self.request_id = request_id


class AuthenticationError(ModelHTTPError):
    """Report a key that is absent, wrong or not allowed to do this (401, 403)."""


class RateLimitError(ModelHTTPError):
    """Report a rate limit (429).

    Args:
        retry_after: Seconds to wait, where the server says so.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 429,
        request_id: str | None = None,
        retry_after: float | None = None,
        partial: ChatResponse | None = None,
    ) -> None:
        super().__init__(message, status=status, request_id=request_id, retryable=True, partial=partial)
        self.retry_after = retry_after


class ToolError(PromptkitError):
    """Report a tool call that cannot be read or carried out.

    Args:
        tool_name: The tool's name, if it is known.
    """

    def __init__(self, message: str, *, tool_name: str | None = None) -> None:
        super().__init__(message)
        self.tool_name = tool_name


class ToolNotFoundError(ToolError):
    """Report a call to a tool that was not offered."""


class ToolExecutionError(ToolError):
    """Report a tool that raised; the cause is the tool's own error."""


class ToolLimitError(ToolError):
    """Report a turn that calls tools more often than its limit allows.

    Args:
        limit: The limit, in calls of one turn.
        partial: The messages of the round, a result for each call: those over the limit say so.
    """

    def __init__(
        self, message: str, *, limit: int, tool_name: str | None = None, partial: tuple[Any, ...] = ()
    ) -> None:
        super().__init__(message, tool_name=tool_name)
        self.limit = limit
        self.partial = partial


class OutputConversionError(PromptkitError, ValueError):
    """Report an answer that does not convert to the type that was asked for.

    Args:
        text: The model's text, as it came.
        target: The wanted type, spelt for people.
        path: Where in the answer, for example ``$.items[0].price``.
    """

    def __init__(self, message: str, *, text: str, target: str, path: str = "") -> None:
        super().__init__(message)
        self.text = text
        self.target = target
        self.path = path


class HistoryError(PromptkitError, ValueError):
    """Report a history that cannot be cut to its budget and stay valid.

    Args:
        budget: Tokens (or messages) allowed.
        needed: Tokens (or messages) that must stay.
    """

    def __init__(self, message: str, *, budget: int | None = None, needed: int | None = None) -> None:
        super().__init__(message)
        self.budget = budget
        self.needed = needed


class MemoryStoreError(PromptkitError):
    """Report a store that could not keep or give back a conversation.

    Args:
        conversation_id: The conversation, if one is concerned.
    """

    def __init__(self, message: str, *, conversation_id: str | None = None) -> None:
        super().__init__(message)
        self.conversation_id = conversation_id


class MissingDependencyError(PromptkitError, ImportError):
    """Report an optional package that is not installed, with the command that installs it.

    Args:
        package: The missing distribution.
        extra: The extra of promptkit that brings it.
        reason: What needs it.
    """

    def __init__(self, package: str, *, extra: str, reason: str) -> None:
        super().__init__(f"{reason} needs {package!r}. Install it with: pip install 'promptkit[{extra}]'")
        self.package = package
        self.extra = extra
