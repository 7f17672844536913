"""What models over vendors' SDKs share beside faults: arguments, clients, event loops, losses, counts of tokens."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from promptkit.adapters.openai import OPENAI
from promptkit.errors import (
    AdapterError,
    AuthenticationError,
    ContextLengthError,
    MissingDependencyError,
    ModelError,
    PromptError,
    RateLimitError,
    ResponseFormatError,
    UnsupportedContentError,
)
from promptkit.messages import AssistantMessage, SystemMessage, UserMessage
from promptkit.models._presets import COMPATIBLE
from promptkit.models.anthropic import AnthropicChatModel
from promptkit.models.gemini import GeminiChatModel
from promptkit.models.openai import OpenAIChatModel, OpenAIResponsesChatModel
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse
from tests.models.conftest import Server
from tests.models.scripted_server import END, ScriptedServer, http, stream
from tests.models.wires import KEY, TEXT, WIRES, Wire

PROMPT = Prompt("Hi", ChatOptions(max_tokens=50))
CLASSES: dict[str, Any] = {
    "openai": OpenAIChatModel,
    "responses": OpenAIResponsesChatModel,
    "anthropic": AnthropicChatModel,
    "gemini": GeminiChatModel,
}
VARIABLES = {
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "responses": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
}
TWO_CLIENTS = ("openai", "responses", "anthropic")
"""The SDKs that have a client for sync calls and one for async calls."""


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as scripted:
        yield scripted


@pytest.fixture(params=WIRES.values(), ids=list(WIRES))
def wire(request: pytest.FixtureRequest) -> Wire:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(params=CLASSES.values(), ids=list(CLASSES))
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


async def ajoined(chat_model: Any, prompt: Prompt = PROMPT) -> ChatResponse:
    return ChatResponse.from_chunks([chunk async for chunk in chat_model.astream(prompt)])


def clients(name: str, url: str) -> tuple[Any, Any]:
    """Make clients of an SDK as users do."""
    if name != "anthropic":
        import openai

        return openai.OpenAI(api_key=KEY, base_url=url), openai.AsyncOpenAI(api_key=KEY, base_url=url)
    import anthropic

    return anthropic.Anthropic(api_key=KEY, base_url=url), anthropic.AsyncAnthropic(api_key=KEY, base_url=url)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"options": {"model": "m"}}, "options must be ChatOptions"),
        ({"model": 7}, "model"),
        ({"api_key": b"sk-secret-value"}, "api_key must be a text, not bytes"),
        ({"api_key": " "}, "api_key must be a text, not an empty one"),
        ({"base_url": ""}, "base_url must be a text"),
        ({"base_url": 5}, "base_url must be a text"),
        ({"timeout": 0}, "timeout must be seconds above 0, not 0"),
        ({"timeout": "5"}, "timeout must be seconds"),
        ({"timeout": True}, "timeout must be seconds"),
        ({"timeout": float("nan")}, "timeout must be seconds"),
        ({"max_retries": -1}, "max_retries must be an int from 0 on, not -1"),
        ({"max_retries": 1.5}, "max_retries must be an int"),
        ({"client": object(), "timeout": 5, "api_key": KEY}, "api_key, timeout beside it"),
    ],
)
def test_wrong_arguments_are_refused(kind: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(PromptError, match=message) as caught:
        kind(**arguments)

    assert "secret" not in str(caught.value)
    assert KEY not in str(caught.value)


def test_own_arguments_are_checked() -> None:
    with pytest.raises(PromptError, match="dialect must be a Dialect, not str"):
        OpenAIChatModel(dialect="openai")  # type: ignore[arg-type]
    with pytest.raises(PromptError, match="late_system must be 'join' or 'keep', not 'drop'"):
        AnthropicChatModel(late_system="drop")  # type: ignore[arg-type]


def test_a_missing_sdk_is_named_with_its_command(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(MissingDependencyError, match=r"pip install 'promptkit\[(openai|anthropic|gemini)\]'"):
        kind()


def test_a_missing_key_is_an_error_of_the_first_call(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", "/nowhere")

    with pytest.raises(ModelError, match=r"(?i)api.key"):
        kind("m", base_url="http://127.0.0.1:1").call(PROMPT)


def test_the_sdks_own_variables_say_key_and_server(
    server: ScriptedServer, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = next(name for name, value in WIRES.items() if value is wire)
    key, url = VARIABLES[name]
    monkeypatch.setenv(key, "sk-from-environment")
    monkeypatch.setenv(url, server.url)
    server.answer(http(200, wire.answer(TEXT)))

    with CLASSES[name]("m") as chat_model:
        assert chat_model.call(PROMPT).text == TEXT
    assert "sk-from-environment" in " ".join(server.requests[0].headers.values())


@pytest.mark.parametrize(("name", "end"), [("openai", "\nX: 1"), ("openai", "é"), ("anthropic", "\nX: 1")])
def test_a_key_that_no_header_can_carry_is_not_shown(server: ScriptedServer, name: str, end: str) -> None:
    with (
        WIRES[name].model(server.url, api_key=KEY + end) as chat_model,
        pytest.raises(ModelError, match="characters that HTTP cannot carry") as caught,
    ):
        chat_model.call(PROMPT)

    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert not caught.value.retryable


@pytest.mark.parametrize("name", TWO_CLIENTS)
def test_half_a_surrogate_is_the_prompts_fault(name: str) -> None:
    with (
        WIRES[name].model("http://127.0.0.1:1") as chat_model,
        pytest.raises(AdapterError, match="half a surrogate pair"),
    ):
        chat_model.call(Prompt("\ud800", ChatOptions(max_tokens=5)))


def test_what_is_no_prompt_is_refused(wire: Wire) -> None:
    with wire.model("http://127.0.0.1:1") as chat_model, pytest.raises(AdapterError, match="made of a Prompt"):
        chat_model.call("Hi")


def test_nothing_is_imported_or_contacted_before_the_first_call() -> None:
    program = (
        "import sys, promptkit as p; p.OpenAIChatModel('m'); p.AnthropicChatModel('m').close(); p.GeminiChatModel('m');"
        "print({'openai', 'anthropic', 'google.genai', 'httpx2', 'asyncio', 'logging'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout.strip() == "set()", done.stderr


def said_model(server: ScriptedServer) -> str:
    """Give the name of the model in a request: in its body, or in the path as Gemini wants it."""
    request = server.requests[0]
    return request.body.get("model") or request.path.rpartition("/")[2].partition(":")[0]


def test_the_body_goes_out_as_the_adapter_wrote_it(server: ScriptedServer, wire: Wire) -> None:
    server.answer(http(200, wire.answer(TEXT)))
    prompt = Prompt("Hi", ChatOptions(model="m", max_tokens=5, extra={"brand_new": {"a": [1, None]}}))

    with wire.model(server.url, options=ChatOptions(model="other", temperature=0.5)) as chat_model:
        chat_model.call(prompt)

    body = server.requests[0].body
    assert body["brand_new"] == {"a": [1, None]}
    assert body.get("generationConfig", body)["temperature"] == 0.5
    assert said_model(server) == "m"


def test_the_model_may_be_named_first(server: ScriptedServer, wire: Wire) -> None:
    server.answer(http(200, wire.answer(TEXT)))

    with wire.model(server.url, model="m1", options=ChatOptions(model="m0")) as chat_model:
        chat_model.call(PROMPT)

    assert said_model(server) == chat_model.options.model == "m1"


@pytest.mark.parametrize(
    ("extra", "sent"),
    [({}, {"include_usage": True}), ({"stream_options": {"a": 1}}, {"a": 1}), ({"stream_options": None}, None)],
)
def test_usage_is_asked_for_in_streams_unless_extra_says_otherwise(
    server: ScriptedServer, extra: dict[str, Any], sent: Any
) -> None:
    wire = WIRES["openai"]
    server.answer(*stream(wire.stream()))

    with wire.model(server.url, options=ChatOptions(extra=extra)) as chat_model:
        list(chat_model.stream(PROMPT))

    assert server.requests[0].body.get("stream_options") == sent


def test_connections_are_used_again(server: ScriptedServer, wire: Wire) -> None:
    server.answer(http(200, wire.answer(TEXT)))

    with wire.model(server.url) as chat_model:
        for _ in range(3):
            chat_model.call(PROMPT)
    assert server.connections == 1

    async def thrice() -> None:
        for _ in range(3):
            await chat_model.acall(PROMPT)

    server.answer(http(200, wire.answer(TEXT)))
    with wire.model(server.url) as chat_model:
        asyncio.run(thrice())
    assert server.connections == 1


def test_each_event_loop_has_a_client_that_ends_with_it(server: ScriptedServer, wire: Wire) -> None:
    server.answer(http(200, wire.answer(TEXT)))
    chat_model = wire.model(server.url)

    for _ in range(3):
        assert asyncio.run(chat_model.acall(PROMPT)).text == TEXT
        assert not chat_model._clients._loops
    gc.collect()  # an open connection would warn here, and warnings are errors


def test_a_loop_that_was_only_closed_is_forgotten(server: ScriptedServer, wire: Wire) -> None:
    server.answer(http(200, wire.answer(TEXT), [("Connection", "close")]))
    chat_model = wire.model(server.url)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(chat_model.acall(PROMPT))
    loop.close()

    async def known() -> int:
        await chat_model.acall(PROMPT)
        return len(chat_model._clients._loops)

    assert asyncio.run(known()) == 1
    gc.collect()


@pytest.mark.parametrize("name", TWO_CLIENTS)
def test_an_injected_client_is_used_and_left_open(server: ScriptedServer, name: str) -> None:
    wire = WIRES[name]
    client, async_client = clients(name, server.url)

    async def both() -> None:
        async with CLASSES[name](async_client=async_client) as chat_model:
            server.answer(http(200, wire.answer(TEXT)))
            assert (await chat_model.acall(PROMPT)).text == TEXT
            server.answer(*stream(wire.stream()))
            assert (await ajoined(chat_model)).text == TEXT
            with pytest.raises(TypeError, match="was given an async client only"):
                chat_model.call(PROMPT)
        with pytest.raises(ModelError, match="is closed"):
            await chat_model.acall(PROMPT)
        assert not async_client.is_closed()
        await async_client.close()

    asyncio.run(both())
    server.answer(http(200, wire.answer(TEXT)))
    with CLASSES[name](client=client) as chat_model:
        assert chat_model.call(PROMPT).text == TEXT
    assert not client.is_closed()
    client.close()


@pytest.mark.parametrize("name", TWO_CLIENTS)
def test_an_injected_client_may_be_strict_about_types(server: ScriptedServer, name: str) -> None:
    client = type(clients(name, server.url)[0])(api_key=KEY, base_url=server.url, _strict_response_validation=True)
    server.answer(http(200, "<html>Welcome</html>", kind="text/html"))

    with pytest.raises(ResponseFormatError, match="did not answer in JSON"):
        CLASSES[name](client=client).call(PROMPT)
    client.close()


@pytest.mark.parametrize("name", TWO_CLIENTS)
def test_with_a_sync_client_alone_async_calls_run_in_threads(server: ScriptedServer, name: str) -> None:
    client, _ = clients(name, server.url)
    chat_model = CLASSES[name](client=client)

    server.answer(http(200, WIRES[name].answer(TEXT)))
    assert asyncio.run(chat_model.acall(PROMPT)).text == TEXT
    server.answer(*stream(WIRES[name].stream()))
    assert asyncio.run(ajoined(chat_model)).text == TEXT
    client.close()


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")  # the SDK's own
def test_an_injected_client_of_gemini_serves_all_calls(server: ScriptedServer) -> None:
    from google import genai

    wire = WIRES["gemini"]
    http_options = genai.types.HttpOptions(base_url=server.url, retry_options=genai.types.HttpRetryOptions(attempts=1))
    client = genai.Client(api_key=KEY, http_options=http_options)
    chat_model = GeminiChatModel("m", client=client)

    async def both() -> None:
        server.answer(http(200, wire.answer(TEXT), [("Connection", "close")]))
        assert (await chat_model.acall(PROMPT)).text == TEXT
        server.answer(*stream(wire.stream()), END)
        assert (await ajoined(chat_model)).text == TEXT
        await client.aio.aclose()

    server.answer(http(200, wire.answer(TEXT)))
    assert chat_model.call(PROMPT).text == TEXT
    asyncio.run(both())
    client.close()


@pytest.mark.parametrize("name", [None, "", "../v2/models/m", "m?key=1", "m#", "a b"])
def test_gemini_wants_a_model_for_the_url(server: ScriptedServer, name: str | None) -> None:
    server.answer()

    with WIRES["gemini"].model(server.url, options=ChatOptions(model=name)) as chat_model:
        with pytest.raises(AdapterError, match=r"options\.model: a model"):
            chat_model.call(PROMPT)
        with pytest.raises(AdapterError, match=r"options\.model: a model"):
            chat_model.count_tokens(PROMPT)
    assert not server.requests


def test_gemini_counts_tokens_of_a_whole_request(server: ScriptedServer) -> None:
    server.answer(http(200, {"totalTokens": 9}))
    plain = Prompt("Hi")
    whole = Prompt([SystemMessage("Be brief."), *plain])

    with WIRES["gemini"].model(server.url, api_version="v1beta") as chat_model:
        assert chat_model.count_tokens(plain) == asyncio.run(chat_model.acount_tokens(whole)) == 9

    assert {request.path for request in server.requests} == {"/v1beta/models/m:countTokens"}
    contents = [{"role": "user", "parts": [{"text": "Hi"}]}]
    system = {"parts": [{"text": "Be brief."}]}
    request = {"model": "models/m", "systemInstruction": system, "contents": contents}
    assert [sent.body for sent in server.requests] == [{"contents": contents}, {"generateContentRequest": request}]


def test_gemini_says_in_the_record_how_long_to_wait_and_that_a_key_is_wrong(server: ScriptedServer) -> None:
    details: list[Any] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}, 7]
    record = {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": details}

    with WIRES["gemini"].model(server.url) as chat_model:
        server.answer(http(429, {"error": record}))
        with pytest.raises(RateLimitError) as limit:
            chat_model.call(PROMPT)
        server.answer(http(429, {"error": record | {"details": [{"retryDelay": "soon"}]}}))
        with pytest.raises(RateLimitError) as vague:
            chat_model.call(PROMPT)
        server.answer(
            http(400, {"error": {"message": "API key not valid", "details": [{"reason": "API_KEY_INVALID"}]}})
        )
        with pytest.raises(AuthenticationError) as denied:
            chat_model.call(PROMPT)

    assert limit.value.retry_after == 34.5
    assert vague.value.retry_after is None
    assert denied.value.status == 400


def test_a_closed_model_refuses(server: ScriptedServer, wire: Wire) -> None:
    server.answer(http(200, wire.answer(TEXT)))

    async def closed() -> None:
        async with wire.model(server.url) as chat_model:
            await chat_model.acall(PROMPT)
            chat_model.call(PROMPT)
        with pytest.raises(ModelError, match="ChatModel is closed: make a new one"):
            await chat_model.acall(PROMPT)
        with pytest.raises(ModelError, match="is closed"):
            chat_model.call(PROMPT)
        with pytest.raises(ModelError, match="is closed"):
            await ajoined(chat_model)
        await chat_model.aclose()
        chat_model.close()

    asyncio.run(closed())


def lossy() -> Prompt:
    """Make a prompt that no format takes whole: of one message a note is lost, and it changes nothing."""
    return Prompt([UserMessage("Hi", metadata={"mine": 1})], ChatOptions(max_tokens=5))


FORMS: dict[str, Callable[[Any, Prompt], ChatResponse]] = {
    "call": lambda chat_model, prompt: chat_model.call(prompt),
    "acall": lambda chat_model, prompt: asyncio.run(chat_model.acall(prompt)),
    "stream": lambda chat_model, prompt: ChatResponse.from_chunks(chat_model.stream(prompt)),
    "astream": lambda chat_model, prompt: asyncio.run(ajoined(chat_model, prompt)),
}


@pytest.mark.parametrize("form", FORMS)
def test_losses_stand_in_the_answer_and_are_logged_once(
    server: ScriptedServer, wire: Wire, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer(*([http(200, wire.answer(TEXT))] if form.endswith("call") else stream(wire.stream())))

    with wire.model(server.url, max_retries=2) as chat_model, caplog.at_level(logging.WARNING, "promptkit.models"):
        first, second = (FORMS[form](chat_model, lossy()) for _ in range(2))

    assert first.text == TEXT
    assert first.metadata == second.metadata
    (loss,) = first.metadata["losses"]
    assert loss["path"] == "messages[0].metadata.mine"
    assert loss["what"] == "metadata"
    (record,) = caplog.records
    assert "a request lost metadata at messages[0].metadata.mine" in record.getMessage()


def test_a_loss_that_matters_is_refused_unless_the_model_is_lenient(server: ScriptedServer) -> None:
    prompt = Prompt("Hi", ChatOptions(max_tokens=5, top_k=3))
    wire = WIRES["openai"]
    server.answer(http(200, wire.answer(TEXT)))

    with wire.model(server.url) as chat_model, pytest.raises(UnsupportedContentError, match="no option top_k"):
        chat_model.call(prompt)
    assert not server.requests

    with wire.model(server.url, strict=False) as chat_model:
        losses = chat_model.call(prompt).metadata["losses"]
    assert [loss["path"] for loss in losses] == ["options.top_k"]


def test_a_dialect_says_how_a_server_spells_the_format(server: ScriptedServer) -> None:
    wire = WIRES["openai"]
    server.answer(http(200, wire.answer(TEXT)))
    dialect = OPENAI.mutate(option_keys={**OPENAI.option_keys, "max_tokens": "max_tokens", "top_k": "top_k"})

    with wire.model(server.url, dialect=dialect) as chat_model:
        chat_model.call(Prompt("Hi", ChatOptions(max_tokens=5, top_k=3)))

    body = server.requests[0].body
    assert (body["max_tokens"], body["top_k"]) == (5, 3)


def test_anthropic_keeps_system_text_in_place_where_asked(server: ScriptedServer) -> None:
    server.answer(http(200, WIRES["anthropic"].answer(TEXT)))
    prompt = Prompt([UserMessage("a"), AssistantMessage("b"), UserMessage("c"), SystemMessage("d")], PROMPT.options)

    with WIRES["anthropic"].model(server.url, late_system="keep") as chat_model:
        chat_model.call(prompt)

    assert [message["role"] for message in server.requests[0].body["messages"]] == [
        *("user", "assistant", "user", "system")
    ]


@pytest.mark.parametrize("name", ["responses", "anthropic"])
def test_tokens_are_counted_by_the_vendor(llama_server: Server, name: str) -> None:
    prompt = Prompt("What is the capital of France?", ChatOptions(temperature=0, max_tokens=1))
    url = llama_server.url if name == "anthropic" else f"{llama_server.url}/v1"

    with CLASSES[name](base_url=url, api_key=llama_server.key) as chat_model:
        counted = chat_model.count_tokens(prompt)
        assert asyncio.run(chat_model.acount_tokens(prompt)) == counted
        assert chat_model.call(prompt).usage.prompt_tokens == counted


@pytest.mark.parametrize(
    ("name", "path", "body"),
    [
        ("anthropic", "/v1/messages/count_tokens", {"messages": [{"role": "user", "content": "Hi"}]}),
        ("responses", "/v1/responses/input_tokens", {"input": [{"role": "user", "content": "Hi", "type": "message"}]}),
    ],
)
def test_a_request_to_count_holds_only_what_the_vendor_takes_there(
    server: ScriptedServer, name: str, path: str, body: dict[str, Any]
) -> None:
    server.answer(http(200, {"input_tokens": 4}))
    options = ChatOptions(model="m", max_tokens=5, temperature=1, extra={"service_tier": "auto"})

    with WIRES[name].model(server.url) as chat_model:
        assert chat_model.count_tokens(Prompt("Hi", options)) == 4

    assert server.requests[0].path == path
    assert server.requests[0].body == {"model": "m"} | body


@pytest.mark.parametrize("answer", [{}, [], {"input_tokens": "4"}, {"input_tokens": None}])
def test_a_count_that_is_none(server: ScriptedServer, answer: Any) -> None:
    server.answer(http(200, answer))

    with (
        WIRES["anthropic"].model(server.url) as chat_model,
        pytest.raises(ResponseFormatError, match="no count of tokens"),
    ):
        chat_model.count_tokens(PROMPT)


def test_a_prompt_that_does_not_fit_says_by_how_much(llama_server: Server) -> None:
    with (
        OpenAIChatModel(base_url=f"{llama_server.url}/v1", api_key=llama_server.key) as chat_model,
        pytest.raises(ContextLengthError) as caught,
    ):
        chat_model.call(Prompt("word " * 2_000))

    assert caught.value.needed is not None
    assert caught.value.available is not None
    assert caught.value.needed > caught.value.available


def test_each_says_which_schemas_it_is_held_to() -> None:
    assert OpenAIChatModel(api_key="k").takes_output_schema == "openai"
    assert OpenAIChatModel(api_key="k", dialect=COMPATIBLE).takes_output_schema is False
    assert OpenAIResponsesChatModel.takes_output_schema == "openai"
    assert AnthropicChatModel.takes_output_schema == "anthropic"
    assert GeminiChatModel.takes_output_schema == "gemini"
