"""An application on the Anthropic SDK."""

from codemode.sdk import anthropic as adapter


async def ask(cm, client, question):
    messages = [{"role": "user", "content": question}]
    while True:
        message = await client.messages.create(
            model="claude", max_tokens=2000, tools=adapter.tools(cm), messages=messages
        )
        messages.append({"role": "assistant", "content": message.content})
        answers = await adapter.results(cm, message)
        if not answers:
            return message.content[-1].text
        messages.append({"role": "user", "content": answers})
