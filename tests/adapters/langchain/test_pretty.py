"""Chat templates are shown part by part, each under its title."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from attrs import frozen

from promptkit import TypedPromptTemplate
from promptkit.adapters.langchain import pretty_repr
from promptkit.content import Text
from promptkit.errors import AdapterError
from promptkit.messages import MessageType, ToolResponse, ToolResponseMessage, UserMessage
from promptkit.templates.chat import ChatPromptTemplate, MessagesPlaceholder
from promptkit.templates.few_shot import FewShotExamples
from promptkit.templates.prompt_template import PromptTemplate, SystemPromptTemplate
from promptkit.templates.resource import TextResource


@frozen
class Greeting(TypedPromptTemplate):
    template: ClassVar[str] = "Hi {name}"
    message_type: ClassVar[MessageType] = MessageType.SYSTEM
    name: str


EXAMPLES = FewShotExamples([{"q": "1+1"}], "Q: {q}")


PARTS: dict[str, tuple[Any, str, str]] = {
    "a template": (SystemPromptTemplate("Be {manner}."), " System Message ", "Be {manner}."),
    "a template with a free role": (
        PromptTemplate("Hi {name}", message_metadata={"role": "critic"}),
        " critic Message ",
        "Hi {name}",
    ),
    "parts": (PromptTemplate(["See {this}", Text("that")]), " Human Message ", "See {this}\nText('that')"),
    "a typed template": (Greeting("Ada"), " System Message ", "Hi {name}"),
    "examples": (EXAMPLES, " FewShotExamples ", repr(EXAMPLES)),
    "a message": (UserMessage("{as it is}", name="Ada"), " Human Message ", "Name: Ada\n\n{as it is}"),
    "a chat": (ChatPromptTemplate([MessagesPlaceholder("history")]), " Messages Placeholder ", "{history}"),
}


@pytest.mark.parametrize("name", PARTS)
def test_every_part_stands_under_its_title(name: str) -> None:
    part, title, text = PARTS[name]
    shown = pretty_repr(ChatPromptTemplate([part]))

    assert shown.partition("\n")[0].strip("=") == title
    assert len(shown.partition("\n")[0]) == 80
    assert shown.partition("\n")[2].strip() == text


def test_a_message_of_several_results_is_several_parts() -> None:
    both = ToolResponseMessage([ToolResponse("1", "f", content="a"), ToolResponse("2", "f", content="b")])

    assert pretty_repr(ChatPromptTemplate([both])).count(" Tool Message ") == 2


def test_a_file_is_shown_by_its_text(tmp_path: Path) -> None:
    (tmp_path / "greeting.st").write_text("Hi {name}", "utf-8")

    assert "\n\nHi {name}" in pretty_repr(ChatPromptTemplate([PromptTemplate(TextResource(tmp_path / "greeting.st"))]))


def test_what_is_no_chat_template_is_refused() -> None:
    with pytest.raises(AdapterError, match="pretty_repr shows a ChatPromptTemplate, not UserMessage"):
        pretty_repr(UserMessage("x"))  # type: ignore[arg-type]
