"""Tests of the session: events, the store, its files, and their lines."""
