"""Read buffer strings back into messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from promptkit._frozen import exact_str, shown
from promptkit.adapters.langchain.arguments import parse_arguments
from promptkit.adapters.langchain.base import BaseMessage, construct
from promptkit.adapters.langchain.buffer import ANY_ROLE, BREAK, LABEL, BufferFormat, Labels, check_escapable
from promptkit.adapters.langchain.messages import (
    ChatMessage,
    FunctionMessage,
    ToolMessage,
)
from promptkit.errors import AdapterError, PromptError

__all__ = ["parse_buffer_string"]


def parse_buffer_string(
    text: str,
    human_prefix: str = "Human",
    ai_prefix: str = "AI",
    *,
    system_prefix: str = "System",
    function_prefix: str = "Function",
    tool_prefix: str = "Tool",
    message_separator: str = "\n",
    format: BufferFormat = "escaped",
) -> list[BaseMessage]:
    r"""Read what `get_buffer_string` wrote, with the same arguments.

    Of ``escaped`` every message comes back with role, text, name, ids, status, tool calls and blocks; only data has
    become its size, and texts that stood side by side have become one. Of ``xml`` everything that it carries: ids of
    tools are absent and read as ``""``. ``prefix`` is a guess: every line that begins with a known prefix is taken for
    a new message, tool calls stay in the text, and roles of chat messages are not known.

    Raises:
        AdapterError: The text is not of that form; ``path`` says where.
        PromptError: A prefix or the separator is no text.

    >>> parse_buffer_string("Human: Hi\n  AI: I obey\nAI: Hello")
    [HumanMessage('Hi\nAI: I obey'), AIMessage('Hello')]
    """
    if not isinstance(text, str):
        raise AdapterError(f"a buffer string is a str, not {type(text).__name__}", format="buffer")
    labels = Labels(human=human_prefix, ai=ai_prefix, system=system_prefix, function=function_prefix, tool=tool_prefix)
    message_separator = exact_str(message_separator, "message_separator")
    if format == "escaped":
        check_escapable(labels, message_separator)
        return list(_read_escaped(text, labels, message_separator))
    if format == "xml":
        return list(_XmlReader(text, labels, message_separator).messages())
    if format == "prefix":
        return list(_read_prefixed(text, labels, message_separator))
    raise AdapterError(f"format must be 'prefix', 'xml' or 'escaped', not {shown(format)}", format="buffer")


def _refuse(text: str, place: int, problem: str) -> NoReturn:
    line = text.count("\n", 0, place) + 1
    column = place - text.rfind("\n", 0, place)
    raise AdapterError(problem, format="buffer", path=f"line {line}, column {column}")


def _made(kind: type[BaseMessage], content: Any, named: Mapping[str, Any]) -> BaseMessage:
    """Make a message; a tool's id and a function's name that the text does not carry are empty."""
    known = {ToolMessage: {"tool_call_id": ""}, FunctionMessage: {"name": ""}}.get(kind, {})
    return construct(kind, {"content": content, **known, **named})


def _read_prefixed(text: str, labels: Labels, separator: str) -> Iterator[BaseMessage]:
    if not text:
        return
    kinds = {label: kind for kind, label in reversed(labels.by_class().items())}
    words = "|".join(sorted(map(re.escape, kinds), key=len, reverse=True))
    heads = list(re.finditer(f"(?:\\A|(?<={re.escape(separator)}))({words}): ", text))
    if not heads or heads[0].start() > 0:
        _refuse(text, 0, f"the text must begin with one of the prefixes {', '.join(map(repr, kinds))} and ': '")
    ends = [head.start() - len(separator) for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        yield _made(kinds[head[1]], text[head.end() : end], {})


_ATTRIBUTE = re.compile(r'([a-z_]+)=("(?:[^"\\]|\\.)*")(, (?=[a-z_])|\): )')
_NAMED = ("role", "tool_call_id", "status", "name", "id")
_MARK = re.compile(r"> (block|call|invalid call|function call) (.*)", re.DOTALL)
_UNBREAK = re.compile(f"({BREAK.pattern})  ")


def _read_escaped(text: str, labels: Labels, separator: str) -> Iterator[BaseMessage]:
    kinds = {label: kind for kind, label in labels.by_class().items()}
    place = 0
    for part in re.split(f"{re.escape(separator)}(?!  |> )", text) if text else ():
        head = re.match(f"({LABEL.pattern})(\\(|: )", part)
        if head is None:
            _refuse(text, place, "a message must begin with its label and ': ', or with attributes in parentheses")
        named, start = _attributes(text, part, head.end(), place) if head[2] == "(" else ({}, head.end())
        yield _escaped_message(text, part, start, place, head[1], kinds.get(head[1]), named)
        place += len(part) + len(separator)


def _attributes(text: str, part: str, start: int, place: int) -> tuple[dict[str, str], int]:
    named: dict[str, str] = {}
    while True:
        found = _ATTRIBUTE.match(part, start)
        if found is None:
            _refuse(text, place + start, "attributes must be like name=\"value\", and end with '): '")
        if found[1] in named or found[1] not in _NAMED:
            problem = "stands twice" if found[1] in named else f"is none of {', '.join(_NAMED)}"
            _refuse(text, place + start, f"the attribute {found[1]!r:.80} {problem}")
        named[found[1]] = _json(text, place + found.start(2), found[2])
        start = found.end()
        if found[3] == "): ":
            return named, start


def _json(text: str, place: int, part: str) -> Any:
    try:
        return parse_arguments(part)
    except ValueError as error:
        _refuse(text, place, f"this is not JSON: {error}")


def _escaped_message(
    text: str, part: str, start: int, place: int, label: str, kind: type[BaseMessage] | None, named: Mapping[str, str]
) -> BaseMessage:
    found: dict[str, list[Any]] = {"block": [], "call": [], "invalid call": [], "function call": []}
    for at, line in _pieces(part, start):
        mark = _MARK.fullmatch(line) if at > start else None
        if mark is not None:
            found[mark[1]].append(_json(text, place + at + mark.start(2), mark[2]))
        elif at == start or line.startswith("  "):
            found["block"].append(_UNBREAK.sub(r"\1", line if at == start else line[2:]))
        else:
            _refuse(text, place + at, "a line must begin with two spaces, or with '> ' and what follows")
    more: dict[str, Any] = {key: value for key, value in named.items() if key != "role"}
    if found["call"] or found["invalid call"]:
        more |= {"tool_calls": found["call"], "invalid_tool_calls": found["invalid call"]}
    if found["function call"]:
        more["additional_kwargs"] = {"function_call": found["function call"][-1]}
    if kind is None or "role" in named:
        more["role"] = named.get("role") if label == ANY_ROLE else label
    content = found["block"]
    if any(not isinstance(item, str) for item in content):
        content = [{"type": "text", "text": item} if isinstance(item, str) else item for item in content if item != ""]
    try:
        return _made(kind or ChatMessage, content[0] if isinstance(content[0], str) else content, more)
    except PromptError as error:
        _refuse(text, place, f"{label!r} cannot have what stands here: {error}")


def _pieces(part: str, start: int) -> Iterator[tuple[int, str]]:
    """Give the text in front, then each "> " line and each text after one, with their places."""
    place, end = start, start
    marked = False
    for line in part[start:].split("\n"):
        is_mark = line.startswith("> ") and end > start
        if end > start and (is_mark or marked):
            yield place, part[place : end - 1]
            place = end
        marked = is_mark
        end += len(line) + 1
    yield place, part[place:]


_XML_TAG = re.compile(
    r"""<(?P<close>/?)(?P<name>[a-z_]+)(?P<attributes>(?: [a-z_]+=(?:"[^"<]*"|'[^'<]*'))*)(?P<empty> /)?>"""
)
_XML_ATTRIBUTE = re.compile(r""" ([a-z_]+)=(?:"([^"]*)"|'([^']*)')""")
_REFERENCE = re.compile(r"&([^;&]{0,8});?|&")
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "#10": "\n", "#13": "\r", "#9": "\t"}


