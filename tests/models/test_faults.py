"""What servers do wrong, over every model and every form of a call: typed errors, what had arrived, no key."""

from __future__ import annotations

import asyncio
import email.utils
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from promptkit.errors import (
    AuthenticationError,
    ModelError,
    ModelHTTPError,
    PromptkitError,
    RateLimitError,
    ResponseFormatError,
    TransportError,
)
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse
from tests.models.scripted_server import (
    END,
    HOLD,
    RESET,
    STREAM_END,
    STREAM_HEAD,
    Request,
    ScriptedServer,
    Step,
    http,
    stream,
)
from tests.models.wires import KEY, PIECES, TEXT, WIRES, Wire

PROMPT = Prompt("A very private question", ChatOptions(model="m", max_tokens=50))


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as scripted:
        yield scripted


@pytest.fixture(params=WIRES.values(), ids=list(WIRES))
def wire(request: pytest.FixtureRequest) -> Wire:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """Keep one event loop: making a client of an SDK takes longer than most tests."""
    with asyncio.Runner() as one:
        yield one


@pytest.fixture(scope="module")
def models(server: ScriptedServer) -> Iterator[Models]:
    """Give models that the tests share."""
    made: dict[Any, Any] = {}

    def model(wire: Wire, **settings: Any) -> Any:
        key = (id(wire), *settings.items())
        if key not in made:
            made[key] = wire.model(settings.pop("url", server.url), **settings)
        return made[key]

    yield model
    for chat_model in made.values():
        chat_model.close()


Models = Callable[..., Any]
Ask = Callable[[Any], Any]


async def ajoined(chat_model: Any) -> ChatResponse:
    return ChatResponse.from_chunks([chunk async for chunk in chat_model.astream(PROMPT)])


FORMS: dict[str, Callable[[asyncio.Runner, Any], ChatResponse]] = {
    "call": lambda runner, chat_model: chat_model.call(PROMPT),
    "acall": lambda runner, chat_model: runner.run(chat_model.acall(PROMPT)),
    "stream": lambda runner, chat_model: ChatResponse.from_chunks(chat_model.stream(PROMPT)),
    "astream": lambda runner, chat_model: runner.run(ajoined(chat_model)),
}
each_form = pytest.mark.parametrize("ask", list(FORMS), indirect=True)
whole = pytest.mark.parametrize("ask", ["call", "acall"], indirect=True)
streamed = pytest.mark.parametrize("ask", ["stream", "astream"], indirect=True)


@pytest.fixture
def ask(request: pytest.FixtureRequest, runner: asyncio.Runner) -> Ask:
    return partial(FORMS[request.param], runner)


def streams(request: Request) -> bool:
    return "stream" in request.path or (request.body or {}).get("stream", False)


def called(chat_model: Any) -> ChatResponse:
    return chat_model.call(PROMPT)  # type: ignore[no-any-return]


def failure(ask: Ask, chat_model: Any) -> PromptkitError:
    with pytest.raises(PromptkitError) as caught:
        ask(chat_model)
    shown = "".join(traceback.format_exception(caught.value))
    assert KEY not in shown
    assert "private" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, ModelHTTPError, False),
        (401, AuthenticationError, False),
        (403, AuthenticationError, False),
        (404, ModelHTTPError, False),
        (408, ModelHTTPError, True),
        (409, ModelHTTPError, True),
        (413, ModelHTTPError, False),
        (422, ModelHTTPError, False),
        (429, RateLimitError, True),
        (500, ModelHTTPError, True),
        (503, ModelHTTPError, True),
        (529, ModelHTTPError, True),
    ],
)
@each_form
def test_a_refusal_says_why(
    ask: Ask,
    server: ScriptedServer,
    wire: Wire,
    models: Models,
    status: int,
    kind: type[ModelHTTPError],
    retryable: bool,
) -> None:
    server.answer(http(status, wire.error(f"wrong key {KEY}!"), [(wire.request_id, "req_7")]))

    error = failure(ask, models(wire))

    assert type(error) is kind
    assert error.status == status
    assert error.request_id == "req_7"
    assert error.retryable is retryable
    assert "wrong key ***!" in str(error)
    assert len(server.requests) == 1


