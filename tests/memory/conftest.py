"""Give the repositories under test, each sync and async, on real servers that the tests start and stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from promptkit.memory._repository import BaseRepository
from promptkit.memory.in_memory import InMemoryChatMemoryRepository
from tests.memory.forms import AsyncForm, Form

OPEN: dict[str, str] = {"memory": "open_memory"}
"""The fixture by store that gives a function: each call opens one more repository over the same empty data."""


@pytest.fixture
def open_memory() -> Callable[[], BaseRepository]:
    """Give the one repository that this process has."""
    repository = InMemoryChatMemoryRepository()
    return lambda: repository


@pytest.fixture(params=OPEN)
def store(request: pytest.FixtureRequest) -> str:
    """Name each store in turn."""
    return str(request.param)


@pytest.fixture
def open_store(store: str, request: pytest.FixtureRequest) -> Callable[[], BaseRepository]:
    """Give the function that opens a repository of the store."""
    opener: Callable[[], BaseRepository] = request.getfixturevalue(OPEN[store])
    return opener


@pytest.fixture(params=["sync", "async"])
def repository(request: pytest.FixtureRequest, open_store: Callable[[], BaseRepository]) -> Iterator[Form]:
    """Give an empty repository of each store, in both forms."""
    opened = open_store()
    form: Form = AsyncForm(opened) if request.param == "async" else opened
    with form:
        yield form
