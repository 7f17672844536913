"""Read and write JSON strictly: no NaN, no recursion error, one spelling."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["dumps", "loads"]


def dumps(value: object) -> str:
    """Write a value as compact JSON with its own characters; with a lone surrogate in it, escaped to ASCII.

    So the text can always be encoded.

    Raises:
        ValueError: It holds NaN or an infinity, contains itself or nests too deep.
        TypeError: It holds what JSON has no form for.
    """
    import json

    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except RecursionError:
        raise ValueError("the value nests too deep for JSON") from None
    return text


def loads(text: str | bytes) -> Any:
    """Read JSON as its standard says: NaN and infinities are refused.

    Raises:
        ValueError: It is not JSON, or nests too deep to be read.
    """
    import json

    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("the JSON text nests too deep to be read") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
