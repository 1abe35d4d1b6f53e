"""Fuzzers: cases made up at random, each examined against a second opinion. See `__main__.py`."""
