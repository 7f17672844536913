"""Stand for missing names in Jinja templates: strictly, or forgiving and remembering.

The classes are mixins that `_jinja_environment.build_environment` completes with jinja2's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2.runtime import StrictUndefined as StrictBase
    from jinja2.runtime import Undefined as UndefinedBase
else:
    StrictBase = UndefinedBase = object

__all__ = ["Forgiving", "Seen", "Strict", "collecting"]


class Seen:
    """Collect the undefined values of one render: all that were made, and those that something was done with."""

    __slots__ = ("made", "touched")

    def __init__(self) -> None:
        self.made: list[Any] = []
        self.touched: list[Any] = []


collecting: ContextVar[Seen] = ContextVar("promptkit_jinja_missing")
"""What the running render has seen; set while a renderer forgives missing names."""


class _Message(str):
    """Carry the undefined value through jinja2's error."""

    __slots__ = ("undefined",)
    undefined: Any


class Strict(StrictBase):
    """Refuse to stand for a missing name, and say which; a property of ``None`` is false in a condition."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        message = _Message(super()._undefined_message)
        message.undefined = self
        return message

    def __bool__(self) -> bool:  # type: ignore[override]
        if self._undefined_obj is not None:
            self._fail_with_undefined_error()
        return False

    def __getattr__(self, name: str) -> Any:
        if self._undefined_obj is None and not name.startswith("__"):
            return self
        return super().__getattr__(name)


class Forgiving(UndefinedBase):
    """Stand for a missing name in every operation, and remember that it did."""

    __slots__ = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        collecting.get().made.append(self)

    def _touch(self, *_: Any) -> Any:
        collecting.get().touched.append(self)
        return self

    def _deny(self, *_: Any) -> Any:
        self._touch()
        return False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, _: Any) -> Any:
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self._touch()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _touch
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __pos__ = __neg__ = __round__ = _touch
    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _deny

    def __str__(self) -> str:
        self._touch()
        return ""

    def __len__(self) -> int:
        self._touch()
        return 0

    __int__ = __index__ = __len__  # type: ignore[assignment]

    def __float__(self) -> float:  # type: ignore[override]
        self._touch()
        return 0.0

    def __iter__(self) -> Iterator[Any]:
        self._touch()
        return iter(())
