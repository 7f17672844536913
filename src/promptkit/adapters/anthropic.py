"""Translate to and from the Messages API, the format of Anthropic.

The four functions are pure. Fields that only this vendor knows stand under ``metadata["anthropic"]`` of a message,
part, call, result or tool (``cache_control`` and ``citations`` among them), and blocks that only it knows are `Opaque`;
both go back to it word for word. Signed thoughts are `Reasoning` with ``metadata["signature"]``, encrypted ones with
``metadata["redacted"]``.

What the format reads back in one form of several: the system text is one message; results that follow each other are
one `ToolResponseMessage`, with the user's words behind them; calls stand behind what is said; text beside calls that is
empty is ``None``. A prompt that says it otherwise is sent, with a `Loss`. What the vendor would refuse in roles and
order is a `Loss` too, named as `promptkit.history.check_history` names it; `promptkit.history.repair_history` mends it.
"""

from __future__ import annotations

from promptkit.adapters._anthropic_answer import ChunkReader, error_of, to_chunks, to_response
from promptkit.adapters._anthropic_body import from_request
from promptkit.adapters._anthropic_request import to_request

__all__ = ["ChunkReader", "error_of", "from_request", "to_chunks", "to_request", "to_response"]
