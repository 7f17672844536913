"""Measure promptkit in one process with what it is compared to: `make bench`, never a test's gate."""
