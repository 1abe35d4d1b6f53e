"""Ready tools, each toolkit a function that returns them, or a class that has them with their hooks.

Toolkits use only what a third party could use: the public names of `codemode`, and libraries. What only some
users need is an extra, and is imported when it is used.
"""

from typing import TYPE_CHECKING

from codemode.lazy import public_names

if TYPE_CHECKING:
    from codemode.toolkits.agents import AgentLimits, agents
    from codemode.toolkits.filesystem import files
    from codemode.toolkits.jobs import Jobs
    from codemode.toolkits.mounting import plugins
    from codemode.toolkits.planning import PlanMode
    from codemode.toolkits.questions import Asker, Option, Question, Reply, questions
    from codemode.toolkits.shell import shell
    from codemode.toolkits.structured import StructuredOutput
    from codemode.toolkits.todo import todo

__all__ = [
    "AgentLimits",
    "Asker",
    "Jobs",
    "Option",
    "PlanMode",
    "Question",
    "Reply",
    "StructuredOutput",
    "agents",
    "files",
    "plugins",
    "questions",
    "shell",
    "todo",
]

__getattr__, __dir__ = public_names(
    __name__,
    {
        "agents": "AgentLimits agents",
        "filesystem": "files",
        "jobs": "Jobs",
        "mounting": "plugins",
        "planning": "PlanMode",
        "questions": "Asker Option Question Reply questions",
        "shell": "shell",
        "structured": "StructuredOutput",
        "todo": "todo",
    },
)
