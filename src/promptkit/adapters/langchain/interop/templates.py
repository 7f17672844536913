"""Write templates of promptkit as templates of langchain-core, or as a runnable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage as CoreMessage
from langchain_core.prompt_values import ChatPromptValue as CoreValue
from langchain_core.prompts import (
    AIMessagePromptTemplate,
    ChatMessagePromptTemplate,
    FewShotChatMessagePromptTemplate,
    HumanMessagePromptTemplate,
    StringPromptTemplate,
    SystemMessagePromptTemplate,
)
from langchain_core.prompts import ChatPromptTemplate as CoreChat
from langchain_core.prompts import MessagesPlaceholder as CorePlaceholder
from langchain_core.prompts import PromptTemplate as CoreText
from langchain_core.prompts.message import BaseMessagePromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda

from promptkit._frozen import shown
from promptkit.adapters.base import Loss, Losses
from promptkit.adapters.langchain.base import BaseMessage
from promptkit.adapters.langchain.core import from_core, is_core, to_core
from promptkit.adapters.langchain.native import from_messages, to_messages
from promptkit.adapters.langchain.parts import VENDOR
from promptkit.errors import AdapterError, UnsupportedContentError
from promptkit.options import NO_OPTIONS
from promptkit.renderers.fstring import FStringRenderer
from promptkit.renderers.jinja import JinjaRenderer
from promptkit.renderers.mustache import MustacheRenderer
from promptkit.renderers.noop import NoOpRenderer
from promptkit.templates.base import Nestable
from promptkit.templates.chat import ChatPromptTemplate, MessagesPlaceholder
from promptkit.templates.few_shot import FewShotExamples
from promptkit.templates.prompt_template import AssistantPromptTemplate, PromptTemplate, SystemPromptTemplate

__all__ = ["ESCAPING", "PromptkitMessages", "PromptkitText", "as_runnable", "to_core_template"]

ESCAPING = re.compile(r"(?<!\{)\{\{(\s*[^\s{&#^/!>=}][^}]*)\}\}")
"""A mustache tag whose value LangChain escapes as HTML, and promptkit does not."""

_BEYOND = re.compile(r"\{\{\s*[>=]")
"""A mustache tag that the two read differently: partials and other delimiters."""


def _native(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Give variables with messages of LangChain's, either kind, as messages of promptkit."""
    return {name: _native_value(value) for name, value in variables.items()}


def _native_value(value: Any) -> Any:
    if not isinstance(value, (list, tuple)) or not value:
        return value
    if all(isinstance(item, BaseMessage) for item in value):
        return from_messages(value).messages
    return from_messages(from_core(value, [])).messages if all(map(is_core, value)) else value


class PromptkitText(StringPromptTemplate):
    """Be a text template of LangChain's that a template of promptkit fills in.

    >>> from promptkit import PromptTemplate
    >>> PromptkitText(template=PromptTemplate("Hi {name}"), input_variables=["name"]).format(name="Ada")
    'Hi Ada'
    """

    template: Any

    def format(self, **kwargs: Any) -> str:
        """Fill in the template."""
        return str(self.template.render(_native(self._merge_partial_and_user_variables(**kwargs))))


class PromptkitMessages(BaseMessagePromptTemplate):
    """Be a part of a chat template of LangChain's that a template of promptkit fills in.

    >>> from promptkit import SystemPromptTemplate
    >>> PromptkitMessages(template=SystemPromptTemplate("Hi {name}")).format_messages(name="Ada")[0].content
    'Hi Ada'
    """

    template: Any

    @property
    def input_variables(self) -> list[str]:
        """The variables that must be given."""
        return list(self.template.variables)

    def format_messages(self, **kwargs: Any) -> list[CoreMessage]:
        """Fill in the template."""
        return to_core(to_messages(self.template.create_messages(_native(kwargs)), losses=[]), [])


def to_core_template(template: Any, losses: Losses) -> Any:
    """Write any template: in LangChain's own classes where its language is one of LangChain's, else as one of ours.

    Raises:
        UnsupportedContentError: LangChain refuses the name of a variable.
    """
    try:
        if isinstance(template, ChatPromptTemplate):
            return _chat(template, losses)
        if _is_text(template):
            text = _text(template)
            names = list(template.variables)
            return PromptkitText(template=template, input_variables=names) if text is None else text
        part = _part(template, losses)
        return part if isinstance(template, (MessagesPlaceholder, FewShotExamples)) else CoreChat([part])
    except ValueError as error:
        if isinstance(error, AdapterError):
            raise
        raise UnsupportedContentError(
            f"LangChain refuses the template: {error}", feature="variables", format=VENDOR
        ) from error


def _is_text(template: Any) -> bool:
    """Tell whether a template is no more than its text: a person's, with no parts, name or metadata."""
    plain = type(template) is PromptTemplate and not isinstance(template.template, tuple)
    return plain and not template.message_metadata and template.message_name is None


