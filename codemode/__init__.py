"""Code Mode: a model writes one Python program, the program calls your tools, the result comes back."""
