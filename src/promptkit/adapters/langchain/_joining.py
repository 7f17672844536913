"""Join what a stream brings in pieces: text once at the end, mappings key by key, lists by the index of their items.

The rules are LangChain's, but nothing is lost and nothing raises: of two values that cannot be joined the later one
stays. Time and memory are linear in what comes in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from promptkit._frozen import EMPTY, FrozenDict, FrozenList, freeze, freeze_mapping

__all__ = ["join_calls", "join_content", "join_mappings", "join_metadata", "join_values"]


class _Pieces(list[str]):
    """Hold the pieces of one text."""


class _Open(dict[str, Any]):
    """Hold a mapping that grows."""

    def add(self, right: Mapping[str, Any]) -> None:
        for key, value in right.items():
            left = self.get(key)
            if value is None:
                self.setdefault(key, None)
            else:
                self[key] = value if left is None else _joined(key, left, value)


_NAMES = frozenset(("id", "index", "model_provider", "output_version"))
"""Keys whose text names something: it is never put together."""


def _joined(key: str, left: Any, right: Any) -> Any:
    if type(right) is str:
        if type(left) is _Pieces:
            left.append(right)
            return left
        if type(left) is not str or not left:
            return right
        if key in _NAMES or not right:
            return left
        return _Pieces((left, right))
    if isinstance(right, Mapping):
        if type(left) is not _Open:
            if not isinstance(left, Mapping):
                return right
            left = _Open(left)
        left.add(right)
        return left
    if isinstance(right, tuple):
        if type(left) is not _OpenList:
            if not isinstance(left, tuple):
                return right
            left = _OpenList(left)
        left.extend(right)
        return left
    return right


class _Places:
    """Remember where the items of one index stand: the first, those without id, and those of each id."""

    __slots__ = ("blank", "by_id", "first")

    def __init__(self, first: int) -> None:
        self.first = first
        self.blank: list[int] = []
        self.by_id: dict[Any, int] = {}

    def add(self, item_id: Any, place: int) -> None:
        if item_id in (None, ""):
            self.blank.append(place)
        else:
            self.by_id.setdefault(item_id, place)

    def find(self, item_id: Any) -> int | None:
        """Give the first item that the id does not speak against."""
        if item_id in (None, ""):
            return self.first
        found = [*self.blank[:1], *([self.by_id[item_id]] if item_id in self.by_id else ())]
        if not found:
            return None
        place: int = min(found)
        if place in self.blank[:1]:
            del self.blank[0]
            self.by_id[item_id] = place
        return place


class _OpenList(list[Any]):
    """Hold a list that grows; an item with an index joins the item of that index."""

    def __init__(self, items: Iterable[Any] = ()) -> None:
        super().__init__()
        self.places: dict[Any, _Places] = {}
        for item in items:
            self.append(item)

    def append(self, item: Any) -> None:
        if isinstance(item, Mapping) and "index" in item:
            self.places.setdefault(item["index"], _Places(len(self))).add(item.get("id"), len(self))
        super().append(item)

    def extend(self, items: Iterable[Any]) -> None:
        for item in items:
            place = self._place(item)
            if place is None:
                self.append(item)
                continue
            if type(self[place]) is not _Open:
                self[place] = _Open(self[place])
            self[place].add(_without_type(self[place], item))

    def _place(self, item: Any) -> int | None:
        index: Any = item.get("index") if isinstance(item, Mapping) else None
        if not isinstance(index, int) and not (isinstance(index, str) and index.startswith("lc_")):
            return None
        places = self.places.get(index)
        return None if places is None else places.find(item.get("id"))

    def add_text(self, text: str) -> None:
        if self and isinstance(self[-1], str):
            self[-1] = _Pieces((self[-1], text))
        elif self and type(self[-1]) is _Pieces:
            self[-1].append(text)
        elif text:
            self.append(text)


def _without_type(left: Mapping[str, Any], right: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave out what the left item says already: its type; a wrapped block is unwrapped as the left one is."""
    value = right.get("value")
    if left.get("type") and right.get("type") == "non_standard" and isinstance(value, Mapping):
        inner = {key: item for key, item in value.items() if key != "type"}
        return {"value": inner} if left["type"] == "non_standard" else {"extras": inner}
    if "type" not in left:
        return right
    return {key: item for key, item in right.items() if key != "type"}


