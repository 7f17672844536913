"""Hold `NoOpRenderer`: every text renders as itself."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit.errors import TemplateSyntaxError
from promptkit.renderers.noop import NoOpRenderer
from tests.strategies import texts


@given(text=texts().filter(lambda text: bool(text.strip())), variables=st.dictionaries(texts(), texts()))
def test_text_renders_as_itself(text: str, variables: dict[str, str]) -> None:
    compiled = NoOpRenderer().compile(text)

    assert compiled.render(variables) == text
    assert (compiled.variables, compiled.optional_variables) == ((), ())


@pytest.mark.parametrize("blank", ["", " ", "\n\t"], ids=repr)
def test_blank_text_is_refused(blank: str) -> None:
    with pytest.raises(TemplateSyntaxError, match="blank") as caught:
        NoOpRenderer().compile(blank)

    assert caught.value.line == 1


def test_compiled_text_is_a_value() -> None:
    compiled = NoOpRenderer().compile("Hi {name}")

    assert compiled == NoOpRenderer().compile("Hi {name}") == pickle.loads(pickle.dumps(compiled))
    assert repr(NoOpRenderer()) == "NoOpRenderer()"
