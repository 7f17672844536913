"""Make tools of functions: name, description and schema come from the signature, its annotations and the docstring."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Generic, ParamSpec, TypeVar, overload

from attrs import field, frozen

from promptkit import _json
from promptkit._frozen import EMPTY, Value, shown
from promptkit._schema import NoSchemaError, TypeReader, ValueMismatchError, object_schema, to_json, type_reader
from promptkit.content import Content, Part, freeze_content
from promptkit.errors import ToolError, ToolExecutionError
from promptkit.messages import Message, ToolCall
from promptkit.options import ToolDefinition

__all__ = ["Tool", "ToolContext", "ToolResult", "tool"]

P = ParamSpec("P")
R = TypeVar("R")


@frozen(repr=False)
class ToolContext(Value):
    """Give a tool what no model may choose: a parameter of this type is filled in and hidden from the schema.

    Args:
        values: What the application passes along (the user's id, a connection).
        call: The call that is being carried out.
        history: The messages before it.

    >>> ToolContext({"user": 7}).values["user"]
    7
    """

    values: Mapping[str, Any] = field(default=EMPTY, hash=False)
    call: ToolCall | None = field(default=None, kw_only=True)
    history: tuple[Message, ...] = field(default=(), kw_only=True)


@frozen(repr=False)
class ToolResult(Value):
    """Return from a tool what the model reads, and beside it what only the application sees.

    Args:
        content: What the model reads: text, parts, or any value that has a JSON form.
        artifact: JSON values or bytes for the application; they never go to the model.

    >>> ToolResult("3 rows", artifact={"rows": [1, 2, 3]}).content
    '3 rows'
    """

    content: Any
    artifact: Any = field(default=None, kw_only=True, hash=False)


@frozen(eq=False, repr=False)
class Tool(Generic[P, R]):
    """Be a function that a model may call; it can still be called as a function.

    Make it with `tool`. A method becomes a tool of its instance: ``desk.refund``.

    Args:
        function: The function or bound method.
        definition: What the model is told.
        return_direct: Whether the result is the answer, without asking the model again.
        timeout: Seconds that a call may take.

    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> add(1, 2), add.definition.name, add.definition.input_schema["required"]
    (3, 'add', ['a', 'b'])
    """

    function: Callable[P, R]
    definition: ToolDefinition
    return_direct: bool = field(default=False, kw_only=True)
    timeout: float | None = field(default=None, kw_only=True)
    readers: Mapping[str, TypeReader] = field(kw_only=True)
    required: tuple[str, ...] = field(kw_only=True)
    context_name: str | None = field(default=None, kw_only=True)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, as if it were no tool."""
        return self.function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Tool[..., R]:
        if instance is None:
            return self
        bound = self.function.__get__(instance, owner)
        return _with_function(self, bound)

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    @property
    def name(self) -> str:
        """The name that the model calls."""
        return self.definition.name

    @property
    def is_async(self) -> bool:
        """Whether calling the function gives something to await."""
        return inspect.iscoroutinefunction(self.function)

    def arguments(self, call: ToolCall) -> dict[str, Any]:
        """Read and check the arguments of a call.

        Raises:
            ToolError: They are no JSON object, unknown, missing or of the wrong type; the sentence tells a model what
                to do, and names every wrong one.
        """
        given = call.parsed_arguments
        problems = [f"there is no argument {name!r}" for name in given if name not in self.readers]
        problems += [f"the argument {name!r} is missing" for name in self.required if name not in given]
        read: dict[str, Any] = {}
        for name, value in given.items():
            if (reader := self.readers.get(name)) is not None:
                try:
                    read[name] = reader.read(value)
                except ValueMismatchError as error:
                    place = "" if error.path == "$" else f" at {name}{error.path[1:]}"
                    problems.append(f"the argument {name!r} is wrong: {error}{place}")
        if problems:
            expected = ", ".join(self.readers) or "none"
            raise ToolError(
                f"The tool {self.name!r} was not run: {'; '.join(problems)}. Its arguments are: {expected}.",
                tool_name=self.name,
            )
        return read

    def result(self, value: Any) -> tuple[Content, Any]:
        """Turn what the function returned into content for the model and an artifact for the application.

        Text goes as it is, ``None`` as empty text, parts and media as parts, everything else as JSON.

        Raises:
            ToolExecutionError: It has no JSON form.
        """
        artifact = None
        if isinstance(value, ToolResult):
            value, artifact = value.content, value.artifact
        if value is None:
            return "", artifact
        if isinstance(value, str | Part) or _are_parts(value):
            return freeze_content(value), artifact
        try:
            return to_json(value), artifact
        except Exception as error:  # a property of the value may raise anything
            message = f"The tool {self.name!r} returned what has no JSON form: {error}"
            raise ToolExecutionError(message, tool_name=self.name) from error


def _are_parts(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and any(isinstance(item, Part) for item in value)
        and all(isinstance(item, str | Part) for item in value)
    )


def _with_function(made: Tool[Any, R], function: Callable[..., R]) -> Tool[..., R]:
    return Tool(
        function,
        made.definition,
        return_direct=made.return_direct,
        timeout=made.timeout,
        readers=made.readers,
        required=made.required,
        context_name=made.context_name,
    )


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    return_direct: bool = False,
    timeout: float | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    return_direct: bool = False,
    timeout: float | None = None,
) -> Any:
    """Make a tool of a function or method, sync or async.

    Its name is the function's, its description the docstring without the ``Args`` section, whose lines describe the
    parameters, as a text in ``Annotated`` does. Every parameter needs an annotation that has a JSON Schema; one
    annotated `ToolContext` is filled in and hidden.

    Args:
        name: Another name.
        description: Another description.
        return_direct: Whether the result is the answer, without asking the model again.
        timeout: Seconds that a call may take. A sync function that is late goes on in its thread, unheard.

    Raises:
        ToolError: The signature has no schema; the parameter is named. Or there is no function, or no name for it.

    >>> @tool(name="clock")
    ... def now(zone: str = "UTC") -> str:
    ...     "Tell the time."
    ...     return f"12:00 {zone}"
    >>> now.definition
    ToolDefinition('clock', 'Tell the time.', input_schema={'type': 'object', 'properties': {'zone': {'type': 'string', 'default': 'UTC'}}, 'required': [], 'additionalProperties': False})
    """

    def make(function: Callable[P, R]) -> Tool[P, R]:
        if not callable(function):
            raise ToolError(f"a tool is made of a function, not {shown(function)}")
        own_name = name or getattr(function, "__name__", "")
        if not own_name or own_name == "<lambda>":
            raise ToolError(f"{shown(function)} has no name for the model to call; give one: tool(name='…')")
        words, documented = _documentation(function)
        readers, notes, required, context_name = _parameters(function, own_name, documented)
        schema = object_schema(readers, notes, required)
        definition = ToolDefinition(own_name, words if description is None else description, input_schema=schema)
        return Tool(
            function,
            definition,
            return_direct=return_direct,
            timeout=timeout,
            readers=readers,
            required=tuple(required),
            context_name=context_name,
        )

    return make if function is None else make(function)


