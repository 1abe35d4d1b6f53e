"""Inside the wall: the language of programs, and the processes that run them.

Imported in the zygote and in the guests that it forks, and in no other process. Of `codemode` it may
import `values` and `wire`, nothing else.
"""
