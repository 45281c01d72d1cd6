"""What the calls of LangChain share."""

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool

from common import ask, weather


@tool
def look(city: str) -> str:
    """The weather of a city."""
    return weather(city)


look.name = "weather"


def langchain_loop(model):
    """A call and its result, whole and streamed."""
    bound = model.bind_tools([look])
    ends = []
    for stream in (False, True):
        messages = [HumanMessage(ask)]
        for _ in range(2):
            if stream:
                answer = None
                for chunk in bound.stream(messages):
                    answer = chunk if answer is None else answer + chunk
            else:
                answer = bound.invoke(messages)
            messages.append(answer)
            for call in answer.tool_calls:
                messages.append(ToolMessage(look.invoke(call["args"]), tool_call_id=call["id"]))
        ends.append(messages[-1].text)
    return ends


def langchain_texts(model):
    reply = model.invoke("hi")
    chunks = list(model.stream("hi"))
    return [reply.text, "".join(chunk.text for chunk in chunks), reply.usage_metadata["output_tokens"]]
