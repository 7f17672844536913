"""Hold the templates against the recorded behaviour of Spring AI's (area TPL), as our names translate it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptkit.errors import MissingVariablesError, TemplateError
from promptkit.messages import Message
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.templates.chat import ChatPromptTemplate
from promptkit.templates.prompt_template import AssistantPromptTemplate, PromptTemplate, SystemPromptTemplate
from promptkit.templates.resource import TextResource
from tests import oracles

ROWS = oracles.rows("spring_templates.jsonl")
CLASSES = {
    "PromptTemplate": PromptTemplate,
    "SystemPromptTemplate": SystemPromptTemplate,
    "AssistantPromptTemplate": AssistantPromptTemplate,
}


def _build(given: dict[str, Any], tmp_path: Path) -> Any:
    if given.get("class") == "ChatPromptTemplate":
        return ChatPromptTemplate([_build(child, tmp_path) for child in given["children"]])
    if "template" in given and "template_file" in given:
        # One argument takes either: two sources cannot be spelt, and the nearest spelling is a list of both.
        raise TemplateError("the template comes from text or from a resource; one argument takes either")
    source: Any = given.get("template")
    if "template_file" in given:
        source = None
    bound: dict[str, Any] = {"bound": _keys(given["variables"])} if "variables" in given else {}
    renderer: dict[str, Any] = {"renderer": "noop"} if given.get("renderer") == "no-op" else {}
    return CLASSES[given.get("class", "PromptTemplate")](source, **bound, **renderer)


def _keys(variables: Any) -> Any:
    return (
        variables
        if variables is None
        else {None if key == "<null key>" else key: value for key, value in variables.items()}
    )


def _model(given: dict[str, Any], tmp_path: Path) -> Any:
    model = given.get("model")
    if model is None:
        return None
    return {name: _value(value, tmp_path) for name, value in model.items()}


def _value(value: Any, tmp_path: Path) -> Any:
    if not isinstance(value, dict):
        return value
    file = tmp_path / "resource.txt"
    file.write_text(value["resource_text"], encoding="utf-8")
    return TextResource(file)


def _run(row: dict[str, Any], tmp_path: Path) -> Any:
    given, when = row["given"], row["when"]
    template = _build(given, tmp_path)
    model = _model(given, tmp_path)
    options = ChatOptions(**given["options"]) if "options" in given else None
    if when.startswith("partial"):
        for partial in given.get("partials", [given.get("partial")]):
            template = template.partial(partial)
        return template.render()
    if when.startswith("create_message"):
        return template.create_message(model)
    if when.startswith("create"):
        return template.create(model, options=options)
    if when == "construct":
        return template
    return template.render(model)


def _as_message(message: Message) -> dict[str, Any]:
    return {"role": message.message_type.value, "text": message.content}


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_spring_case(row: dict[str, Any], tmp_path: Path) -> None:
    then = row["then"]
    if "first" in then:
        _check_failure_then_partial(row["given"], then)
        return
    if "error" in then:
        with pytest.raises(TemplateError) as caught:
            _run(row, tmp_path)
        for word in then["mentions"]:
            assert word in str(caught.value)
        if then["error"] == "invalid-state":
            assert isinstance(caught.value, MissingVariablesError)
            assert set(then.get("missing", then["mentions"])) == set(caught.value.missing)
        return
    result = _run(row, tmp_path)
    checked = set(then) & {"result", "message", "prompt", "model_after"}
    assert checked, f"{row['id']} states something that this test does not look at"
    if "result" in then:
        assert result == then["result"]
    if "message" in then:
        assert _as_message(result) == then["message"]
    if "model_after" in then:
        assert row["given"]["model"] == then["model_after"]
    if "prompt" in then:
        _check_prompt(result, then["prompt"])


def _check_prompt(prompt: Prompt, expected: dict[str, Any]) -> None:
    if "contents" in expected:
        assert prompt.text == expected["contents"]
    if "messages" in expected:
        assert [_as_message(message) for message in prompt] == expected["messages"]
    if "options" in expected:
        assert prompt.options.set_fields() == expected["options"]


def _check_failure_then_partial(given: dict[str, Any], then: dict[str, Any]) -> None:
    template = PromptTemplate(given["template"])
    with pytest.raises(MissingVariablesError) as caught:
        template.render(given["model"])
    assert list(caught.value.missing) == then["first"]["mentions"]
    bound = template.partial(given["partial_after_failure"])
    assert bound.render(given["model"]) == then["second"]
    assert bound.render(given["model"]) == then["third"]
