"""Fill in literal templates: every name a call must give, and no name misspelt."""

from __future__ import annotations

from attrs import evolve
from snippets.plugin import shared
from snippets.plugin.shared import FROM_PARIS, HELLO, SUPPORT, TRANSLATE, Greeting, again

from promptkit import (
    AssistantPromptTemplate,
    ChatPromptTemplate,
    JinjaRenderer,
    MediaTemplate,
    PromptTemplate,
    StringTemplateRenderer,
    SystemPromptTemplate,
    UserMessage,
    ValidationMode,
)

HELLO.create({"name": "Ada", "place": "Paris"})
HELLO.create({"name": "Ada", "place": "Paris", "unused": True})
HELLO.create({"nmae": "Ada", "place": "Paris"})  # expect: mypy=template-variables
HELLO.create_message({"name": "Ada"})  # expect: mypy=template-variables
HELLO.create_messages()  # expect: mypy=template-variables
HELLO.render(model=dict(name="Ada"))  # expect: mypy=template-variables  # noqa: C408
shared.HELLO.create({"name": "Ada"})  # expect: mypy=template-variables
TRANSLATE.create({"text": "tea"})  # expect: mypy=template-variables

FROM_PARIS.create({"name": "Ada"})
FROM_PARIS.create({"name": "Ada", "place": "Rome"})
FROM_PARIS.create({})  # expect: mypy=template-variables
FROM_PARIS.create({"name": "Ada", "plaec": "Rome"})  # expect: mypy=template-variables
HELLO.partial({"nmae": "Ada"})  # expect: mypy=template-variables
HELLO.partial({"name": "Ada"}).create()  # expect: mypy=template-variables
PromptTemplate("{a}", bound={"a": 1}).create()
PromptTemplate("{a}{b}", bound={"a": 1}).create()  # expect: mypy=template-variables
PromptTemplate("{a}", bound={"a": PromptTemplate("{inner}")}).create()  # expect: mypy=template-variables

SUPPORT.create({"name": "Ada", "place": "Paris", "question": "Why?", "history": []})
SUPPORT.create({"name": "Ada", "place": "Paris", "question": "Why?", "histroy": []})  # expect: mypy=template-variables
SUPPORT.create_messages({"name": "Ada", "question": "Why?"})  # expect: mypy=template-variables
SUPPORT.partial({"name": "Ada", "place": "Paris"}).create({"question": "Why?"})
ChatPromptTemplate([("user", "{a")])  # expect: mypy=template-syntax
ChatPromptTemplate([("user", "{{ a }}")], renderer="jinja").create()  # expect: mypy=template-variables
ChatPromptTemplate([UserMessage("{a}"), SystemPromptTemplate("{b}")]).create()  # expect: mypy=template-variables

PromptTemplate("{a")  # expect: mypy=template-syntax
PromptTemplate(" ")  # expect: mypy=template-syntax
PromptTemplate("{{ a }}", renderer="jinja").create({"b": 1})  # expect: mypy=template-variables
PromptTemplate("{{ a }}", renderer=JinjaRenderer()).create({"b": 1})  # expect: mypy=template-variables
as_json = PromptTemplate('{"name": "{a}"}', renderer=StringTemplateRenderer(literal_braces=True))
as_json.create()  # expect: mypy=template-variables
PromptTemplate("{a}", renderer=StringTemplateRenderer(validation=ValidationMode.KEEP)).create()
AssistantPromptTemplate("I count {n}.").create()  # expect: mypy=template-variables
PromptTemplate(["{a}", MediaTemplate(url="{b}")]).create({"a": 1})  # expect: mypy=template-variables

Greeting("Ada").create()
Greeting("Ada").create({"langauge": "French"})  # expect: mypy=template-variables
Greeting("Ada").partial({"language": "French"}).render()
Greeting("Ada").partial({"tone": "loud"})  # expect: mypy=template-fields


class Polite(PromptTemplate): ...


class Dated(PromptTemplate):
    def render(self, model: object = None) -> str:
        return super().render({"date": "today"})


Polite("{a}").create()  # expect: mypy=template-variables
Dated("{date}").create()


def not_literal(text: str, variables: dict[str, int], renderer: JinjaRenderer) -> None:
    PromptTemplate(text).create()
    PromptTemplate(f"{text} {{a}}").create()
    PromptTemplate("{a}").create(variables)
    PromptTemplate("{a}").create({**variables})
    PromptTemplate("{a}").create({text: 1})
    PromptTemplate("{a}").partial(variables).create()
    PromptTemplate("{a}", bound=variables).create()
    PromptTemplate("{{ a }}", renderer=renderer).create()
    PromptTemplate("{a}").mutate(template="{b}").create({"b": 1})
    evolve(PromptTemplate("{a}"), template="{b}").create({"b": 1})
    ChatPromptTemplate([("user", text)]).create()
    (SUPPORT + ("user", "{more}")).create({"more": 1})  # noqa: RUF005
    again.create({"a": 1, "b": 2})
