"""The calls of openai and anthropic with tools that the server runs. What they parse is held against their own models, too."""

import anthropic
import openai
from anthropic.types import Message
from anthropic.types.beta import BetaMessage
from openai.types.responses import Response

from common import base, check, limit, server

client = openai.OpenAI(base_url=base, api_key="with-tools", max_retries=0)
claude = anthropic.Anthropic(base_url=server, api_key="with-tools", max_retries=0)
search = [{"type": "web_search"}]
tides = "When are tides?"


def valid(reply, model):
    """Clients build their objects without looking: this looks."""
    model.model_validate_json(reply.model_dump_json(exclude_unset=True, by_alias=True))
    return reply


def kinds(parts):
    return [type(part).__name__.split("[")[0].removeprefix("Parsed") for part in parts]


@check
def openai_search():
    whole = valid(client.responses.create(model="scripted", input=tides, tools=search), Response)
    with client.responses.stream(model="scripted", input=tides, tools=search) as stream:
        types = [event.type for event in stream if "web_search" in event.type]
        streamed = valid(stream.get_final_response(), Response)
    call = whole.output[1]
    return [kinds(whole.output), kinds(streamed.output), types, call.action.query, call.action.sources[0].url, streamed.output_text]


@check
def openai_mcp():
    tools = [{"type": "mcp", "server_label": "docs", "require_approval": "never"}]
    whole = valid(client.responses.create(model="scripted", input="echo", tools=tools), Response)
    return [kinds(whole.output), whole.output[1].output, whole.output_text]


@check
def openai_approvals():
    tools = [{"type": "mcp", "server_label": "docs", "require_approval": "always"}]
    said = []
    for approve in (True, False):
        asked = valid(client.responses.create(model="scripted", input="echo", tools=tools), Response)
        answer = {"type": "mcp_approval_response", "approval_request_id": asked.output[-1].id, "approve": approve}
        more = {"tools": tools, "previous_response_id": asked.id}
        end = client.responses.create(model="scripted", input=[answer], **more)
        # The error of a call is a text in this model, and an object in OpenAI's other clients.
        if approve:
            valid(end, Response)
        said.append([kinds(asked.output)[-1], end.output_text])
    return said


@check
def openai_program():
    tools = [{"type": "code_interpreter", "container": {"type": "auto"}}]
    try:
        whole = valid(client.responses.create(model="scripted", input="two and two", tools=tools), Response)
    except openai.BadRequestError:
        return "programs cannot be isolated here"
    return [kinds(whole.output), whole.output[0].outputs[0].logs, whole.output_text]


@check
def anthropic_search():
    request = {"model": "scripted", "tools": [{"type": "web_search_20250305", "name": "web_search"}], **limit}
    asked = {"role": "user", "content": tides}
    whole = valid(claude.messages.create(messages=[asked], **request), Message)
    with claude.messages.stream(messages=[asked], **request) as stream:
        streamed = valid(stream.get_final_message(), Message)
    history = [asked, {"role": "assistant", "content": whole.content}, {"role": "user", "content": "Thanks"}]
    again = valid(claude.messages.create(messages=history, **request), Message)
    found = whole.content[2].content[0]
    return [kinds(whole.content), kinds(streamed.content), found.url, whole.usage.server_tool_use.web_search_requests, again.content[0].text]


@check
def anthropic_mcp():
    whole = claude.beta.messages.create(
        model="scripted",
        messages=[{"role": "user", "content": "echo"}],
        mcp_servers=[{"type": "url", "name": "docs"}],
        tools=[{"type": "mcp_toolset", "mcp_server_name": "docs"}],
        betas=["mcp-client-2025-11-20"],
        **limit,
    )
    return [kinds(valid(whole, BetaMessage).content), whole.content[1].content[0].text]
