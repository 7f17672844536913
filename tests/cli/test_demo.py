from __future__ import annotations

import io
import subprocess
import sys

import pytest

from promptkit.cli import demo, main
from promptkit.errors import ModelError
from promptkit.testing import EchoChatModel, ScriptedChatModel


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_demo_shows_prompt_answer_tokens_and_seconds() -> None:
    out = io.StringIO()

    demo.run_scenes(EchoChatModel(), out)

    text = out.getvalue()
    for title, prompt in demo.scenes():
        assert title in text
        for message in prompt:
            assert str(message.content) in text
    assert text.count(" tokens in, ") == 3
    assert "\033" not in text


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_colours_are_for_terminals(no_color: str, coloured: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm")
    out = _Terminal()

    demo.run_scenes(EchoChatModel(), out)

    assert ("\033[1m" in out.getvalue()) is coloured


def test_an_answer_appears_piece_by_piece() -> None:
    out = io.StringIO()
    script = ScriptedChatModel([["Ahoy ", "there", ModelError("the line broke")]])

    with pytest.raises(ModelError):
        demo.run_scenes(script, out)

    assert out.getvalue().endswith("Ahoy there")


def test_the_demo_runs_on_the_embedded_model() -> None:
    done = subprocess.run([sys.executable, "-m", "promptkit", "demo"], capture_output=True, text=True, check=True)

    assert done.stdout.count(" tokens in, ") == 3
    assert "0 out" not in done.stdout


def test_wrong_words_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["no-such-command"])

    assert caught.value.code == 2
    assert "no-such-command" in capsys.readouterr().err


def test_a_user_error_is_a_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PROMPTKIT_SMOLLM2", "/no/such/weights.gguf")

    assert main(["demo"]) == 1
    assert "/no/such/weights.gguf" in capsys.readouterr().err


def test_a_closed_pipe_is_no_error() -> None:
    pipe = f"{sys.executable} -m promptkit demo | head -n 1"
    done = subprocess.run(["sh", "-c", pipe], capture_output=True, text=True, check=True)

    assert "Traceback" not in done.stderr
