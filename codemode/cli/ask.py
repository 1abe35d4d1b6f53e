"""Questions on a terminal: shows each with its options, reads a choice or the user's own words."""

from __future__ import annotations

from collections.abc import Sequence

from codemode.cli.approve import Terminal
from codemode.cli.terminal import paint, printable
from codemode.toolkits import Question, Reply

__all__ = ["TerminalAsker"]


class TerminalAsker:
    """Asks one question after the other. The end of input (Ctrl-D) means that the user would not answer."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    async def __call__(self, questions: Sequence[Question]) -> list[Reply] | None:
        replies: list[Reply] = []
        with self._terminal.asking():
            for each in questions:
                self._show(each)
                reply = await self._reply(each)
                if reply is None:
                    return None
                replies.append(reply)
        return replies

    def _show(self, question: Question) -> None:
        writer = self._terminal.writer
        if question.header:
            writer.write(f"\n{paint(printable(question.header), 'bold', writer)}")
        writer.write(f"\n{printable(question.question)}\n")
        for number, option in enumerate(question.options, start=1):
            description = f" - {option.description}" if option.description else ""
            writer.write(f"  {number}. {printable(option.label + description)}\n")

    async def _reply(self, question: Question) -> Reply | None:
        """Read until the line can be used; what is no choice of numbers is an answer in own words."""
        writer = self._terminal.writer
        count = len(question.options)
        if not count:
            prompt = "Answer: "
        elif question.multi_select:
            prompt = "Numbers with blanks between (none: 0), or your own words: "
        else:
            prompt = "A number, or your own words: "
        while True:
            writer.write(prompt)
            writer.flush()
            line = await self._terminal.read_line(first=True)
            if line is None:
                return None
            typed = line.strip()
            words = typed.replace(",", " ").split()
            if not words:
                continue
            if not count or not all(word.isascii() and word.isdigit() for word in words):
                return Reply(custom=typed)
            if question.multi_select and words == ["0"]:
                return Reply()
            numbers = sorted({int(word) for word in words})
            if numbers[0] < 1 or numbers[-1] > count:
                writer.write(f"There are options 1 to {count}.\n")
            elif len(numbers) > 1 and not question.multi_select:
                writer.write("Choose one.\n")
            else:
                return Reply(tuple(question.options[number - 1].label for number in numbers))
