"""`ask_user_question`: questions to whoever sits in front of it, and the interface of what asks them.

How a question is put to somebody (a terminal, a window, a message) is the asker's matter; what an answer may
be is decided here, whoever gave it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, NotRequired, TypeAlias, TypedDict

from msgspec import Meta, Struct

from codemode import Text, Tool, ToolArgumentsError, ToolError, text, tool

__all__ = [
    "ASK_CANCELLED",
    "ASK_FAILED",
    "NO_PROVIDER",
    "Asker",
    "Option",
    "Question",
    "Reply",
    "ask",
    "questions",
]

ASK_CANCELLED = "ASK_CANCELLED"
ASK_FAILED = "ASK_FAILED"
NO_PROVIDER = "NO_PROVIDER"
MAX_QUESTIONS = 10
MAX_OPTIONS = 20
MAX_TEXT_CHARACTERS = 20_000
"""Of a question, and of an answer in somebody's own words."""
_LABEL = 200


class Option(Struct, frozen=True):
    """One answer to choose."""

    label: str
    description: str = ""


class Question(Struct, frozen=True):
    """One question. Without options, and beside them, an answer in one's own words is possible."""

    id: str
    question: str
    header: str = ""
    options: tuple[Option, ...] = ()
    multi_select: bool = False


class Reply(Struct, frozen=True):
    """The answer to one question: labels of its options, and words of one's own, if any."""

    selected: tuple[str, ...] = ()
    custom: str | None = None


Asker: TypeAlias = Callable[[Sequence[Question]], Awaitable[Sequence[Reply] | None]]
"""Puts questions to somebody and returns one reply for each, in their order; None when they would not answer.

It may take as long as it likes; when the call is cancelled meanwhile, it is cancelled too. It may raise
`ToolError` to fail in its own words."""


class AskedOption(TypedDict):
    label: Annotated[str, Meta(min_length=1, max_length=_LABEL, description="the answer, in a few words")]
    description: NotRequired[Annotated[str, Meta(max_length=2000, description="what choosing it means")]]


class AskedQuestion(TypedDict):
    id: Annotated[str, Meta(min_length=1, max_length=_LABEL, description="returned with the answer")]
    question: Annotated[
        str, Meta(min_length=1, max_length=MAX_TEXT_CHARACTERS, description="the whole question")
    ]
    header: NotRequired[Annotated[str, Meta(max_length=_LABEL, description="a few words of title")]]
    options: NotRequired[
        Annotated[list[AskedOption], Meta(max_length=MAX_OPTIONS, description="answers to choose from")]
    ]
    multi_select: NotRequired[Annotated[bool, Meta(description="several options may be chosen")]]


class Answered(TypedDict):
    id: str
    selected: list[str]
    custom: NotRequired[str]


class AskValue(TypedDict):
    answers: list[Answered]


AskedQuestions = Annotated[
    list[AskedQuestion], Meta(max_length=MAX_QUESTIONS, description="all that is to be asked, at once")
]


def questions(asker: Asker | None) -> list[Tool]:
    """Return the tool `ask_user_question` over an asker. Without one, each call fails with NO_PROVIDER.

    A call takes as long as the answer does. Codes of its errors: EMPTY_QUESTIONS, NO_PROVIDER, ASK_CANCELLED,
    and ASK_FAILED for an asker that fails or answers with something else.
    """

    @tool(render=_render, presentation_meta=_meta, read_only=True)
    async def ask_user_question(questions: AskedQuestions) -> AskValue:
        """Ask the user one or more questions and wait for the answers.

        For decisions that are the user's to make. Each question may have options to choose; the user can always
        answer in their own words instead, which come as `custom`.
        """
        if not questions:
            raise ToolError("questions is empty; ask at least one", code="EMPTY_QUESTIONS")
        asked = [_question(each) for each in questions]
        for index, each in enumerate(asked):
            if any(each.id == other.id for other in asked[:index]):
                raise ToolArgumentsError(f"questions[{index}].id is there twice: {each.id!r}")
            labels = [option.label for option in each.options]
            if len(set(labels)) < len(labels):
                raise ToolArgumentsError(f"questions[{index}].options has a label twice")
        replies = await ask(asker, asked)
        return {"answers": [_answered(each, reply) for each, reply in zip(asked, replies, strict=True)]}

    return [ask_user_question]


async def ask(asker: Asker | None, asked: Sequence[Question]) -> Sequence[Reply]:
    """Put questions and return checked replies, one for each. Raises `ToolError` with the codes above."""
    if asker is None:
        raise ToolError("nobody is there to be asked; decide without, or say what is open", code=NO_PROVIDER)
    try:
        replies = await asker(asked)
    except ToolError:
        raise
    except Exception as error:
        raise ToolError(f"asking failed: {type(error).__name__}: {error}", code=ASK_FAILED) from error
    if replies is None:
        raise ToolError("the user did not answer", code=ASK_CANCELLED)
    if len(replies) != len(asked):
        raise ToolError(f"{len(asked)} questions were asked, and {len(replies)} answered", code=ASK_FAILED)
    return [_checked(each, reply) for each, reply in zip(asked, replies, strict=True)]


def _question(asked: AskedQuestion) -> Question:
    return Question(
        id=asked["id"],
        question=asked["question"],
        header=asked.get("header", ""),
        options=tuple(
            Option(each["label"], each.get("description", "")) for each in asked.get("options", ())
        ),
        multi_select=asked.get("multi_select", False),
    )


def _checked(question: Question, reply: Reply) -> Reply:
    labels = {option.label for option in question.options}
    wrong = None
    if not isinstance(reply, Reply):
        wrong = f"{reply!r} is no Reply"
    elif not labels.issuperset(reply.selected):
        wrong = f"{sorted(set(reply.selected) - labels)} are no options"
    elif len(set(reply.selected)) < len(reply.selected):
        wrong = "an option was chosen twice"
    elif len(reply.selected) > 1 and not question.multi_select:
        wrong = "more than one option was chosen"
    elif not reply.selected and not (reply.custom or "").strip():
        # Nothing chosen is an answer only where several may be.
        wrong = None if question.multi_select and labels else "there is neither an option nor a text"
    if wrong is not None:
        raise ToolError(f"the answer to question {question.id!r} cannot be used: {wrong}", code=ASK_FAILED)
    custom = (reply.custom or "").strip()[:MAX_TEXT_CHARACTERS]
    return Reply(reply.selected, custom or None)


def _answered(question: Question, reply: Reply) -> Answered:
    answered: Answered = {"id": question.id, "selected": list(reply.selected)}
    if reply.custom is not None:
        answered["custom"] = reply.custom
    return answered


def _render(arguments: object, value: AskValue) -> list[Text]:
    return [text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))]


def _meta(arguments: object, value: AskValue) -> AskValue:
    return value
