"""Applications on the OpenAI SDK: the Responses API, and Chat Completions."""

from codemode.sdk import openai as adapter


async def ask(cm, client, question):
    items = [{"role": "user", "content": question}]
    while True:
        response = await client.responses.create(model="gpt", tools=adapter.tools(cm), input=items)
        items += response.output
        answers = await adapter.results(cm, response)
        if not answers:
            return response.output_text
        items += answers


async def ask_chat(cm, client, question):
    messages = [{"role": "user", "content": question}]
    while True:
        done = await client.chat.completions.create(
            model="gpt", tools=adapter.chat_tools(cm), messages=messages
        )
        message = done.choices[0].message
        messages.append(message)
        answers = await adapter.chat_results(cm, message)
        if not answers:
            return message.content
        messages += answers
