"""Find the mistakes in prompt files and in programs that make prompts, without a call."""

from __future__ import annotations

from promptkit.lint.files import Report, check_paths
from promptkit.lint.findings import CODES, Finding, Rule, codes_of
from promptkit.lint.programs import check_program_text
from promptkit.lint.prompts import check_prompt_text

__all__ = [
    "CODES",
    "Finding",
    "Report",
    "Rule",
    "check_paths",
    "check_program_text",
    "check_prompt_text",
    "codes_of",
]
