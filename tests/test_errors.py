from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest

from promptkit import errors
from promptkit.errors import (
    MissingDependencyError,
    MissingVariablesError,
    ModelError,
    PromptkitError,
    RateLimitError,
    SerializationError,
    TemplateError,
    TemplateSyntaxError,
)
from promptkit.messages import AssistantMessage
from promptkit.response import ChatResponse, Generation

CLASSES: list[type[PromptkitError]] = [getattr(errors, name) for name in errors.__all__]
PARTIAL = ChatResponse(Generation(AssistantMessage("Hel")))
FIELDS: dict[str, Any] = {
    "message": "what is wrong",
    "template_name": "greeting",
    "line": 2,
    "column": 3,
    "excerpt": "ab{c",
    "missing": ("name",),
    "available": ("nmae",),
    "path": "messages[2]",
    "format": "openai",
    "feature": "image",
    "retryable": True,
    "partial": PARTIAL,
    "needed": 10,
    "budget": 5,
    "limit": 40,
    "status": 429,
    "request_id": "r1",
    "retry_after": 1.5,
    "tool_name": "weather",
    "text": "{",
    "target": "int",
    "conversation_id": "c1",
    "package": "openai",
    "extra": "openai",
    "reason": "OpenAIChatModel",
}


def build(kind: type[PromptkitError]) -> PromptkitError:
    signature = inspect.signature(kind.__init__)
    names = [name for name in signature.parameters if name in FIELDS]
    if not names:
        return kind(FIELDS["message"])
    first, *rest = names
    fields = {
        name: 4096 if (kind.__name__, name) == ("ContextLengthError", "available") else FIELDS[name] for name in rest
    }
    return kind(FIELDS[first], **fields)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_errors_keep_their_facts_when_they_travel(kind: type[PromptkitError]) -> None:
    error = build(kind)

    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is kind
        assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


def test_the_tree_is_the_one_of_the_module() -> None:
    tree = errors.__doc__ or ""

    assert all(issubclass(kind, PromptkitError) and kind.__name__ in tree for kind in CLASSES)
    assert not any(issubclass(kind, KeyError) for kind in CLASSES)
    builtins = {
        kind.__name__: [base.__name__ for base in kind.__mro__ if base.__module__ == "builtins"] for kind in CLASSES
    }
    for kind in CLASSES:
        stated = tree.partition(f" {kind.__name__}(")[2].partition(")")[0] if f" {kind.__name__}(" in tree else ""
        assert not stated or stated in builtins[kind.__name__]


def test_a_template_error_shows_where() -> None:
    error = TemplateSyntaxError("a brace is not closed", line=2, column=3, excerpt="\tb{c")

    assert str(error.named("greeting")) == (
        "a brace is not closed (template 'greeting', line 2, column 3)\n  2 | \tb{c\n    | \t ^"
    )
    assert error.named("other").template_name == "greeting"
    assert str(TemplateError("wrong")) == "wrong"


def test_a_long_line_is_shown_around_the_mistake() -> None:
    error = TemplateSyntaxError("wrong", line=1, column=5_000, excerpt="x" * 4_999 + "{" + "y" * 5_000)
    shown, caret = str(error).splitlines()[1:]

    assert len(shown) < 110
    assert shown[caret.index("^")] == "{"


def test_facts_are_fields() -> None:
    missing = MissingVariablesError("name is missing", missing=("name",), available=("nmae",))
    limited = RateLimitError("slow down", retry_after=2.0)
    absent = MissingDependencyError("openai", extra="openai", reason="OpenAIChatModel")

    assert (missing.missing, missing.available) == (("name",), ("nmae",))
    assert isinstance(missing, LookupError)
    assert (limited.status, limited.retryable, limited.retry_after) == (429, True, 2.0)
    assert ModelError("broke", partial=PARTIAL).partial is PARTIAL
    assert str(absent) == "OpenAIChatModel needs 'openai'. Install it with: pip install 'promptkit[openai]'"
    assert isinstance(absent, ImportError)


@pytest.mark.parametrize(
    ("places", "path"),
    [
        ((), ""),
        (("content",), "content"),
        (("mime_type", "[0]", "content", "[2]", "messages"), "messages[2].content[0].mime_type"),
    ],
)
def test_a_path_grows_from_the_inside(places: tuple[str, ...], path: str) -> None:
    error = SerializationError("must be a text")
    for place in places:
        error.below(place)

    assert error.path == path
    assert str(error) == (f"{path}: must be a text" if path else "must be a text")
