"""Read and write JSON strictly: no NaN, no recursion error, one spelling."""

from __future__ import annotations

import json
from typing import Any, NoReturn

__all__ = ["dumps", "loads"]


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# Built once: a call of `json.dumps` or `json.loads` with options builds its encoder or decoder anew.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_encode_ascii = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode


def dumps(value: object) -> str:
    """Write a value as compact JSON with its own characters; with a lone surrogate in it, escaped to ASCII.

    So the text can always be encoded.

    Raises:
        ValueError: It holds NaN or an infinity, contains itself or nests too deep.
        TypeError: It holds what JSON has no form for.
    """
    try:
        text = _encode(value)
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        return _encode_ascii(value)
    except RecursionError:
        raise ValueError("the value nests too deep for JSON") from None
    return text


def loads(text: str | bytes) -> Any:
    """Read JSON as its standard says: NaN and infinities are refused.

    Raises:
        ValueError: It is not JSON or not UTF-8, or nests too deep to be read.
    """
    try:
        return _decode(text if isinstance(text, str) else text.decode())
    except RecursionError:
        raise ValueError("the JSON text nests too deep to be read") from None
