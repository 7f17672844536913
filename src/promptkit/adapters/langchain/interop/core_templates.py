"""Read templates of langchain-core as templates of promptkit, in the same language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen
from langchain_core.messages import BaseMessage as CoreMessage
from langchain_core.prompts import (
    AIMessagePromptTemplate,
    ChatMessagePromptTemplate,
    FewShotChatMessagePromptTemplate,
    FewShotPromptTemplate,
    FewShotPromptWithTemplates,
    HumanMessagePromptTemplate,
    SystemMessagePromptTemplate,
)
from langchain_core.prompts import ChatPromptTemplate as CoreChat
from langchain_core.prompts import MessagesPlaceholder as CorePlaceholder
from langchain_core.prompts import PromptTemplate as CoreText
from langchain_core.prompts.dict import DictPromptTemplate
from langchain_core.prompts.image import ImagePromptTemplate
from langchain_core.prompts.structured import StructuredPrompt

from promptkit.adapters.base import Loss, Losses
from promptkit.adapters.langchain.core import from_core
from promptkit.adapters.langchain.interop.templates import ESCAPING, PromptkitMessages, PromptkitText
from promptkit.adapters.langchain.native import from_messages
from promptkit.adapters.langchain.notes import Notes, pack
from promptkit.adapters.langchain.parts import VENDOR
from promptkit.content import Media
from promptkit.errors import PromptError, TemplateError, UnsupportedContentError
from promptkit.messages import Message
from promptkit.options import NO_OPTIONS, ChatOptions
from promptkit.renderers.base import TemplateRenderer
from promptkit.renderers.fstring import FStringRenderer
from promptkit.renderers.jinja import JinjaRenderer
from promptkit.renderers.mustache import MustacheRenderer
from promptkit.templates.chat import ChatPromptTemplate, MessagesPlaceholder
from promptkit.templates.few_shot import Example, FewShotExamples
from promptkit.templates.parts import MediaTemplate
from promptkit.templates.prompt_template import AssistantPromptTemplate, PromptTemplate, SystemPromptTemplate

__all__ = ["from_core_template"]

_RENDERERS: Mapping[str, Callable[[], TemplateRenderer]] = {
    "f-string": FStringRenderer,
    "jinja2": lambda: JinjaRenderer(print_objects=True),
    "mustache": MustacheRenderer,
}

_KINDS: Mapping[type, type[PromptTemplate]] = {
    HumanMessagePromptTemplate: PromptTemplate,
    ChatMessagePromptTemplate: PromptTemplate,
    AIMessagePromptTemplate: AssistantPromptTemplate,
    SystemMessagePromptTemplate: SystemPromptTemplate,
}


@frozen
class _Called:
    """Print what a function gives, anew each time: LangChain's partial variables may be functions."""

    function: Callable[[], Any]

    def __str__(self) -> str:
        return str(self.function())

    def __format__(self, spec: str) -> str:
        return format(self.function(), spec)


@frozen
class _Selector:
    """Let a selector of LangChain's pick among the examples that it knows."""

    core: Any

    def select(self, examples: Sequence[Example], model: Mapping[str, Any]) -> Iterable[Example]:
        for picked in self.core.select_examples(dict(model)):
            found = next((example for example in examples if example.given == picked), None)
            if found is None:
                raise TemplateError("the selector picked an example that is not among its own: add it to its examples")
            yield found


def from_core_template(template: Any, losses: Losses) -> Any:
    """Read any template of langchain-core's.

    Raises:
        UnsupportedContentError: It is of a class that has no counterpart.
    """
    if isinstance(template, (PromptkitText, PromptkitMessages)):
        return template.template
    for kind, read in _READERS.items():
        if isinstance(template, kind):
            return read(template, losses)
    what = type(template).__name__
    raise UnsupportedContentError(f"promptkit has no counterpart of {what}", feature=what, format=VENDOR)


def _source(template: Any, losses: Losses) -> tuple[str, TemplateRenderer]:
    """Give a text in promptkit's form of its language."""
    text, form = template.template, template.template_format
    if form == "mustache" and ESCAPING.search(text):
        losses.append(
            Loss("template", "spelling", "{{name}} does not escape HTML: it prints what LangChain's {{{name}}} does")
        )
    if form == "jinja2":
        text = text.removesuffix("\n")  # LangChain's environment drops it
    return text, _RENDERERS[form]()


def _bound(variables: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _Called(value) if callable(value) else value for name, value in variables.items()}


def _text(template: CoreText, losses: Losses) -> PromptTemplate:
    _note_parser(template, losses)
    text, renderer = _source(template, losses)
    return PromptTemplate(text, renderer=renderer, bound=_bound(template.partial_variables))


def _note_parser(template: Any, losses: Losses) -> None:
    if template.output_parser is not None:
        losses.append(Loss("output_parser", "class", "a template of promptkit has no parser: put it into the chain"))


def _few_shot(template: FewShotPromptTemplate, losses: Losses) -> PromptTemplate:
    _note_parser(template, losses)
    return _around_examples(template, template.prefix, template.suffix, template.template_format, losses)


def _few_shot_with_templates(template: FewShotPromptWithTemplates, losses: Losses) -> PromptTemplate:
    _note_parser(template, losses)
    ends = [template.prefix, template.suffix]
    if not all(end is None or isinstance(end, CoreText) for end in ends):
        raise UnsupportedContentError("prefix and suffix must be plain templates", feature="few-shot", format=VENDOR)
    prefix, suffix = ("" if end is None else end.template for end in ends)  # type: ignore[attr-defined]
    return _around_examples(template, prefix, suffix, template.template_format, losses)


