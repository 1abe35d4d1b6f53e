"""What a program may say, and how it is compiled: policy, names, guards, classes, what cannot be changed.

The lowest room inside the wall: it knows neither the library of a program nor how one runs.
"""
