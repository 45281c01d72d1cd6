"""The calls of LlamaIndex with its package for Ollama."""

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.ollama import Ollama

from common import ask, check, is_place, Place, server, weather


def model_named(name, **more):
    return Ollama(model=name, base_url=server, request_timeout=60, **more)


@check
def llama_index_ollama_chat():
    model = model_named("scripted")
    messages = [ChatMessage(role="user", content="hi")]
    *_, last = model.stream_chat(messages)
    return [model.chat(messages).message.content, last.message.content, str(model.complete("hi"))]


@check
def llama_index_ollama_tools():
    reply = model_named("scripted").chat_with_tools([FunctionTool.from_defaults(weather)], user_msg=ask)
    return reply.message.additional_kwargs.get("tool_calls") is not None


@check
def llama_index_ollama_structured():
    return is_place(model_named("tiny").as_structured_llm(Place).complete("A place, please.").raw)
