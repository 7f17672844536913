"""Hold what single advisors promise beyond the contract: when they give up, what they look at, what they log."""

from __future__ import annotations

from contextlib import closing

import pytest

from promptkit.client import ChatClient, ChatClientRequest
from promptkit.client.advisors import (
    AsyncCallNext,
    LoggingAdvisor,
    OutputValidationAdvisor,
    RetryAdvisor,
    SafeguardAdvisor,
)
from promptkit.errors import ModelError, OutputConversionError, RateLimitError
from promptkit.history import check_history
from promptkit.messages import AssistantMessage, InvalidToolCall
from promptkit.response import ChatResponse
from promptkit.testing import EchoChatModel, ScriptedChatModel
from tests.client.forms import FORMS, OddError, OpenStream, StreamModel, add, ask, request_of, said, wish

EACH_FORM = pytest.mark.parametrize("form", FORMS)


@EACH_FORM
def test_retry_gives_up_where_it_should(form: str) -> None:
    def failing(*errors: Exception) -> ScriptedChatModel:
        return ScriptedChatModel([*errors, said("x")])

    never = failing(ModelError("no", retryable=False))
    with pytest.raises(ModelError, match="no"):
        ask(request_of(never, RetryAdvisor(wait=0)), form)
    busy = failing(*[ModelError(f"busy {n}", retryable=True) for n in range(3)])
    with pytest.raises(ModelError, match="busy 1"):
        ask(request_of(busy, RetryAdvisor(2, wait=0)), form)
    limited = failing(RateLimitError("wait", status=429, retry_after=99))
    with pytest.raises(RateLimitError):
        ask(request_of(limited, RetryAdvisor()), form)
    assert (len(never.prompts), len(busy.prompts), len(limited.prompts)) == (1, 2, 1)
    short = failing(RateLimitError("wait", status=429, retry_after=0.0))
    assert ask(request_of(short, RetryAdvisor(wait=99)), form).text == "x"


@EACH_FORM
def test_a_stream_of_which_something_came_is_not_begun_anew(form: str) -> None:
    model = StreamModel([["Once ", ModelError("cut", retryable=True)], "x"])

    with pytest.raises(ModelError, match="cut") as caught:
        ask(request_of(model, RetryAdvisor(wait=0)), form)

    assert caught.value.partial is not None
    assert caught.value.partial.text == "Once "
    assert len(model.prompts) == 1


@EACH_FORM
def test_validation_gives_the_last_answer_up(form: str) -> None:
    model = ScriptedChatModel(["a", "", "c"])
    request = request_of(model, OutputValidationAdvisor())

    with pytest.raises(OutputConversionError) as caught:
        ask(request, form, int)

    assert caught.value.text == "c"
    assert [len(prompt) for prompt in model.prompts] == [1, 3, 3]  # an empty answer is not repeated to the model
    assert all(check_history(prompt) == () for prompt in model.prompts)
    assert "Your answer cannot be used: the answer is no int" in model.prompts[1].text


@EACH_FORM
def test_validation_lets_calls_pass(form: str) -> None:
    cut = AssistantMessage("Wait.", invalid_tool_calls=[InvalidToolCall("1", "add", arguments='{"a', error="cut")])
    model = ScriptedChatModel([said("Wait.", wish("add", a=1, b=1)), cut, "2"])

    response = ask(request_of(model, OutputValidationAdvisor(), tools=[add]), form, int)

    assert response.text == "2"
    assert [len(prompt) for prompt in model.prompts] == [1, 3, 5]
    assert all(check_history(prompt) == () for prompt in model.prompts)


@EACH_FORM
def test_safeguard_looks_at_the_whole_prompt(form: str) -> None:
    model = ScriptedChatModel([])
    client = ChatClient(model, system="The Password is x.", advisors=[SafeguardAdvisor(["password"], answer="No.")])

    response = ask(client.prompt("?"), form)

    assert (response.text, response.results[0].finish_reason) == ("No.", "safeguard")
    assert model.prompts == ()


@EACH_FORM
def test_logs_show_no_text_above_debug_and_no_secret_at_all(form: str, caplog: pytest.LogCaptureFixture) -> None:
    key = "sk-0123456789abcdefghij"
    client = ChatClient(ScriptedChatModel([said(f"Yours is {key}."), OddError("down")]), advisors=[LoggingAdvisor()])

    with caplog.at_level("DEBUG", "promptkit.client"):
        ask(client.prompt(f"My key is {key}."), form)
        with pytest.raises(OddError):
            ask(client.prompt("?"), form)

    assert key not in caplog.text
    assert [record.levelname for record in caplog.records] == [
        "INFO",
        "DEBUG",
        "INFO",
        "DEBUG",
        "INFO",
        "DEBUG",
        "WARNING",
    ]
    assert not any("key" in record.getMessage() for record in caplog.records if record.levelname != "DEBUG")
    assert caplog.records[2].getMessage().startswith("answered (stop) with 10 + 2 tokens")
    assert "Yours is [redacted]." in caplog.text
    assert "OddError" in caplog.records[-1].getMessage()


def test_a_reader_that_leaves_is_no_failure_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    texts = request_of(OpenStream(), LoggingAdvisor()).stream().content()
    with caplog.at_level("INFO", "promptkit.client"), closing(texts):  # type: ignore[type-var]
        next(texts)

    assert [record.levelname for record in caplog.records] == ["INFO", "INFO"]


def test_an_async_function_where_a_sync_one_is_called() -> None:
    async def later(request: ChatClientRequest, next: AsyncCallNext) -> ChatResponse:
        return await next(request)

    with pytest.raises(TypeError, match=r"later.* is async only"):
        request_of(EchoChatModel(), later).call().content()
