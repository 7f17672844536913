"""Speak to Google's models through the SDK `google-genai`.

The SDK's public methods build typed requests and give typed answers, which filter what they do not know, and a stream
that they give cannot be closed. So the adapter's body goes through the SDK's own transport below them, which does keys,
retries, timeouts, connections and the framing of events. Its names are private to the SDK: they are those of 3.6.1.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from promptkit._frozen import shown
from promptkit.adapters.base import Converted, EventReader
from promptkit.adapters.gemini import ChunkReader, error_of, to_request, to_response
from promptkit.errors import AdapterError, AuthenticationError, ResponseFormatError
from promptkit.models._failures import refused, secrets_of, unforeseen, without_secrets
from promptkit.models._vendor import CountingChatModel
from promptkit.options import NO_OPTIONS, ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatResponse

if TYPE_CHECKING:
    from google.genai import Client

__all__ = ["GeminiChatModel"]


class GeminiChatModel(CountingChatModel):
    """Answer prompts by generateContent.

    The SDK is imported and its client made at the first call. What is not given comes from the SDK's own environment
    variables, ``GEMINI_API_KEY`` and ``GOOGLE_API_KEY`` among them, and its defaults: no limit of time, no retries.
    Threads, tasks and event loops may share a model. An injected client says all that by itself, and stays yours to
    close; one for Vertex AI will do too.

    Args:
        model: The model's name, short for ``ChatOptions(model=…)``; one of the two must say it.
        options: The options that those of a prompt are laid over.
        api_key: The key.
        base_url: Where a server of the same format is.
        api_version: The version of the API, the first part of the path; the SDK's own is ``v1``.
        timeout: Seconds to wait for a connection, and for each piece of an answer.
        max_retries: How often the SDK asks again after a failure that may pass.
        client: A client of the SDK, for all calls.
        strict: Refuse a prompt of which the request would lose something that changes what is asked; ``False`` sends
            it. What is lost stands in the answer's ``metadata["losses"]``, and each kind is logged once, as a warning.

    Raises:
        MissingDependencyError: ``google-genai`` is not installed.
        PromptError: An argument is wrong.

    >>> chat_model = GeminiChatModel("gemini-2.5-flash", options=ChatOptions(top_k=20), timeout=30)
    >>> chat_model.options
    ChatOptions(model='gemini-2.5-flash', top_k=20)
    """

    takes_output_schema: ClassVar[str] = "gemini"

    _vendor = "gemini"
    _package = "google-genai"
    _module = "google.genai"
    _path = "generateContent"
    _count_path = "countTokens"
    _count_key = "totalTokens"

    def __init__(
        self,
        model: str | None = None,
        *,
        options: ChatOptions = NO_OPTIONS,
        api_key: str | None = None,
        base_url: str | None = None,
        api_version: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        client: Client | None = None,
        strict: bool = True,
    ) -> None:
        connection = {"api_key": api_key, "base_url": base_url, "timeout": timeout, "max_retries": max_retries}
        connection["api_version"] = api_version
        super().__init__(
            model, options=options, client=client, async_client=client, connection=connection, strict=strict
        )

    def _counted(self, body: dict[str, Any]) -> dict[str, Any]:
        if body.keys() == {"model", "contents"}:  # the older form, and all that litellm's proxy reads
            return body
        return {"model": body["model"], "generateContentRequest": body | {"model": _in_url(body["model"])}}

    def _make_client(self, asynchronous: bool) -> Any:
        from google import genai

        given = self._connection
        http: dict[str, Any] = {name: given[name] for name in ("base_url", "api_version") if name in given}
        if "timeout" in given:
            http["timeout"] = max(1, round(given["timeout"] * 1000))
        if "max_retries" in given:
            http["retry_options"] = {"attempts": given["max_retries"] + 1}
        if asynchronous:  # where aiohttp is installed the SDK would take that, whose timeout is for a whole stream
            import httpx

            http["httpx_async_client"] = httpx.AsyncClient(follow_redirects=True)
        return genai.Client(api_key=given.get("api_key"), http_options=genai.types.HttpOptions(**http))

    async def _aclose_client(self, client: Any) -> None:
        await client._api_client._async_httpx_client.aclose()
        client.close()

    def _convert(self, prompt: Prompt, streamed: bool) -> Converted:  # noqa: ARG002 - the URL says it here
        request = to_request(prompt)
        name = request.body.get("model")
        if not isinstance(name, str) or not _NAME.fullmatch(name) or ".." in name:
            why = "is asked for, and no name of one" if name else "must be named: the vendor wants one"
            raise AdapterError(f"a model {why}: {shown(name)}", format=self._vendor, path="options.model")
        return request

    def _read(self, payload: Any) -> ChatResponse:
        return to_response(payload)

    def _reader(self) -> EventReader:
        return ChunkReader()

    def _post(self, client: Any, path: str, body: dict[str, Any]) -> Any:
        return client._api_client._request(_request(client, path, body)).json

    async def _apost(self, client: Any, path: str, body: dict[str, Any]) -> Any:
        return (await client._api_client._async_request(_request(client, path, body))).json

    @contextmanager
    def _open(self, client: Any, body: dict[str, Any]) -> Generator[Iterable[Any], None, None]:
        response = client._api_client._request(_request(client, _STREAMED, body), stream=True)
        try:
            yield response.segments()
        finally:
            response.response_stream.close()

    async def _aopen(self, client: Any, body: dict[str, Any]) -> AbstractAsyncContextManager[AsyncIterable[Any]]:
        request = _request(client, _STREAMED, body)
        return _events(await client._api_client._async_request(request, stream=True))

    def _secrets(self, client: Any) -> list[str]:
        return secrets_of(client._api_client._http_options.headers or {})

    def _failure(self, error: Exception) -> Exception:
        from google.genai import errors

        if isinstance(error, errors.UnknownApiResponseError):
            return ResponseFormatError("the answer is damaged: it is no JSON")
        if not isinstance(error, errors.APIError):
            return unforeseen(self._vendor, error)
        response: Any = error.response
        request = getattr(response, "request", None) or getattr(response, "request_info", None)
        record: Any = without_secrets(error.details, secrets_of(request.headers) if request else ())
        if isinstance(record, dict) and record.get("error") is not None:
            record = record["error"]
        details = _details(record)
        headers = {name.lower(): value for name, value in response.headers.items()}
        request_id = headers.get("x-request-id")
        wait = next((_seconds(detail["retryDelay"]) for detail in details if "retryDelay" in detail), None)
        failure = refused(error.code, record, headers, error_of=error_of, request_id=request_id, wait=wait)
        if any(detail.get("reason") == "API_KEY_INVALID" for detail in details):  # which comes with the status 400
            return AuthenticationError(str(failure), status=error.code, request_id=request_id)
        return failure


_STREAMED = "streamGenerateContent?alt=sse"

_NAME = re.compile(r"[\w.@:/-]+", re.ASCII)


def _request(client: Any, method: str, body: dict[str, Any]) -> Any:
    from google.genai import _transformers

    path = f"{_transformers.t_model(client._api_client, body['model'])}:{method}"
    rest = {key: value for key, value in body.items() if key != "model"}
    return client._api_client._build_request("post", path, rest)


def _in_url(name: str) -> str:
    return name if "/" in name else f"models/{name}"


@asynccontextmanager
async def _events(response: Any) -> AsyncGenerator[AsyncIterable[Any], None]:
    """Give the events of an answer by `httpx` or, where it is installed, by `aiohttp`."""
    events = response.async_segments()
    try:
        yield events
    finally:
        await events.aclose()
        stream = response.response_stream
        if hasattr(stream, "aclose"):
            await stream.aclose()
        else:  # pragma: no cover - an injected client, and aiohttp is installed, which no extra of ours brings
            stream.close()


def _details(record: Any) -> list[Mapping[str, Any]]:
    details = record.get("details") if isinstance(record, Mapping) else None
    return [detail for detail in details if isinstance(detail, Mapping)] if isinstance(details, list) else []


def _seconds(duration: Any) -> float | None:
    """Read a duration in JSON, such as ``34.5s`` (google.protobuf.Duration)."""
    text = str(duration).removesuffix("s")
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text, re.ASCII) else None
