"""Hold chat, few-shot, image and dict templates against langchain-core's answers, in our own names and parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from promptkit.content import Content, Media, Opaque, Text
from promptkit.errors import PromptkitError
from promptkit.messages import AssistantMessage, Message, SystemMessage, UserMessage
from promptkit.templates.actions import Variables
from promptkit.templates.chat import ChatPromptTemplate, MessagesPlaceholder
from promptkit.templates.few_shot import FewShotExamples
from promptkit.templates.parts import MediaTemplate
from promptkit.templates.prompt_template import PromptTemplate
from tests import oracles

ROWS = oracles.rows("langchain_templates.jsonl")
DECIDED = oracles.decided()

ROLES = {"human": "user", "user": "user", "ai": "assistant", "assistant": "assistant", "system": "system"}
MESSAGES: dict[str, Callable[[str], Message]] = {"human": UserMessage, "ai": AssistantMessage, "system": SystemMessage}
LANGUAGES = {"f-string": "fstring", "mustache": "mustache", "jinja2": "jinja"}


def _language(given: dict[str, Any]) -> str:
    return LANGUAGES[given.get("format", "f-string")]


def _part(block: Any) -> Any:
    """Translate a content block of a LangChain template into a part of ours."""
    if isinstance(block, str):
        return block
    kind = block.get("type")
    if kind == "text":
        return block["text"]
    if kind == "image_url":
        image = block["image_url"]
        url = image if isinstance(image, str) else image["url"]
        return MediaTemplate(url=url, mime_type="image/*")
    if kind == "image" and block.get("source_type") == "base64":
        return MediaTemplate(data=block["data"], mime_type=block["mime_type"])
    return block


def _chat_part(part: Any) -> Any:
    """Translate a message-like form of LangChain's chat templates into a part of ours."""
    if isinstance(part, str):
        return ("user", part)
    if "$placeholder" in part:
        slot = part["$placeholder"]
        return MessagesPlaceholder(
            slot["variable_name"], optional=slot.get("optional", False), last=slot.get("n_messages")
        )
    if "role" in part:
        if set(part) != {"role", "content"}:
            raise TypeError("a pair has a role and a template, nothing else")  # ours cannot be spelt with more
        return (ROLES.get(part["role"], part["role"]), part["content"])
    role, source = part["$tuple"]
    if isinstance(role, dict):
        role = {"SystemMessage": "system", "HumanMessage": "human", "AIMessage": "ai"}[role["$class"]]
    if role == "placeholder":
        return MessagesPlaceholder(source.strip("{}"), optional=True)
    return (ROLES.get(role, role), source if isinstance(source, str) else [_part(block) for block in source])


def _value(value: Any) -> Any:
    if isinstance(value, list) and value and all(isinstance(item, dict) and "$tuple" in item for item in value):
        return [MESSAGES[item["$tuple"][0]](item["$tuple"][1]) for item in value]
    return value


def _model(template: Any, given: Any) -> Variables:
    """Translate an input; LangChain lets bare input stand for the one variable of a template."""
    if not isinstance(given, dict):
        if len(template.variables) != 1:
            raise TypeError("bare input stands for exactly one variable")
        return {template.variables[0]: given}
    return {name: _value(value) for name, value in given.items()}


def _neutral_content(content: Content | None) -> Any:
    if not isinstance(content, tuple):
        return content
    return [_neutral_part(part) for part in content]


def _neutral_part(part: Any) -> Any:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Media(url=str(url)):
            return {"type": "image_url", "image_url": {"url": url}}
        case Media():
            return {"type": "image", "source_type": "base64", "mime_type": part.mime_type, "data": part.base64}
        case Opaque():
            return part.payload.thaw()
    raise AssertionError(part)


def _expected_content(content: Any) -> Any:
    """Give a list of one text block as the text: our one form of it."""
    if isinstance(content, list) and len(content) == 1 and content[0].get("type") == "text":
        return content[0]["text"]
    return content


