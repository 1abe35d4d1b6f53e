"""Commands as processes: started under a supervisor, confined where that is possible, ended whole.

confinement.py   what a command may touch
supervisor.py    the process above each command
command.py       the host's end of a command
output.py        what a command prints, bounded
"""
