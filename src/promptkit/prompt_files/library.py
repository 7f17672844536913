"""Keep prompts by name: those of a folder or a package, and those that code or a configuration gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, Self

from attrs import evolve, field, frozen

from promptkit._frozen import shown
from promptkit.content import Media
from promptkit.errors import PromptkitError, TemplateError, TemplateNotFoundError
from promptkit.messages import Message
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.prompt_files._choice import Wanted, chosen, version_key
from promptkit.prompt_files._reading import Entry, Folder
from promptkit.prompt_files.loading import SUFFIX, draft_file, name_of
from promptkit.prompt_files.template import NamedPromptTemplate
from promptkit.renderers.base import nearest
from promptkit.templates.actions import Variables
from promptkit.templates.base import NOTHING_BOUND, BoundVariables, VariablesReport, bound_variables, variables_of
from promptkit.templates.chat import ChatPromptTemplate

__all__ = ["LibraryReport", "LivePromptTemplate", "PromptLibrary"]

MAX_FILES = 10_000
"""Most files of a library."""

_Shelf = Mapping[str, tuple[NamedPromptTemplate, ...]]
"""The templates of each name: versions and variants. It is replaced as a whole, never changed."""


class LibraryReport(NamedTuple):
    """Say what a change of a library did."""

    applied: tuple[str, ...]
    """The names that were set anew."""
    skipped: tuple[int, ...]
    """The places of blank entries in a configuration."""
    failed: tuple[tuple[str, PromptkitError], ...]
    """Names, or files, and why their last good form is kept."""


class PromptLibrary:
    """Find prompts by name, version, language and model; let them change while the program runs.

    Every ``*.prompt.md`` below the folder is read when the library is made; its name is the path without the ending,
    or what its front matter says. Files of one name are its versions and variants. Partials
    (``<!-- include shared/style -->``) are the ``.md`` files below the folder. Threads may share a library: each prompt
    is made of the old text or of the new, never of both.

    Args:
        directory: The folder.
        package: The dotted name of a package that holds the prompts as resources.

    Raises:
        TemplateError: A file is broken; the message names it.
        TemplateNotFoundError: There is no such folder or package.

    >>> library = PromptLibrary()
    >>> greeting = library.create("greeting", "Hello {name}!")
    >>> library.apply_config([{"name": "greeting", "template": "Hi {name}!"}]).applied
    ('greeting',)
    >>> greeting.render({"name": "Ada"})
    'Hi Ada!'
    """

    def __init__(self, directory: str | PathLike[str] | None = None, *, package: str | None = None) -> None:
        if directory is not None and package is not None:
            raise TemplateError("a library has one root: give a directory or a package")
        self._root = _root_of(directory, package)
        self._lock = Lock()
        self._given: _Shelf = {}
        self._files: Mapping[str, NamedPromptTemplate] = {}
        self._shelf: _Shelf = {}
        self._handles: dict[str, LivePromptTemplate] = {}
        failed = self.reload().failed
        if failed:
            raise failed[0][1]

    def __repr__(self) -> str:
        return f"<PromptLibrary of {len(self._shelf)} prompts>"

    def __len__(self) -> int:
        return len(self._shelf)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._shelf

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all prompts, sorted."""
        return tuple(sorted(self._shelf))

    def versions(self, name: str) -> tuple[str, ...]:
        """Give the versions of a prompt, newest first."""
        found = {one.version for one in self._shelf.get(name, ()) if one.version is not None}
        return tuple(sorted(found, key=version_key, reverse=True))

    def __getitem__(self, name: str) -> LivePromptTemplate:
        """Give the prompt of a name.

        Raises:
            TemplateNotFoundError: There is none.
        """
        found = self.get(name)
        if found is None:
            raise _absent(name, self._shelf)
        return found

    def get(
        self, name: str, *, version: str | None = None, locale: str | None = None, model: str | None = None
    ) -> LivePromptTemplate | None:
        """Give the prompt of a name, or ``None``; it renders the newest text at every call.

        Of several forms the one is taken that is written for the language, then for the model, then the newest.
        ``de-CH`` falls back to ``de``, then to a form without a language; a model to the longest pattern that matches,
        then to a form without models.

        Args:
            name: The name.
            version: The version, as it is written; the newest without it.
            locale: The language, for example ``de-CH``.
            model: The model, for example ``openai:gpt-5-mini``.
        """
        wanted = Wanted(version, locale, model)
        if chosen(self._shelf.get(name, ()), wanted) is None:
            return None
        if wanted != Wanted():
            return LivePromptTemplate(self, name, wanted=wanted)
        return self._handles.setdefault(name, LivePromptTemplate(self, name))

    def create(self, name: str, text: str, model: Variables | None = None) -> LivePromptTemplate:
        """Add a prompt, unless it is there already.

        Args:
            name: Its name.
            text: The template of its one message, the user's.
            model: Variables that it already has.

        Raises:
            TemplateError: The text is broken, or there is a prompt of this name with other text or variables.
        """
        made = _made(name, text, model)
        with self._lock:
            known = self._shelf.get(name)
            if known is None:
                self._given = {**self._given, name: (made,)}
                self._join()
            elif known != (made,):
                message = f"there is a prompt {name!r} with another text already; apply_config replaces it"
                raise TemplateError(message, template_name=name)
        return self[name]

    def apply_config(self, entries: Iterable[Mapping[str, Any]]) -> LibraryReport:
        """Set prompts anew, all at once: ``{"name": …, "template": …, "model": {…}}`` each.

        An entry with a blank name or template is skipped. A broken one is reported, in the log too, and the last good
        text of its name stays.

        Raises:
            TemplateError: It is no list.
        """
        if isinstance(entries, str | bytes | Mapping) or not isinstance(entries, Iterable):
            raise TemplateError(f"a configuration is a list of mappings with name and template, not {shown(entries)}")
        fresh: dict[str, tuple[NamedPromptTemplate, ...]] = {}
        skipped: list[int] = []
        failed: list[tuple[str, PromptkitError]] = []
        for index, entry in enumerate(entries):
            label = f"entry {index}"
            try:
                name, text, model = _entry(entry)
                if not name.strip() or not text.strip():
                    skipped.append(index)
                    continue
                label = name
                fresh[name] = (_made(name, text, model),)
            except PromptkitError as error:
                failed.append((label, error))
        with self._lock:
            if fresh:
                self._given = {**self._given, **fresh}
                self._join()
        return _reported(LibraryReport(tuple(fresh), tuple(skipped), tuple(failed)))

    def reload(self) -> LibraryReport:
        """Read the files again and put all good ones in place at once.

        A broken file is reported, in the log too, and its last good form stays; a removed file is gone.
        """
        with self._lock:
            before, files = self._files, {}
            failed: list[tuple[str, PromptkitError]] = []
            for path, file in _found(self._root):
                try:
                    assert self._root is not None
                    files[path] = draft_file(file, path, self._root).template(name_of(path))
                except PromptkitError as error:
                    failed.append((path, error))
                    if path in before:
                        files[path] = before[path]
            doubled = _doubled(files)
            failed += doubled
            for path, _ in doubled:
                files.pop(path)
            self._files = files
            self._join()
        changed = {one.name for path, one in files.items() if before.get(path) != one}
        return _reported(LibraryReport(tuple(sorted(changed)), (), tuple(failed)))

    def _join(self) -> None:
        """Make the shelf that readers see."""
        shelf: dict[str, tuple[NamedPromptTemplate, ...]] = {}
        for template in self._files.values():
            shelf[template.name] = (*shelf.get(template.name, ()), template)
        self._shelf = {**shelf, **self._given}

    def find(self, name: str, wanted: Wanted) -> NamedPromptTemplate:
        """Give the form of a prompt that is in force now.

        Raises:
            TemplateNotFoundError: There is none.
        """
        shelf = self._shelf
        found = chosen(shelf.get(name, ()), wanted)
        if found is None:
            raise _absent(name, shelf)
        return found


