"""Translate prompts and answers to the wire formats of vendors and back: pure functions, no I/O, nothing lost quietly."""
