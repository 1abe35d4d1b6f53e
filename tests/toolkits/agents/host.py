"""A host whose agents hang: it says so, and waits to be killed."""

import sys

import trio

from tests.toolkits.agents.model import Model, answer, engine, said, use


async def main(path: str) -> None:
    async def hang() -> None:
        print("hanging", flush=True)
        await trio.sleep_forever()

    model = Model(one=[answer(said("I look."), use("a", "look")), hang])
    async with engine(model, session=path, programs=True) as cm:
        await cm.run("tools.look()\ntools.subagent(description='d', prompt='one')")


trio.run(main, sys.argv[1])
