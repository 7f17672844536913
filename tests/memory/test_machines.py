"""Hold every store against a list, through any sequence of calls and reopenings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from promptkit import MemoryStoreError, SystemMessage
from promptkit.memory._repository import BaseRepository
from promptkit.messages import BuiltinMessage
from tests.memory.forms import AsyncForm, Form
from tests.memory.samples import KINDS

NAMES = st.sampled_from(("a", "A", "a\x00b", "é", "e\u0301", "%s'--"))


MESSAGES = st.sampled_from(
    [message.mutate(id=name) for message in KINDS.values() for name in (None, None, "m1", "m2", "m3\x00", "")]
)


class StoreMachine(RuleBasedStateMachine):
    """Do the same to a store and to lists, in names of its own."""

    open: Callable[[], BaseRepository]
    runs = count()

    @initialize(form=st.sampled_from(("sync", "async")))
    def begin(self, form: str) -> None:
        self.form = form
        self.run = next(self.runs)
        self.model: dict[str, list[BuiltinMessage]] = defaultdict(list)
        self.repository = self.opened()

    def opened(self) -> Form:
        repository = self.open()
        return AsyncForm(repository) if self.form == "async" else repository

    def name(self, name: str) -> str:
        return f"{self.run} {name}"

    @rule(name=NAMES, batch=st.lists(MESSAGES, max_size=4))
    def append(self, name: str, batch: list[BuiltinMessage]) -> None:
        log = [*self.model[name]]
        sequences: list[int] | None = []
        for message in batch:
            known = next((at for at, each in enumerate(log, 1) if message.id and each.id == message.id), None)
            if known is None:
                log.append(message)
                known = len(log)
            elif log[known - 1] != message:
                sequences = None
                break
            if sequences is not None:
                sequences.append(known)
        if sequences is None:
            with pytest.raises(MemoryStoreError, match="nothing was stored"):
                self.repository.append(self.name(name), batch)
        else:
            assert self.repository.append(self.name(name), batch) == tuple(sequences)
            self.model[name] = log

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        self.repository.delete(self.name(name))
        self.model.pop(name, None)

    @rule(name=NAMES, n=st.integers(0, 6), system=st.integers(0, 3))
    def last(self, name: str, n: int, system: int) -> None:
        log = self.numbered(name)
        tail, before = log[len(log) - min(n, len(log)) :], log[: len(log) - min(n, len(log))]
        earlier = [each for each in before if isinstance(each[1], SystemMessage)]

        assert list(self.repository.last(self.name(name), n, system=system)) == [
            *earlier[len(earlier) - min(system, len(earlier)) :],
            *tail,
        ]

    @rule(name=NAMES, after=st.integers(0, 6), limit=st.none() | st.integers(0, 6))
    def read(self, name: str, after: int, limit: int | None) -> None:
        expected = self.numbered(name)[after:][:limit]

        assert list(self.repository.read(self.name(name), after=after, limit=limit)) == expected

    @rule()
    def names_and_counts(self) -> None:
        names = sorted(self.name(name) for name, log in self.model.items() if log)
        start = f"{self.run} "

        found = self.repository.conversation_ids(after=start, limit=len(names) + 1)
        assert [name for name in found if name.startswith(start)] == names
        assert [self.repository.count(name) for name in names] == [
            len(self.model[name.removeprefix(start)]) for name in names
        ]

    @precondition(lambda self: self.reopens)
    @rule()
    def reopen(self) -> None:
        self.end()
        self.repository = self.opened()

    reopens = True

    def numbered(self, name: str) -> list[tuple[int, Any]]:
        return list(enumerate(self.model[name], 1))

    def end(self) -> None:
        with self.repository:
            pass

    def teardown(self) -> None:
        if hasattr(self, "repository"):
            self.end()


@pytest.mark.hypothesis
def test_a_store_is_a_list(store: str, open_store: Callable[[], BaseRepository]) -> None:
    class Machine(StoreMachine):
        open = staticmethod(open_store)
        reopens = store != "memory"

    assert settings.default is not None
    examples = min(settings.default.max_examples // 4, 500)  # each makes many calls
    run_state_machine_as_test(Machine, settings=settings(max_examples=examples, stateful_step_count=20))
