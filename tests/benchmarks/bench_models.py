"""Measure what we add to the vendors' SDKs: processor time of our adapters, and of theirs in the same call.

The servers run in a process of their own, so that only the client's time is counted. Theirs is the SDK as people use
it: its typed method, and its typed events. The models send and read JSON below those types, so a whole call of ours
may take less.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from types import ModuleType
from typing import Any

from promptkit.adapters import anthropic, gemini, openai, openai_responses
from promptkit.messages import AssistantMessage, SystemMessage, UserMessage
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse
from tests.benchmarks.harness import Call, Row, Times, compare
from tests.benchmarks.vendor_servers import EVENTS
from tests.models.wires import KEY, TEXT, WIRES

ADAPTERS: dict[str, ModuleType] = {
    "openai": openai,
    "responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
}
PROMPT = Prompt(
    [
        SystemMessage("Answer briefly."),
        *(
            message
            for turn in range(4)
            for message in (UserMessage(f"Question {turn}"), AssistantMessage("An answer."))
        ),
        UserMessage("And the last question?"),
    ],
    ChatOptions(model="m", max_tokens=50, temperature=0.5),
)


@contextmanager
def servers() -> Iterator[dict[str, tuple[str, str]]]:
    """Run the servers in another process."""
    command = [sys.executable, "-m", "tests.benchmarks.vendor_servers"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
        process.terminate()


def by_sdk(name: str, url: str, body: dict[str, Any], *, streamed: bool) -> Call:
    """Call the SDK as its users do."""
    if name == "gemini":
        return _by_google(url, body, streamed=streamed)
    if name == "anthropic":
        from anthropic import Anthropic

        create: Callable[..., Any] = Anthropic(api_key=KEY, base_url=url).messages.create
        body = dict(body)
        body["extra_body"] = {"temperature": body.pop("temperature")}
    else:
        from openai import OpenAI

        client = OpenAI(api_key=KEY, base_url=f"{url}/v1")
        create = client.responses.create if name == "responses" else client.chat.completions.create
    if not streamed:
        return lambda: create(**body)
    return lambda: sum(1 for _ in create(**body, stream=True))


def _by_google(url: str, body: dict[str, Any], *, streamed: bool) -> Call:
    from google import genai

    client = genai.Client(api_key=KEY, http_options=genai.types.HttpOptions(base_url=url))
    config: Any = {
        "system_instruction": body["systemInstruction"],
        "max_output_tokens": body["generationConfig"]["maxOutputTokens"],
        "temperature": body["generationConfig"]["temperature"],
    }
    contents = body["contents"]
    if not streamed:
        return lambda: client.models.generate_content(model="m", contents=contents, config=config)
    return lambda: sum(1 for _ in client.models.generate_content_stream(model="m", contents=contents, config=config))


def processor(calls: dict[str, Call], *, rounds: int = 7, sample: float = 0.1) -> Times:
    """Give the median processor seconds of one call of each, measured in turns."""
    for call in calls.values():
        call()
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        gc.collect()
        for name, call in calls.items():
            start, count = time.process_time(), 0
            while (spent := time.process_time() - start) < sample:
                call()
                count += 1
            samples[name].append(spent / count)
    return {name: median(times) for name, times in samples.items()}


def bench_calls() -> list[Row]:
    rows: list[Row] = []
    with servers() as places:
        for name, adapter in ADAPTERS.items():
            answer = WIRES[name].answer(TEXT)
            body = adapter.to_request(PROMPT).body
            chat_model = WIRES[name].model(places[name][0])
            calls: dict[str, Call] = {
                "ours": lambda adapter=adapter, answer=answer: (  # type: ignore[misc]
                    adapter.to_request(PROMPT),
                    adapter.to_response(answer),
                ),
                "the SDK": by_sdk(name, places[name][0], body, streamed=False),
                "our whole call": lambda chat_model=chat_model: chat_model.call(PROMPT),  # type: ignore[misc]
            }
            rows += compare(f"adapter in a call: {name}", processor(calls), at_most={"the SDK": 0.1})
            chat_model.close()
    return rows


def bench_streams() -> list[Row]:
    rows: list[Row] = []
    with servers() as places:
        for name, adapter in ADAPTERS.items():
            wire = WIRES[name]
            events = [*wire.events(["word "] * EVENTS), *wire.end()]
            body = adapter.to_request(PROMPT).body
            chat_model = wire.model(places[name][1])
            calls: dict[str, Call] = {
                "ours": lambda adapter=adapter, events=events: ChatResponse.from_chunks(  # type: ignore[misc]
                    adapter.to_chunks(events)
                ),
                "the SDK": by_sdk(name, places[name][1], body, streamed=True),
                "our whole stream": lambda chat_model=chat_model: ChatResponse.from_chunks(  # type: ignore[misc]
                    chat_model.stream(PROMPT)
                ),
            }
            times = processor(calls, rounds=5)
            rows += compare(f"adapter in {EVENTS:,} events: {name}", times, at_most={"the SDK": 0.25})
            chat_model.close()
    return rows