@each_form
def test_an_error_that_comes_as_an_answer(ask: Ask, server: ScriptedServer, wire: Wire, models: Models) -> None:
    told = wire.error(f"wrong key {KEY}!")
    server.answer_by(lambda request: stream([wire.event(told)]) if streams(request) else [http(200, told)])

    assert "wrong key ***!" in str(failure(ask, models(wire)))


@pytest.mark.parametrize("message", [[f"wrong key {KEY}!"], {"en": [f"wrong key {KEY}!"]}], ids=["list", "mapping"])
def test_no_key_is_shown_from_deep_in_a_record(
    server: ScriptedServer, wire: Wire, models: Models, message: Any
) -> None:
    server.answer(http(422, wire.error(message)))

    assert "wrong key ***!" in str(failure(called, models(wire)))


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "c", "message": f"wrong key {KEY}!"},
        {"type": "response.failed", "response": {"error": {"code": "c", "message": f"wrong key {KEY}!"}}},
    ],
    ids=["error", "failed"],
)
def test_no_key_is_shown_from_an_event(server: ScriptedServer, models: Models, event: dict[str, Any]) -> None:
    wire = WIRES["responses"]
    server.answer(*stream([wire.event(event)]))

    assert "wrong key ***!" in str(failure(lambda chat_model: list(chat_model.stream(PROMPT)), models(wire)))


@pytest.mark.parametrize("body", ["<html>Bad gateway</html>", "", "null", "[]", '{"error": "plain words"}', "{"])
@each_form
def test_a_refusal_in_any_words(ask: Ask, server: ScriptedServer, wire: Wire, models: Models, body: str) -> None:
    server.answer(http(502, body, kind="text/html"))

    error = failure(ask, models(wire))

    assert type(error) is ModelHTTPError
    assert error.status == 502
    assert error.retryable


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (("retry-after", "7"), 7.0),
        (("retry-after", "0.5"), 0.5),
        (("retry-after-ms", "1500"), 1.5),
        (("retry-after", "soon"), None),
        (("retry-after", "-3"), None),
        (("retry-after", "inf"), None),
        (("x-other", "1"), None),
    ],
)
@whole
def test_a_rate_limit_says_how_long_to_wait(
    ask: Ask,
    server: ScriptedServer,
    wire: Wire,
    models: Models,
    header: tuple[str, str],
    seconds: float | None,
) -> None:
    server.answer(http(429, wire.error("slow down"), [header]))

    error = failure(ask, models(wire))

    assert isinstance(error, RateLimitError)
    assert error.retry_after == seconds


def test_a_rate_limit_may_name_a_date(server: ScriptedServer, wire: Wire, models: Models) -> None:
    server.answer(
        http(429, wire.error("slow"), [("retry-after", email.utils.formatdate(time.time() + 50, usegmt=True))])
    )

    error = failure(called, models(wire))

    assert isinstance(error, RateLimitError)
    assert error.retry_after is not None
    assert 30 < error.retry_after <= 50


@pytest.mark.parametrize(("advice", "status", "retryable"), [("true", 400, True), ("false", 500, False)])
def test_a_server_says_itself_whether_to_ask_again(
    server: ScriptedServer, wire: Wire, models: Models, advice: str, status: int, retryable: bool
) -> None:
    server.answer(http(status, wire.error("no"), [("x-should-retry", advice)]))

    error = failure(called, models(wire))

    assert isinstance(error, ModelHTTPError)
    assert error.retryable is retryable


@whole
def test_the_sdk_asks_again(ask: Ask, server: ScriptedServer, wire: Wire, models: Models) -> None:
    server.answer(http(500, wire.error("busy"), [("retry-after-ms", "1")]))

    failure(ask, models(wire, max_retries=1))

    assert len(server.requests) == 2


