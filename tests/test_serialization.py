from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit.errors import SerializationError
from promptkit.serialization import dumps, from_dict, loads, to_dict
from tests import strategies

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "part": strategies.parts(),
    "message": strategies.messages(),
    "messages": strategies.conversations(),
    "options": strategies.options(),
    "prompt": strategies.prompts(),
    "usage": strategies.usages(),
    "response": strategies.responses(),
    "chunk": strategies.chunks(),
}


def holds_split_character(value: Any) -> bool:
    text = json.dumps(to_dict(value), ensure_ascii=False)
    return any(
        "\ud800" <= high <= "\udbff" and "\udc00" <= low <= "\udfff" for high, low in zip(text, text[1:], strict=False)
    )


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_round_trips(kind: str, data: st.DataObject) -> None:
    value = data.draw(VALUES[kind])

    assert from_dict(to_dict(value)) == value
    assert from_dict(json.loads(json.dumps(to_dict(value), allow_nan=False))) == value or holds_split_character(value)
    try:
        text = dumps(value)
    except SerializationError:
        assert holds_split_character(value)
    else:
        text.encode()
        assert loads(text) == loads(text.encode()) == value
        assert dumps(loads(text)) == text
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
