from __future__ import annotations

import enum
import functools
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import jsonschema
import msgspec
import pydantic
import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from promptkit.content import Media, Text
from promptkit.errors import PromptError, ToolError, ToolExecutionError
from promptkit.messages import ToolCall
from promptkit.options import ChatOptions, ToolDefinition
from promptkit.tools import Tool, ToolContext, ToolResult, tool


class Unit(enum.Enum):
    CELSIUS = "C"
    FAHRENHEIT = "F"


@frozen
class Place:
    city: str
    country: str = "NO"


@dataclass
class Span:
    start: int
    end: int


class Filters(TypedDict, total=False):
    tag: str


class Account(pydantic.BaseModel):
    id: int


@tool
def weather(place: Place, unit: Unit = Unit.CELSIUS, days: Annotated[int, msgspec.Meta(ge=1)] = 1) -> str:
    """Tell the weather
    of a place.

    Args:
        place: Where; a city
            and its country.
        unit: The unit.

    Returns:
        Words.
    """
    return f"{place.city}: 3 {unit.value} for {days}"


def call(name: str = "weather", **arguments: Any) -> ToolCall:
    return ToolCall("c1", name, arguments=arguments)


def test_signature_and_docstring_make_the_definition() -> None:
    definition = weather.definition
    properties = definition.input_schema["properties"]

    assert (definition.name, definition.description) == ("weather", "Tell the weather of a place.")
    assert definition.input_schema["required"] == ["place"]
    assert definition.input_schema["additionalProperties"] is False
    assert properties["place"]["description"] == "Where; a city and its country."
    assert (properties["unit"]["description"], properties["unit"]["default"]) == ("The unit.", "C")
    assert (properties["days"]["minimum"], properties["days"]["default"]) == (1, 1)
    jsonschema.Draft202012Validator.check_schema(definition.input_schema.thaw())


def test_arguments_are_read_as_the_annotated_types() -> None:
    arguments = weather.arguments(call(place={"city": "Oslo"}, unit="F"))

    assert arguments == {"place": Place("Oslo"), "unit": Unit.FAHRENHEIT}
    assert weather.function(**arguments) == "Oslo: 3 F for 1"
    assert weather(Place("Oslo")) == "Oslo: 3 C for 1"


def every(
    a: int,
    b: float,
    c: bool,
    d: Literal["x"],
    e: Place | None,
    f: list[Span],
    g: Filters,
    h: Account,
    i: dict[str, int],
) -> None:
    """Take a parameter of every kind."""


def test_parameters_of_every_kind() -> None:
    given = {
        "a": 1,
        "b": 2,
        "c": True,
        "d": "x",
        "e": None,
        "f": [{"start": 1, "end": 2}],
        "g": {"tag": "t"},
        "h": {"id": 1},
        "i": {"k": 1},
    }
    made = tool(every)

    jsonschema.validate(given, made.definition.input_schema.thaw())
    read = made.arguments(call("every", **given))
    assert read == {
        "a": 1,
        "b": 2.0,
        "c": True,
        "d": "x",
        "e": None,
        "f": [Span(1, 2)],
        "g": {"tag": "t"},
        "h": Account(id=1),
        "i": {"k": 1},
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ["'place' is missing"]),
        ({"plce": {}}, ["no argument 'plce'", "'place' is missing"]),
        ({"place": {"city": 3}, "days": 0}, ["'place' is wrong", "place.city", "'days' is wrong"]),
        ({"place": {"city": "x"}, "days": "2"}, ["'days'", "int"]),
    ],
    ids=["missing", "unknown", "wrong", "text"],
)
def test_wrong_arguments_are_all_named(arguments: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ToolError) as caught:
        weather.arguments(call(**arguments))

    assert caught.value.tool_name == "weather"
    for word in [*words, "Its arguments are: place, unit, days"]:
        assert word in str(caught.value)


@pytest.mark.parametrize("text", ['{"place"', "[1]", '{"place": NaN}'])
def test_arguments_that_are_no_object(text: str) -> None:
    with pytest.raises(ToolError, match="'weather'"):
        weather.arguments(ToolCall("c1", "weather", arguments=text))


def unannotated(a) -> None:  # type: ignore[no-untyped-def]
    pass


def starred(*args: int) -> None:
    pass


def doubly_starred(**kwargs: int) -> None:
    pass


def positional(a: int, /) -> None:
    pass


def opaque(a: threading_lock) -> None:  # type: ignore[name-defined]  # noqa: F821
    pass


def unfinished(a: Any) -> None:
    pass


def dividing(a: Any) -> None:
    pass


unfinished.__annotations__["a"] = "list["
dividing.__annotations__["a"] = "1 / 0"


def half_a_pair(a: str = "\ud800") -> None:
    pass


def two_contexts(one: ToolContext, two: ToolContext) -> None:
    pass


class Bare:
    """Be no record."""