@each_form
def test_nobody_listens(ask: Ask, wire: Wire, models: Models) -> None:
    error = failure(ask, models(wire, url="http://127.0.0.1:1"))

    assert type(error) is TransportError
    assert error.retryable
    assert "127.0.0.1:1" in str(error)


@pytest.mark.parametrize("steps", [[RESET], [END], [b"HTTP/1.1 200 OK\r\nContent-"], [b"SSH-2.0-OpenSSH\r\n", END]])
@each_form
def test_an_answer_that_never_comes(
    ask: Ask, server: ScriptedServer, wire: Wire, models: Models, steps: list[Step]
) -> None:
    server.answer(*steps, END)

    error = failure(ask, models(wire))

    assert type(error) is TransportError
    assert error.retryable


@each_form
def test_the_first_byte_is_late(ask: Ask, server: ScriptedServer, wire: Wire, models: Models) -> None:
    server.answer(HOLD)

    error = failure(ask, models(wire, timeout=0.1))

    assert type(error) is TransportError
    assert "did not answer in time" in str(error)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<html>Welcome</html>", "text/html"),
        ("", "application/json"),
        ("{", "application/json"),
        ("null", "application/json"),
        ("[]", "application/json"),
        ("{}", "application/json"),
        ('"words"', "application/json"),
        ("\xff\xfe", "application/json"),
    ],
)
@whole
def test_an_answer_that_is_none(
    ask: Ask, server: ScriptedServer, wire: Wire, models: Models, body: str, kind: str
) -> None:
    server.answer(http(200, body, kind=kind))

    assert type(failure(ask, models(wire))) is ResponseFormatError


@whole
def test_an_answer_cut_in_the_middle(ask: Ask, server: ScriptedServer, wire: Wire, models: Models) -> None:
    server.answer(http(200, wire.answer(TEXT))[:-9], END)

    assert type(failure(ask, models(wire))) is TransportError


@whole
def test_a_whole_answer(ask: Ask, server: ScriptedServer, wire: Wire, models: Models) -> None:
    server.answer(http(200, wire.answer(TEXT)))

    response = ask(models(wire))

    assert response.text == TEXT
    assert response.usage.total_tokens == 5
    assert response.model == "m"


def one_packet(wire: Wire) -> list[Step]:
    return stream([b"".join(wire.stream())])


def bytes_apart(wire: Wire) -> list[Step]:
    """Split events, and the characters of several bytes, between packets."""
    data = b"".join(wire.stream())
    return stream([data[at : at + 1] for at in range(len(data))])


def crlf(wire: Wire) -> list[Step]:
    return stream([event.replace(b"\n", b"\r\n") for event in wire.stream()])


def comments(wire: Wire) -> list[Step]:
    return stream([(b": keep-alive\n\n" if wire.takes_comments else b"") + event for event in wire.stream()])


def unmarked(wire: Wire) -> list[Step]:
    """Leave out the last event, where all it says is that the others have ended."""
    return stream(wire.stream()[:-1] if wire.has_mark else wire.stream())


def marked_twice(wire: Wire) -> list[Step]:
    return stream([*wire.stream(), wire.stream()[-1]])


@pytest.mark.parametrize("script", [one_packet, bytes_apart, crlf, comments, unmarked, marked_twice])
@streamed
def test_a_stream_in_any_packets(
    ask: Ask, server: ScriptedServer, wire: Wire, models: Models, script: Callable[[Wire], list[Step]]
) -> None:
    server.answer(*script(wire))

    response = ask(models(wire))

    assert response.text == TEXT
    assert response.usage.total_tokens == 5


@streamed
def test_a_huge_line(ask: Ask, server: ScriptedServer, wire: Wire, models: Models) -> None:
    server.answer(*stream(wire.stream(["x" * 1_000_000])))

    assert len(ask(models(wire)).text) == 1_000_000


