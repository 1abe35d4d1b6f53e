from __future__ import annotations

import pytest
import trio

from codemode import CodeMode, ToolError
from codemode.toolkits import Option, Question, Reply, questions
from tests.toolkits.calling import both, failure, program_failure, shown

COLOUR = {
    "id": "colour",
    "question": "Which colour?",
    "header": "Paint",
    "options": [{"label": "red", "description": "warm"}, {"label": "blue"}],
}
SIZES = {
    "id": "sizes",
    "question": "Which sizes?",
    "options": [{"label": "S"}, {"label": "L"}],
    "multi_select": True,
}
NAME = {"id": "name", "question": "What name?"}


def answering(*replies):
    asked = []

    async def asker(questions):
        asked.append(list(questions))
        return replies

    asker.asked = asked
    return asker


async def test_answers_come_with_the_ids_of_their_questions():
    asker = answering(Reply(("blue",)), Reply(("S", "L")), Reply(custom=" Ada\n"))
    async with CodeMode(questions(asker)) as cm:
        assert await both(cm, "ask_user_question", questions=[COLOUR, SIZES, NAME]) == {
            "answers": [
                {"id": "colour", "selected": ["blue"]},
                {"id": "sizes", "selected": ["S", "L"]},
                {"id": "name", "selected": [], "custom": "Ada"},
            ]
        }
        text = await shown(cm, "ask_user_question", questions=[COLOUR, SIZES, NAME])
        assert text == (
            '{"answers":[{"id":"colour","selected":["blue"]},{"id":"sizes","selected":["S","L"]},'
            '{"id":"name","selected":[],"custom":"Ada"}]}'
        )
    assert asker.asked[0] == [
        Question("colour", "Which colour?", "Paint", (Option("red", "warm"), Option("blue"))),
        Question("sizes", "Which sizes?", "", (Option("S"), Option("L")), True),
        Question("name", "What name?"),
    ]


@pytest.mark.parametrize(
    ("question", "reply", "says"),
    [
        (COLOUR, Reply(("green",)), "no options"),
        (COLOUR, Reply(("red", "blue")), "more than one"),
        (SIZES, Reply(("S", "S")), "twice"),
        (COLOUR, Reply(), "neither"),
        (NAME, Reply(custom="  "), "neither"),
        (NAME, "Ada", "no Reply"),
    ],
)
async def test_an_answer_that_does_not_fit_is_no_answer(question, reply, says):
    async with CodeMode(questions(answering(reply))) as cm:
        error = await failure(cm, "ask_user_question", questions=[question])
        assert error.code == "ASK_FAILED"
        assert says in error.message


async def test_of_several_none_may_be_chosen():
    async with CodeMode(questions(answering(Reply()))) as cm:
        assert await both(cm, "ask_user_question", questions=[SIZES]) == {
            "answers": [{"id": "sizes", "selected": []}]
        }


async def test_errors_have_codes():
    async def nobody(asked):
        return None

    async def broken(asked):
        raise OSError("the window is gone")

    async def own_words(asked):
        raise ToolError("not on Sundays", code="CLOSED")

    for asker, code, says in [
        (None, "NO_PROVIDER", "nobody"),
        (nobody, "ASK_CANCELLED", "did not answer"),
        (broken, "ASK_FAILED", "OSError: the window is gone"),
        (own_words, "CLOSED", "not on Sundays"),
        (answering(), "ASK_FAILED", "1 questions were asked, and 0 answered"),
    ]:
        async with CodeMode(questions(asker)) as cm:
            error = await failure(cm, "ask_user_question", questions=[NAME])
            assert error.code == code
            assert says in error.message
            assert await program_failure(cm, "ask_user_question", questions=[NAME]) == (code, error.message)


async def test_questions_that_cannot_be_asked_reach_nobody():
    asker = answering(Reply(custom="x"))
    async with CodeMode(questions(asker)) as cm:
        assert (await failure(cm, "ask_user_question", questions=[])).code == "EMPTY_QUESTIONS"
        for wrong in (
            [NAME, NAME],
            [NAME] * 11,
            [{"id": "a"}],
            [{**NAME, "options": [{"label": "x"}, {"label": "x"}]}],
            [{**NAME, "options": [{"label": str(n)} for n in range(21)]}],
            [{**NAME, "question": "x" * 20_001}],
        ):
            assert (await failure(cm, "ask_user_question", questions=wrong)).code == "INVALID_ARGUMENTS"
    assert asker.asked == []


async def test_cancelling_the_call_cancels_the_asker(autojump_clock):
    ended = []

    async def asker(asked):
        try:
            await trio.sleep_forever()
        finally:
            ended.append(True)

    async with CodeMode(questions(asker), sandbox=object()) as cm:
        with trio.move_on_after(5):
            await cm.call("ask_user_question", {"questions": [NAME]})
        assert ended == [True]