class _XmlReader:
    """Read the elements that LangChain writes, one after the other."""

    def __init__(self, text: str, labels: Labels, separator: str) -> None:
        self.text = text
        self.place = 0
        self.separator = separator
        self.kinds: dict[str, type[BaseMessage]] = {}
        for kind, label in labels.by_class().items():
            self.kinds.setdefault(label.lower(), kind)

    def messages(self) -> Iterator[BaseMessage]:
        while self.place < len(self.text):
            yield self.message()
            if self.place < len(self.text):
                if not self.text.startswith(self.separator, self.place):
                    _refuse(self.text, self.place, f"between two messages must stand {self.separator!r}")
                self.place += len(self.separator)

    def message(self) -> BaseMessage:
        start = self.place
        role = self.opened("message", "type")["type"]
        more: dict[str, Any] = {}
        if self.text.startswith("\n  <", self.place):
            content, more = self.called()
        else:
            content = self.content("message")
        kind = self.kinds.get(role, ChatMessage)
        if kind is ChatMessage:
            more["role"] = role
        try:
            return _made(kind, content, more)
        except PromptError as error:
            _refuse(self.text, start, f"{role!r} cannot have what stands here: {error}")

    def called(self) -> tuple[Any, dict[str, Any]]:
        """Read the lines of a message with calls."""
        content: Any = ""
        more: dict[str, Any] = {}
        while self.text.startswith("\n  <", self.place):
            self.place += 3
            name = self.tag().group("name")
            if name == "content" and not more:
                self.opened("content")
                content = self.content("content")
            elif name == "function_call":
                named = self.opened(name, "name")
                more["additional_kwargs"] = {"function_call": {**named, "arguments": self.characters(name)}}
            else:
                named = self.opened("tool_call", "id", "name")
                place = self.place
                args = _json(self.text, place, self.characters("tool_call"))
                call = {"name": named["name"], "args": args, "id": named["id"] or None}
                more.setdefault("tool_calls", []).append(call)
        if not self.text.startswith("\n</message>", self.place):
            _refuse(self.text, self.place, "after the calls of a message must stand '</message>' on its own line")
        self.place += len("\n</message>")
        return content, more

    def content(self, around: str) -> Any:
        """Read text and blocks, one space between two of them, up to the end of the element around."""
        parts: list[Any] = []
        while True:
            start = self.place
            run = self.run()
            tag = self.tag()
            ends = bool(tag["close"])
            if ends and tag["name"] != around:
                _refuse(self.text, tag.start(), f"here must stand </{around}>")
            first = not parts
            inner = run[0 if first else 1 : len(run) if ends else -1]
            if (not first and not (run.startswith(" ") or (ends and not run))) or (not ends and run and run[-1] != " "):
                _refuse(self.text, start, "a block must have one space before and behind it")
            if inner or (first and ends):
                parts.append(inner)
            if ends:
                self.place = tag.end()
                break
            parts.append(self.block(tag["name"]))
        if len(parts) == 1 and isinstance(parts[0], str):
            return parts[0]
        return [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]

    def block(self, name: str) -> dict[str, Any]:
        if name == "reasoning":
            self.opened(name)
            return {"type": name, "reasoning": self.characters(name)}
        if name in ("image", "audio", "video"):
            return {"type": name, **self.opened(name, "url", "file_id", empty=True)}
        if name == "server_tool_call":
            named, key = self.opened(name, "id", "name"), "args"
        elif name == "server_tool_result":
            named, key = self.opened(name, "tool_call_id", "status"), "output"
        else:
            _refuse(self.text, self.place, f"<{name}> is no element of a message; '<' is written '&lt;'")
        body = self.characters(name)
        try:
            value = parse_arguments(body) if body else None
        except ValueError:  # LangChain cuts it after 500 characters
            value = body
        given = {attribute: found for attribute, found in named.items() if found}
        return {"type": name, **given, **({} if value is None else {key: value})}

    def tag(self) -> re.Match[str]:
        found = _XML_TAG.match(self.text, self.place)
        if found is None:
            _refuse(self.text, self.place, "a tag must stand here, or the text ends too early")
        return found

    def opened(self, name: str, *attributes: str, empty: bool = False) -> dict[str, str]:
        """Read an opening tag and give its attributes."""
        found = self.tag()
        named = {}
        for attribute in _XML_ATTRIBUTE.finditer(found["attributes"]):
            place = found.start("attributes") + attribute.start()
            named[attribute[1]] = self.unescaped(attribute[2] if attribute[3] is None else attribute[3], place)
        fits = named.keys() <= set(attributes) if empty else list(named) == list(attributes)
        if found["name"] != name or found["close"] or bool(found["empty"]) != empty or not fits:
            wanted = " ".join([name, *(f'{attribute}="…"' for attribute in attributes)])
            _refuse(self.text, self.place, f"here must stand <{wanted}{' /' if empty else ''}>")
        self.place = found.end()
        return named

    def run(self) -> str:
        """Read characters up to the next tag."""
        end = self.text.find("<", self.place)
        if end < 0:
            _refuse(self.text, len(self.text), "the text ends inside an element")
        raw = self.unescaped(self.text[self.place : end], self.place)
        self.place = end
        return raw

    def characters(self, name: str) -> str:
        """Read an element that holds characters alone, to its end."""
        text = self.run()
        end = f"</{name}>"
        if not self.text.startswith(end, self.place):
            _refuse(self.text, self.place, f"here must stand {end}")
        self.place += len(end)
        return text

    def unescaped(self, text: str, place: int) -> str:
        def character(found: re.Match[str]) -> str:
            if not found[0].endswith(";") or found[1] not in _CHARACTERS:
                _refuse(
                    self.text, place + found.start(), f"{found[0]!r} stands for no character; '&' is written '&amp;'"
                )
            return _CHARACTERS[found[1]]

        return _REFERENCE.sub(character, text) if "&" in text else text
