"""The calls of ollama."""

import ollama

from common import check, greeting, is_place, Place, question, server, thought, weather, wish

llama = ollama.Client(host=server)


@check
def ollama_chat():
    reply = llama.chat(model="scripted", messages=greeting)
    parts = list(llama.chat(model="scripted:latest", messages=greeting, stream=True))
    text = "".join(part.message.content for part in parts)
    return [reply.message.content, text, reply.eval_count, parts[-1].done_reason]


@check
def ollama_thinking():
    whole = llama.chat(model="scripted", messages=thought, think=True).message
    parts = [part.message for part in llama.chat(model="scripted", messages=thought, think="high", stream=True)]
    streamed = ["".join(filter(None, texts)) for texts in zip(*((part.thinking, part.content) for part in parts))]
    return [[whole.thinking, whole.content], streamed]


@check
def ollama_tools():
    ends = []
    for stream in (False, True):
        messages = list(question)
        for _ in range(2):
            reply = llama.chat(model="scripted", messages=messages, tools=[weather], stream=stream)
            parts = list(reply) if stream else [reply]
            calls = [call for part in parts for call in part.message.tool_calls or []]
            content = "".join(part.message.content for part in parts)
            messages.append(ollama.Message(role="assistant", content=content, tool_calls=calls or None))
            for call in calls:
                messages.append({"role": "tool", "tool_name": call.function.name, "content": weather(**call.function.arguments)})
        ends.append(messages[-1].content)
    return ends


@check
def ollama_format():
    reply = llama.chat(model="tiny", messages=wish, format=Place.model_json_schema(), options={"num_predict": 200})
    return is_place(Place.model_validate_json(reply.message.content))


@check
def ollama_texts():
    reply = llama.generate(model="scripted", prompt="hi", keep_alive=-1)
    vectors = llama.embed(model="scripted", input=["a", "b"]).embeddings
    return [reply.response, [len(vector) for vector in vectors]]


@check
def ollama_models():
    """The client makes dates and numbers of these, and fails for others."""
    listed = [model.model for model in llama.list().models]
    shown = llama.show("tiny")
    running = [model.model for model in llama.ps().models]
    pulled = [llama.pull("scripted").status, [part.status for part in llama.pull("scripted", stream=True)]]
    return [sorted(listed), shown.capabilities, shown.details.family, "scripted:latest" in running, pulled]


@check
def ollama_failures():
    failures = []
    broken = [{"role": "user", "content": "breaks"}]
    for call in [
        lambda: llama.chat(model="none", messages=greeting),
        lambda: llama.push("scripted"),
        lambda: llama.generate(model="scripted", prompt="hi", template="{{ .Prompt }}"),
        lambda: list(llama.chat(model="scripted", messages=broken, stream=True)),
    ]:
        try:
            call()
        except ollama.ResponseError as error:
            failures.append([error.status_code, error.error != ""])
    return failures
