"""What a program works against while it runs: the wire's end, the loop, its tool calls, the report of an error.

It uses the language, and knows nothing of what a program can import.
"""
