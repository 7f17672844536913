from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.prompts import PromptTemplate as TheirTemplate

from promptkit.errors import TemplateError, UnsupportedContentError
from promptkit.messages import AssistantMessage, SystemMessage, UserMessage
from promptkit.prompt_files import load_langchain_prompt
from promptkit.templates.chat import ChatPromptTemplate

CHAT: dict[str, Any] = {
    "_type": "chat",
    "input_variables": ["name", "q"],
    "partial_variables": {"history": []},
    "messages": [
        {"_type": "SystemMessagePromptTemplate", "prompt": {"_type": "prompt", "template": "You are {name}"}},
        {"type": "placeholder", "variable_name": "history", "optional": True},
        ["human", "{q}"],
        {"role": "ai", "content": "So {q}"},
    ],
}


def _file(folder: Path, data: Any, name: str = "a.json") -> Path:
    file = folder / name
    file.write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")
    return file


@pytest.mark.parametrize("suffix", ["json", "yaml"])
@pytest.mark.parametrize(
    "theirs",
    [
        TheirTemplate.from_template("{{'a'}} {x} {x!r:>9}"),
        TheirTemplate.from_template("{{x}} {{#y}}{{.}},{{/y}}", template_format="mustache"),
    ],
    ids=["f-string", "mustache"],
)
@pytest.mark.filterwarnings("ignore:The method")
def test_what_langchain_writes_renders_the_same(theirs: TheirTemplate, suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"a.{suffix}"
    theirs.save(file)

    read = load_langchain_prompt(file)

    values = {"x": "{1}", "y": ["a"]}
    assert read.template.render(values) == theirs.format(**{name: values[name] for name in theirs.input_variables})
    assert read.differences == ()


def test_a_chat_is_read_with_what_differs(tmp_path: Path) -> None:
    read = load_langchain_prompt(_file(tmp_path, CHAT))

    assert isinstance(read.template, ChatPromptTemplate)
    assert read.template.create_messages({"name": "Bo", "q": "{x}"}) == (
        SystemMessage("You are Bo"),
        UserMessage("{x}"),
        AssistantMessage("So {x}"),
    )
    assert read.template.optional_variables == ("history",)
    assert [loss.path for loss in read.differences] == ["messages"]


@pytest.mark.parametrize(
    ("data", "paths"),
    [
        ({"template": "a", "output_parser": {"_type": "default"}, "tags": ["x"]}, ["output_parser", "tags"]),
        ({"template": "{a}", "input_variables": ["b"]}, ["input_variables"]),
        ({"template": "{{ a }}", "template_format": "jinja2"}, ["template_format"]),
        ({"_type": "chat", "messages": [{"prompt": {"template": "a"}}]}, ["messages[0].role"]),
        (
            {"_type": "chat", "messages": [{"role": "user", "content": "a", "additional_kwargs": {"x": 1}}]},
            ["messages[0].additional_kwargs"],
        ),
    ],
    ids=["unread", "names", "jinja", "no role", "kwargs"],
)
def test_every_difference_is_named(data: dict[str, Any], paths: list[str], tmp_path: Path) -> None:
    assert [loss.path for loss in load_langchain_prompt(_file(tmp_path, data)).differences] == paths


def test_words_that_yaml_1_1_reads_otherwise_are_named(tmp_path: Path) -> None:
    file = _file(tmp_path, "_type: prompt\ntemplate: '{a} no'\npartial_variables: {a: NO, b: 'no'}\n", "a.yaml")

    read = load_langchain_prompt(file)

    assert read.template.render() == "NO no"
    assert [str(loss) for loss in read.differences] == [
        "partial_variables.a: 'NO' is text in YAML 1.2; LangChain reads true or false"
    ]


def test_a_template_path_stays_in_its_folder(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    (root / "t.txt").write_text("Hi {a}", "utf-8")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")

    assert load_langchain_prompt(_file(root, {"template_path": "t.txt"})).template.render({"a": 1}) == "Hi 1"
    for path in ("../secret.txt", str(tmp_path / "secret.txt"), "link.txt", "t.md", 3, "nothing.txt"):
        with pytest.raises(TemplateError):
            load_langchain_prompt(_file(root, {"template_path": path}))


@pytest.mark.parametrize(
    "data",
    [
        "{",
        "[]",
        '{"template": "a", "template": "b"}',
        "[" * 90_000,
        '{"a":' * 50 + "1" + "}" * 50,
        " " * 200_000,
        {},
        {"template": 3},
        {"template": "{a"},
        {"template": "a", "template_path": "b.txt"},
        {"template": "a", "template_format": "st"},
        {"template": "a", "partial_variables": 3},
        {"template": "a", "input_variables": "a"},
        {"template": "{{ a.__class__ }}", "template_format": "jinja2"},
        {"_type": "chat"},
        {"_type": "chat", "messages": [{}]},
        {"_type": "chat", "messages": ["a"]},
        {"_type": "chat", "messages": [{"role": "tool", "content": "a"}]},
        {"_type": "chat", "messages": [{"role": "user", "content": "a"}], "partial_variables": 3},
        {"_type": "chat", "messages": [{"type": "placeholder", "variable_name": 3}]},
    ],
)
def test_what_is_no_prompt_is_refused(data: Any, tmp_path: Path) -> None:
    with pytest.raises(TemplateError) as caught:
        load_langchain_prompt(_file(tmp_path, data))

    assert caught.value.template_name is not None


def test_other_kinds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedContentError, match="'few_shot'"):
        load_langchain_prompt(_file(tmp_path, {"_type": "few_shot"}))


@pytest.mark.parametrize("text", ["a: &x 1\ntemplate: a", "template: !!python/name:os.system a"])
def test_hostile_yaml_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="refused"):
        load_langchain_prompt(_file(tmp_path, text, "a.yaml"))
