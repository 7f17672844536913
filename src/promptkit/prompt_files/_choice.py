"""Choose among the versions and variants of a prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from promptkit.prompt_files.template import NamedPromptTemplate

__all__ = ["Wanted", "chosen", "version_key"]


class Wanted(NamedTuple):
    """Say which form of a prompt is wanted."""

    version: str | None = None
    locale: str | None = None
    model: str | None = None


def chosen(forms: Sequence[NamedPromptTemplate], wanted: Wanted) -> NamedPromptTemplate | None:
    """Give the form that fits best, the first of several; ``None`` if none does."""
    if len(forms) == 1 and wanted == Wanted():
        return forms[0]
    ranked = [(rank, at) for at, form in enumerate(forms) if (rank := _rank(form, wanted)) is not None]
    return forms[max(ranked, key=lambda item: (item[0], -item[1]))[1]] if ranked else None


def _rank(form: NamedPromptTemplate, wanted: Wanted) -> tuple[Any, ...] | None:
    """Say how well a form fits; ``None`` if it does not."""
    if wanted.version is not None and form.version != wanted.version:
        return None
    language = _language_rank(form.locale, wanted.locale)
    model = _model_rank(form.models, wanted.model)
    if language is None or model is None:
        return None
    return language, model, version_key(form.version)


def _language_rank(own: str | None, wanted: str | None) -> int | None:
    """Rank a form without a language lowest; without a wish, one with a language is no form to take unasked."""
    if own is None:
        return 0
    have = own.replace("_", "-").lower().split("-")
    want = [] if wanted is None else wanted.replace("_", "-").lower().split("-")
    if wanted is not None and want[: len(have)] == have:
        return len(have)
    return None


def _model_rank(own: tuple[str, ...], wanted: str | None) -> int | None:
    if not own:
        return 0
    if wanted is None:
        return None
    bare = wanted.partition(":")[2] or wanted
    fitting = [len(pattern) for pattern in own if fnmatchcase(wanted, pattern) or fnmatchcase(bare, pattern)]
    return max(fitting, default=None)


def version_key(version: str | None) -> tuple[tuple[int, int, str], ...]:
    """Order versions by their numbers: 1.10 is newer than 1.9, 1.0 newer than 1.0-beta."""
    if version is None:
        return ()
    parts = re.findall(r"\d+|[A-Za-z]+", version)
    key = [(1, int(part[:18]), "") if part.isdigit() else (-1, 0, part) for part in parts]
    return (*key, (0, 0, ""))
