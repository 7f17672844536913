"""Read the prompt files of LangChain: YAML and JSON with ``_type: prompt`` or ``_type: chat``."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from attrs import field, frozen

from promptkit._frozen import Value, shown
from promptkit.adapters.base import Loss, Losses
from promptkit.errors import TemplateError, TemplateSyntaxError, UnsupportedContentError
from promptkit.prompt_files._reading import Folder, read_text
from promptkit.prompt_files._yaml import MAX_CHARS, MAX_DEPTH, Document, read_yaml
from promptkit.prompt_files.loading import name_of
from promptkit.templates.chat import ChatPromptTemplate, MessagesPlaceholder
from promptkit.templates.prompt_template import AssistantPromptTemplate, PromptTemplate, SystemPromptTemplate

__all__ = ["LangChainPrompt", "load_langchain_prompt"]

_RENDERERS = {"f-string": "fstring", "jinja2": "jinja", "mustache": "mustache"}

_ROLES: Mapping[str, type[PromptTemplate]] = {
    "ai": AssistantPromptTemplate,
    "assistant": AssistantPromptTemplate,
    "human": PromptTemplate,
    "user": PromptTemplate,
    "system": SystemPromptTemplate,
}
_SLOTS = ("placeholder", "messagesplaceholder", "messages_placeholder")
_SILENT = ("_type", "name", "template", "template_format", "template_path", "input_variables", "partial_variables")
_YAML_11 = frozenset(("yes", "no", "on", "off"))
"""Words that are true or false to PyYAML, which LangChain reads with, and text in YAML 1.2."""


@frozen(repr=False)
class LangChainPrompt(Value):
    """Hold a template that was read from a file of LangChain's, and what differs.

    Args:
        template: The template.
        differences: What is left out, or works in another way than there, each with its place in the file.

    >>> LangChainPrompt(PromptTemplate("Hi {name}", renderer="fstring")).differences
    ()
    """

    template: PromptTemplate | ChatPromptTemplate
    differences: tuple[Loss, ...] = field(default=())


def load_langchain_prompt(path: str | PathLike[str], *, root: str | PathLike[str] | None = None) -> LangChainPrompt:
    """Read a prompt file of LangChain's.

    Args:
        path: The file; its name ends with ``.yaml``, ``.yml`` or ``.json``.
        root: The folder that its ``template_path`` is read from; that of the file without it.

    Raises:
        TemplateError: It is broken, refused, or holds no prompt.
        UnsupportedContentError: It holds a kind of prompt that is not read.
    """
    file = Path(path)
    text = read_text(file, str(file))
    document = _json(text, str(file)) if file.suffix == ".json" else read_yaml(text, str(file))
    data = document.value
    if not isinstance(data, dict):
        raise TemplateError(f"a prompt of LangChain's is a mapping, not {shown(data)}", template_name=str(file))
    losses: Losses = []
    for place, scalar in document.scalars.items():
        if scalar.plain and scalar.text.lower() in _YAML_11:
            _lose(losses, place, "yaml", f"{scalar.text!r} is text in YAML 1.2; LangChain reads true or false")
    folder = Folder(file.parent if root is None else Path(root))
    kind = data.get("_type", "prompt")
    try:
        if kind == "chat":
            return LangChainPrompt(_chat(data, name_of(file.name), folder, losses), tuple(losses))
        if kind == "prompt":
            return LangChainPrompt(_prompt(data, PromptTemplate, (), name_of(file.name), folder, losses), tuple(losses))
    except TemplateError as error:
        raise error.named(str(file)) from None
    raise UnsupportedContentError(
        f"files of the kind {shown(kind)} are not read, only 'prompt' and 'chat'",
        feature=f"_type {kind!s:.40}",
        format="langchain",
        path="_type",
    )


def _json(text: str, file: str) -> Document:
    import json

    if len(text) > MAX_CHARS:
        raise TemplateError(f"the JSON has over {MAX_CHARS:,} characters", template_name=file)
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        line, column = error.lineno, error.colno
        raise TemplateSyntaxError(
            f"this is no JSON: {error.msg}", template_name=file, line=line, column=column
        ) from None
    except (ValueError, RecursionError) as error:
        raise TemplateSyntaxError(f"this is no JSON: {error!s:.200}", template_name=file) from None
    if _depth(value) > MAX_DEPTH:
        raise TemplateError(f"the JSON nests deeper than {MAX_DEPTH} levels", template_name=file)
    return Document(value, {}, {})


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def _depth(value: Any) -> int:
    levels, current = 0, [value]
    while current and levels <= MAX_DEPTH:
        inner = [
            list(item.values()) if isinstance(item, dict) else item for item in current if isinstance(item, dict | list)
        ]
        current = [item for items in inner for item in items]
        levels += 1
    return levels


def _lose(losses: Losses, place: tuple[str | int, ...], what: str, why: str) -> None:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")
    losses.append(Loss(path, what, why))


def _prompt(
    data: Mapping[str, Any],
    kind: type[PromptTemplate],
    place: tuple[str | int, ...],
    name: str,
    folder: Folder,
    losses: Losses,
) -> PromptTemplate:
    """Read one text template."""
    text = _template_text(data, folder)
    language = data.get("template_format", "f-string")
    if language not in _RENDERERS:
        raise TemplateError(f"there is no template_format {shown(language)}; it is one of {', '.join(_RENDERERS)}")
    if language == "jinja2":
        _lose(
            losses, (*place, "template_format"), "jinja2", "LangChain reads no file in Jinja; here it runs in a sandbox"
        )
    bound = data.get("partial_variables") or {}
    if not isinstance(bound, Mapping):
        raise TemplateError(f"partial_variables must be a mapping, not {shown(bound)}")
    template = kind(text, renderer=_RENDERERS[language], bound=bound, template_name=name)
    _compare_names(data, template, place, losses)
    _unread(data, (*_SILENT, "role", "type"), place, losses)
    return template


def _template_text(data: Mapping[str, Any], folder: Folder) -> str:
    text, path = data.get("template"), data.get("template_path")
    if (text is None) is (path is None):
        raise TemplateError("a prompt has either 'template' or 'template_path'")
    if path is None:
        if not isinstance(text, str):
            raise TemplateError(f"the template must be text, not {shown(text)}")
        return text
    if not isinstance(path, str) or not path.endswith(".txt"):
        raise TemplateError(f"template_path must name a file that ends with .txt, not {shown(path)}")
    return read_text(folder.find(path), path)


def _compare_names(data: Mapping[str, Any], template: Any, place: tuple[str | int, ...], losses: Losses) -> None:
    stated = data.get("input_variables")
    if stated is None:
        return
    if not isinstance(stated, list) or not all(isinstance(name, str) for name in stated):
        raise TemplateError(f"input_variables must be a list of names, not {shown(stated)}")
    if set(stated) != set(template.variables):
        why = f"the template needs {', '.join(template.variables) or 'nothing'}, not {', '.join(stated) or 'nothing'}"
        _lose(losses, (*place, "input_variables"), "input_variables", why)


def _unread(data: Mapping[str, Any], known: tuple[str, ...], place: tuple[str | int, ...], losses: Losses) -> None:
    for key, value in data.items():
        if key not in known and value not in (None, False, [], {}, ""):
            _lose(losses, (*place, key), key, f"{key!r} is not read")


def _chat(data: Mapping[str, Any], name: str, folder: Folder, losses: Losses) -> ChatPromptTemplate:
    messages = data.get("messages")
    if not isinstance(messages, list) or not messages:
        raise TemplateError(f"a chat needs 'messages', a list, not {shown(messages)}")
    parts = [_message(message, index, name, folder, losses) for index, message in enumerate(messages)]
    if len(messages) > 1:
        _lose(losses, ("messages",), "messages", "LangChain's own reader takes the first message only, as the user's")
    bound = data.get("partial_variables") or {}
    if not isinstance(bound, Mapping):
        raise TemplateError(f"partial_variables must be a mapping, not {shown(bound)}")
    slots = {part.name for part in parts if isinstance(part, MessagesPlaceholder)}
    kept = {key: value for key, value in bound.items() if not (key in slots and value == [])}
    chat = ChatPromptTemplate(parts, bound=kept, template_name=name)
    _compare_names(data, chat, (), losses)
    _unread(data, (*_SILENT, "messages", "optional_variables", "input_types"), (), losses)
    return chat


def _message(message: Any, index: int, name: str, folder: Folder, losses: Losses) -> Any:
    place = ("messages", index)
    if isinstance(message, list) and len(message) == 2 and all(isinstance(part, str) for part in message):
        message = {"role": message[0], "prompt": {"template": message[1]}}
    if not isinstance(message, Mapping):
        raise TemplateError(f"messages[{index}] must be a mapping, not {shown(message)}")
    role = next((message[key] for key in ("role", "_type", "type") if message.get(key)), None)
    word = (
        str(role).lower().removesuffix("messageprompttemplate").removesuffix("_message_prompt").removesuffix("message")
    )
    if word in _SLOTS or (role is None and "variable_name" in message):
        slot = message.get("variable_name", message.get("prompt", {}))
        slot = slot.get("template", "").strip("{}") if isinstance(slot, Mapping) else slot
        _unread(message, ("role", "_type", "type", "variable_name", "optional", "n_messages", "prompt"), place, losses)
        last = message.get("n_messages")
        return MessagesPlaceholder(slot, optional=bool(message.get("optional")), last=last)
    inner = message.get("prompt", message.get("content"))
    inner = {"template": inner} if isinstance(inner, str) else inner
    if not isinstance(inner, Mapping):
        raise TemplateError(
            f"messages[{index}] has no text template in 'prompt'; newer releases of LangChain leave it out"
        )
    if role is None:
        _lose(
            losses, (*place, "role"), "role", "the file does not say whose message this is; it is taken as the user's"
        )
        word = "user"
    if word not in _ROLES:
        raise TemplateError(f"messages[{index}] has the unknown role {shown(role)}; roles are {', '.join(_ROLES)}")
    _unread(message, ("role", "_type", "type", "prompt", "content"), place, losses)
    return _prompt(inner, _ROLES[word], (*place, "prompt"), name, folder, losses)
