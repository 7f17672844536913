"""Turn what a model answers into values of your types."""

from __future__ import annotations

from promptkit.converters.base import ConvertedOutput, StructuredOutputConverter
from promptkit.converters.lowering import SUBSETS, LoweredSchema, SchemaSubset, WeakenedRule, lower_schema
from promptkit.converters.text import ListOutputConverter
from promptkit.converters.typed import MapOutputConverter, TypedOutputConverter

__all__ = [
    "SUBSETS",
    "ConvertedOutput",
    "ListOutputConverter",
    "LoweredSchema",
    "MapOutputConverter",
    "SchemaSubset",
    "StructuredOutputConverter",
    "TypedOutputConverter",
    "WeakenedRule",
    "lower_schema",
]
