"""Translate to and from Responses, OpenAI's format of items.

The four functions are pure. Fields that only this vendor knows stand under ``metadata["openai_responses"]`` of a
message, part, call, result or tool, and items and parts that only it knows are `Opaque`; both go back to it word for
word. Thoughts are `Reasoning` with the vendor's id and encrypted form there.

The first text of the system is the ``instructions``; a system message with ``{"role": "developer"}`` or
``{"role": "system"}`` among its own fields stays an item. All that the model makes in one answer is one message: the
first message item of it gives the id and own fields, parts of later ones have theirs under ``message``. Calls stand
behind what is said; where they do not, ``metadata["position"]`` of a call counts the parts before it.
"""

from __future__ import annotations

from promptkit.adapters._openai_records import error_of
from promptkit.adapters._responses_answer import ChunkReader, to_chunks, to_response
from promptkit.adapters._responses_body import from_request
from promptkit.adapters._responses_request import to_request

__all__ = ["ChunkReader", "error_of", "from_request", "to_chunks", "to_request", "to_response"]
