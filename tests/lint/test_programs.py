from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit.lint import check_paths, check_program_text

HEAD = """\
from dataclasses import dataclass
from typing import ClassVar
import promptkit as pk
from attrs import frozen
from promptkit import (AssistantMessage, ChatOptions, ChatPromptTemplate, FewShotExamples, JinjaRenderer,
    MessagesPlaceholder, Prompt, PromptTemplate, StringTemplateRenderer, SystemMessage, SystemPromptTemplate,
    TypedPromptTemplate, UserMessage, ValidationMode)
from promptkit.templates.prompt_template import AssistantPromptTemplate as Answer
"""

CLEAN = """\
t = PromptTemplate("Hi {name}")
t.render({"name": 1})
t.partial({"name": 1}).create()
PromptTemplate("{a} {b}").partial({"a": 1}).create({"b": 2}, options=None)
PromptTemplate("{a} {b}", bound={"a": 1}).create_message({"b": 2})
pk.PromptTemplate("{{ a }}", renderer="jinja").render({"a": 1})
PromptTemplate('{"a": {b}}', renderer=StringTemplateRenderer(literal_braces=True)).render({"b": 1})
PromptTemplate("{a}", renderer=StringTemplateRenderer(validation=ValidationMode.NONE)).render()
PromptTemplate("{a", renderer=unknown_renderer()).render({"b": 1})
PromptTemplate(read(), renderer="jinja").render({"b": 1})
Answer("{a}").create_messages(model={"a": 1})
chat = ChatPromptTemplate([("system", "Be {tone}"), FewShotExamples([]), MessagesPlaceholder("history"),
    ("user", "{q}"), AssistantMessage("So {"), t])
chat.create({"tone": 1, "history": [], "q": 2, "name": 3})
chat.create(model)
chat.create({**model})
chat.create({key: 1})
chat.check({})
ChatPromptTemplate([MessagesPlaceholder("history", optional=True), ("user", "{q}")]).create({"q": 1})
ChatPromptTemplate([*parts, ("user", "{q}")]).create({"q": 1, "x": 2})
ChatPromptTemplate([other, ("system", "late?")])
Prompt([SystemMessage("a"), UserMessage("b"), AssistantMessage("{}"), UserMessage('{"city": 1}')])
PromptTemplate("{u.name} {u.tags; separator=', '}".replace("'", '"')).render({"u": {"name": 1}})
PromptTemplate("{u.name}").render({"u": {"name": 1}})

def f(t):
    t.render({"x": 1})

def g():
    later = PromptTemplate("{x}")
    later = PromptTemplate("{y}")
    later.render({"z": 1})
    global loose
    loose = PromptTemplate("{x}")
    loose.render({"z": 1})

class Repository:
    def create(self, model): ...

Repository().create({"name": 1})

@dataclass
class City:
    name: str
    def shout(self): ...

@frozen
class Person:
    name: str
    home: City
    cities: list[City]

@frozen
class Letter(TypedPromptTemplate):
    template: ClassVar[str] = "{to.name} {to.home.name} {to.home.shout} {to.cities:{c|{c.name}}} {topic}"
    to: Person
    topic: "str | None" = None

@frozen
class Computed(TypedPromptTemplate):
    template: ClassVar[str] = "{total}"
    price: int
    @property
    def total(self): ...

class Base(TypedPromptTemplate):
    pass

@frozen
class Derived(Base):
    template: ClassVar[str] = "{somewhere}"
"""


def test_a_clean_program_has_no_findings() -> None:
    ast.parse(HEAD + CLEAN)

    assert check_program_text(HEAD + CLEAN, "a.py") == []


KEY = "ghp_" + "a1B2c3D4" * 5
LONG = "Answer with nothing but a single word."

