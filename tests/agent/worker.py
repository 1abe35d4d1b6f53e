"""A host that holds a conversation, in a process of its own, so that it can be killed.

`python -m tests.agent.worker URL SESSION MESSAGE…` takes the conversation of a session up where it is: lets the
model go on if it is waited for, then says those of the messages that were not said yet. Lines on standard output
tell how far it is; the last one is a JSON object.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import trio
from anthropic import AsyncAnthropic

from codemode import ApprovalRequest, CodeMode, as_text, tool
from codemode.agent import Agent, AnthropicMessages, Retry
from tests.agent.scripted import order, stock


def tell(*words: object) -> None:
    print(*words, flush=True)


@tool(render=as_text)
async def deliver(to: str) -> str:
    """Deliver what was ordered; takes its time when it goes far."""
    tell("deliver", to)
    await trio.sleep(3600 if to == "far" else 0.01)
    return f"delivered to {to}"


def approve(requests: Sequence[ApprovalRequest]) -> str:
    tell("approve", *[each.call.id for each in requests])
    return "allow-once"


async def main(url: str, path: str, messages: list[str]) -> None:
    tools = [stock, order, deliver]
    async with AsyncAnthropic(base_url=url, api_key="k") as client:
        async with CodeMode(tools, session=path, mode="both", approver=approve) as cm:
            retry = Retry(first_seconds=0.01)
            agent = Agent(cm, AnthropicMessages("model-1", client=client), retry=retry, system="Be exact.")
            tell("ready")
            reasons: list[str] = []
            if agent.is_waited_for:
                reasons.append((await agent.go_on()).reason)
            said = json.dumps([event.data["message"] for event in cm.session.events(types="user/message")])
            text = ""
            for message in messages:
                if json.dumps(message) not in said:
                    result = await agent.run(message)
                    reasons.append(result.reason)
                    text = result.text
            tell(json.dumps({"reasons": reasons, "text": text}))


if __name__ == "__main__":
    trio.run(main, sys.argv[1], sys.argv[2], sys.argv[3:])
