"""Share one embedded model: it takes half a second to load."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from promptkit.models.local import LlamaCppChatModel
from promptkit.options import ChatOptions


@pytest.fixture(scope="session")
def local() -> Iterator[LlamaCppChatModel]:
    with LlamaCppChatModel(context=256, options=ChatOptions(max_tokens=12)) as chat_model:
        yield chat_model
