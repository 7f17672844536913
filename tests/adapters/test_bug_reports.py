"""Send what others' bug reports on media and wire formats are about in every format: right, or a loss that says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from promptkit.content import Media
from promptkit.errors import AdapterError
from promptkit.messages import AssistantMessage, ToolCall, UserMessage
from promptkit.prompt import Prompt
from tests.adapters.bug_reports import CASES, STREAMS, Case, prompt_of
from tests.adapters.judges import JUDGES, spelled_alike
from tests.adapters.rich_bodies import FORMATS


def _with(*media: Media) -> Prompt:
    return Prompt(UserMessage(["See:", *media]))


def _kinded(case: Case) -> Prompt:
    part = case["input"]["part"]
    return _with(Media(url=part["url"], mime_type=part.get("mime") or "image/*"))


PROMPTS: dict[str, Callable[[Case], Prompt]] = {
    "B135": lambda case: _with(Media(url=case["input"]["part"]["url"], name="a.pdf")),
    "B137": _kinded,
    "B139": lambda case: _with(Media(bytes.fromhex(case["input"]["bytes_hex"]))),
    "B140": _kinded,
    "B142": lambda case: _with(*(Media.from_base64(part["base64"], part["mime"]) for part in case["input"]["parts"])),
    "B155": lambda case: Prompt(
        [UserMessage("q"), AssistantMessage(tool_calls=[ToolCall("a", "f")])],
    ),
}
REFUSED: dict[tuple[str, str], str] = {
    ("B137", "openai"): "fetches no documents",
    ("B142", "openai_responses"): "takes no audio",
    ("B142", "anthropic"): "takes no audio",
    ("B143", "anthropic"): r"messages\[3\]: the system text is a parameter",
    ("B143", "gemini"): r"messages\[3\]: the system text is a field",
    ("B152", "anthropic"): "has system text only",
    ("B152", "gemini"): "has system text only",
}
"""What a format cannot say, and the reason that it gives."""


@pytest.mark.parametrize("vendor", FORMATS)
@pytest.mark.parametrize("name", [name for name in CASES if name not in STREAMS])
def test_a_report_is_right_in_every_format(name: str, vendor: str) -> None:
    adapter, case = FORMATS[vendor], CASES[name]
    prompt = PROMPTS.get(name, prompt_of)(case)
    if (name, vendor) in REFUSED:
        with pytest.raises(AdapterError, match=REFUSED[name, vendor]):
            adapter.to_request(prompt).require(vendor)
        return
    request = adapter.to_request(prompt)

    JUDGES[vendor](request.body)
    assert request.losses or spelled_alike(adapter.from_request(request.body)) == spelled_alike(prompt)
    assert '"text": ""' not in json.dumps(request.body)
    assert all(loss.what in ("spelling", "name", "mime_type", "unanswered_call") for loss in request.losses)
    wanted: Any = case.get("expect") or {}
    if "mime" in wanted:
        assert wanted["mime"] in json.dumps(request.body)
