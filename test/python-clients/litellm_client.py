"""The calls of litellm, which other programs talk to servers with."""

import litellm

from common import ask, base, check, greeting, parameters, question, server, wish

litellm.telemetry = False
weather_tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
routes = {
    "openai": {"model": "openai/scripted", "api_base": base, "api_key": "unused"},
    "ollama": {"model": "ollama_chat/scripted", "api_base": server},
    "anthropic": {"model": "anthropic/scripted", "api_base": server, "api_key": "unused"},
}


def complete(route, **more):
    return litellm.completion(**{**routes[route], "messages": greeting, "num_retries": 0, **more})


def texts(route):
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in complete(route, stream=True))
    return [complete(route).choices[0].message.content, streamed]


def tool_loop(route):
    message = complete(route, messages=question, tools=weather_tools).choices[0].message
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": f"{ask} 21 degrees"}
    return complete(route, messages=[*question, message, result], tools=weather_tools).choices[0].message.content


@check
def litellm_openai():
    return [texts("openai"), tool_loop("openai")]


@check
def litellm_openai_json():
    return complete("openai", model="openai/tiny", messages=wish, response_format={"type": "json_object"}, max_tokens=60).usage is not None


@check
def litellm_ollama():
    return [texts("ollama"), tool_loop("ollama")]


@check
def litellm_anthropic():
    return [texts("anthropic"), tool_loop("anthropic")]


@check
def litellm_responses():
    return litellm.responses(input="hi", **routes["openai"]).output[0].content[0].text


@check
def litellm_embeddings():
    return len(litellm.embedding(input=["a", "b"], **routes["openai"]).data)
