"""Remember conversations: stores that are append-only logs, and windows that show a model the part that fits."""
