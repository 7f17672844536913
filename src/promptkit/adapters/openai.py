"""Translate to and from Chat Completions, the format of OpenAI and of most servers that speak like it.

The four functions are pure. Fields that only this vendor knows stand under ``metadata["openai"]`` of a message, part,
call or tool, and blocks that only it knows are `Opaque`; both go back to it word for word.

What the format reads back in one form of several: results that follow each other are one `ToolResponseMessage`; text
beside calls that is empty is ``None``; a refusal is a `Text` with ``metadata={"refusal": True}``; the answer's parts are
reasoning, text, sound, custom calls, in this order. A prompt that says it otherwise is sent, with a `Loss`.
"""

from __future__ import annotations

from promptkit.adapters._openai_answer import ChunkReader, to_chunks, to_response
from promptkit.adapters._openai_body import from_request
from promptkit.adapters._openai_records import error_of
from promptkit.adapters._openai_request import to_request
from promptkit.adapters._openai_tables import OPENAI, Dialect

__all__ = ["OPENAI", "ChunkReader", "Dialect", "error_of", "from_request", "to_chunks", "to_request", "to_response"]