def _parameters(
    function: Callable[..., Any], tool_name: str, documented: Mapping[str, str]
) -> tuple[dict[str, TypeReader], dict[str, dict[str, Any]], list[str], str | None]:
    """Read a signature: what reads each parameter, what its schema says beside, which are required, the context's name."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
        offered = _offered(function, hints)
    except Exception as error:  # an annotation given as text may hold any expression
        raise ToolError(
            f"the signature of the tool {tool_name!r} cannot be read: {type(error).__name__}: {error}",
            tool_name=tool_name,
        ) from error
    readers: dict[str, TypeReader] = {}
    notes: dict[str, dict[str, Any]] = {}
    required: list[str] = []
    context_name = None
    for parameter in offered:
        where = f"the parameter {parameter.name!r} of the tool {tool_name!r}"
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ToolError(
                f"{where} cannot be called by name: a model gives each argument its name", tool_name=tool_name
            )
        if parameter.name not in hints:
            raise ToolError(f"{where} has no annotation", tool_name=tool_name)
        hint = hints[parameter.name]
        if _is_context(hint):
            if context_name is not None:
                raise ToolError(f"{where} is a second ToolContext: one call has one", tool_name=tool_name)
            context_name = parameter.name
            continue
        try:
            readers[parameter.name] = type_reader(hint)
            notes[parameter.name] = _notes(parameter, hint, documented, readers[parameter.name])
        except (NoSchemaError, TypeError, ValueError) as error:
            raise ToolError(f"{where} has no JSON Schema: {error}", tool_name=tool_name) from error
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    return readers, notes, required, context_name


def _is_context(hint: Any) -> bool:
    """Tell whether a parameter takes a `ToolContext`, annotated or optional too."""
    if typing.get_origin(hint) is typing.Annotated:
        return _is_context(hint.__origin__)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return set(typing.get_args(hint)) == {ToolContext, type(None)}
    return hint is ToolContext


def _offered(function: Callable[..., Any], hints: Mapping[str, Any]) -> Iterable[inspect.Parameter]:
    """Give the parameters without the ``self`` of a method."""
    parameters = list(inspect.signature(function).parameters.values())
    first = parameters[0] if parameters else None
    unbound = first is not None and first.name in ("self", "cls") and first.name not in hints
    return parameters[1:] if unbound else parameters


def _notes(
    parameter: inspect.Parameter, hint: Any, documented: Mapping[str, str], reader: TypeReader
) -> dict[str, Any]:
    notes: dict[str, Any] = {}
    told = next((extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, str)), None)
    words = told or documented.get(parameter.name)
    if words:
        notes["description"] = words
    if parameter.default is not parameter.empty and parameter.default == parameter.default:  # JSON has no NaN
        default = _json.loads(to_json(parameter.default))
        with suppress(ValueMismatchError):  # what a call may not give is not told: infinity, None for an int
            reader.read(default)
            notes["default"] = default
    return notes


_SECTION = re.compile(r"^\s*(Args|Arguments|Parameters|Returns|Yields|Raises|Examples?|Notes?):\s*$", re.MULTILINE)
_ENTRY = re.compile(r"^(\s+)\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


def _documentation(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Split a docstring into the description and what its ``Args`` section says of each parameter."""
    text = inspect.getdoc(function) or ""
    heading = _SECTION.search(text)
    description = " ".join(text[: heading.start() if heading else len(text)].split())
    arguments = re.search(r"^(?:Args|Arguments|Parameters):\s*\n((?:[ \t]+.*\n?|\s*\n)*)", text, re.MULTILINE)
    entries: dict[str, str] = {}
    last = depth = ""
    for line in arguments[1].splitlines() if arguments else ():
        entry = _ENTRY.match(line)
        if entry and (not depth or entry[1] == depth):
            depth, last = entry[1], entry[2]
            entries[last] = entry[3].strip()
        elif last and line.strip():
            entries[last] = f"{entries[last]} {line.strip()}".strip()
    return description, entries
