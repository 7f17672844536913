"""Look at plain text: secrets, doubled sentences and words, placeholders that nobody fills in, size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from promptkit.messages import UserMessage
from promptkit.tokens import ApproximateTokenCounter

__all__ = ["Doubled", "Spot", "context_of", "doubled_text", "placeholders", "secrets", "token_count"]


class Spot(NamedTuple):
    """Say where in a text something is, by its offset, and what it is."""

    offset: int
    text: str


_SECRETS = {
    "an API key": r"sk-(?:[a-z]+-)*[A-Za-z0-9_-]{20,}",
    "an AWS key": r"(?:AKIA|ASIA)[0-9A-Z]{16}",
    "a GitHub token": r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})",
    "a GitLab token": r"glpat-[A-Za-z0-9_-]{20,}",
    "a Google key": r"AIza[0-9A-Za-z_-]{30,}",
    "a Hugging Face token": r"hf_[A-Za-z0-9]{30,}",
    "a Slack token": r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    "a Stripe key": r"[rs]k_live_[A-Za-z0-9]{16,}",
    "a Groq key": r"gsk_[A-Za-z0-9]{30,}",
    "a signed token": r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    "a private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----",
    "a password in a URL": r"[a-z][a-z0-9+.-]{1,20}://[^\s:/@{}<]{1,64}:(?!(?:pass(?:word)?|pw|secret|changeme)@)[^\s:/@{}<$*]{3,64}@[\w.-]+",
}
_SECRET = re.compile("|".join(f"(?P<k{at}>(?<![A-Za-z0-9]){pattern})" for at, pattern in enumerate(_SECRETS.values())))
_NAMED_SECRET = re.compile(
    r"(?i)\b(?:api[_ -]?key|secret(?:[_ -]?key)?|access[_ -]?token|auth[_ -]?token|password|passwd)\b"
    r"[\"']?\s{0,3}(?:[:=]|is)\s{0,3}[\"']?(?P<value>[^\s\"'{}<>,;]{8,200})"
)


def secrets(text: str) -> Iterator[Spot]:
    """Find what looks like a key, a token or a password; the text of a spot says which, never the secret."""
    kinds = list(_SECRETS)
    taken: list[tuple[int, int]] = []
    for found in _SECRET.finditer(text):
        taken.append(found.span())
        yield Spot(found.start(), kinds[int((found.lastgroup or "k0")[1:])])
    for found in _NAMED_SECRET.finditer(text):
        start, value = found.start("value"), found["value"]
        # A word is no password: one has digits beside letters, or signs.
        mixed = re.search(r"\d", value) and re.search(r"[A-Za-z]", value)
        if mixed and not any(low <= start < high for low, high in taken):
            yield Spot(start, "a password or a key")


_UNIT = re.compile(r"[^\n.!?]*[^\n.!?\s][^\n.!?]*[.!?]*")
_WORDS = re.compile(r"\b(?P<word>[^\W\d_]{2,})(?P<blank>[ \t]+|[ \t]*\n[ \t]*)(?P=word)\b", re.IGNORECASE)
_PAIRS = frozenset(
    ("had", "that", "is", "so", "very", "bla", "ha", "no", "yes", "bye", "sie", "die", "der", "das", "nous", "vous")
)
"""Words that rightly follow themselves."""

MIN_UNIT = 30
"""Shortest sentence or line that counts as doubled, in characters."""


class Doubled(NamedTuple):
    """Say where in a text something stands again, where it stands first, and what it is."""

    offset: int
    first: int
    text: str


def doubled_text(text: str) -> Iterator[Doubled]:
    """Find sentences and lines that stand twice, and words that follow themselves; code fences are left out."""
    seen: dict[str, int] = {}
    plain = _without_fences(text)
    for found in _UNIT.finditer(plain):
        unit = " ".join(found[0].split())
        if len(unit) >= MIN_UNIT and re.search(r"[^\W\d_]{3}", unit):
            start = found.start() + len(found[0]) - len(found[0].lstrip())
            first = seen.setdefault(unit.lower(), start)
            if first != start:
                yield Doubled(start, first, f"{unit[:40]!r}…")
    for found in _WORDS.finditer(plain):
        if found["word"].lower() not in _PAIRS and found["word"] == found[0][-len(found["word"]) :]:
            yield Doubled(found.end() - len(found["word"]), found.start(), f"the word {found['word']!r}")


_FENCED = re.compile(r"^ {0,3}(?P<mark>`{3,}|~{3,})[^\n]*\n(?:.*?^ {0,3}(?P=mark)|.*)", re.MULTILINE | re.DOTALL)


def _without_fences(text: str) -> str:
    """Blank out code, and keep every offset."""
    return _FENCED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


_PLACEHOLDER = re.compile(r"(?<![\w{$\\])\{\{?\s*(?P<name>[A-Za-z_]\w*)(?:\.\w+)*\s*\}?\}(?!\})")


def placeholders(text: str, known: Iterable[str] | None = None) -> Iterator[Spot]:
    """Find what looks like ``{name}`` or ``{{ name }}``.

    Args:
        text: The text.
        known: The names that count; all without it.
    """
    names = None if known is None else set(known)
    for found in _PLACEHOLDER.finditer(text):
        if names is None or found["name"] in names:
            yield Spot(found.start(), found[0])


_CONTEXTS = {
    1_050_000: "gpt-5.4 gpt-5.6 gpt-6 gpt-6.1",
    1_048_576: "gemini-2.5-flash gemini-4",
    1_000_000: "claude gemini-1.5 gemini-2.0-flash gemini-3-flash gemini-3.5-flash gemini-3.6-flash gemini-3.7-flash "
    "gemini-3.8-flash gpt-4.1 gpt-5.5",
    400_000: "gpt-5 gpt-5.1 gpt-5.2 gpt-5.3-codex gpt-5.4-mini gpt-5.4-nano",
    200_000: "claude-2 claude-3 claude-haiku-4-5 claude-opus-4-0 claude-opus-4-1 claude-opus-4-5 claude-sonnet-4-0 "
    "claude-sonnet-4-5 o1 o3 o4-mini",
    131_072: "gpt-oss",
    128_000: "gpt-4-turbo gpt-4-vision gpt-4o gpt-5.3 o1-mini o1-preview",
    32_000: "gpt-4-32k gpt-4o-realtime",
    16_385: "gpt-3.5-turbo",
    8_192: "gemini-2.5-flash-tts gpt-4 smollm2-135m",
}
"""Windows in tokens, and the models that have them; a longer beginning of a name wins. As in genai-prices 0.2 (MIT)."""

_WINDOWS = {name: size for size, names in _CONTEXTS.items() for name in names.split()}


def context_of(model: str) -> int | None:
    """Give the size of a model's context in tokens, if it is known.

    >>> context_of("openai:gpt-5-mini"), context_of("my-own")
    (400000, None)
    """
    name = (model.partition(":")[2] or model).rpartition("/")[2].lower()
    while name and name not in _WINDOWS:
        name = name.rpartition("-")[0]
    return _WINDOWS.get(name)


def token_count(text: str) -> int:
    """Estimate the tokens of a text, without framing."""
    return ApproximateTokenCounter(tokens_per_message=0, overhead=0).count(UserMessage(text)) if text else 0
