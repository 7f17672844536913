"""Measure what an import costs, each in a fresh interpreter."""

from __future__ import annotations

from tests.benchmarks.harness import Row, compare, interleaved, process

NAMES = "PromptTemplate, ChatPromptTemplate, SystemMessage, UserMessage, Prompt, ChatOptions"


def bench_messages_and_templates() -> list[Row]:
    calls = {
        "ours": process(f"from promptkit import {NAMES}"),
        "import attrs": process("import attrs"),
        "bare python": process(""),
        "langchain_core": process(
            "from langchain_core.messages import SystemMessage; from langchain_core.prompts import ChatPromptTemplate"
        ),
    }
    return compare("import of message and template names", interleaved(calls), at_most={"import attrs": 1.6})


def bench_package_alone() -> list[Row]:
    calls = {"ours": process("import promptkit"), "bare python": process("")}
    return compare("import promptkit", interleaved(calls))