SEEDED: dict[str, tuple[str, list[tuple[str, int]]]] = {
    "syntax": ('PromptTemplate("Hi {name")', [("PK102", 1)]),
    "syntax in lines": ('PromptTemplate("""Hi\nto {name""")', [("PK102", 2)]),
    "jinja syntax": ('SystemPromptTemplate("{% if a %}", renderer="jinja")', [("PK102", 1)]),
    "blank": ('PromptTemplate("  ")', [("PK102", 1)]),
    "python": ("def f(:", [("PK102", 1)]),
    "part syntax": ('ChatPromptTemplate([("user", "{")])', [("PK102", 1)]),
    "foreign role": ('ChatPromptTemplate([("human", "a")])', [("PK102", 1)]),
    "undefined": ('PromptTemplate("{a} {b}").render({"a": 1})', [("PK201", 1)]),
    "nothing given": ('PromptTemplate("{a}").create()', [("PK201", 1)]),
    "misspelt": ('t = PromptTemplate("{name}")\n\ndef f():\n    t.create({"nmae": 1})', [("PK203", 4)]),
    "unused": ('pk.PromptTemplate("{a}").create({"a": 1, "zeal": 2})', [("PK202", 1)]),
    "partial": ('PromptTemplate("{name} {b}").partial({"nmae": 1})', [("PK203", 1)]),
    "after partial": ('PromptTemplate("{a} {b}").partial({"a": 1}).render({"c": 1})', [("PK201", 1), ("PK202", 1)]),
    "bound": ('PromptTemplate("{a}", bound={"b": 1})', [("PK202", 1)]),
    "chat": (
        (
            'c = ChatPromptTemplate([("system", "{tone}"), MessagesPlaceholder("history"), ("user", "{q}")])\n'
            'c.create({"tone": 1, "histroy": [], "q": 1})'
        ),
        [("PK203", 2)],
    ),
    "chat with unknown parts": ('ChatPromptTemplate([*x, ("user", "{q}")]).create({})', [("PK201", 1)]),
    "nested chat": ('t = PromptTemplate("{a}")\nChatPromptTemplate([t]).render({})', [("PK201", 2)]),
    "walrus": ('if (t := PromptTemplate("{a}")):\n    t.render({"b": 1})', [("PK201", 2), ("PK202", 2)]),
    "property": ('PromptTemplate("{u.nmae}").render({"u": {"name": 1}})', [("PK204", 1)]),
    "typed undefined": (
        "@frozen\nclass A(TypedPromptTemplate):\n    template: ClassVar[str] = '{a} {b}'\n    a: str",
        [("PK201", 3)],
    ),
    "typed misspelt": (
        "@frozen\nclass A(TypedPromptTemplate):\n    template: ClassVar[str] = '{nmae}'\n    name: str",
        [("PK203", 3)],
    ),
    "typed unused": (
        "@frozen\nclass A(TypedPromptTemplate):\n    template: ClassVar[str] = '{a}'\n    a: str\n    b: str",
        [("PK202", 5)],
    ),
    "typed syntax": (
        "@frozen\nclass A(TypedPromptTemplate):\n    template: ClassVar[str] = '''Hi\n{a'''\n    a: str",
        [("PK102", 4)],
    ),
    "typed property": (
        (
            "@frozen\nclass P:\n    name: str\n@frozen\nclass A(pk.TypedPromptTemplate):\n"
            "    template: ClassVar[str] = '''Hi\n{p.nmae}{s.foo}{l:{x|{x.y}}}'''\n    p: P\n    s: str\n    l: list[P]"
        ),
        [("PK204", 7), ("PK204", 7), ("PK204", 7)],
    ),
    "typed property in jinja": (
        (
            "@frozen\nclass P:\n    name: str\n@frozen\nclass A(TypedPromptTemplate):\n"
            "    renderer: ClassVar[str] = 'jinja'\n    template: ClassVar[str] = '{{ p.nmae }}'\n    p: 'P | None'"
        ),
        [("PK204", 7)],
    ),
    "literal": ('ChatPromptTemplate([SystemMessage("You are {name}"), ("user", "{q}")])', [("PK301", 1)]),
    "literal in a prompt": ('Prompt([UserMessage("Hi {{ name }}")])', [("PK301", 1)]),
    "late system": ('Prompt([UserMessage("a"), SystemMessage("b")])', [("PK302", 1)]),
    "assistant first": ('ChatPromptTemplate([("system", "a"), ("assistant", "b"), ("user", "c")])', [("PK302", 1)]),
    "two systems": ('ChatPromptTemplate([("system", "a"), SystemPromptTemplate("b"), ("user", "c")])', [("PK302", 1)]),
    "doubled": (f'PromptTemplate("""{LONG}\n\n{LONG}""")', [("PK303", 3)]),
    "doubled word": ('PromptTemplate("Do do it it.")', [("PK303", 1)]),
    "secret": (f'PromptTemplate("Use {KEY}")', [("PK401", 1)]),
    "secret elsewhere": (f'model = pk.chat_model("openai:x", api_key="{KEY}")', [("PK401", 1)]),
    "secret as value": (f'PromptTemplate("{{k}}").render({{"k": "{KEY}"}})', [("PK401", 1)]),
    "too long": (
        f'ChatPromptTemplate([("user", "{"x y z " * 8000}")], options=ChatOptions(model="gpt-4"))',
        [("PK402", 1)],
    ),
}


@pytest.mark.parametrize("case", SEEDED)
def test_seeded_defects_are_found(case: str) -> None:
    text, expected = SEEDED[case]
    above = HEAD.count("\n")

    found = check_program_text(HEAD + text, "a.py")

    assert [(one.code, one.line - above) for one in found] == expected, found
    assert KEY not in str(found)


def test_other_programs_are_left_alone() -> None:
    assert check_program_text('PromptTemplate("{a")', "a.py") == []
    assert check_program_text('from langchain import PromptTemplate  # promptkit\nPromptTemplate("{a")', "a.py") == []
    assert check_program_text("def f(:", "a.py") == []


@pytest.mark.parametrize(
    "text",
    ["x = " + "(" * 150 + ")" * 150, "x = " + "-" * 5_000 + "1", "x = " + "a." * 20_000 + "b", "a\0b", "\ud800"],
    ids=["parentheses", "signs", "attributes", "nul", "surrogate"],
)
def test_odd_programs_are_checked(text: str) -> None:
    found = check_program_text(f"import promptkit\n{text}", "a.py")

    assert all(one.code == "PK102" for one in found)


def test_our_own_examples_and_sources_are_clean(root: Path) -> None:
    report = check_paths([root / "examples", root / "src"])

    assert not report.findings, "\n".join(map(str, report.findings))
    assert report.files > 100


NAMES = ["PromptTemplate('{a}')", "t", "t.partial({'a': 1})", "ChatPromptTemplate([t])", "t.render({})", "x"]


@given(st.lists(st.tuples(st.sampled_from(["t", "x", "c"]), st.sampled_from(NAMES)), max_size=8))
def test_any_program_is_checked(lines: list[tuple[str, str]]) -> None:
    text = textwrap.dedent(HEAD) + "\n".join(f"{name} = {value}" for name, value in lines)

    for finding in check_program_text(text, "a.py"):
        assert finding.line > HEAD.count("\n")
