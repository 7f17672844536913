"""Stand between a client and its model: what advisors are, and those that come with promptkit."""

from __future__ import annotations

from promptkit.client.advisors.base import (
    Advisor,
    AdvisorLike,
    AsyncAdvisor,
    AsyncCallNext,
    AsyncStreamNext,
    CallNext,
    StreamNext,
)
from promptkit.client.advisors.functions import advisor
from promptkit.client.advisors.logger import LoggingAdvisor, redact_secrets
from promptkit.client.advisors.memory import MemoryAdvisor
from promptkit.client.advisors.retry import RetryAdvisor
from promptkit.client.advisors.safeguard import SafeguardAdvisor
from promptkit.client.advisors.tool_calling import ToolCallingAdvisor
from promptkit.client.advisors.validation import OutputValidationAdvisor

__all__ = [
    "Advisor",
    "AdvisorLike",
    "AsyncAdvisor",
    "AsyncCallNext",
    "AsyncStreamNext",
    "CallNext",
    "LoggingAdvisor",
    "MemoryAdvisor",
    "OutputValidationAdvisor",
    "RetryAdvisor",
    "SafeguardAdvisor",
    "StreamNext",
    "ToolCallingAdvisor",
    "advisor",
    "redact_secrets",
]
