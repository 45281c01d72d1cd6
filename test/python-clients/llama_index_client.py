"""The calls of LlamaIndex, with its package for servers like OpenAI's."""

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike

from common import ask, base, check, is_place, Place, weather


def openai_like(name, **more):
    options = {"is_chat_model": True, "is_function_calling_model": True, "context_window": 4096, "max_retries": 0}
    return OpenAILike(model=name, api_base=base, api_key="unused", **options, **more)


@check
def llama_index_chat():
    model = openai_like("scripted")
    messages = [ChatMessage(role="user", content="hi")]
    *_, last = model.stream_chat(messages)
    return [model.chat(messages).message.content, last.message.content, str(model.complete("hi"))]


@check
def llama_index_tools():
    ends = []
    for stream in (False, True):
        model = openai_like("scripted")
        tools = [FunctionTool.from_defaults(weather)]
        messages = [ChatMessage(role="user", content=ask)]
        if stream:
            *_, reply = model.stream_chat_with_tools(tools, chat_history=messages)
        else:
            reply = model.chat_with_tools(tools, chat_history=messages)
        messages.append(reply.message)
        for call in model.get_tool_calls_from_response(reply):
            content = str(tools[0].call(**call.tool_kwargs))
            messages.append(ChatMessage(role="tool", content=content, additional_kwargs={"tool_call_id": call.tool_id}))
        ends.append(model.chat_with_tools(tools, chat_history=messages).message.content)
    return ends


@check
def llama_index_structured():
    plain = openai_like("tiny").as_structured_llm(Place)
    formatted = openai_like("tiny", should_use_structured_outputs=True).as_structured_llm(Place)
    return [is_place(model.complete("A place, please.").raw) for model in (plain, formatted)]
