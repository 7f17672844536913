"""Declare what the desk says to the model."""

from __future__ import annotations

from typing import ClassVar, Literal

from attrs import frozen

from promptkit import MessageType, TypedPromptTemplate
from support_desk.tools import OrderNumber


@frozen
class DeskRules(TypedPromptTemplate):
    """Tell the model who it is."""

    template: ClassVar[str] = "You are the support desk of {shop}. Answer in {sentences} short sentence(s)."
    message_type: ClassVar[MessageType] = MessageType.SYSTEM
    shop: str
    sentences: int = 1


@frozen
class TicketRequest(TypedPromptTemplate):
    """Ask for the ticket of what a customer wrote."""

    template: ClassVar[str] = "A customer writes: {message}"
    message: str


@frozen
class Ticket:
    """Hold what a customer wants."""

    topic: Literal["delivery", "refund", "other"]
    order: OrderNumber
    urgent: bool
