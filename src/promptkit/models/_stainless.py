"""Speak through an SDK of the family that Stainless generates: `openai` and `anthropic`.

The adapter's body goes out as it is, through the client's ``post``, and JSON comes back as it is: the SDK does keys,
retries, timeouts, connections and the framing of events, and its typed models filter nothing and cost nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import ModuleType
from typing import Any, ClassVar

from promptkit.errors import ResponseFormatError
from promptkit.models._failures import Failure, broken_off, refused, secrets_of, unforeseen, without_secrets
from promptkit.models._vendor import VendorChatModel

__all__ = ["StainlessChatModel"]


class StainlessChatModel(VendorChatModel):
    """Answer prompts through such an SDK."""

    _client_classes: ClassVar[tuple[str, str]]
    """The SDK's names of its client and of its async client."""

    @abstractmethod
    def _sdk(self) -> ModuleType:
        """Import the SDK."""

    @property
    @abstractmethod
    def _error_of(self) -> Failure:
        """The adapter's reader of error records."""

    def _make_client(self, asynchronous: bool) -> Any:
        return getattr(self._sdk(), self._client_classes[asynchronous])(**self._connection)

    def _post(self, client: Any, path: str, body: dict[str, Any]) -> Any:
        return client.post(path, cast_to=object, body=body)

    async def _apost(self, client: Any, path: str, body: dict[str, Any]) -> Any:
        return await client.post(path, cast_to=object, body=body)

    def _open(self, client: Any, body: dict[str, Any]) -> AbstractContextManager[Iterable[Any]]:
        stream: AbstractContextManager[Iterable[Any]] = client.post(
            self._path, cast_to=object, body=body, stream=True, stream_cls=self._sdk().Stream[object]
        )
        return stream

    async def _aopen(self, client: Any, body: dict[str, Any]) -> AbstractAsyncContextManager[AsyncIterable[Any]]:
        stream: AbstractAsyncContextManager[AsyncIterable[Any]] = await client.post(
            self._path, cast_to=object, body=body, stream=True, stream_cls=self._sdk().AsyncStream[object]
        )
        return stream

    def _secrets(self, client: Any) -> list[str]:
        return secrets_of({name: getattr(client, name, None) for name in ("api_key", "auth_token")})

    def _failure(self, error: Exception) -> Exception:
        sdk = self._sdk()
        if isinstance(error, sdk.APIConnectionError):
            return broken_off(self._vendor, error, timeout=isinstance(error, sdk.APITimeoutError))
        if isinstance(error, sdk.APIResponseValidationError):
            return ResponseFormatError(f"the answer is damaged: {self._vendor} did not answer in JSON")
        if not isinstance(error, sdk.APIError):
            return unforeseen(self._vendor, error)
        record = without_secrets(error.body, secrets_of(error.request.headers))
        if isinstance(record, dict) and record.get("error") is not None:
            record = record["error"]
        if not isinstance(error, sdk.APIStatusError) or error.status_code < 400:
            return self._error_of(record)  # an event of a stream that had begun
        return refused(
            error.status_code,
            record,
            error.response.headers,
            error_of=self._error_of,
            request_id=error.request_id,
        )
