"""Declare templates as classes whose fields are their variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MemberDescriptorType
from typing import Any, ClassVar, Self

import attrs

from promptkit._frozen import Value
from promptkit.errors import TemplateError
from promptkit.renderers import by_name
from promptkit.renderers.base import CompiledTemplate, fault, nearest
from promptkit.templates.actions import Variables
from promptkit.templates.base import MESSAGE_CLASSES, BasePromptTemplate, variables_of
from promptkit.templates.prompt_template import compile_source

__all__ = ["TypedPromptTemplate"]


class TypedPromptTemplate(BasePromptTemplate, Value):
    """Be the base of templates whose variables are attrs fields, so that type checkers check every use.

    A subclass is decorated with ``attrs.frozen`` and states its text as a class variable. The two are held against
    each other when the class is made: every placeholder has a field, every field a placeholder. A property of the
    class may stand behind a placeholder as well (a computed variable); fields are then free to serve it. A subclass
    without ``template`` is abstract and unchecked. An instance is a value.

    Class variables:
        template: The text, or a `TextResource` beside the module.
        renderer: The template language, or its short name.
        message_type: The role of the message.

    Raises:
        TemplateError: From the class statement, with line and column where the text is to blame.

    >>> @attrs.frozen
    ... class Greeting(TypedPromptTemplate):
    ...     template: ClassVar[str] = "Greet {name} in {language}."
    ...     name: str
    ...     language: str = "English"
    >>> Greeting("Ada").create().text
    'Greet Ada in English.'
    """

    __slots__ = ()

    # Any, since checkers compare class variables invariantly: a subclass says ClassVar[str] or ClassVar[TextResource].
    template: ClassVar[Any]
    renderer: ClassVar[Any] = "st"
    _class_template: ClassVar[CompiledTemplate]
    _names: ClassVar[tuple[str, ...]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:  # noqa: ARG004
        """Refuse a class that attrs has not built: it would lack its own fields."""
        if "__attrs_attrs__" not in cls.__dict__:
            raise TemplateError(f"{cls.__qualname__} is not decorated: write @attrs.frozen above the class")
        if "_class_template" not in cls.__dict__:
            raise TemplateError(f"{cls.__qualname__} is abstract: it states no template")
        return super().__new__(cls)

    @classmethod
    def __attrs_init_subclass__(cls) -> None:
        """Compile the template of a new subclass and hold it against the fields."""
        fields = [attribute.name for attribute in attrs.fields(cls)]  # type: ignore[arg-type]
        hidden = [name for name in fields if _is_taken(cls, name)]
        if hidden:
            raise TemplateError(
                f"the field {hidden[0]!r} of {cls.__qualname__} hides a name that the class inherits; call it "
                "otherwise, or annotate it with ClassVar"
            )
        if cls.__hash__ is None:
            raise TemplateError(f"{cls.__qualname__} can be changed, and templates are values: write @attrs.frozen")
        if getattr(cls, "template", None) is None:
            return
        if cls.message_type not in tuple(MESSAGE_CLASSES):
            raise TemplateError(f"{cls.__qualname__}.message_type must be one of {', '.join(MESSAGE_CLASSES)}")
        renderer = by_name(cls.renderer)
        compiled = compile_source(cls.template, renderer, cls.__qualname__)
        names = (*compiled.variables, *compiled.optional_variables)
        computed = _computed_names(cls, fields)
        for name in names:
            if name not in fields and name not in computed:
                raise _unmatched(cls, name, fields)
        unused = [name for name in fields if name not in names]
        if unused and not computed:
            message = f"the field {unused[0]!r} has no placeholder in the template of {cls.__qualname__}"
            raise TemplateError(message, template_name=cls.__qualname__)
        cls._class_template = compiled
        cls._names = names

    @property
    def _compiled(self) -> CompiledTemplate:
        return self._class_template

    @property
    def _given(self) -> Mapping[str, Any]:
        return {name: getattr(self, name) for name in self._names}

    @property
    def _label(self) -> str | None:
        return type(self).__qualname__

    def partial(self, model: Variables) -> Self:
        """Give some fields new values, by name; see `mutate`."""
        return self.mutate(**variables_of(model))


def _is_taken(cls: type, name: str) -> bool:
    """Tell whether a field would hide a name of `TypedPromptTemplate`, or a method of a class in between."""
    own = hasattr(TypedPromptTemplate, name) or name == "template"
    return own or any(callable(vars(base).get(name)) for base in cls.__mro__[1:])


def _computed_names(cls: type, fields: list[str]) -> set[str]:
    """Find the properties that a class and its bases below `TypedPromptTemplate` declare."""
    owners = [
        owner for owner in cls.__mro__ if issubclass(owner, TypedPromptTemplate) and owner is not TypedPromptTemplate
    ]
    return {
        name
        for owner in owners
        for name, value in vars(owner).items()
        # attrs keeps a cached property of a slotted class in a slot of its name
        if isinstance(value, property | MemberDescriptorType) and name not in fields and not name.startswith("_")
    }


def _unmatched(cls: type[TypedPromptTemplate], name: str, fields: list[str]) -> TemplateError:
    message = f"{cls.__qualname__} has no field for the placeholder {name!r}{nearest(name, fields)}"
    source = str(cls.template)
    # The first mention behind something that opens a placeholder or a tag in any of the languages, else the first one.
    found = re.search(rf"[{{<$%#&!|][^\n]*?\b{re.escape(name)}\b", source) or re.search(re.escape(name), source)
    offset = found.end() - len(name) if found else 0
    return fault(TemplateError, message, source, offset, template_name=cls.__qualname__)
