"""Read the front matter of a prompt file: what the prompt is called, needs and asks of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from attrs import Factory, define

from promptkit._frozen import EMPTY, shown
from promptkit.errors import PromptkitError, TemplateError
from promptkit.options import NO_OPTIONS, ChatOptions
from promptkit.prompt_files._yaml import Document, Path
from promptkit.prompt_files.cases import PromptCase
from promptkit.prompt_files.types import message_of
from promptkit.prompt_files.variables import PromptVariable
from promptkit.renderers import by_name
from promptkit.renderers.base import TemplateRenderer, ValidationMode, nearest
from promptkit.templates.few_shot import FewShotExamples

__all__ = ["KEYS", "Header", "read_header"]

KEYS = (
    "name",
    "version",
    "description",
    "renderer",
    "locale",
    "models",
    "variables",
    "options",
    "few_shot",
    "tests",
    "metadata",
)
"""The keys of a front matter."""

_RENDERER_OPTIONS = ("start", "end", "validation", "literal_braces", "auto_indent", "compat", "print_objects")
_OPTIONS = (
    "model",
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "stop_sequences",
    "frequency_penalty",
    "presence_penalty",
    "seed",
    "tool_choice",
    "output_schema",
    "extra",
)

Result = TypeVar("Result")


@define
class Header:
    """Hold what the front matter says, and the mistakes in it.

    Args:
        document: The YAML, with its places.
        file: The file, for errors.
        problems: The mistakes, each with its line.
    """

    document: Document
    file: str
    problems: list[TemplateError] = Factory(list)
    name: str | None = None
    version: str | None = None
    description: str = ""
    renderer: TemplateRenderer = Factory(lambda: by_name("st"))
    locale: str | None = None
    models: tuple[str, ...] = ()
    variables: tuple[PromptVariable, ...] = ()
    options: ChatOptions = NO_OPTIONS
    few_shot: FewShotExamples | None = None
    cases: tuple[PromptCase, ...] = ()
    metadata: Mapping[str, Any] = EMPTY

    @property
    def declares(self) -> bool:
        """Whether it says which variables there are."""
        return isinstance(self.document.value, dict) and self.document.value.get("variables") is not None

    def line(self, *path: str | int) -> int:
        """Give the line of a value, or of what is around it."""
        while path and path not in self.document.lines:
            path = path[:-1]
        return self.document.lines.get(path, 1)

    def attempt(self, path: Path, read: Callable[[], Result], default: Result) -> Result:
        """Read something; note a mistake with its line and go on with the default."""
        try:
            return read()
        except TemplateError as error:
            error.template_name, error.line, error.column = self.file, self.line(*path), None
            self.problems.append(error)
        except PromptkitError as error:
            self.problems.append(TemplateError(str(error), template_name=self.file, line=self.line(*path)))
        return default

    def text(self, key: str) -> str | None:
        """Give a text as it is written: a version ``1.10`` is no number."""
        value = self.document.value.get(key)
        if value is None:
            return None
        scalar = self.document.scalars.get((key,))
        if scalar is None or not scalar.text.strip():
            raise TemplateError(f"{key!r} must be a text, not {shown(value)}")
        return scalar.text


def read_header(document: Document, file: str) -> Header:
    """Read a front matter; mistakes are collected in ``problems``.

    Args:
        document: The YAML.
        file: The file, for errors.
    """
    header = Header(document, file)
    data = document.value
    if data is None:
        return header
    if not isinstance(data, dict):
        message = f"the front matter must be a mapping, not {shown(data)}"
        header.problems.append(TemplateError(message, template_name=file, line=header.line()))
        document = header.document = document._replace(value={})
        return header
    for key in data:
        if key not in KEYS:
            message = (
                f"the front matter has no key {key!r:.80}{nearest(key, KEYS)}; keys of your own go into 'metadata'"
            )
            header.problems.append(TemplateError(message, template_name=file, line=header.line(key)))
    for key in ("name", "version", "locale"):
        setattr(header, key, header.attempt((key,), partial(header.text, key), None))
    header.description = header.attempt(("description",), lambda: header.text("description") or "", "")
    header.renderer = header.attempt(("renderer",), lambda: _renderer(data.get("renderer")), header.renderer)
    header.models = header.attempt(("models",), lambda: _models(data.get("models")), ())
    header.variables = _variables(header, data.get("variables"))
    header.options = header.attempt(("options",), lambda: _options(data.get("options")), NO_OPTIONS)
    header.few_shot = header.attempt(("few_shot",), lambda: _few_shot(data.get("few_shot"), header.renderer), None)
    header.cases = _cases(header, data.get("tests"))
    header.metadata = header.attempt(("metadata",), lambda: _section(data.get("metadata"), "metadata"), EMPTY)
    return header


def _section(value: Any, key: str) -> dict[str, Any]:
    if not isinstance(value, dict | None):
        raise TemplateError(f"{key!r} must be a mapping, not {shown(value)}")
    return value or {}


def _renderer(value: Any) -> TemplateRenderer:
    if not isinstance(value, dict):
        return by_name("st" if value is None else value)
    options = {**value}
    renderer: Any = by_name(options.pop("name", "st"))
    for key in options:
        if key not in _RENDERER_OPTIONS or not hasattr(renderer, key):
            known = [name for name in _RENDERER_OPTIONS if hasattr(renderer, name)]
            raise TemplateError(
                f"this renderer has no option {key!r:.80}{nearest(key, known)}; it has {', '.join(known)}"
            )
    for key in ("literal_braces", "auto_indent", "compat", "print_objects"):
        if not isinstance(options.get(key, False), bool):
            raise TemplateError(f"the renderer's {key!r} must be true or false, not {shown(options[key])}")
    if "validation" in options:
        modes = [mode.value for mode in ValidationMode]
        if options["validation"] not in modes:
            raise TemplateError(f"the renderer's 'validation' must be one of {', '.join(modes)}")
        options["validation"] = ValidationMode(options["validation"])
    made: TemplateRenderer = renderer.mutate(**options)
    return made


def _models(value: Any) -> tuple[str, ...]:
    models = [value] if isinstance(value, str) else value or []
    if not isinstance(models, list) or not all(isinstance(model, str) and model for model in models):
        raise TemplateError(f"'models' must be a list of patterns such as 'openai:gpt-5*', not {shown(value)}")
    return tuple(models)


def _variables(header: Header, value: Any) -> tuple[PromptVariable, ...]:
    section: dict[str, Any] = header.attempt(("variables",), lambda: _section(value, "variables"), dict[str, Any]())
    found = []
    for name, data in section.items():
        read = partial(PromptVariable.from_data, name, data)
        found.append(header.attempt(("variables", name), read, PromptVariable(name)))
    return tuple(found)


def _options(value: Any) -> ChatOptions:
    options = _section(value, "options")
    for key in options:
        if key not in _OPTIONS:
            where = "; tools are given in code" if key == "tools" else "; a vendor's own go into 'extra'"
            raise TemplateError(f"there is no option {key!r:.80}{nearest(key, _OPTIONS)}{where}")
    return ChatOptions(**{key: value for key, value in options.items() if value is not None})


def _few_shot(value: Any, renderer: TemplateRenderer) -> FewShotExamples | None:
    if value is None:
        return None
    section = _section(value, "few_shot")
    for key in section:
        if key not in ("examples", "template"):
            raise TemplateError(f"'few_shot' has 'examples' and 'template', not {key!r:.80}")
    examples, template = section.get("examples"), section.get("template")
    if not isinstance(examples, list) or not all(isinstance(example, dict) for example in examples):
        raise TemplateError(f"'few_shot' needs 'examples', a list of mappings, not {shown(examples)}")
    if template is None:
        messages = [
            [message_of({role: text}, f"few_shot.examples[{at}]") for role, text in example.items()]
            for at, example in enumerate(examples)
        ]
        return FewShotExamples(messages)
    if not isinstance(template, dict) or not all(isinstance(text, str) for text in template.values()):
        raise TemplateError(f"the template of 'few_shot' must be a mapping from roles to texts, not {shown(template)}")
    return FewShotExamples(examples, [*template.items()], renderer=renderer)


def _cases(header: Header, value: Any) -> tuple[PromptCase, ...]:
    if not isinstance(value, list | None):
        message = f"'tests' must be a list of mappings, not {shown(value)}"
        header.problems.append(TemplateError(message, template_name=header.file, line=header.line("tests")))
        return ()
    found = []
    for index, data in enumerate(value or []):
        case = header.attempt(("tests", index), partial(PromptCase.from_data, data, index + 1), None)
        if case is not None:
            found.append(case)
    return tuple(found)
