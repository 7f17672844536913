"""Show the main job: templates become prompts, and a language model inside the process answers them."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from time import perf_counter
from typing import Any, ClassVar, TextIO

from attrs import frozen

from promptkit.contracts import AnyChatModel, stream
from promptkit.models.local import LlamaCppChatModel
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChunkAccumulator
from promptkit.templates.chat import ChatPromptTemplate
from promptkit.templates.prompt_template import PromptTemplate, SystemPromptTemplate
from promptkit.templates.typed import TypedPromptTemplate

__all__ = ["Postcard", "add_to", "run_scenes", "scenes"]

SAMPLING = ChatOptions(temperature=0.3, max_tokens=120, seed=7)


@frozen
class Postcard(TypedPromptTemplate):
    """Ask for a postcard: an application's own template, its fields the variables.

    >>> Postcard("Lisbon", "Ada").variables
    ()
    """

    template: ClassVar[str] = "Write a postcard of two sentences from {place} to my {relation} {friend}."
    place: str
    friend: str
    relation: str = "friend"


def scenes() -> tuple[tuple[str, Prompt], ...]:
    """Make the three prompts of the demo, each with its title."""
    joke = PromptTemplate("Tell me a {adjective} joke about {topic}")
    pirates = ChatPromptTemplate(
        [
            SystemPromptTemplate(
                "You help people to find things out. You are called {name}. Answer under that name, and in the manner "
                "of a {voice}."
            ),
            (
                "user",
                "Who were the three best known pirates of the golden age of piracy, and what did each of them do?",
            ),
        ]
    )
    return (
        ("A template", joke.create({"adjective": "short", "topic": "a cat"}, options=SAMPLING)),
        ("A conversation", pirates.create({"name": "Bob", "voice": "pirate"}, options=SAMPLING)),
        ("A template class of an application", Postcard("Lisbon", "Ada").create(options=SAMPLING)),
    )


def run_scenes(chat_model: AnyChatModel, out: TextIO) -> None:
    """Show each prompt, the answer as it arrives, tokens and seconds.

    Args:
        chat_model: What answers.
        out: Where to write; colours are used on a terminal unless ``NO_COLOR`` is set.
    """
    bold, dim, plain = ("\033[1m", "\033[2m", "\033[0m") if _has_colours(out) else ("", "", "")
    for number, (title, prompt) in enumerate(scenes(), 1):
        print(f"\n{bold}{number}. {title}{plain}", file=out)
        for message in prompt:
            print(f"{dim}{message.message_type.value:>9} | {plain}{message.content}", file=out)
        print(f"{dim}assistant | {plain}", end="", file=out)
        start = perf_counter()
        answer = ChunkAccumulator()
        for chunk in stream(chat_model, prompt):
            answer.add(chunk)
            print(chunk.text, end="", file=out, flush=True)
        usage = answer.result().usage
        seconds = perf_counter() - start
        figures = f"{usage.prompt_tokens} tokens in, {usage.completion_tokens} out, {seconds:.1f} s"
        print(f"\n{dim}{'':>9} | {figures}{plain}", file=out)


def _has_colours(out: TextIO) -> bool:
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def add_to(commands: Any) -> None:
    """Add the command ``demo`` to a parser's commands."""
    parser: ArgumentParser = commands.add_parser("demo", help="see templates become prompts and a model answer them")
    parser.set_defaults(run=_run)


def _run(_options: Namespace) -> None:
    print("Loading SmolLM2-135M-Instruct into this process …", file=sys.stderr)
    with LlamaCppChatModel() as chat_model:
        run_scenes(chat_model, sys.stdout)
    print("\nA model of 135 million parameters is small talk; the prompts are what this is about.")
