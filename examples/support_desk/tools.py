"""Give the model what the shop knows and can do."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import Meta

from promptkit.tools import ToolContext, tool

OrderNumber = Annotated[str, Meta(pattern="^[A-Z][0-9]{1,4}$")]


@tool
async def find_order(number: OrderNumber) -> str:
    """Say where an order is.

    Args:
        number: The number of the order.
    """
    await asyncio.sleep(0.01)  # a slow warehouse
    return f"The order {number} has left the warehouse and arrives tomorrow."


@tool
def refund(number: OrderNumber, context: ToolContext) -> str:
    """Give the money of an order back.

    Args:
        number: The number of the order.
    """
    if not context.values["bank_is_open"]:
        raise ConnectionError(f"The bank is closed; the money of {number} cannot be sent today.")
    return f"The money of {number} is on its way to {context.values['customer']}."
