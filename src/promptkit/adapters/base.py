"""Share what wire adapters have in common: losses, results, what stands in every prompt, and the reading of streams."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Iterator, Mapping
from typing import Any, NoReturn, Protocol, Self

from attrs import field, frozen

from promptkit import _json
from promptkit._frozen import Value, shown
from promptkit.errors import (
    AdapterError,
    ModelError,
    PromptError,
    ResponseFormatError,
    ToolError,
    UnsupportedContentError,
)
from promptkit.messages import AssistantMessage, BuiltinMessage, InvalidToolCall, Message, ToolCall, as_builtin
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChunkAccumulator

__all__ = [
    "NOTES",
    "Converted",
    "EventReader",
    "Loss",
    "Losses",
    "add_extra",
    "add_own",
    "aread_events",
    "arguments_of",
    "builtin_of",
    "check_prompt",
    "damaged",
    "invalid_calls",
    "lose_metadata",
    "plain",
    "read_events",
    "text_of",
    "without_own",
]

NOTES = frozenset(
    ("artifact", "class", "id", "metadata", "mime_type", "name", "reasoning", "removed", "role", "spelling", "status")
)
"""What a `Loss` may name without changing what the model is asked; chat models pass over these and refuse the rest."""


@frozen(repr=False, weakref_slot=False)
class Loss(Value):
    """Say what a wire format could not take.

    Args:
        path: Where it stands, for example ``messages[2].content[0]``.
        what: What is lost: a field's name, or a feature like ``image`` or ``tools``; those in `NOTES` do no harm.
        why: The reason, for people.

    >>> Loss("options.top_k", "top_k", "openai has no such option").what
    'top_k'
    """

    path: str
    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


Losses = list[Loss]
"""What a conversion collects its losses in."""


@frozen(repr=False, weakref_slot=False)
class Converted(Value):
    """Hold the body of a request and what it could not take.

    Args:
        body: The JSON of the vendor's HTTP request; plain dicts and lists, yours to change.
        losses: What is not in it, in order.

    >>> Converted({"messages": []}).require("openai").body
    {'messages': []}
    """

    body: dict[str, Any] = field(hash=False)
    losses: tuple[Loss, ...] = ()

    def require(self, format: str, *, ignore: frozenset[str] = NOTES) -> Self:
        """Give the conversion back if nothing is lost but what may be ignored.

        Args:
            format: The wire format, for the error.
            ignore: The losses that are allowed, by ``what``; chat models allow `NOTES`.

        Raises:
            UnsupportedContentError: Something else is lost; the message names all of it, the fields the first.
        """
        lost = [loss for loss in self.losses if loss.what not in ignore]
        if not lost:
            return self
        rest = "".join(f"; {loss}" for loss in lost[1:10]) + ("; …" if len(lost) > 10 else "")
        raise UnsupportedContentError(f"{lost[0].why}{rest}", feature=lost[0].what, format=format, path=lost[0].path)


def check_prompt(prompt: object, vendor: str) -> None:
    """Refuse anything but a prompt.

    Raises:
        AdapterError: It is something else.
    """
    if not isinstance(prompt, Prompt):
        kind = type(prompt).__name__
        raise AdapterError(f"a request is made of a Prompt, not of {kind}; write Prompt(…)", format=vendor)


def builtin_of(message: Message, at: int, losses: Losses) -> BuiltinMessage:
    """Give a message of ours for one of a class of your own, which is a loss."""
    builtin = as_builtin(message)
    if builtin is not message:
        why = f"{type(message).__name__} is sent as {type(builtin).__name__}"
        losses.append(Loss(f"messages[{at}]", "class", why))
    return builtin


def invalid_calls(message: AssistantMessage, path: str, losses: Losses) -> Iterator[tuple[int, InvalidToolCall, str]]:
    """Give the invalid calls that can be sent, each with its number among all calls and its path."""
    for index, call in enumerate(message.invalid_tool_calls):
        place = f"{path}.invalid_tool_calls[{index}]"
        if call.name:
            losses.append(Loss(place, "spelling", "the call reads back without the mark that it is invalid"))
            yield len(message.tool_calls) + index, call, place
        else:
            losses.append(Loss(place, "tools", "a call without a name cannot be sent"))


def plain(value: Any, path: str, format: str) -> Any:
    """Copy a frozen value into plain JSON.

    Raises:
        AdapterError: It holds bytes, which JSON has no form for.
    """
    if isinstance(value, Mapping):
        return {key: plain(item, f"{path}.{key}", format) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item, f"{path}[{index}]", format) for index, item in enumerate(value)]
    if isinstance(value, bytes):
        raise AdapterError(
            "bytes cannot stand in a request; give them as Media, or as base64 text", format=format, path=path
        )
    return value


def add_own(body: dict[str, Any], metadata: Mapping[str, Any], vendor: str, path: str, losses: Losses) -> None:
    """Write a vendor's own fields from metadata into the wire form of a message, part, call or tool.

    ``metadata[vendor]`` holds fields of the wire form that no field of ours stands for, word for word; mappings in it
    are merged into those already written. What is written from the value itself stays. All other metadata is lost.

    Args:
        body: The wire form written so far; it is changed.
        metadata: The value's metadata.
        vendor: The name of the wire format.
        path: Where the value stands, for the losses.
        losses: Where losses go.
    """
    own = metadata.get(vendor)
    if isinstance(own, Mapping) and own:
        _merge(body, own, vendor, f"{path}.metadata.{vendor}", losses)
        metadata = {key: value for key, value in metadata.items() if key != vendor}
    lose_metadata(metadata, vendor, path, losses)


def without_own(metadata: Mapping[str, Any], vendor: str, *names: str) -> dict[str, Any]:
    """Leave out own fields that are written already."""
    own = {key: value for key, value in metadata[vendor].items() if key not in names}
    return {key: value for key, value in metadata.items() if key != vendor} | ({vendor: own} if own else {})


def lose_metadata(metadata: Mapping[str, Any], vendor: str, path: str, losses: Losses) -> None:
    """Note the loss of each metadata."""
    for key in metadata:
        losses.append(Loss(f"{path}.metadata.{key}", "metadata", f"{vendor} has no place for the metadata {key!r}"))


def _merge(body: dict[str, Any], own: Mapping[str, Any], vendor: str, path: str, losses: Losses) -> None:
    for key, value in own.items():
        at = f"{path}.{key}"
        if value is None:
            losses.append(Loss(at, "metadata", "what has no value is just not sent"))
        elif key not in body:
            body[key] = plain(value, at, vendor)
        elif isinstance(body[key], dict) and isinstance(value, Mapping) and value:
            _merge(body[key], value, vendor, at, losses)
        else:
            losses.append(Loss(at, "metadata", f"{key!r} is written from the value itself"))


def add_extra(body: dict[str, Any], extra: Mapping[str, Any], vendor: str, reserved: tuple[str, ...]) -> None:
    """Lay the extra settings over a body: tools are added, fields of one object joined, all else replaced.

    ``None`` takes a field out; an object of another ``type`` replaces the old one.

    Args:
        body: The body written so far; it is changed.
        extra: The settings, by their names on the wire.
        vendor: The name of the wire format.
        reserved: The fields that are no settings but the prompt itself.

    Raises:
        AdapterError: A field is reserved, or holds bytes.
    """
    for key, value in extra.items():
        if key in reserved:
            verb = "stand" if key.endswith("s") else "stands"
            why = f"{key} {verb} in the prompt, not in its options"
            raise AdapterError(why, format=vendor, path="options.extra")
        given = plain(value, f"options.extra.{key}", vendor)
        if given is None:
            body.pop(key, None)
        elif key == "tools" and isinstance(given, list):
            body[key] = body.get(key, []) + given
        elif isinstance(given, dict) and isinstance(body.get(key), dict):
            body[key] = _joined(body[key], given)
        else:
            body[key] = given


def _joined(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    if "type" in new and new["type"] != old.get("type"):
        return new
    joined = old | new
    for key in old.keys() & new.keys():
        if isinstance(old[key], dict) and isinstance(new[key], dict):
            joined[key] = _joined(old[key], new[key])
        elif new[key] is None:
            del joined[key]
    return joined


_SHORT = 4000  # so no number in it has more digits than Python prints
_PLAIN_TYPES = frozenset((str, int, bool, type(None)))


def arguments_of(text: str) -> dict[str, Any] | None:
    """Read the arguments of a call as a plain object; ``None`` says that they are none."""
    if text == "{}":
        return {}
    if len(text) <= _SHORT:  # nearly all are an object of texts and small numbers, which needs no further look
        try:
            given = _json.loads(text)
        except ValueError:
            given = None
        if type(given) is dict and _PLAIN_TYPES.issuperset(map(type, given.values())):
            return given
    try:
        return ToolCall(None, "call", arguments=text).parsed_arguments.thaw()
    except ToolError:
        return None


def text_of(value: Mapping[str, Any], key: str, path: str = "") -> str | None:
    """Give a text of an answer that says something; ``null`` and the empty text say nothing.

    Raises:
        ResponseFormatError: It is something else.
    """
    text = value.get(key)
    if text is not None and not isinstance(text, str):
        damaged(f"{path}.{key}" if path else key, "a str", text)
    return text or None


def damaged(path: str, wanted: str, value: object) -> NoReturn:
    """Refuse an answer that breaks its own format.

    Raises:
        ResponseFormatError: Always; it says where the damage is.
    """
    raise ResponseFormatError(f"the answer is damaged: {path} must be {wanted}, not {shown(value)}")


class EventReader(Protocol):
    """Turn the events of one stream into chunks, one event at a time; sync and async streams share it."""

    def read(self, event: Any) -> Iterable[ChatChunk]:
        """Give what is new in one event.

        Raises:
            ModelError: The event reports an error, or breaks the format.
        """

    def rest(self) -> Iterable[ChatChunk]:
        """Give what is known only at the end, whether the stream is whole or broken."""

    def check(self) -> None:
        """Raise unless the stream ended as its format says.

        Raises:
            ModelError: It is cut off.
        """


def read_events(reader: EventReader, events: Iterable[Any]) -> Generator[ChatChunk, None, None]:
    """Give the chunks of a stream of events; closing it closes the events.

    Raises:
        ModelError: The stream reported an error, broke its format or was cut off; ``partial`` holds what had arrived.
    """
    sent: list[ChatChunk] = []
    try:
        for event in events:
            for chunk in reader.read(event):
                sent.append(chunk)
                yield chunk
        reader.check()
        yield from reader.rest()
    except (ModelError, PromptError) as error:
        raise _broken(error, reader, sent) from error.__cause__
    finally:
        close = getattr(events, "close", None)
        if close is not None:
            close()


async def aread_events(reader: EventReader, events: AsyncIterable[Any]) -> AsyncGenerator[ChatChunk, None]:
    """Do `read_events` for a stream that is awaited; cancelling closes the events too."""
    sent: list[ChatChunk] = []
    try:
        async for event in events:
            for chunk in reader.read(event):
                sent.append(chunk)
                yield chunk
        reader.check()
        for chunk in reader.rest():
            yield chunk
    except (ModelError, PromptError) as error:
        raise _broken(error, reader, sent) from error.__cause__
    finally:
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()


def _broken(error: ModelError | PromptError, reader: EventReader, sent: list[ChatChunk]) -> ModelError:
    """Make the failure of a stream, with what had arrived."""
    failure = error if isinstance(error, ModelError) else ResponseFormatError(f"the answer is damaged: {error}")
    if failure.partial is None:
        arrived = ChunkAccumulator()
        arrived.extend(sent)
        arrived.extend(reader.rest())
        failure.partial = arrived.partial()
    return failure
