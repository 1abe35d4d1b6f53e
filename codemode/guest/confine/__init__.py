"""The process wall, in Linux' own words. It assumes that the language wall has fallen.

    table.py         which system calls a guest may make: the policy, to be read
    seccomp.py       the table as a kernel filter
    rlimits.py       memory, processor time, and everything else set to nothing
    process.py       dying with the parent, one descriptor, not dumpable, no new privileges
    namespaces.py    namespaces of our own, an empty read-only root
    capabilities.py  none left
    landlock.py      no file, port or outside process, by the kernel's own access rules
    kernel.py        the doors to the kernel that all of these use

The zygote puts on what a fork inherits, once (`namespaces`, `capabilities`, `landlock`, parts of `process` and
`rlimits`); a guest adds what belongs to itself and closes the filter last, by `enter`. What cannot be had is
reported and done without, except for what `enter` does: without that there is no guest.
"""

from codemode.guest.confine.enter import DESCRIPTOR, FILTER, LIMITS, Cage, Unconfined, Way, enter

__all__ = ["DESCRIPTOR", "FILTER", "LIMITS", "Cage", "Unconfined", "Way", "enter"]
