"""Faults that users of such engines have reported, each as a test of what is right here; a file for each kind."""
