"""Read the body of a generateContent request back into a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from promptkit import _json
from promptkit._frozen import shown
from promptkit.adapters._gemini_media import read_medium
from promptkit.adapters._gemini_options import read_options
from promptkit.adapters._gemini_tables import DATA, FORMAT
from promptkit.adapters._reading import MAPPINGS, own_of, text_at
from promptkit.content import Content, Opaque, Part, Reasoning, Text
from promptkit.errors import AdapterError, PromptError
from promptkit.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)
from promptkit.options import NO_OPTIONS
from promptkit.prompt import Prompt

__all__ = ["data_of", "from_request", "own_around", "own_of", "read_part"]

T = TypeVar("T")


def from_request(body: Mapping[str, Any]) -> Prompt:
    """Read the body of a generateContent request.

    Everything is kept: unknown parts as `Opaque`, unknown fields of a content, part, call or tool under
    ``metadata["gemini"]``, unknown settings in ``options.extra``. The system instruction is one message.

    Args:
        body: The JSON of the request; it is not changed.

    Raises:
        AdapterError: It is no such body; the path says where.

    >>> [*from_request({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]})]
    [UserMessage('Hi')]
    """
    if not isinstance(body, Mapping):
        raise AdapterError(f"a request must be a mapping, not {shown(body)}", format=FORMAT)
    contents = body.get("contents")
    if not isinstance(contents, list | tuple):
        raise AdapterError(f"must be a list, not {shown(contents)}", format=FORMAT, path="contents")
    reader = _Reader()
    if body.get("systemInstruction") is not None:
        try:
            reader.system(body["systemInstruction"])
        except (PromptError, AdapterError) as error:
            raise AdapterError(str(error), format=FORMAT, path="systemInstruction") from None
    for at, content in enumerate(contents):
        try:
            reader.content(content)
        except (PromptError, AdapterError) as error:
            raise AdapterError(str(error), format=FORMAT, path=f"contents[{at}]") from None
    reader.finish_results()
    rest = {key: value for key, value in body.items() if key not in ("contents", "systemInstruction")}
    return Prompt(reader.messages, read_options(rest) if rest else NO_OPTIONS)


class _Reader:
    """Read contents in order; results wait until the last of their turn is there."""

    __slots__ = ("messages", "own", "results")

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.results: list[ToolResponse] = []
        self.own: dict[str, Any] = {}

    def system(self, content: Any) -> None:
        """Read the system instruction, which has no role; one without a part is none."""
        parts = _each(_parts(content), read_part)
        own = own_of(FORMAT, content, _SPOKEN)
        if parts or own:
            self.messages.append(SystemMessage(parts, metadata=own))

    def content(self, content: Any) -> None:
        """Read one content into the list."""
        parts = _parts(content)
        role = content.get("role")
        own = {} if content.keys() <= _SPOKEN else own_of(FORMAT, content, _SPOKEN)
        said = _only_text(parts) if len(parts) == 1 and not own else None
        if role in _USERS:
            if said is None:
                self.user(parts, own)
                return
            self.finish_results()
            self.messages.append(UserMessage(said))
        elif role == "model":
            self.finish_results()
            if said is None:
                self.model(parts, own)
            else:
                self.messages.append(AssistantMessage(said))
        else:
            raise AdapterError(f"role must be one of user, model, not {shown(role)}")

    def user(self, parts: Any, own: Mapping[str, Any]) -> None:
        read = _each(parts, _said_or_result)
        results = [item for item in read if isinstance(item, ToolResponse)]
        said = [item for item in read if not isinstance(item, ToolResponse)]
        if own or not results:
            self.finish_results()
        if results:
            self.results += results
            self.own = dict(own) or self.own
        if said or not results:
            self.finish_results()
            self.messages.append(UserMessage(said, metadata={} if results else own))

    def finish_results(self) -> None:
        if self.results:
            results = ToolResponseMessage(tuple(self.results))
            self.messages.append(results.mutate(metadata=self.own) if self.own else results)
            self.results, self.own = [], {}

    def model(self, parts: Any, own: Mapping[str, Any]) -> None:
        read = _each(parts, _said_or_call)
        calls = tuple([item for item in read if isinstance(item, ToolCall)])
        said = [item for item in read if not isinstance(item, ToolCall)]
        content = None if not said or (calls and said == [_NOTHING]) else said
        if own:
            self.messages.append(AssistantMessage(content, tool_calls=calls, metadata=own))
        else:
            self.messages.append(AssistantMessage(content, tool_calls=calls))


_USERS = (
    None,
    "user",
    "function",
)  # the first is what the vendor takes for absent, the last what it once called results
_SPOKEN = frozenset(("role", "parts"))
_NOTHING = Text("")


def _parts(content: Any) -> Any:
    """Give the parts of a content; absent ones are none."""
    if not isinstance(content, MAPPINGS):
        raise AdapterError(f"a content must be a mapping, not {shown(content)}")
    parts = content.get("parts")
    if parts is not None and not isinstance(parts, list | tuple):
        raise AdapterError(f"parts must be a list, not {shown(parts)}")
    return parts or ()


def _only_text(parts: Any) -> str | None:
    """Give the text of a part that is nothing but text, as most contents have one and no other."""
    part = parts[0]
    text = part.get("text") if type(part) is dict and len(part) == 1 else None
    return text if type(text) is str else None


def _each(parts: Iterable[Any], read: Callable[[Any], T]) -> list[T]:
    """Read every part; an error says which one it was."""
    found: list[T] = []
    for part in parts:
        try:
            found.append(read(part))
        except (PromptError, AdapterError) as error:
            raise AdapterError(str(error), format=FORMAT, path=f"parts[{len(found)}]") from None
    return found


def data_of(part: Any) -> str | None:
    """Name the one field of a part that is its data; ``None`` if we know none or several."""
    if not isinstance(part, MAPPINGS):
        raise AdapterError(f"a part must be a mapping, not {shown(part)}")
    if len(part) == 1:
        (key,) = part
        return key if key in DATA and part[key] is not None else None
    found = [key for key in part if key in DATA and part[key] is not None]
    return found[0] if len(found) == 1 else None


def read_part(part: Any, *, named: bool = False) -> Part:
    """Read a part as what it is; one that we do not know stays as it is, as does a call or a result here.

    Args:
        part: The part.
        named: Whether it stands where media have names.

    Raises:
        AdapterError: A part that we know is damaged.
    """
    kind = data_of(part)
    if kind == "text":
        text = text_at(part, "text")
        if len(part) == 1:
            return Text(text)
        thought = part.get("thought")
        known = _TEXT if thought is False or thought is True else _TEXT - {"thought"}
        return (Reasoning if thought is True else Text)(text, metadata=own_of(FORMAT, part, known))
    if kind in ("inlineData", "fileData"):
        found = read_medium(part, kind, named=named)
        if found is not None:
            medium, own = found
            return medium.mutate(metadata={FORMAT: own}) if own else medium
    return Opaque(FORMAT, part)


_TEXT = frozenset(("text", "thought"))


def _said_or_call(part: Any) -> Part | ToolCall:
    return _call(part) if data_of(part) == "functionCall" else read_part(part)


def _said_or_result(part: Any) -> Part | ToolResponse:
    return _result(part) if data_of(part) == "functionResponse" else read_part(part)


def _inner(part: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = part[key]
    if not isinstance(inner, MAPPINGS):
        raise AdapterError(f"{key} must be a mapping, not {shown(inner)}")
    return inner


def own_around(part: Mapping[str, Any], key: str, known: frozenset[str]) -> dict[str, Any]:
    """Collect the vendor's own fields of a part and of its data in one mapping, each in its place."""
    inner: Mapping[str, Any] = part[key]
    rest = {name: item for name, item in inner.items() if name not in known and item is not None}
    own = {name: item for name, item in part.items() if name != key and item is not None}
    own = own | ({key: rest} if rest else {})
    return {FORMAT: own} if own else {}


