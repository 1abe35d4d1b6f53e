"""What a program can import: which modules there are, which names of each, and what stands in for the rest.

It uses the language and what a running program works against; nothing here starts or ends a program.
"""
