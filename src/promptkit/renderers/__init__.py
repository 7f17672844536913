"""Turn template text into prompts: one module a template language, one contract for all.

A language is named by its renderer, ``PromptTemplate(text, renderer=JinjaRenderer())``, or by a short name,
``renderer="jinja"``; its module loads when it is first asked for.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from promptkit.errors import TemplateError
from promptkit.renderers.base import CompiledTemplate, TemplateRenderer, ValidationMode, nearest

__all__ = ["CompiledTemplate", "TemplateRenderer", "ValidationMode", "by_name"]

_RENDERERS = {
    "fstring": ("promptkit.renderers.fstring", "FStringRenderer"),
    "jinja": ("promptkit.renderers.jinja", "JinjaRenderer"),
    "mustache": ("promptkit.renderers.mustache", "MustacheRenderer"),
    "noop": ("promptkit.renderers.noop", "NoOpRenderer"),
    "st": ("promptkit.renderers.string_template", "StringTemplateRenderer"),
}


def by_name(renderer: str | TemplateRenderer) -> TemplateRenderer:
    """Give the renderer of a short name, with its default options; a renderer is given back as it is.

    Args:
        renderer: ``"st"``, ``"jinja"``, ``"fstring"``, ``"mustache"``, ``"noop"``, or a renderer.

    Raises:
        TemplateError: No language has that name, or the argument is neither name nor renderer.

    >>> by_name("noop").apply("{kept}", {})
    '{kept}'
    """
    if isinstance(renderer, TemplateRenderer):
        return renderer
    if isinstance(renderer, str) and renderer in _RENDERERS:
        return _by_default(renderer)
    hint = nearest(renderer, _RENDERERS) if isinstance(renderer, str) else ""
    known = ", ".join(map(repr, _RENDERERS))
    raise TemplateError(f"There is no renderer {renderer!r:.80}{hint}. Pass a TemplateRenderer or one of {known}.")


@cache
def _by_default(name: str) -> TemplateRenderer:
    module, kind = _RENDERERS[name]
    renderer: TemplateRenderer = getattr(import_module(module), kind)()
    return renderer
