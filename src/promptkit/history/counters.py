"""Count the tokens of messages: by a vocabulary, by a function, by a chat model, or simply by messages."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from operator import index as as_int
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar, Literal, Protocol, Self

from attrs import field, fields, frozen

from promptkit._frozen import Value
from promptkit.content import Media
from promptkit.errors import HistoryError, MissingDependencyError, PromptkitError
from promptkit.history._messages import as_sequence
from promptkit.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolResponseMessage,
    UserMessage,
    check_message,
)
from promptkit.prompt import Prompt
from promptkit.tokens import ApproximateTokenCounter, TokenCounter, message_tokens

__all__ = [
    "CounterLike",
    "CountingModel",
    "ListTokenCounter",
    "MessageCounter",
    "Meter",
    "TiktokenCounter",
    "count_tokens",
]

_BUILTINS = frozenset((UserMessage, AssistantMessage, ToolResponseMessage, SystemMessage))
_LONG_TEXT = 1_000  # characters above which a memo keeps a digest instead of the text


class CountingModel(Protocol):
    """Be a chat model that counts the tokens of a prompt."""

    def count_tokens(self, prompt: Prompt) -> int:
        """Count the tokens of a prompt, as the model will see it."""


CounterLike = TokenCounter | CountingModel | Callable[[Message], int] | Literal["approximate", "messages"]
"""What messages can be counted with.

