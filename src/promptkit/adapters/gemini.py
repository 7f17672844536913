"""Translate to and from generateContent, the format of Gemini.

The four functions are pure. The body is that of the REST API in its camelCase, with ``model`` in it, which the API wants
in the URL. Fields that only this vendor knows stand under ``metadata["gemini"]`` of a message, part, call, result or
tool, and parts that only it knows are `Opaque`; both go back to it word for word. A ``thoughtSignature`` is such a
field: it belongs to the part, text or call it came with, and a text with one is never joined with another.

What the format reads back in one form of several: the system text is one message; results that follow each other are
one `ToolResponseMessage`; calls stand behind what is said; text beside calls that is empty is ``None``; the texts of a
result are one, before its media. A prompt that says it otherwise is sent, with a `Loss`. A result whose text is the
compact JSON of an object is sent as that object, all else as its ``output`` or ``error``. What the vendor would refuse
in roles and order is a `Loss` too, named as `promptkit.history.check_history` names it;
`promptkit.history.repair_history` mends it.

A prompt that the vendor blocks is a `ModelError`. An answer that it blocks has the reason as its ``finish_reason``.
"""

from __future__ import annotations

from promptkit.adapters._gemini_answer import ChunkReader, error_of, to_chunks, to_response
from promptkit.adapters._gemini_body import from_request
from promptkit.adapters._gemini_request import to_request

__all__ = ["ChunkReader", "error_of", "from_request", "to_chunks", "to_request", "to_response"]