def begun(wire: Wire, *after: Step | bytes) -> list[Step]:
    """Say two of the pieces, then what breaks the stream."""
    return stream([wire.event(event) for event in wire.events(PIECES[:2])], *after)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


BREAKS: dict[str, tuple[Callable[[Wire], list[Step]], type[ModelError] | tuple[type[ModelError], ...]]] = {
    "reset": (lambda wire: begun(wire, RESET), TransportError),
    "end without the end of the body": (lambda wire: begun(wire, END), TransportError),
    "end of the body": (lambda wire: begun(wire, STREAM_END), TransportError),
    "half an event": (
        lambda wire: begun(wire, chunk(wire.stream()[-2][:-9]), STREAM_END),
        (TransportError, ResponseFormatError),  # two of the SDKs drop the half, one gives it
    ),
    "half an event and reset": (lambda wire: begun(wire, chunk(wire.stream()[-2][:-9]), RESET), TransportError),
    "stall": (lambda wire: begun(wire, HOLD), TransportError),
    "malformed": (lambda wire: begun(wire, chunk(broken(wire, b"{]"))), ResponseFormatError),
    "no mapping": (lambda wire: begun(wire, chunk(broken(wire, b"[7]"))), ResponseFormatError),
    "no text": (lambda wire: begun(wire, chunk(broken(wire, b"\xff\xff"))), ResponseFormatError),
    "error": (lambda wire: begun(wire, chunk(refusal(wire)), STREAM_END), ModelError),
}


def broken(wire: Wire, data: bytes) -> bytes:
    """Put other data into an event that the vendor knows."""
    head, _, _ = wire.stream()[2].partition(b"data: ")
    return head + b"data: " + data + b"\n\n"


def refusal(wire: Wire) -> bytes:
    return wire.event(wire.error("overloaded"))


@pytest.mark.parametrize("case", BREAKS)
@streamed
def test_a_stream_that_breaks_gives_what_arrived(
    ask: Ask, server: ScriptedServer, wire: Wire, models: Models, case: str
) -> None:
    script, kind = BREAKS[case]
    server.answer(*script(wire))

    error = failure(ask, models(wire, timeout=0.3))

    assert isinstance(error, kind)
    assert error.partial is not None
    assert error.partial.text == "".join(PIECES[:2])


@streamed
def test_a_page_is_no_stream(ask: Ask, server: ScriptedServer, wire: Wire, models: Models) -> None:
    server.answer(http(200, "<html>Welcome</html>", kind="text/html"))

    assert isinstance(failure(ask, models(wire)), TransportError | ResponseFormatError)


def test_closing_a_stream_frees_the_connection(server: ScriptedServer, wire: Wire, models: Models) -> None:
    server.answer(*begun(wire, HOLD))

    chunks = models(wire).stream(PROMPT)
    while not next(chunks).text:
        pass
    chunks.close()

    assert server.gone.wait(5)


def test_closing_an_async_stream_frees_the_connection(server: ScriptedServer, wire: Wire, models: Models) -> None:
    server.answer(*begun(wire, HOLD))

    async def leave() -> None:
        async with wire.model(server.url) as chat_model:
            chunks = chat_model.astream(PROMPT)
            while not (await anext(chunks)).text:
                pass
            await chunks.aclose()
            assert await asyncio.to_thread(server.gone.wait, 5)

    asyncio.run(leave())


@pytest.mark.parametrize("form", ["acall", "astream"])
def test_cancelling_frees_the_connection(server: ScriptedServer, wire: Wire, models: Models, form: str) -> None:
    server.answer(*(begun(wire, HOLD) if form == "astream" else [STREAM_HEAD, HOLD]))

    async def cancel() -> None:
        async with wire.model(server.url) as chat_model:
            task = asyncio.create_task(chat_model.acall(PROMPT) if form == "acall" else ajoined(chat_model))
            while not server.requests:  # noqa: ASYNC110 - another thread writes it
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(server.gone.wait, 5)

    asyncio.run(cancel())