A plain function counts one message; `ListTokenCounter` says that a function counts a list.
"""


class _Memo:
    """Remember so many counts, those that were last asked for, for all threads.

    There are two halves: when the young one is full it becomes the old one, and what was old is forgotten. Threads that
    meet in that moment forget a little more, and nothing else.
    """

    def __init__(self, size: int) -> None:
        self.young: dict[Hashable, int] = {}
        self.old: dict[Hashable, int] = {}
        self._half = size // 2

    def find(self, key: Hashable) -> int | None:
        known = self.young.get(key)
        if known is None:
            known = self.old.get(key)
            if known is not None:
                self.add(key, known)
        return known

    def add(self, key: Hashable, count: int) -> int:
        young = self.young
        if len(young) >= self._half:
            self.old, self.young = young, (young := {})
        if self._half > 0:
            young[key] = count
        return count


@frozen(repr=False)
class _Remembering(Value):
    """Remember counts; a copy in another process starts without them."""

    memo_size: int = field(default=10_000, kw_only=True)
    _memo: _Memo = field(init=False, eq=False, repr=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "_memo", _Memo(self.memo_size))

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        given = {at.name: getattr(self, at.name) for at in fields(type(self)) if at.init}
        return partial(type(self), **given), ()


@frozen(repr=False)
class MessageCounter(Value):
    """Count a message as one: a budget in messages instead of tokens.

    >>> count_tokens([UserMessage("Hi"), AssistantMessage("Hello")], MessageCounter())
    2
    """

    overhead: ClassVar[int] = 0

    def count(self, message: Message) -> int:  # noqa: ARG002 - every message is one
        """Count one message: 1."""
        return 1


@frozen(repr=False)
class ListTokenCounter(_Remembering):
    """Count by a function that takes a list of messages, for example one that renders a chat template.

    A message alone is counted as a list of one, less the empty list; a whole list is measured as it is. Tools that
    choose messages count each once and then measure what they chose.

    Args:
        function: Counts the tokens of a list of messages.
        memo_size: Number of messages whose count is remembered.

    >>> counter = ListTokenCounter(lambda messages: 3 + sum(len(message.content) for message in messages))
    >>> counter.overhead, counter.count(UserMessage("Hi")), counter.count_all([UserMessage("Hi")])
    (3, 2, 5)
    """

    function: Callable[[list[Message]], int]

    @property
    def overhead(self) -> int:
        """What the function gives for no messages; 0 where it cannot say."""
        known = self._memo.find("overhead")
        return self._memo.add("overhead", self._count_none()) if known is None else known

    def _count_none(self) -> int:
        try:
            return self.count_all([])
        except Exception:  # noqa: BLE001 - chat templates refuse an empty list, each with its own error
            return 0

    def count(self, message: Message) -> int:
        """Count one message."""
        key: Any = message if type(message) in _BUILTINS else None
        known = self._memo.find(key)
        if known is not None:
            return known
        count = max(0, self.count_all([message]) - self.overhead)
        return count if key is None else self._memo.add(key, count)

    def count_all(self, messages: Sequence[Message]) -> int:
        """Measure a whole list."""
        return _checked(self.function(list(messages)), f"{len(messages)} messages")


@frozen(repr=False)
class TiktokenCounter(_Remembering):
    """Count with the vocabulary of an OpenAI model: text exactly, framing by OpenAI's published rule of thumb.

    The vocabulary is read from a directory and never downloaded. Special tokens in a text count as the text they are.

    Args:
        encoding: The vocabulary's name, for example ``o200k_base`` or ``cl100k_base``.
        cache_dir: Where tiktoken keeps its vocabularies; by default where tiktoken itself looks: ``TIKTOKEN_CACHE_DIR``,
            ``DATA_GYM_CACHE_DIR``, or ``data-gym-cache`` among the temporary files.
        tokens_per_message: Framing of each message, call and result: three tokens and the role
            (OpenAI cookbook, "How to count tokens with tiktoken", 2024).
        tokens_per_media: Tokens of an image, sound, film or document, or a function from the `Media` to them.
        overhead: Tokens of a conversation beside its messages; three begin the answer.
        memo_size: Number of texts whose count is remembered.

    Raises:
        MissingDependencyError: tiktoken is not installed.
        HistoryError: The vocabulary is unknown, absent or damaged.

    >>> TiktokenCounter(cache_dir="no/such/folder")
    Traceback (most recent call last):
        ...
    promptkit.errors.HistoryError: TiktokenCounter finds no vocabulary 'o200k_base': ...
    """

    encoding: str = "o200k_base"
    cache_dir: str | Path | None = None
    tokens_per_message: int = field(default=4, kw_only=True)
    tokens_per_media: int | Callable[[Media], int] = field(default=800, kw_only=True)
    overhead: int = field(default=3, kw_only=True)
    _encode: Callable[[str], list[int]] = field(init=False, eq=False, repr=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        object.__setattr__(self, "_encode", _load(self.encoding, self.cache_dir).encode_ordinary)

    def count(self, message: Message) -> int:
        """Count one message."""
        return message_tokens(
            message, self.count_text, per_message=self.tokens_per_message, per_media=self.tokens_per_media
        )

    def count_text(self, text: str) -> int:
        """Count a text."""
        key = text if len(text) <= _LONG_TEXT else _digest(text)
        known = self._memo.find(key)
        return self._memo.add(key, len(self._encode(text))) if known is None else known


def _digest(text: str) -> bytes:
    from hashlib import sha256

    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def _load(name: str, cache_dir: str | Path | None) -> Any:
    """Build an encoding from tiktoken's own description of it, and its ranks from the directory."""
    try:
        import tiktoken
        from tiktoken_ext import openai_public  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingDependencyError("tiktoken", extra="tiktoken", reason="TiktokenCounter") from error
    folder = Path(cache_dir) if cache_dir is not None else _default_folder()
    described = {
        name: maker
        for name, maker in openai_public.ENCODING_CONSTRUCTORS.items()
        if "load_tiktoken_bpe" in maker.__code__.co_names
    }
    if name not in described:
        raise HistoryError(f"TiktokenCounter knows no encoding {name!r}; it knows {', '.join(sorted(described))}")
    # tiktoken's own loader downloads what is absent and deletes what is damaged: its description gets ours instead.
    ours = {"load_tiktoken_bpe": lambda url, expected_hash: _ranks(name, folder, url, expected_hash)}
    return tiktoken.Encoding(**FunctionType(described[name].__code__, vars(openai_public) | ours)())


def _default_folder() -> Path:
    import os
    import tempfile

    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if os.environ.get(variable):
            return Path(os.environ[variable])
    return Path(tempfile.gettempdir(), "data-gym-cache")