def _part(part: Any, losses: Losses) -> Any:
    if isinstance(part, ChatPromptTemplate):
        return _chat(part, losses)
    if isinstance(part, MessagesPlaceholder):
        return CorePlaceholder(variable_name=part.name, optional=part.optional, n_messages=part.last)
    if isinstance(part, FewShotExamples):
        return _few_shot(part, losses) or PromptkitMessages(template=part)
    if hasattr(part, "create_messages"):
        return _message(part) or PromptkitMessages(template=part)
    return to_core(to_messages(part, losses=losses), losses)[0]


def _chat(chat: ChatPromptTemplate, losses: Losses) -> CoreChat:
    if chat.options != NO_OPTIONS:
        losses.append(Loss("options", "options", "a template of LangChain has no options: give them to the model"))
    if any(isinstance(value, Nestable) for value in chat.bound.values()):
        return CoreChat([PromptkitMessages(template=chat)])
    parts: list[Any] = []
    for part in chat.parts:
        whole = to_core(to_messages(part, losses=losses), losses) if not hasattr(part, "create_messages") else None
        parts += [_part(part, losses)] if whole is None else whole
    bound = {name: _core_value(value) for name, value in chat.bound.items()}
    return CoreChat(parts, partial_variables=bound)


def _core_value(value: Any) -> Any:
    messages = isinstance(value, (list, tuple)) and bool(value) and all(hasattr(item, "message_type") for item in value)
    return to_core(to_messages(value, losses=[]), []) if messages else value


_MESSAGES: Mapping[type, Any] = {
    PromptTemplate: HumanMessagePromptTemplate,
    SystemPromptTemplate: SystemMessagePromptTemplate,
    AssistantPromptTemplate: AIMessagePromptTemplate,
}


def _message(template: Any) -> Any:
    """Write a template of one of the three plain classes as a message template; ``None`` where LangChain has none."""
    kind = _MESSAGES.get(type(template))
    text = None if kind is None or template.message_name is not None else _text(template)
    if kind is None or text is None:
        return None
    if not template.message_metadata:
        return kind(prompt=text)
    role = template.message_metadata.get("role")
    is_chat = type(template) is PromptTemplate and isinstance(role, str) and len(template.message_metadata) == 1
    return ChatMessagePromptTemplate(prompt=text, role=role) if is_chat else None


def _text(template: PromptTemplate) -> CoreText | None:
    """Write a text in one of LangChain's languages; ``None`` where it is in none of them."""
    if isinstance(template.template, tuple) or any(isinstance(value, Nestable) for value in template.bound.values()):
        return None
    source = template.template if isinstance(template.template, str) else template.template.text
    renderer = template.renderer
    if renderer == FStringRenderer():
        text, form = source, "f-string"
    elif renderer == NoOpRenderer():
        text, form = source.replace("{", "{{").replace("}", "}}"), "f-string"
    elif isinstance(renderer, JinjaRenderer) and renderer.mutate(print_objects=False) == JinjaRenderer():
        text, form = source + "\n" * source.endswith("\n"), "jinja2"  # LangChain's environment drops one
    elif renderer == MustacheRenderer() and not _BEYOND.search(source):
        text, form = ESCAPING.sub(r"{{{\1}}}", source), "mustache"
    else:
        return None
    names = [name for name in template.variables if name not in template.bound]
    return CoreText(template=text, template_format=form, input_variables=names, partial_variables=dict(template.bound))  # type: ignore[arg-type]


def _few_shot(examples: FewShotExamples, losses: Losses) -> Any:
    plain = examples.selector is None and not examples.prefix and not examples.suffix
    if not plain or examples.template is None or not all(isinstance(item, Mapping) for item in examples.examples):
        return None
    inner = _part(examples.template, losses)
    return FewShotChatMessagePromptTemplate(examples=[dict(item) for item in examples.examples], example_prompt=inner)


def as_runnable(template: Any) -> Runnable[Any, CoreValue]:
    """Make a runnable of any template with ``create``: variables go in, a prompt value comes out.

    Messages of LangChain's among the variables are taken as messages. A value that is no mapping is the variable, when
    there is just one.

    Raises:
        AdapterError: It makes no prompts.

    >>> from promptkit import PromptTemplate
    >>> as_runnable(PromptTemplate("Tell me a joke about {topic}.")).invoke("rain").to_string()
    'Human: Tell me a joke about rain.'
    """
    if not hasattr(template, "create"):
        raise AdapterError(f"{shown(template)} makes no prompts: it has no create", format=VENDOR)

    def fill(variables: Any) -> CoreValue:
        if isinstance(variables, Mapping):
            variables = _native(variables)
        elif len(template.variables) == 1:
            variables = {template.variables[0]: _native_value(variables)}
        prompt = template.create(variables)
        return CoreValue(messages=to_core(to_messages(prompt, losses=[]), []))

    return RunnableLambda(fill, name=type(template).__name__)