def of_a_bare_class(a: Bare) -> None:
    pass


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (unannotated, "'a' of the tool 'unannotated' has no annotation"),
        (starred, "'args'"),
        (doubly_starred, "'kwargs'"),
        (positional, "'a'"),
        (opaque, "threading_lock"),
        (of_a_bare_class, "'a'"),
        (unfinished, "signature of the tool 'unfinished' cannot be read: SyntaxError"),
        (dividing, "signature of the tool 'dividing' cannot be read: ZeroDivisionError"),
        (dict, "signature of the tool 'dict' cannot be read: ValueError"),
        (half_a_pair, "'a' of the tool 'half_a_pair' has no JSON Schema"),
        (two_contexts, "'two' of the tool 'two_contexts' is a second ToolContext"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_signature_without_schema_is_refused_when_the_tool_is_made(function: Any, words: str) -> None:
    with pytest.raises(ToolError, match=words):
        tool(function)


class Desk:
    def __init__(self, owner: str) -> None:
        self.owner = owner

    @tool
    def greet(self, name: str) -> str:
        """Greet."""
        return f"{self.owner} greets {name}"


def test_a_method_is_a_tool_of_its_instance() -> None:
    desk = Desk("Ada")

    assert desk.greet("Bo") == "Ada greets Bo"
    assert list(desk.greet.definition.input_schema["properties"]) == ["name"]
    assert isinstance(Desk.greet, Tool)


@tool(name="where", description="Say where.", return_direct=True, timeout=2)
def locate(context: ToolContext, thing: Annotated[str, "What to find."]) -> str:
    return f"{thing} of {context.values['user']}"


def test_a_context_is_hidden_and_settings_are_kept() -> None:
    assert list(locate.definition.input_schema["properties"]) == ["thing"]
    assert locate.definition.input_schema["properties"]["thing"]["description"] == "What to find."
    assert (locate.name, locate.definition.description, locate.context_name) == ("where", "Say where.", "context")
    assert (locate.return_direct, locate.timeout, locate.is_async) == (True, 2, False)
    assert repr(locate) == "Tool('where')"


PNG = Media(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", "text"),
        (None, ""),
        (3, "3"),
        (True, "true"),
        (["one", "two"], '["one","two"]'),
        ({"a": Unit.CELSIUS}, '{"a":"C"}'),
        (Place("Oslo"), '{"city":"Oslo","country":"NO"}'),
        (Account(id=1), '{"id":1}'),
        ([], "[]"),
        (PNG, (PNG,)),
        (["Look:", PNG], (Text("Look:"), PNG)),
        (ToolResult("short", artifact={"rows": [1]}), "short"),
    ],
    ids=range(12),
)
def test_results_become_content(value: Any, content: Any) -> None:
    assert weather.result(value)[0] == content


def test_an_artifact_stays_beside_the_content() -> None:
    assert weather.result(ToolResult([1], artifact=b"x")) == ("[1]", b"x")


@pytest.mark.parametrize("value", [object(), {1: object()}, float], ids=["object", "inside", "class"])
def test_what_has_no_json_form_is_an_error(value: Any) -> None:
    with pytest.raises(ToolExecutionError, match="no JSON form"):
        weather.result(value)


def test_options_take_tools() -> None:
    assert ChatOptions(tools=[weather]).tools == (weather.definition,)


def test_a_tool_needs_a_name() -> None:
    """SC-TOL-026."""
    with pytest.raises(PromptError, match="name"):
        ToolDefinition("")


@given(st.builds(Place, st.text(), st.text()), st.sampled_from(Unit), st.integers(1, 9))
def test_any_arguments_survive_the_wire(place: Place, unit: Unit, days: int) -> None:
    made = call(place={"city": place.city, "country": place.country}, unit=unit.value, days=days)

    assert weather.arguments(made) == {"place": place, "unit": unit, "days": days}


@pytest.mark.parametrize(
    ("function", "words"),
    [(functools.partial(int, "1"), "has no name"), (3, "made of a function")],
    ids=["partial", "no function"],
)
def test_what_cannot_be_called_by_name_is_refused(function: Any, words: str) -> None:
    with pytest.raises(ToolError, match=words):
        tool(function)


def test_a_context_may_be_annotated_or_optional() -> None:
    @tool
    def whose(context: Annotated[ToolContext | None, "who asks"] = None) -> str:
        """Say who asks."""
        return "nobody" if context is None else str(context.values["user"])

    assert whose.context_name == "context"
    assert whose.definition.input_schema["properties"] == {}
    assert whose(ToolContext({"user": "Ada"})) == "Ada"


def test_a_default_that_json_has_not_is_not_told() -> None:
    @tool
    def wait(seconds: float = float("nan")) -> None:
        """Wait."""

    assert wait.definition.input_schema["properties"] == {"seconds": {"type": "number"}}


def test_a_default_that_no_call_may_give_is_not_told() -> None:
    @tool
    def wait(seconds: float = float("inf"), times: int = None) -> None:  # type: ignore[assignment]  # noqa: RUF013
        """Wait."""

    properties = wait.definition.input_schema["properties"]
    assert properties == {"seconds": {"type": "number"}, "times": {"type": "integer"}}
    assert wait.definition.input_schema["required"] == ()


def test_a_list_of_contexts_is_no_context() -> None:
    def several(contexts: list[ToolContext]) -> None:
        pass

    with pytest.raises(ToolError, match="'contexts'"):
        tool(several)


class Broken(pydantic.BaseModel):
    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def total(self) -> int:
        raise RuntimeError("no total")


def test_a_result_that_fails_while_it_is_written_is_an_error() -> None:
    with pytest.raises(ToolExecutionError, match="no total"):
        weather.result(Broken())


def test_parameters_of_two_classes_of_one_name() -> None:
    def first() -> type:
        @frozen
        class Item:
            number: int

        return Item

    def second() -> type:
        @frozen
        class Item:
            text: str

        return Item

    def compare(a: Any, b: Any, c: Any) -> None:
        pass

    one, two = first(), second()
    compare.__annotations__.update(a=one, b=two, c=list[two])  # type: ignore[valid-type]
    schema = tool(compare).definition.input_schema.thaw()

    assert list(schema["$defs"]) == ["Item", "Item_2"]
    jsonschema.validate({"a": {"number": 1}, "b": {"text": "x"}, "c": [{"text": "y"}]}, schema)


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ToolError, match=r"give one: tool\(name='…'\)"):
        tool(lambda: None)