def _call(part: Mapping[str, Any]) -> ToolCall:
    inner = _inner(part, "functionCall")
    given = inner.get("args")
    if given is not None and not isinstance(given, MAPPINGS):
        raise AdapterError(f"args must be a mapping, not {shown(given)}")
    arguments = _object_text(given or {}, "args")
    name = text_at(inner, "name")
    if len(part) == 1 and inner.keys() <= _CALL:
        return ToolCall(inner.get("id"), name, arguments=arguments)
    return ToolCall(inner.get("id"), name, arguments=arguments, metadata=own_around(part, "functionCall", _CALL))


_CALL = frozenset(("id", "name", "args"))
_RESULT = frozenset(("id", "name", "response", "parts"))


def _object_text(value: Mapping[str, Any], key: str) -> str:
    if type(value) is not dict:
        return ToolCall(None, key, arguments=value).arguments
    try:
        return _json.dumps(value)
    except (TypeError, ValueError) as error:
        raise AdapterError(f"{key} is no JSON: {error}") from None


def _result(part: Mapping[str, Any]) -> ToolResponse:
    inner = _inner(part, "functionResponse")
    given = inner.get("response")
    if given is not None and not isinstance(given, MAPPINGS):
        raise AdapterError(f"response must be a mapping, not {shown(given)}")
    name = inner.get("name")
    name = text_at(inner, "name") if name is not None else None
    media = inner.get("parts")
    if media is not None and not isinstance(media, list | tuple):
        raise AdapterError(f"parts must be a list, not {shown(media)}")
    key, text = _said(given or {})
    failed = key == "error"
    content: Content | list[Part] = text if given is not None else ""
    if media:
        content = ([Text(text)] if given else []) + _each(media, _result_part)
    own = {} if len(part) == 1 and inner.keys() <= _RESULT else own_around(part, "functionResponse", _RESULT)
    if not own and not failed:
        return ToolResponse(inner.get("id"), name, content=content)
    status = "error" if failed else "success"
    return ToolResponse(inner.get("id"), name, content=content, status=status, metadata=own)  # type: ignore[arg-type]


def _said(response: Mapping[str, Any]) -> tuple[str, str]:
    """Tell what a result says: its one text, or all of it as JSON."""
    if len(response) == 1:
        for key in ("output", "error"):
            if isinstance(response.get(key), str):
                return key, response[key]
    return "", _object_text(response, "response")


def _result_part(part: Any) -> Part:
    """Read a part of a result, which has media only."""
    return Opaque(FORMAT, part) if data_of(part) == "text" else read_part(part, named=True)
