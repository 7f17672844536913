"""Read and write JSON strictly: no NaN, no recursion error, one spelling, and a place for bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple, NoReturn

from promptkit.errors import SerializationError

__all__ = ["dumps", "each", "loads", "read_bytes", "unmarked", "with_marks", "write_bytes"]


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class _Codec(NamedTuple):
    encode: Callable[[Any], str]
    encode_ascii: Callable[[Any], str]
    decode: Callable[[str], Any]


@cache
def _codec() -> _Codec:
    """Build the coders at their first use; `json.dumps` and `json.loads` with options would build them at each."""
    from json import JSONDecoder, JSONEncoder

    return _Codec(
        JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode,
        JSONEncoder(separators=(",", ":"), allow_nan=False).encode,
        JSONDecoder(parse_constant=_refuse_constant).decode,
    )


def dumps(value: object) -> str:
    """Write a value as compact JSON with its own characters; with a lone surrogate in it, escaped to ASCII.

    So the text can always be encoded.

    Raises:
        ValueError: It holds NaN or an infinity, contains itself or nests too deep.
        TypeError: It holds what JSON has no form for.
    """
    try:
        text = _codec().encode(value)
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        return _codec().encode_ascii(value)
    except RecursionError:
        raise ValueError("the value nests too deep for JSON") from None
    return text


def loads(text: str | bytes) -> Any:
    """Read JSON as its standard says: NaN and infinities are refused.

    Raises:
        ValueError: It is not JSON or not UTF-8, or nests too deep to be read.
    """
    try:
        return _codec().decode(text if isinstance(text, str) else text.decode())
    except RecursionError:
        raise ValueError("the JSON text nests too deep to be read") from None


def each(change: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Change every item; an error says which one it was.

    Raises:
        SerializationError: One could not be changed.
    """
    done: list[Any] = []
    try:
        for item in items:
            done.append(change(item))  # noqa: PERF401 - its length names the item that failed
    except SerializationError as error:
        error.below(f"[{len(done)}]")
        raise
    return done


def write_bytes(value: bytes) -> str:
    """Write bytes as base64 text."""
    from base64 import b64encode

    return b64encode(value).decode("ascii")


def read_bytes(value: Any) -> bytes:
    """Read base64 text.

    Raises:
        SerializationError: It is none.
    """
    from base64 import b64decode

    try:
        return b64decode(value, validate=True)
    except (TypeError, ValueError) as error:
        raise SerializationError(f"is no base64: {error}") from None


_MARKS = frozenset(("$bytes", "$map"))


def with_marks(value: Any) -> Any:
    """Turn frozen JSON values and bytes into plain JSON values: bytes, and what looks like them, are marked."""
    if isinstance(value, bytes):
        return {"$bytes": write_bytes(value)}
    if isinstance(value, dict):
        data = {key: item if type(item) is str else with_marks(item) for key, item in value.items()}
        return {"$map": data} if len(data) == 1 and not _MARKS.isdisjoint(data) else data
    if isinstance(value, tuple):
        return [with_marks(item) for item in value]
    return value


def unmarked(value: Any) -> Any:
    """Undo `with_marks`.

    Raises:
        SerializationError: A mark holds what it cannot.
    """
    if isinstance(value, list | tuple):
        return each(unmarked, value)
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and "$bytes" in value:
        return read_bytes(value["$bytes"])
    if len(value) == 1 and "$map" in value:
        value = value["$map"]
        if not isinstance(value, dict):
            raise SerializationError("must be an object", path="$map")
    data = {}
    for key, item in value.items():
        try:
            data[key] = item if type(item) is str else unmarked(item)
        except SerializationError as error:
            error.below(str(key))
            raise
    return data
