"""Assign templates more than once: only what is sure is held against a call."""

from __future__ import annotations

import random

from promptkit import PromptTemplate, SystemPromptTemplate

chosen = PromptTemplate("{a}")


def choose() -> None:
    global chosen  # noqa: PLW0603
    chosen.create({"b": 1})
    chosen = PromptTemplate("{b}")


def follow(*, yes: bool) -> None:
    one = PromptTemplate("{a}")
    one.create({"b": 1})  # expect: mypy=template-variables
    if yes:
        one = PromptTemplate("{b}")
        one.create({"b": 1})
        one.create({"a": 1})  # expect: mypy=template-variables
    one.create({"b": 1})
    one = one.partial({"a": 1})
    one.create()
    while yes:
        one = PromptTemplate("{c}")
        one.create({"c": 1})
    either = PromptTemplate("{a}") if yes else PromptTemplate("{b}")
    either.create({"b": 1})
    other = PromptTemplate("{a}") if yes else SystemPromptTemplate("{b}")
    other.create({"b": 1})
    same = PromptTemplate("{a}") if yes else PromptTemplate("{a}")  # noqa: RUF034
    same.create({"b": 1})  # expect: mypy=template-variables

    def later() -> None:
        one.create({"d": 1})
        same.create({"b": 1})  # expect: mypy=template-variables

    one = PromptTemplate("{d}")
    later()


def keep_in_containers() -> None:
    listed = [PromptTemplate("{a}")]
    listed.append(PromptTemplate("{b}"))
    listed[1].create({"b": 1})
    for each in listed:
        each.create({"b": 1})
    last = random.choice(listed)
    last.create({"b": 1})
    by_name = {"a": PromptTemplate("{a}")}
    by_name["b"] = PromptTemplate("{b}")
    by_name["b"].create({"b": 1})
    first, second = PromptTemplate("{a}"), PromptTemplate("{b}")
    first, second = second, first
    first.create({"b": 1})
    plain: list[PromptTemplate] = listed
    plain[0].create({"b": 1})


class Service:
    shared = PromptTemplate("{a}")
    replaced = PromptTemplate("{a}")

    def __init__(self) -> None:
        self.own = PromptTemplate("{a}")
        self.changed = PromptTemplate("{a}")

    def fill(self) -> None:
        self.shared.create({"b": 1})  # expect: mypy=template-variables
        self.own.create({"b": 1})  # expect: mypy=template-variables
        self.replaced.create({"b": 1})
        self.changed.create({"b": 1})

    def change(self) -> None:
        self.changed = PromptTemplate("{b}")


class OtherService(Service):
    replaced = PromptTemplate("{b}")

    def fill(self) -> None:
        self.replaced.create({"b": 1})
