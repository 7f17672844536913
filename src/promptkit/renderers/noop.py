"""Pass text through: the renderer for text that is no template."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from promptkit._frozen import Value
from promptkit.renderers.base import TemplateRenderer, refuse_variables, require_text

__all__ = ["NoOpRenderer", "VerbatimTemplate"]


@frozen
class VerbatimTemplate:
    """Hold text that renders as itself."""

    source: str

    @property
    def variables(self) -> tuple[str, ...]:
        """No name: nothing is a placeholder here."""
        return ()

    @property
    def optional_variables(self) -> tuple[str, ...]:
        """No name: nothing is a placeholder here."""
        return ()

    def render(self, variables: Mapping[str, object], /) -> str:
        """Give the text, whatever the variables."""
        refuse_variables(variables)
        return self.source


@frozen(repr=False)
class NoOpRenderer(Value, TemplateRenderer):
    """Render every text as itself: braces, percent signs and tags stay as they are.

    >>> NoOpRenderer().apply('{"ok": true}', {})
    '{"ok": true}'
    """

    def parse(self, source: str) -> VerbatimTemplate:
        """Wrap the text, which must not be blank."""
        require_text(source)
        return VerbatimTemplate(source)
