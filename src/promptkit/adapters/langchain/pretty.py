"""Show chat templates as LangChain shows its own: every part under a title."""

from __future__ import annotations

from typing import Any

from promptkit._frozen import shown
from promptkit.adapters.langchain.base import title_line
from promptkit.adapters.langchain.native import to_messages
from promptkit.errors import AdapterError
from promptkit.messages import MessageType
from promptkit.templates.chat import ChatPromptTemplate, MessagesPlaceholder
from promptkit.templates.prompt_template import PromptTemplate
from promptkit.templates.resource import TextResource
from promptkit.templates.typed import TypedPromptTemplate

__all__ = ["pretty_repr"]

_TITLES = {MessageType.SYSTEM: "System Message", MessageType.USER: "Human Message", MessageType.ASSISTANT: "AI Message"}


def pretty_repr(template: ChatPromptTemplate) -> str:
    """Show a chat template, every part under a title of 80 columns: templates unfilled, messages as they are.

    Raises:
        AdapterError: It is no chat template; a message has a `pretty_repr` of its own.

    >>> from promptkit import MessagesPlaceholder
    >>> print(pretty_repr(ChatPromptTemplate([("system", "Be {manner}."), MessagesPlaceholder("history")])))
    ================================ System Message ================================
    <BLANKLINE>
    Be {manner}.
    <BLANKLINE>
    ============================= Messages Placeholder =============================
    <BLANKLINE>
    {history}
    """
    if not isinstance(template, ChatPromptTemplate):
        raise AdapterError(f"pretty_repr shows a ChatPromptTemplate, not {shown(template)}", format="langchain")
    return "\n\n".join([_part(part) for part in template.parts])


def _part(part: Any) -> str:
    if isinstance(part, ChatPromptTemplate):
        return pretty_repr(part)
    if isinstance(part, MessagesPlaceholder):
        return f"{title_line('Messages Placeholder')}\n\n{{{part.name}}}"
    if isinstance(part, (PromptTemplate, TypedPromptTemplate)):
        role = part.message_metadata.get("role") if isinstance(part, PromptTemplate) else None
        title = f"{role} Message" if isinstance(role, str) else _TITLES[part.message_type]
        return f"{title_line(title)}\n\n{_source(part.template)}"
    if hasattr(part, "create_messages"):
        return f"{title_line(type(part).__name__)}\n\n{part!r}"
    return "\n\n".join([message.pretty_repr() for message in to_messages(part, losses=[])])


def _source(template: Any) -> str:
    if isinstance(template, TextResource):
        return template.text
    return template if isinstance(template, str) else "\n".join([_piece(piece) for piece in template])


def _piece(piece: Any) -> str:
    return piece if isinstance(piece, str) else repr(piece)
