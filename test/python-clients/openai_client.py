"""The calls of openai."""

import json
import time

import openai

from common import base, check, greeting, is_place, parameters, Place, question, thought, weather, wish

client = openai.OpenAI(base_url=base, api_key="unused", max_retries=0)


@check
def openai_chat():
    reply = client.chat.completions.create(model="scripted", messages=greeting)
    streamed = client.chat.completions.create(
        model="scripted", messages=greeting, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(streamed)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    return [reply.choices[0].message.content, text, reply.usage.completion_tokens, chunks[-1].usage.completion_tokens]


@check
def openai_chat_reasoning():
    """As loops for DeepSeek read a stream: each chunk has the field."""
    reasoning = content = ""
    for chunk in client.chat.completions.create(model="scripted", messages=thought, stream=True):
        delta = chunk.choices[0].delta
        if delta.reasoning_content:
            reasoning += delta.reasoning_content
        elif delta.content:
            content += delta.content
    whole = client.chat.completions.create(model="scripted", messages=thought).choices[0].message
    plain = client.chat.completions.create(model="scripted", messages=greeting).choices[0].message
    return [reasoning, content, whole.reasoning_content, whole.content, plain.reasoning_content]


@check
def openai_chat_tools():
    tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
    message = client.chat.completions.create(model="scripted", messages=question, tools=tools).choices[0].message
    call = message.tool_calls[0]
    result = {"role": "tool", "tool_call_id": call.id, "content": weather(**json.loads(call.function.arguments))}
    end = client.chat.completions.create(model="scripted", messages=[*question, message, result], tools=tools)
    return end.choices[0].message.content


@check
def openai_chat_parse():
    reply = client.chat.completions.parse(model="tiny", messages=wish, response_format=Place)
    with client.chat.completions.stream(model="tiny", messages=wish, response_format=Place) as stream:
        streamed = stream.get_final_completion()
    return [is_place(reply.choices[0].message.parsed), is_place(streamed.choices[0].message.parsed)]


@check
def openai_chat_stored():
    metadata = {"client": "python", "kind": "stored & found"}
    tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
    stored = client.chat.completions
    whole = stored.create(model="scripted", messages=question, tools=tools, n=2, store=True, metadata=metadata)
    with stored.stream(model="scripted", messages=greeting, store=True, metadata=metadata, logprobs=True) as stream:
        streamed = stream.get_final_completion()
    listed = [completion.id for completion in stored.list(limit=1, metadata=metadata)]
    found = stored.retrieve(whole.id)
    calls = [choice.message.tool_calls[0].function.name for choice in found.choices]
    tokens = stored.retrieve(streamed.id).choices[0].logprobs.content
    messages = [message.content for message in stored.messages.list(whole.id)]
    changed = stored.update(whole.id, metadata={"client": "changed"}).metadata
    gone = [stored.delete(made.id).deleted for made in (whole, streamed)]
    left = list(stored.list(metadata={"client": "changed"}))
    return [listed == [whole.id, streamed.id], calls, len(tokens), messages, changed, gone, left]


@check
def openai_responses():
    reply = client.responses.create(model="scripted", input="hi")
    with client.responses.stream(model="scripted", input="hi") as stream:
        events = [event.type for event in stream]
        streamed = stream.get_final_response()
    return [reply.output_text, streamed.output_text, events[-1], reply.usage.output_tokens]


@check
def openai_responses_tools():
    tools = [{"type": "function", "name": "weather", "parameters": parameters, "strict": False}]
    reply = client.responses.create(model="scripted", input=question, tools=tools)
    call = next(item for item in reply.output if item.type == "function_call")
    result = {"type": "function_call_output", "call_id": call.call_id, "output": weather(**json.loads(call.arguments))}
    whole = client.responses.create(model="scripted", input=[*question, *reply.output, result], tools=tools)
    stored = client.responses.create(model="scripted", previous_response_id=reply.id, input=[result], tools=tools)
    return [whole.output_text, stored.output_text]


@check
def openai_responses_parse():
    return is_place(client.responses.parse(model="tiny", input="A place, please.", text_format=Place).output_parsed)


@check
def openai_refusals():
    failures = []
    for call in [
        lambda: client.chat.completions.create(model="nonesuch", messages=greeting),
        lambda: client.responses.create(model="scripted", input="hi", tools=[{"type": "mcp", "server_label": "a"}]),
    ]:
        try:
            call()
        except openai.APIStatusError as error:
            failures.append([error.status_code, error.body["param"]])
    return failures


@check
def openai_batches():
    """Created from a file, polled, read, and cancelled."""
    lines = [
        {"custom_id": f"line-{n}", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "scripted", "messages": greeting}}
        for n in range(3)
    ]
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    file = client.files.create(file=("in.jsonl", content), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    for _ in range(600):
        batch = client.batches.retrieve(batch.id)
        if batch.status == "completed":
            break
        time.sleep(0.05)
    results = [json.loads(line) for line in client.files.content(batch.output_file_id).text.splitlines()]
    texts = [result["response"]["body"]["choices"][0]["message"]["content"] for result in results]
    listed = [each.id for each in client.batches.list(limit=1)]
    return [batch.status, batch.request_counts.completed, texts, listed == [batch.id], client.batches.cancel(batch.id).status]