def _chat(given: dict[str, Any]) -> dict[str, Any]:
    chat = ChatPromptTemplate([_chat_part(part) for part in given["template"]], renderer=_language(given))
    chat = chat.partial(given.get("partial", {}))
    messages = chat.create(_model(chat, given["input"])).messages
    return {
        "input_variables": sorted(chat.variables),
        "optional_variables": sorted(chat.optional_variables),
        "messages": [
            {
                "type": {"user": "human", "assistant": "ai"}.get(item.message_type, item.message_type.value),
                "content": _neutral_content(item.content),
            }
            for item in messages
        ],
    }


def _expected_chat(expected: dict[str, Any]) -> dict[str, Any]:
    messages = [
        {"type": item["type"], "content": _expected_content(item["data"]["content"])} for item in expected["messages"]
    ]
    return {**expected, "messages": messages}


def _few_shot(given: dict[str, Any]) -> str:
    examples = FewShotExamples(
        given["examples"],
        given["example_template"],
        renderer="fstring",
        prefix=given["prefix"],
        suffix=given["suffix"],
    )
    return examples.render(given["vars"])


def _few_shot_chat(given: dict[str, Any]) -> Any:
    example = [_chat_part(part) for part in given["example_template"]]
    chat = ChatPromptTemplate(
        [
            *map(_chat_part, given["before"]),
            FewShotExamples(given["examples"], example, renderer="fstring"),
            *map(_chat_part, given["after"]),
        ],
        renderer="fstring",
    )
    return [{"type": item.message_type, "content": item.content} for item in chat.create(given["vars"])]


def _image(given: dict[str, Any]) -> Any:
    image = PromptTemplate([MediaTemplate(**given["template"], mime_type="image/*")], renderer="fstring")
    return {"url": image.create_message(given["vars"]).media[0].url}  # type: ignore[attr-defined]


def _dict(given: dict[str, Any]) -> Any:
    template = PromptTemplate([given["template"]], renderer=_language(given))
    content = template.create_message(given["vars"]).content
    assert isinstance(content, tuple)
    (part,) = content
    assert isinstance(part, Opaque)
    return {"input_variables": sorted(template.variables), "value": part.payload.thaw()}


def _invoke(given: dict[str, Any]) -> str:
    template = PromptTemplate(given["template"], renderer=_language(given))
    return template.render(_model(template, given["input"]))


FUNCTIONS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "chat_template": _chat,
    "few_shot": _few_shot,
    "few_shot_with_templates": _few_shot,
    "few_shot_chat": _few_shot_chat,
    "image_template": _image,
    "dict_template": _dict,
    "prompt_template.invoke": _invoke,
}


def _answer(row: dict[str, Any]) -> Any:
    try:
        return FUNCTIONS[row["fn"]](row["input"])
    except (PromptkitError, TypeError) as error:
        return {"error": type(error).__name__}


def _is_error(answer: Any) -> bool:
    return isinstance(answer, dict) and set(answer) == {"error"}


@pytest.mark.parametrize("row", [row for row in ROWS if row["id"] not in DECIDED], ids=lambda row: row["id"])
def test_langchain_case(row: dict[str, Any]) -> None:
    expected = row["expected"]
    answer = _answer(row)

    if _is_error(expected):
        assert _is_error(answer), answer
        return
    if row["fn"] == "chat_template":
        expected = _expected_chat(expected)
    if row["fn"] == "few_shot_chat":
        expected = [{"type": ROLES[item["type"]], "content": item["data"]["content"]} for item in expected]
    assert answer == expected


@pytest.mark.parametrize("row", [row for row in ROWS if row["id"] in DECIDED], ids=lambda row: row["id"])
def test_what_we_decided_against_is_still_different(row: dict[str, Any]) -> None:
    """A denied case that holds after all has no place in the table."""
    assert _answer(row) != row["expected"]


def test_every_trap_is_decided() -> None:
    traps = {row["id"] for row in ROWS if any(tag.startswith("trap:") for tag in row["tags"])}

    assert traps <= DECIDED.keys()