def _root_of(directory: str | PathLike[str] | None, package: str | None) -> Folder | None:
    if package is not None:
        from importlib.resources import files

        try:
            root: Any = files(package)
        except (ImportError, TypeError, ValueError) as error:
            raise TemplateNotFoundError(f"there is no package {package!r:.80}: {error!s:.200}") from None
        return Folder(root)
    if directory is None:
        return None
    try:
        path = Path(directory)
        if path.is_dir():
            return Folder(path)
    except (TypeError, ValueError, OSError):
        pass
    raise TemplateNotFoundError(f"there is no folder {shown(directory)}")


def _found(root: Folder | None) -> Iterator[tuple[str, Entry]]:
    """Give the prompt files of a root by their paths in it, sorted; hidden folders are left out."""
    if root is None:
        return
    count = 0
    waiting: list[tuple[str, Any]] = [("", root.root)]
    while waiting:
        prefix, folder = waiting.pop()
        try:
            entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
        except OSError as error:
            raise TemplateNotFoundError(f"the folder {prefix or '.'!r} cannot be read: {error.strerror}") from None
        for entry in entries:
            path = f"{prefix}{entry.name}"
            if entry.name.startswith((".", "__")) or not root.holds(entry):
                continue
            if entry.is_dir():
                if len(path) < 1_000 and not (isinstance(entry, Path) and entry.is_symlink()):
                    waiting.append((f"{path}/", entry))
            elif entry.name.endswith(SUFFIX):
                count += 1
                if count > MAX_FILES:
                    raise TemplateError(f"a library has at most {MAX_FILES:,} files")
                yield path, entry