def _ranks(name: str, folder: Path, url: str, expected_hash: str) -> dict[bytes, int]:
    from base64 import b64decode
    from hashlib import sha1, sha256

    file = folder / sha1(url.encode(), usedforsecurity=False).hexdigest()
    try:
        data = file.read_bytes()
    except OSError as error:
        raise HistoryError(
            f"TiktokenCounter finds no vocabulary {name!r}: {str(file)!r} cannot be read ({error.strerror}). With a "
            f'network, TIKTOKEN_CACHE_DIR={str(folder)!r} python -c "import tiktoken; tiktoken.get_encoding({name!r})" '
            "puts it there"
        ) from error
    if sha256(data).hexdigest() != expected_hash:
        raise HistoryError(f"the vocabulary {name!r} in {str(file)!r} is damaged: delete the file and fetch it again")
    return {b64decode(token): int(rank) for token, rank in map(bytes.split, data.splitlines())}


class Meter:
    """Measure messages for one operation, whatever counts them, and check what comes back."""

    def __init__(self, counter: CounterLike) -> None:
        self._counter: Any = _as_counter(counter)

    @property
    def overhead(self) -> int:
        """Tokens of a conversation beside its messages."""
        try:
            return _checked(self._counter.overhead, "overhead")
        except PromptkitError:
            raise
        except Exception as error:
            raise _failed(error, "overhead") from error

    @property
    def exact(self) -> Callable[[Sequence[Message]], int] | None:
        """Measure a whole list, where that is more than the sum; no messages measure 0."""
        return self._measure if hasattr(self._counter, "count_all") else None

    def _measure(self, messages: Sequence[Message]) -> int:
        if not messages:
            return 0
        place = f"{len(messages)} messages"
        try:
            return _checked(self._counter.count_all(messages), place)
        except PromptkitError:
            raise
        except Exception as error:
            raise _failed(error, place) from error

    def sizes(self, messages: Sequence[Message]) -> Callable[[int], int]:
        """Give a function that counts the message at an index."""
        count = self._counter.count

        def size(index: int) -> int:
            message = messages[index]
            if type(message) not in _BUILTINS:
                check_message(message, f"messages[{index}]")
            try:
                number = count(message)
            except PromptkitError:
                raise
            except Exception as error:
                raise _failed(error, f"messages[{index}]") from error
            return number if type(number) is int and number >= 0 else _checked(number, f"messages[{index}]")

        return size

    def total(self, messages: Sequence[Message]) -> int:
        """Count a conversation; no messages are 0."""
        if self.exact is not None or not messages:
            return self._measure(messages) if messages else 0
        return self.overhead + sum(map(self.sizes(messages), range(len(messages))))


def _failed(error: Exception, place: str) -> HistoryError:
    return HistoryError(
        f"the counter failed at {place}: {type(error).__name__}: {error!s:.80}; it is handed one message, unless it is a "
        "ListTokenCounter(f)"
    )


def _checked(value: Any, place: str) -> int:
    try:
        number = as_int(value)
    except TypeError:
        number = -1
    if number < 0:
        raise HistoryError(f"the counter gave {value!r:.80} for {place}: a count is an int of at least 0")
    return number


def _as_counter(counter: Any) -> TokenCounter:
    if isinstance(counter, str):
        if counter == "approximate":
            return ApproximateTokenCounter()
        if counter == "messages":
            return MessageCounter()
    elif isinstance(counter, ListTokenCounter):
        return counter
    elif callable(getattr(counter, "count_tokens", None)):
        return ListTokenCounter(lambda messages: counter.count_tokens(Prompt(messages)))
    elif "overhead" in dir(counter) and callable(getattr(counter, "count", None)):
        return counter  # type: ignore[no-any-return]
    elif callable(counter):
        return _FunctionCounter(counter)
    raise HistoryError(
        f"counter must be a TokenCounter, a chat model with count_tokens, a function of one message, 'approximate' or "
        f"'messages', not {counter!r:.80}"
    )


@frozen(repr=False)
class _FunctionCounter(Value):
    count: Callable[[Message], int]
    overhead: int = 0


def count_tokens(messages: Iterable[Message], counter: CounterLike) -> int:
    """Count a conversation: its messages and what a conversation costs beside them; no messages are 0.

    Raises:
        HistoryError: The counter is none, fails, or gives what is no count.

    >>> count_tokens([UserMessage("What is the capital of France?")], "approximate")
    14
    """
    return Meter(counter).total(as_sequence(messages))
