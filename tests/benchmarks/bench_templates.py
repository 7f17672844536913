"""Measure templates: chat prompts of the four languages, building again, loops, growth."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from promptkit import (
    ChatPromptTemplate,
    FStringRenderer,
    JinjaRenderer,
    MustacheRenderer,
    Prompt,
    PromptTemplate,
    StringTemplateRenderer,
    SystemMessage,
    UserMessage,
)
from promptkit.renderers.base import TemplateRenderer
from tests.benchmarks.harness import Call, Row, compare, growth, installed, interleaved

FILL = "Keep to what the documents say, name the page of each claim, and say so when they are silent. " * 4
SYSTEM = f"You are {{name}}, and you answer in {{language}}.\n{FILL}"
USER = f"Question: {{question}}\nDocuments:\n{{documents}}\n{FILL}\nAnswer for {{audience}}:"
VALUES = {
    "name": "Bob",
    "language": "English",
    "question": "Why does the tide come twice a day?",
    "documents": "p1: The moon pulls the sea. " * 5,
    "audience": "a child of ten",
}
DOUBLED = (SYSTEM.replace("{", "{{ ").replace("}", " }}"), USER.replace("{", "{{ ").replace("}", " }}"))


def by_hand(v: dict[str, str]) -> Prompt:
    system = f"You are {v['name']}, and you answer in {v['language']}.\n{FILL}"
    user = f"Question: {v['question']}\nDocuments:\n{v['documents']}\n{FILL}\nAnswer for {v['audience']}:"
    return Prompt((SystemMessage(system), UserMessage(user)))


def langchain(template_format: str, system: str, user: str) -> Callable[[], Call]:
    def prepare() -> Call:
        from langchain_core.prompts import ChatPromptTemplate as Theirs

        chat = Theirs.from_messages([("system", system), ("user", user)], template_format=template_format)  # type: ignore[arg-type]
        return lambda: chat.format_prompt(**VALUES)

    return prepare


def haystack() -> Call:
    from haystack.components.builders import ChatPromptBuilder  # type: ignore[import-not-found,unused-ignore]
    from haystack.dataclasses import ChatMessage  # type: ignore[import-not-found,unused-ignore]

    builder = ChatPromptBuilder(
        [ChatMessage.from_system(DOUBLED[0]), ChatMessage.from_user(DOUBLED[1])], required_variables="*"
    )
    return lambda: builder.run(**VALUES)


def chat_of(renderer: TemplateRenderer, system: str, user: str) -> ChatPromptTemplate:
    return ChatPromptTemplate([("system", system), ("user", user)], renderer=renderer)


def bench_brace_chat() -> list[Row]:
    chat = chat_of(StringTemplateRenderer(), SYSTEM, USER)
    assert chat.create(VALUES) == by_hand(VALUES)
    calls: dict[str, Call] = {"ours": lambda: chat.create(VALUES), "f-strings by hand": lambda: by_hand(VALUES)}
    calls |= installed({"langchain-core format_prompt": langchain("f-string", SYSTEM, USER)})
    times = interleaved(calls)
    return compare(
        "StringTemplate chat, 5 placeholders",
        times,
        at_most={"f-strings by hand": 2.0},
        faster={"langchain-core format_prompt": 8},
    )


def bench_building_again() -> list[Row]:
    renderer = StringTemplateRenderer()
    chat = chat_of(renderer, SYSTEM, USER)
    calls: dict[str, Call] = {
        "ours": lambda: chat_of(renderer, SYSTEM, USER),
        "a render": lambda: chat.create(VALUES),
    }
    calls |= installed({"langchain-core from_messages": _langchain_build})
    return compare("building the chat again", interleaved(calls), at_most={"a render": 1.5})


def _langchain_build() -> Call:
    from langchain_core.prompts import ChatPromptTemplate as Theirs

    return lambda: Theirs.from_messages([("system", SYSTEM), ("user", USER)])


def bench_properties_and_if() -> list[Row]:
    source = "Dear {user.name} of {user.city},{if(user.late)} your parcel {parcel} is late.{endif} Bye."
    template = PromptTemplate(source)
    model = {"user": {"name": "Ada", "city": "Oslo", "late": True}, "parcel": 7}

    def limit() -> str:
        user: Any = model["user"]
        late = f" your parcel {model['parcel']} is late." if user["late"] else ""
        return f"Dear {user['name']} of {user['city']},{late} Bye."

    assert template.render(model) == limit()
    times = interleaved({"ours": lambda: template.render(model), "f-strings by hand": limit})
    return compare("StringTemplate, properties and one if", times, at_most={"f-strings by hand": 3.0})


def bench_loop() -> list[Row]:
    template = PromptTemplate("{items:{x | - {x.name}{if(x.new)} (new){endif}\n}}")
    jinja = _jinja("{% for x in items %}- {{ x.name }}{% if x.new %} (new){% endif %}\n{% endfor %}")
    model = {"items": [{"name": f"item {n}", "new": n % 2 == 0} for n in range(100)]}

    def limit() -> str:
        return "".join([f"- {x['name']}{' (new)' if x['new'] else ''}\n" for x in model["items"]])

    assert template.render(model) == limit() == jinja.render(model)
    calls = {
        "ours": lambda: template.render(model),
        "join by hand": limit,
        "compiled jinja2": lambda: jinja.render(model),
    }
    return compare(
        "StringTemplate, loop over 100 items", interleaved(calls), at_most={"join by hand": 12, "compiled jinja2": 5}
    )


def _jinja(source: str) -> Any:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True).from_string(source)


def bench_jinja_chat() -> list[Row]:
    chat = chat_of(JinjaRenderer(), *DOUBLED)
    texts = [_jinja(source) for source in DOUBLED]
    assert chat.create(VALUES) == by_hand(VALUES)
    calls: dict[str, Call] = {
        "ours": lambda: chat.create(VALUES),
        "compiled jinja2 render": lambda: [text.render(VALUES) for text in texts],
    }
    calls |= installed({"langchain-core jinja2": langchain("jinja2", *DOUBLED), "haystack": haystack})
    return compare(
        "Jinja chat, 5 placeholders",
        interleaved(calls),
        at_most={"compiled jinja2 render": 1.3},
        faster={"langchain-core jinja2": 40, "haystack": 40},
    )


def bench_mustache_and_fstring() -> list[Row]:
    rows = []
    for renderer, template_format, sources in (
        (MustacheRenderer(), "mustache", DOUBLED),
        (FStringRenderer(), "f-string", (SYSTEM, USER)),
    ):
        chat = chat_of(renderer, *sources)
        calls: dict[str, Call] = {"ours": lambda chat=chat: chat.create(VALUES)}  # type: ignore[misc]
        calls |= installed({"langchain-core": langchain(template_format, *sources)})
        rows += compare(f"{template_format} chat", interleaved(calls), faster={"langchain-core": 3})
    return rows


def bench_growth() -> list[Row]:
    renderer = StringTemplateRenderer()

    def compiling(size: int) -> Call:
        source = "line {name} of many\n" * (size // 20)
        return lambda: renderer.parse(source)

    def rendering(size: int) -> Call:
        template = renderer.parse("before {x} after")
        model = {"x": "v" * size}
        return lambda: template.render(model)

    sizes = (50_000, 500_000, 5_000_000)
    return [
        growth("parse a StringTemplate of 5 MB", compiling, sizes, at_most=1.15),
        growth("render a value of 5 MB", rendering, sizes, at_most=1.15),
    ]


def bench_objects() -> list[Row]:
    """Compare reading variables from an object with reading them from a mapping."""
    template = PromptTemplate("{user.name} {user.age}")
    user = SimpleNamespace(name="Ada", age=36)
    calls: dict[str, Call] = {
        "ours": lambda: template.render({"user": user}),
        "a mapping": lambda: template.render({"user": {"name": "Ada", "age": 36}}),
    }
    return compare("StringTemplate, properties of an object", interleaved(calls))
