"""Keep prompts in files: ``name.prompt.md``, YAML front matter above blocks of Markdown, one a role."""

from __future__ import annotations

from promptkit.prompt_files.cases import PromptCase
from promptkit.prompt_files.langchain import LangChainPrompt, load_langchain_prompt
from promptkit.prompt_files.library import LibraryReport, LivePromptTemplate, PromptLibrary
from promptkit.prompt_files.loading import load_prompt, parse_prompt
from promptkit.prompt_files.saving import edit_prompt, save_prompt
from promptkit.prompt_files.template import NamedPromptTemplate
from promptkit.prompt_files.variables import PromptVariable

__all__ = [
    "LangChainPrompt",
    "LibraryReport",
    "LivePromptTemplate",
    "NamedPromptTemplate",
    "PromptCase",
    "PromptLibrary",
    "PromptVariable",
    "edit_prompt",
    "load_langchain_prompt",
    "load_prompt",
    "parse_prompt",
    "save_prompt",
]
