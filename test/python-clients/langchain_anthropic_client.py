"""The calls of LangChain with its package for Anthropic."""

from langchain_anthropic import ChatAnthropic

from common import check, is_place, Place, server, thinking
from langchain_common import langchain_loop, langchain_texts


def chat_anthropic(name, **more):
    return ChatAnthropic(model=name, base_url=server, api_key="unused", max_retries=0, max_tokens=2048, **more)


@check
def langchain_anthropic():
    return [langchain_texts(chat_anthropic("scripted")), langchain_loop(chat_anthropic("scripted"))]


@check
def langchain_anthropic_thinking():
    model = chat_anthropic("scripted", thinking=thinking)
    reply = model.invoke("think")
    return [[block["type"] for block in reply.content], langchain_loop(model)]


@check
def langchain_anthropic_structured():
    methods = ("function_calling", "json_schema")
    models = [chat_anthropic("tiny").with_structured_output(Place, method=method) for method in methods]
    return [is_place(model.invoke("A place, please.")) for model in models]
