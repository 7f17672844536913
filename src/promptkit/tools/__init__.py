"""Let a model call your functions: what a tool is, and what carries its calls out."""

from __future__ import annotations

from promptkit.tools.manager import ToolCallingManager, ToolRound, direct_generations
from promptkit.tools.tool import Tool, ToolContext, ToolResult, tool

__all__ = [
    "Tool",
    "ToolCallingManager",
    "ToolContext",
    "ToolResult",
    "ToolRound",
    "direct_generations",
    "tool",
]
