"""The calls of Goose's own providers, which its SDK has."""

import asyncio
import json

import goose

from common import ask, base, check, limit, parameters, server

model = goose.ProviderModelConfig(model_name="example-model", max_tokens=limit["max_tokens"])
tool = goose.ProviderTool(name="weather", description="The weather of a city.", input_schema_json=json.dumps(parameters))
openai = goose.openai_provider("unused", base)
anthropic = goose.anthropic_provider("unused", server, [])


def said(role, *content):
    return goose.ProviderMessage(role=role, content=list(content))


user, assistant = goose.MessageRole.USER, goose.MessageRole.ASSISTANT
question = said(user, goose.MessageContent.TEXT(ask))


async def streamed(provider, text):
    """The text of a streamed reply."""
    stream = await provider.stream(model, "You help.", [said(user, goose.MessageContent.TEXT(text))], [])
    parts = []
    while (chunk := await stream.next_chunk()) is not None:
        if chunk.is_text_chunk():
            parts.append(chunk.text)
    return "".join(parts)


async def used(provider):
    """The answer after a call of a tool."""
    called = (await provider.complete(model, "You help.", [question], [tool])).content
    request = next(part for part in called if part.is_tool_request())
    result = goose.MessageContent.TOOL_RESULT(request.id, True, json.dumps([{"type": "text", "text": "21 degrees"}]))
    messages = [question, said(assistant, *called), said(user, result)]
    return (await provider.complete(model, "You help.", messages, [tool])).content[0].text


@check
def goose_models():
    return [one.name for one in asyncio.run(openai.list_models())]


@check
def goose_openai_text():
    return asyncio.run(streamed(openai, "hi"))


@check
def goose_openai_tools():
    return asyncio.run(used(openai))


@check
def goose_anthropic_text():
    return asyncio.run(streamed(anthropic, "hi"))


@check
def goose_anthropic_tools():
    return asyncio.run(used(anthropic))
