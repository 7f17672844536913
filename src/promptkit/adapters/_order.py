"""Find what a vendor would refuse in the roles and the order of messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promptkit.adapters.base import Loss
from promptkit.history.doctor import RULES, check_history
from promptkit.messages import Message

__all__ = ["order_losses"]


def order_losses(messages: Iterable[Message], format: str, *, hoisted: bool) -> Iterator[Loss]:
    """Give the findings of the doctor as losses; where a system message stands is no matter of its.

    Args:
        messages: The messages as they stand in the prompt.
        format: The wire format, whose rules count.
        hoisted: Whether all system text is sent before the rest.
    """
    history = list(enumerate(messages))
    if hoisted:
        history.sort(key=lambda item: item[1].message_type != "system")
    for finding in check_history([message for _, message in history], RULES[format]):
        if finding.kind != "system_out_of_place":
            path = f"messages[{history[finding.index][0]}]"
            yield Loss(path, finding.kind, f"{format} refuses it: it {finding.text.partition(' ')[2]}")
