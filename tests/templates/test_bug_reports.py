"""Hold templates against the bug reports of other projects that need a template, a chat or a file (``template/*``).

The cases of one language alone stand in ``tests/renderers``.
"""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from promptkit.content import Text
from promptkit.messages import AssistantMessage, Message, SystemMessage, UserMessage
from promptkit.prompt import Prompt
from promptkit.templates.chat import ChatPromptTemplate, MessagesPlaceholder
from promptkit.templates.few_shot import FewShotExamples
from promptkit.templates.prompt_template import PromptTemplate, SystemPromptTemplate
from tests import oracles

ROWS = {row["id"]: row for row in oracles.rows("bug_reports_templates.jsonl")}
RENDERERS = {row_id for row_id, row in ROWS.items() if row["input"].get("syntax") and row_id != "B006"}
"""Cases of one language, held by tests/renderers/test_bug_reports*.py and test_contract.py."""


def _case(row_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return ROWS[row_id]["input"], ROWS[row_id].get("expect", {})


def _history(messages: list[dict[str, str]]) -> list[Message]:
    kinds = {"user": UserMessage, "assistant": AssistantMessage}
    return [kinds[message["role"]](message["text"]) for message in messages]


@pytest.mark.parametrize("row_id", ["B003", "B004", "B028", "B040"])
def test_text_given_as_text_is_never_parsed(row_id: str) -> None:
    given, expect = _case(row_id)
    text = given["user_literal"]
    chat = ChatPromptTemplate([UserMessage(text), ("user", "{rest}")])

    prompt = chat.create({"rest": given.get("append_format", ""), **given.get("context", {})})

    assert prompt[0] == UserMessage(text)
    for piece in expect.get("contains", []):
        assert piece in prompt.text


def test_a_system_message_is_literal() -> None:
    given, expect = _case("B027")
    chat = ChatPromptTemplate([SystemMessage(given["system_literal"])])

    assert chat.create(given["values"]).text == given["system_literal"] == expect["system_text"]


def test_few_shot_text_is_rendered_once() -> None:
    given, expect = _case("B006")
    examples = FewShotExamples(given["examples"], given["example_template"], suffix=given["suffix"])

    assert examples.render(given["values"]) == expect["render"]


def test_bound_variables_of_inner_templates_count_as_given() -> None:
    given, expect = _case("B018")
    (part,) = given["chat_template"]
    chat = ChatPromptTemplate([PromptTemplate(part["template"], bound=part["preset"])])

    assert (chat.render(given["values"]), list(chat.variables)) == (expect["text"], expect["variables"])


@pytest.mark.parametrize("absent", [False, True], ids=["given", "absent"])
def test_an_optional_slot(absent: bool) -> None:
    given, expect = _case("B019")
    slot, question = given["chat_template"]
    chat = ChatPromptTemplate(
        [MessagesPlaceholder(slot["slot"], optional=slot["optional"]), ("user", question["template"])]
    )
    values = {**given["values"], "history": _history(given["values"]["history"])}
    if absent:
        del values["history"]

    assert len(chat.create(values)) == (1 if absent else expect["count"])
    assert chat.optional_variables == ("history",)


def test_one_language_a_chat() -> None:
    given, expect = _case("B021")
    chat = ChatPromptTemplate(
        [MessagesPlaceholder("messages"), ("user", given["chat_template"][1]["template"])], renderer="mustache"
    )
    values = {**given["values"], "messages": _history(given["values"]["messages"])}

    assert len(chat.create(values)) == expect["count"]


def test_finished_messages_are_literal_and_unused_values_reported() -> None:
    given, expect = _case("B022")
    finished, question = given["chat_template"]
    chat = ChatPromptTemplate([SystemMessage(finished["message"]["text"]), ("user", question["template"])])

    system = chat.create(given["values"]).system_message
    assert system is not None
    assert system.content == expect["system_text"]
    assert chat.check(given["values"]).unused == ("lang",)


def test_roles_come_from_structure_only() -> None:
    given, expect = _case("B038")
    chat = ChatPromptTemplate([(part["role"], part["template"]) for part in given["chat_template"]])

    prompt = chat.create(given["values"])

    assert [message.message_type for message in prompt] == expect["roles"]
    assert prompt[1].content == given["values"]["q"]


def test_parts_never_travel_through_text() -> None:
    given, _ = _case("B042")
    message = PromptTemplate(["{q}", Text("!")]).create_message(given["values"])

    assert message.content == (Text(given["values"]["q"]), Text("!"))


def test_rendering_leaves_no_state() -> None:
    given, expect = _case("B045")
    template = PromptTemplate(given["template"])

    assert [template.render(call) for call in given["calls"]] == expect["renders"]


def test_copies_render_the_same() -> None:
    given, expect = _case("B046")
    template = PromptTemplate(given["template"], renderer="jinja")

    for twin in (copy.copy(template), copy.deepcopy(template), pickle.loads(pickle.dumps(template))):
        assert twin == template
        assert twin.render(given["values"]) == expect["render"]


def test_threads_do_not_mix() -> None:
    given, expect = _case("B048")
    template = PromptTemplate(given["template"])
    mismatches: list[str] = []

    def render() -> None:
        own = threading.get_ident()
        texts = [template.render({"x": own}) for _ in range(given["renders_each"])]
        mismatches.extend(text for text in texts if text != f"{own}-{own}")

    threads = [threading.Thread(target=render) for _ in range(given["threads"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(mismatches) == expect["mismatches"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
def test_files_are_utf8_whatever_the_locale(mark: bytes, tmp_path: Path) -> None:
    given, expect = _case("B049")
    file = tmp_path / "prompt.txt"
    file.write_bytes(mark + given["file_utf8"].encode())
    code = (
        "import sys; from promptkit import PromptTemplate, TextResource;"
        f"sys.stdout.buffer.write(PromptTemplate(TextResource({str(file)!r})).render().encode())"
    )

    shown = subprocess.run(
        [sys.executable, "-c", code], env={"LC_ALL": "C", "PYTHONUTF8": "0"}, capture_output=True, check=True
    )

    assert shown.stdout.decode() == expect["render"]


def test_message_fields_carry_over() -> None:
    """B054: metadata and name of a message template reach the message."""
    template = SystemPromptTemplate("Be {how}", message_metadata={"cache": "ephemeral"}, message_name="n1")

    assert template.create({"how": "kind"}) == Prompt(
        SystemMessage("Be kind", metadata={"cache": "ephemeral"}, name="n1")
    )


def test_every_case_is_held_somewhere() -> None:
    here = {
        "B003",
        "B004",
        "B028",
        "B040",
        "B027",
        "B006",
        "B018",
        "B019",
        "B021",
        "B022",
        "B038",
        "B042",
        "B045",
        "B046",
    }
    elsewhere = RENDERERS | {"B036", "B048", "B049"}

    assert ROWS.keys() <= here | elsewhere
