"""Find the JSON in what a model answers: behind thoughts, between prose, inside fences.

Only what a scan that knows JSON's strings can prove is taken away or mended; every such step is named.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn, overload

__all__ = ["Cleaner", "JsonCandidate", "clean_fence", "clean_thinking", "find_json", "first_group", "in_order"]

Cleaner = Callable[[str], str]
"""What turns an answer into a cleaner one."""

_THOUGHT_NAMES = "think|thinking|reasoning|thought"
_OPENING = re.compile(rf"<({_THOUGHT_NAMES})>", re.IGNORECASE)
_CLOSING = re.compile(rf"</({_THOUGHT_NAMES})>", re.IGNORECASE)
_LANGUAGE_LINE = re.compile(r"[\w+.-]*[ \t]*\r?\n")
_LANGUAGE_WORD = re.compile(r"[A-Za-z][\w+.-]*\s*(?=[{\[])")


@overload
def clean_fence(text: str) -> str: ...
@overload
def clean_fence(text: None) -> None: ...
def clean_fence(text: str | None) -> str | None:
    r"""Take the one Markdown fence away that encloses the whole text, with its language; other text stays as it is.

    >>> clean_fence('```json\n{"k": 1}\n```')
    '{"k": 1}'
    """
    if text is None:
        return None
    whole = text.strip()
    if len(whole) <= 6 or not whole.startswith("```") or not whole.endswith("```"):
        return text
    inner = whole[3:-3]
    language = _LANGUAGE_LINE.match(inner) or _LANGUAGE_WORD.match(inner)
    return inner[language.end() if language else 0 :].strip()


@overload
def clean_thinking(text: str) -> str: ...
@overload
def clean_thinking(text: None) -> None: ...
def clean_thinking(text: str | None) -> str | None:
    """Take the thoughts away that stand before the answer, each in its tags, and the white space behind them.

    A closing tag without an opening one ends thoughts whose start the server cut off. Tags inside the answer stay.

    >>> clean_thinking("<think>Hm.</think> 42")
    '42'
    """
    if text is None:
        return None
    at = 0
    while (opening := _OPENING.match(text, _skip_space(text, at))) is not None:
        closing = re.compile(rf"</{opening[1]}>", re.IGNORECASE).search(text, opening.end())
        if closing is None:
            break
        at = _skip_space(text, closing.end())
    if at == 0 and (closing := _CLOSING.search(text)) is not None and not _OPENING.search(text, 0, closing.start()):
        inside = text[: closing.start()]
        if "{" not in inside and "[" not in inside:
            at = _skip_space(text, closing.end())
    return text[at:]


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def in_order(*cleaners: Cleaner) -> Cleaner:
    """Make one cleaner of several: each gets what the one before left.

    >>> in_order(clean_thinking, clean_fence)("<think>x</think>```json []```")
    '[]'
    """

    def clean(text: str) -> str:
        for cleaner in cleaners:
            text = cleaner(text)
        return text

    return clean


class JsonCandidate(NamedTuple):
    """Hold one JSON value found in an answer."""

    value: Any
    text: str
    """The JSON it was read from."""
    repairs: tuple[str, ...]
    """What was mended or left out, in words."""


class _Group(NamedTuple):
    """Hold the place of a balanced pair of braces or brackets."""

    start: int
    end: int


def find_json(text: str) -> list[JsonCandidate]:
    """Find every JSON value in an answer: all of it but thoughts and a fence, else each object and array outside of thoughts.

    The time is linear in the length of the text, whatever it holds.

    Raises:
        ValueError: The text looks like JSON but is broken; the message says where.

    >>> [candidate.value for candidate in find_json('Sure! {"a": 1} Done.')]
    [{'a': 1}]
    """
    stripped = text.strip()
    value, failure = _read(stripped)
    if failure is None:
        return [JsonCandidate(value, stripped, ())]
    bare = clean_fence(clean_thinking(stripped)).strip()
    value, still = (None, failure) if bare == stripped else _read(bare)
    if still is None:
        return [JsonCandidate(value, bare, ("left out text around the JSON",))]
    found: list[JsonCandidate] = []
    for group in _groups(text):
        candidate = group if isinstance(group, JsonCandidate) else _mended(text[group.start : group.end])
        if isinstance(candidate, str):
            failure = candidate
            continue
        around = () if candidate.text == stripped else ("left out text around the JSON",)
        found.append(candidate._replace(repairs=(*around, *candidate.repairs)))
    if not found:
        raise ValueError(failure)
    return found


def _read(text: str, *, strict: bool = True) -> tuple[Any, str | None]:
    """Read JSON; duplicate keys, NaN and depth are errors, given as words."""
    try:
        return _decoder(strict).decode(text), None
    except json.JSONDecodeError as error:
        return None, f"{error.msg} at line {error.lineno}, column {error.colno}"
    except RecursionError:
        return None, "it nests too deep"
    except ValueError as error:
        return None, str(error)


def _decoder(strict: bool) -> json.JSONDecoder:
    return json.JSONDecoder(strict=strict, object_pairs_hook=_unique, parse_constant=_refuse_constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        doubled = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"the key {doubled!r} stands twice in one object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _mended(text: str) -> JsonCandidate | str:
    """Read a group as it is, else after mends that change no value; give the words for what is wrong if none helps."""
    value, failure = _read(text)
    if failure is None:
        return JsonCandidate(value, text, ())
    value, still = _read(text, strict=False)
    if still is None:
        return JsonCandidate(value, text, ("took line breaks inside strings as they are",))
    for words, mend in _MENDS:
        mended = mend(text)
        if mended != text:
            value, still = _read(mended, strict=False)
            if still is None:
                return JsonCandidate(value, mended, (words,))
    return failure


def _without_trailing_commas(text: str) -> str:
    return "".join(piece for piece in _pieces(text))


_STRING_OR_COMMA = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|,(?=\s*[}\]])', re.DOTALL)


def _pieces(text: str) -> Iterator[str]:
    """Give the text without the commas before a closing brace or bracket, strings left alone."""
    at = 0
    for match in _STRING_OR_COMMA.finditer(text):
        if match[0] == ",":
            yield text[at : match.start()]
            at = match.end()
    yield text[at:]


def _with_plain_quotes(text: str) -> str:
    """Turn typographic quotes into plain ones, if the text has no plain quote that could mean something else."""
    return text if '"' in text else text.translate({0x201C: '"', 0x201D: '"', 0x201E: '"'})


_MENDS: tuple[tuple[str, Cleaner], ...] = (
    ("left out commas before a closing brace or bracket", _without_trailing_commas),
    ("took typographic quotes for plain ones", _with_plain_quotes),
)

_STARTS = re.compile(r'\{(?=\s*["“}])|\[(?=\s*["“\[\]{0-9tfn-])|<')
_INSIDE = re.compile(r'"|[{}\[\]]')
_STRING_END = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


_SHORTCUTS = 16
"""How often a place that looks like JSON is read at once before it is measured: each failure costs up to the whole text."""


def _groups(text: str) -> list[_Group | JsonCandidate]:
    """Find what can be JSON outside of thoughts: values that can be read as they stand, else outermost balanced groups."""
    groups: list[_Group | JsonCandidate] = []
    at = shortcuts = 0
    while (start := _STARTS.search(text, at)) is not None:
        if start[0] == "<":
            at = _behind_thought(text, start.start(), groups)
            continue
        if shortcuts < _SHORTCUTS:
            try:
                value, at = _decoder(strict=True).raw_decode(text, start.start())
            except (ValueError, RecursionError):
                shortcuts += 1
            else:
                groups.append(JsonCandidate(value, text[start.start() : at], ()))
                continue
        end, inner = _balanced(text, start.start())
        if end is None:
            groups.extend(inner)
            break
        groups.append(_Group(start.start(), end))
        at = end
    return groups


def first_group(text: str) -> int | None:
    """Find where the first object or array outside of thoughts begins; it may not have ended yet."""
    at = 0
    while (start := _STARTS.search(text, at)) is not None:
        if start[0] != "<":
            return start.start()
        at = _behind_thought(text, start.start(), [])
    return None


def _behind_thought(text: str, at: int, groups: list[_Group | JsonCandidate]) -> int:
    """Step over a thought that opens here; a closing tag alone makes all before it a thought."""
    if (opening := _OPENING.match(text, at)) is not None:
        closing = _CLOSING.search(text, opening.end())
        return len(text) if closing is None else closing.end()
    if (closing := _CLOSING.match(text, at)) is not None:
        groups.clear()
        return closing.end()
    return at + 1


def _balanced(text: str, start: int) -> tuple[int | None, list[_Group]]:
    """Find where a group ends; of a group without end give the outermost groups inside that have one."""
    open_at: list[int] = []
    closed: list[_Group] = []
    at = start
    while (match := _INSIDE.search(text, at)) is not None:
        at = match.end()
        if match[0] == '"':
            string = _STRING_END.match(text, at)
            if string is None:
                break
            at = string.end()
        elif match[0] in "{[":
            open_at.append(match.start())
        else:
            begin = open_at.pop()
            if not open_at:
                return at, []
            while closed and closed[-1].start > begin:
                closed.pop()
            closed.append(_Group(begin, at))
    return None, [group for group in closed if _STARTS.match(text, group.start)]
