"""Hold templates against their variables while mypy runs: ``plugins = promptkit.mypy_plugin``.

Literal text is compiled by its own renderer, so that mypy and the running program agree. What is known of a template
travels in its type, as mypy itself does it for `functools.partial`: through variables, imports and the cache. What is
not written down literally is not judged.

========================  ==========================================================================
``template-syntax``       a literal template does not follow its language
``template-variables``    a call leaves out, or misspells, variables of its template
``template-fields``       placeholders and fields of a typed template differ; `partial` names no field
========================  ==========================================================================
"""

from __future__ import annotations

from promptkit.mypy_plugin._plugin import PromptkitPlugin, plugin

__all__ = ["PromptkitPlugin", "plugin"]