def _around_examples(template: Any, prefix: str, suffix: str, form: str, losses: Losses) -> PromptTemplate:
    examples, selector = _examples(template)
    shown = FewShotExamples(
        examples,
        _text(template.example_prompt, losses),
        selector=selector,
        renderer=_RENDERERS[form](),
        prefix=prefix,
        suffix=suffix,
        separator=template.example_separator,
    )
    slot = "examples"
    while slot in shown.variables:
        slot += "_"
    bound = {**_bound(template.partial_variables), slot: shown}
    return PromptTemplate(f"{{{slot}}}", renderer=FStringRenderer(), bound=bound)


def _examples(template: Any) -> tuple[list[Any], _Selector | None]:
    selector = template.example_selector
    if selector is None:
        return list(template.examples), None
    examples = getattr(selector, "examples", None)
    if not isinstance(examples, list):
        what = type(selector).__name__
        raise UnsupportedContentError(
            f"the examples of a {what} are not known", feature="example_selector", format=VENDOR
        )
    return examples, _Selector(selector)


def _few_shot_chat(template: FewShotChatMessagePromptTemplate, losses: Losses) -> FewShotExamples:
    examples, selector = _examples(template)
    inner = from_core_template(template.example_prompt, losses)
    return FewShotExamples(examples, inner, selector=selector)


def _placeholder(template: CorePlaceholder, _: Losses) -> MessagesPlaceholder:
    return MessagesPlaceholder(template.variable_name, optional=template.optional, last=template.n_messages)


def _message(template: Any, losses: Losses) -> PromptTemplate:
    kind = next(made for core, made in _KINDS.items() if isinstance(template, core))
    notes = Notes(additional_kwargs=template.additional_kwargs, role=getattr(template, "role", None))
    metadata = pack(notes, frozenset(("role",)) if kind is PromptTemplate else frozenset())
    prompt = template.prompt
    if isinstance(prompt, list):
        bound: dict[str, Any] = {}
        for part in prompt:
            bound |= _bound(getattr(part, "partial_variables", {}))
        forms = {part.template_format for part in prompt}
        if len(forms) != 1:
            raise UnsupportedContentError(
                "the parts of a message are in one language", feature="formats", format=VENDOR
            )
        parts = [_part(part, losses) for part in prompt]
        return kind(parts, renderer=_RENDERERS[forms.pop()](), bound=bound, message_metadata=metadata)
    text = from_core_template(prompt, losses)
    return kind(text.template, renderer=text.renderer, bound=text.bound, message_metadata=metadata)


def _part(part: Any, losses: Losses) -> Any:
    if isinstance(part, CoreText):
        return _source(part, losses)[0]
    if isinstance(part, ImagePromptTemplate):
        url = part.template.get("url")
        if part.template.keys() == {"url"} and _is_image(url):
            return MediaTemplate(url=url)
        return {"type": "image_url", "image_url": part.template}
    if isinstance(part, DictPromptTemplate):
        return part.template
    what = type(part).__name__
    raise UnsupportedContentError(f"promptkit has no counterpart of {what}", feature=what, format=VENDOR)


def _is_image(url: Any) -> bool:
    """Tell whether the URL of a template says by itself that it is an image's."""
    try:
        return Media(url=url).kind == "image"
    except PromptError:
        return False


def _chat(template: CoreChat, losses: Losses) -> ChatPromptTemplate:
    _note_parser(template, losses)
    parts: list[Any] = []
    for item in template.messages:
        parts += _literal([item], losses) if isinstance(item, CoreMessage) else [_chat_part(item, losses)]
    slots = {part.name for part in parts if isinstance(part, MessagesPlaceholder)}
    bound: dict[str, Any] = {}
    for name, value in _bound(template.partial_variables).items():
        if name not in slots:
            bound[name] = value
        elif value:  # LangChain binds an optional slot to no messages
            bound[name] = tuple(_literal(value, losses))
    options = (
        ChatOptions(output_schema=_schema(template.schema_)) if isinstance(template, StructuredPrompt) else NO_OPTIONS
    )
    return ChatPromptTemplate(parts, options=options, bound=bound)


def _literal(messages: Iterable[Any], losses: Losses) -> Iterable[Message]:
    return from_messages(from_core(messages, losses)).messages


def _chat_part(item: Any, losses: Losses) -> Any:
    part = from_core_template(item, losses) if not _is_blank(item) else None
    if part is not None:
        return part
    kind = next(made for core, made in _KINDS.items() if isinstance(item, core))
    return kind("x", renderer="noop").create_message().with_text(item.prompt.template)  # type: ignore[attr-defined]


def _is_blank(item: Any) -> bool:
    """Tell whether a message template says nothing, which promptkit takes as a finished message only."""
    text = getattr(getattr(item, "prompt", None), "template", None)
    return isinstance(item, tuple(_KINDS)) and isinstance(text, str) and not text.strip()


def _schema(schema: Any) -> Mapping[str, Any]:
    return schema if isinstance(schema, Mapping) else schema.model_json_schema()


_READERS: Mapping[type, Callable[[Any, Losses], Any]] = {
    CoreText: _text,
    FewShotPromptWithTemplates: _few_shot_with_templates,
    FewShotPromptTemplate: _few_shot,
    FewShotChatMessagePromptTemplate: _few_shot_chat,
    CoreChat: _chat,
    CorePlaceholder: _placeholder,
    **dict.fromkeys(_KINDS, _message),
}
