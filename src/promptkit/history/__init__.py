"""Keep histories small and valid: trim, filter, merge, count, check and repair conversations."""

from __future__ import annotations
