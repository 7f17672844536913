"""Test promptkit; the folders mirror src."""