def _closed(value: Any) -> Any:
    if type(value) is _Pieces:
        return "".join(value)
    if type(value) is _Open:
        return {key: _closed(item) for key, item in value.items()}
    if type(value) is _OpenList:
        return [_closed(item) for item in value]
    return value


def join_mappings(mappings: Iterable[FrozenDict]) -> FrozenDict:
    """Join mappings: texts of a key are put together, mappings and lists joined; of other values the last one stays."""
    opened = _Open()
    for mapping in mappings:
        if mapping:
            opened.add(mapping)
    return freeze_mapping(_closed(opened)) if opened else EMPTY


def join_metadata(mappings: Iterable[FrozenDict]) -> FrozenDict:
    """Join what a vendor says of its answer: the last value of a key that is not ``None`` stays, texts too.

    Mappings and lists inside are joined as in `join_mappings`: log probabilities come in pieces.
    """
    opened = _Open()
    for mapping in mappings:
        for key, value in mapping.items():
            if isinstance(value, (Mapping, tuple)) or value is None:
                opened.add({key: value})
            else:
                opened[key] = value
    return freeze_mapping(_closed(opened)) if opened else EMPTY


def join_values(left: Any, right: Any) -> Any:
    """Join two values of one type: texts are put together, mappings and lists joined."""
    return freeze(_closed(_joined("", left, right)))


def join_content(contents: Iterable[Any]) -> str | FrozenList:
    """Join contents: texts are put together, blocks are joined by their index or put behind one another."""
    pieces: list[str] = []
    items: _OpenList | None = None
    for content in contents:
        if type(content) is str:
            if items is None:
                pieces.append(content)
            else:
                items.add_text(content)
        elif items is None:
            items = _OpenList(["".join(pieces), *content] if pieces else content)
        else:
            items.extend(content)
    return "".join(pieces) if items is None else FrozenList([freeze(_closed(item)) for item in items])


class _OpenCall:
    """Collect the pieces of one tool call."""

    __slots__ = ("args", "id", "index", "name", "rest")

    def __init__(self, piece: Mapping[str, Any]) -> None:
        self.index = piece["index"]
        self.name = piece["name"]
        self.id = piece["id"]
        self.args: list[str] | None = None
        self.rest: dict[str, Any] = {}

    def add(self, piece: Mapping[str, Any]) -> None:
        self.name = self.name or piece["name"] or self.name
        self.id = self.id or piece["id"] or self.id
        if piece["args"] is not None:
            if self.args is None:
                self.args = []
            self.args.append(piece["args"])
        if len(piece) > 5:
            self.rest.update({key: value for key, value in piece.items() if key not in _CALL_KEYS})

    def close(self) -> FrozenDict:
        args = None if self.args is None else "".join(self.args)
        form = {"name": self.name, "args": args, "id": self.id, "index": self.index, "type": "tool_call_chunk"}
        return freeze_mapping({**form, **self.rest})


_CALL_KEYS = frozenset(("name", "args", "id", "index", "type"))


def join_calls(pieces: Iterable[Mapping[str, Any]]) -> FrozenList:
    """Join pieces of tool calls.

    A piece belongs to the call that began last at its index, unless their ids differ. Without index it belongs to the
    call of its id, or, having neither id nor name, to the call before it. The first name of a call stays, its arguments
    are put together.
    """
    calls: list[_OpenCall] = []
    by_index: dict[Any, _OpenCall] = {}
    by_id: dict[tuple[Any, str], _OpenCall] = {}
    for piece in pieces:
        index, call_id = piece["index"], piece["id"]
        call = by_index.get(index) if index is not None else None
        if call is not None and not call_id and not piece["name"] and call.args is not None and len(piece) == 5:
            if piece["args"]:
                call.args.append(piece["args"])
            continue
        if call_id:
            if call is None or (call.id and call.id != call_id):
                call = by_id.get((index, call_id))
            if index is None and piece["name"]:
                call = None
        elif index is None and not piece["name"] and calls:
            call = calls[-1]
        if call is None:
            call = _OpenCall(piece)
            calls.append(call)
            if index is not None:
                by_index[index] = call
        call.add(piece)
        if call_id:
            by_id[index, call_id] = call
    return FrozenList([call.close() for call in calls])
