"""Turn the failures of HTTP into our errors, with what a caller can act on and without a key."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from promptkit.errors import (
    AdapterError,
    AuthenticationError,
    ContextLengthError,
    ModelError,
    ModelHTTPError,
    RateLimitError,
    ResponseFormatError,
    TransportError,
)

__all__ = [
    "Failure",
    "broken_off",
    "refused",
    "retry_after",
    "secrets_of",
    "unforeseen",
    "without_secrets",
]

Failure = Callable[[object], ModelError]
"""Make our error of a vendor's record of one: an adapter's ``error_of``."""

_SECRET = re.compile("auth|cookie|key|secret|token", re.IGNORECASE)
"""The headers and query parameters whose values are secrets."""

_PASSING = frozenset((408, 409, 429))
"""The refusals below 500 that the same request may get over; the vendors' SDKs retry the same ones."""


def secrets_of(fields: Mapping[str, Any]) -> list[str]:
    """Give the secrets among headers, or among a client's fields of that kind, longest first."""
    texts = {name: value for name, value in fields.items() if isinstance(value, str)}
    found = {value.removeprefix("Bearer ").strip() for name, value in texts.items() if _SECRET.search(name)}
    return sorted((secret for secret in found if len(secret) > 3), key=len, reverse=True)


def without_secrets(value: Any, secrets: Collection[str]) -> Any:
    """Copy a vendor's record of an error, each secret in its texts replaced by ``***``."""
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, "***")
        return value
    if isinstance(value, Mapping):
        return {key: without_secrets(item, secrets) for key, item in value.items()}
    if isinstance(value, list):
        return [without_secrets(item, secrets) for item in value]
    return value


def refused(
    status: int,
    record: object,
    headers: Mapping[str, str],
    *,
    error_of: Failure,
    request_id: str | None = None,
    wait: float | None = None,
) -> ModelError:
    """Make the error of a refusal.

    Args:
        status: The HTTP status.
        record: The vendor's record of the error, free of secrets: a mapping, or any text.
        headers: Those of the answer, their names in lower case.
        error_of: Reads the record.
        request_id: The vendor's id of the request.
        wait: Seconds to wait, where the record says so and no header does.
    """
    known = error_of(record)
    if isinstance(known, ContextLengthError):
        return known
    message = f"{known.args[0]} (HTTP status {status})"
    if status in (401, 403):
        return AuthenticationError(message, status=status, request_id=request_id)
    if status == 429:
        seconds = retry_after(headers)
        limit = RateLimitError(message, request_id=request_id, retry_after=wait if seconds is None else seconds)
        limit.retryable = not (isinstance(record, Mapping) and record.get("code") == "insufficient_quota")
        return limit
    advice = headers.get("x-should-retry")
    passing = status in _PASSING or status >= 500 if advice not in ("true", "false") else advice == "true"
    return ModelHTTPError(message, status=status, request_id=request_id, retryable=passing)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read how many seconds to wait: ``retry-after-ms``, or ``retry-after`` in seconds or as a date (RFC 9110, 10.2.3).

    >>> retry_after({"retry-after": "2"})
    2.0
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    import time
    from email.utils import mktime_tz, parsedate_tz

    date = parsedate_tz(headers.get("retry-after", ""))
    return None if date is None else max(0.0, mktime_tz(date) - time.time())


def broken_off(vendor: str, error: BaseException, *, timeout: bool = False) -> ModelError:
    """Make the error of a connection that was not made, or broke."""
    server = f"{vendor}{_host(error)}"
    if timeout:
        return TransportError(f"{server} did not answer in time")
    while error.__cause__ is not None:
        error = error.__cause__
    kind = type(error).__name__
    if kind == "LocalProtocolError":  # its text may quote the header with the key
        return ModelError(_UNSENDABLE)
    message = f"the connection to {server} failed with {kind}: {str(error)[:200]}"
    return ModelError(message) if kind == "UnsupportedProtocol" else TransportError(message)


_UNSENDABLE = "the key or a header holds characters that HTTP cannot carry"


def _host(error: BaseException) -> str:
    """Say where the server is, without what else a URL may hold."""
    try:
        url = error.request.url  # type: ignore[attr-defined]
    except (AttributeError, RuntimeError):
        return ""
    return f" at {url.host}:{url.port}" if url.port else f" at {url.host}"


def unforeseen(vendor: str, error: Exception) -> Exception:
    """Make the error of what an SDK let through: damaged JSON, a transport's own errors, a request that cannot go out."""
    kind = type(error)
    if isinstance(error, UnicodeEncodeError):
        if error.encoding.lower().replace("-", "") == "utf8":
            return AdapterError("a text of the prompt holds half a surrogate pair", format=vendor)
        return ModelError(_UNSENDABLE)
    if isinstance(error, UnicodeDecodeError) or kind.__name__ == "JSONDecodeError":
        return ResponseFormatError(f"the answer is damaged: it is no JSON ({kind.__name__})")
    if isinstance(error, OSError) or kind.__module__.partition(".")[0] in _TRANSPORTS:
        return broken_off(vendor, error, timeout="Timeout" in kind.__name__)
    return ModelError(f"{vendor} cannot be asked: {kind.__name__}: {str(error)[:300]}")


_TRANSPORTS = frozenset(("aiohttp", "anyio", "httpcore", "httpcore2", "httpx", "httpx2", "requests", "ssl"))
