"""Meet the langchain-core package: its messages, templates, models and histories as ours, and ours as its own.

The modules here import langchain-core when they are loaded; `promptkit.adapters.langchain` loads them by name.
"""

from __future__ import annotations

from promptkit.adapters.langchain.interop.core_model import as_langchain_model
from promptkit.adapters.langchain.interop.histories import as_chat_message_history
from promptkit.adapters.langchain.interop.objects import from_langchain_core, to_langchain_core
from promptkit.adapters.langchain.interop.our_model import from_langchain_model
from promptkit.adapters.langchain.interop.templates import as_runnable

__all__ = [
    "as_chat_message_history",
    "as_langchain_model",
    "as_runnable",
    "from_langchain_core",
    "from_langchain_model",
    "to_langchain_core",
]