def _doubled(files: Mapping[str, NamedPromptTemplate]) -> list[tuple[str, PromptkitError]]:
    """Find files that nothing tells from an earlier one."""
    seen: dict[Any, str] = {}
    found: list[tuple[str, PromptkitError]] = []
    for path, one in files.items():
        first = seen.setdefault((one.name, one.version, one.locale, frozenset(one.models)), path)
        if first != path:
            message = (
                f"it has name, version, locale and models of {first!r}; say in the front matter what tells them apart"
            )
            found.append((path, TemplateError(message, template_name=path)))
    return found


def _reported(report: LibraryReport) -> LibraryReport:
    if report.failed:
        import logging

        log = logging.getLogger("promptkit.prompt_files")
        for name, error in report.failed:
            log.warning("The prompt %r is not changed, since it is broken: %s", name, type(error).__name__)
    return report


def _absent(name: str, shelf: _Shelf) -> TemplateNotFoundError:
    if name in shelf:
        return TemplateNotFoundError(f"the prompt {name!r} has no form of this version, language and model")
    return TemplateNotFoundError(f"there is no prompt {shown(name)}{nearest(str(name), shelf)}")


def _made(name: Any, text: Any, model: Any) -> NamedPromptTemplate:
    for what, value in (("name", name), ("text", text)):
        if not isinstance(value, str) or not value.strip():
            raise TemplateError(f"the {what} of a prompt must be text that is not blank, not {shown(value)}")
    try:
        chat = ChatPromptTemplate([("user", text)], template_name=name)
        return NamedPromptTemplate(name, chat, bound=NOTHING_BOUND if model is None else model)
    except TemplateError as error:
        raise error.named(name) from None


def _entry(entry: Any) -> tuple[str, str, Any]:
    if not isinstance(entry, Mapping):
        raise TemplateError(f"an entry must be a mapping with name and template, not {shown(entry)}")
    texts = ["" if (value := entry.get(key)) is None else value for key in ("name", "template")]
    for key, value in zip(("name", "template"), texts, strict=True):
        if not isinstance(value, str):
            raise TemplateError(f"the {key} of an entry must be text, not {shown(value)}")
    unknown = [key for key in entry if key not in ("name", "template", "model")]
    if unknown:
        raise TemplateError(f"an entry has name, template and model, not {shown(unknown[0])}")
    return texts[0], texts[1], entry.get("model")


@frozen(eq=False)
class LivePromptTemplate:
    """Stand for a prompt of a library: every call uses the text that is in force then.

    `PromptLibrary.get` gives it. It has the actions of a template, and may be a part of a chat.

    >>> library = PromptLibrary()
    >>> _ = library.create("bye", "Bye {name}")
    >>> library["bye"].partial({"name": "Ada"}).create().text
    'Bye Ada'
    """

    library: PromptLibrary = field(repr=False)
    name: str
    wanted: Wanted = field(default=Wanted(), kw_only=True)
    bound: BoundVariables = field(default=NOTHING_BOUND, kw_only=True, converter=bound_variables)

    @property
    def current(self) -> NamedPromptTemplate:
        """The template that is in force now.

        Raises:
            TemplateNotFoundError: Its file was removed.
        """
        found = self.library.find(self.name, self.wanted)
        return found.partial(self.bound) if self.bound else found

    @property
    def variables(self) -> tuple[str, ...]:
        """The names that must still be given now."""
        return self.current.variables

    @property
    def optional_variables(self) -> tuple[str, ...]:
        """The names that may still be given now."""
        return self.current.optional_variables

    def check(self, model: Variables | None = None) -> VariablesReport:
        """Compare a model with what the prompt needs now."""
        return self.current.check(model)

    def render(self, model: Variables | None = None) -> str:
        """Make the messages and join their texts."""
        return self.current.render(model)

    def create(self, model: Variables | None = None, *, options: ChatOptions | None = None) -> Prompt:
        """Make the prompt; see `NamedPromptTemplate.create`."""
        return self.current.create(model, options=options)

    def create_message(self, model: Variables | None = None, *, media: Iterable[Media] = ()) -> Message:
        """Make the only message; see `NamedPromptTemplate.create_message`."""
        return self.current.create_message(model, media=media)

    def create_messages(self, model: Variables | None = None) -> tuple[Message, ...]:
        """Make the messages, in order."""
        return self.current.create_messages(model)

    def partial(self, model: Variables) -> Self:
        """Give one that has more variables, and still uses the newest text."""
        return evolve(self, bound={**self.bound, **variables_of(model)})
