"""The calls of anthropic."""

import time

import anthropic

from common import check, greeting, limit, parameters, question, server, thinking, thought, weather

claude = anthropic.Anthropic(base_url=server, api_key="unused", max_retries=0)


@check
def anthropic_messages():
    reply = claude.messages.create(model="scripted", messages=greeting, **limit)
    with claude.messages.stream(model="scripted", messages=greeting, **limit) as stream:
        text = "".join(stream.text_stream)
        end = stream.get_final_message()
    return [reply.content[0].text, text, end.stop_reason, end.usage.output_tokens]


@check
def anthropic_thinking():
    reply = claude.messages.create(model="scripted", messages=thought, thinking=thinking, **limit)
    with claude.messages.stream(model="scripted", messages=thought, thinking=thinking, **limit) as stream:
        streamed = stream.get_final_message()
    return [[block.type for block in message.content] for message in (reply, streamed)]


@check
def anthropic_tools():
    tools = [{"name": "weather", "input_schema": parameters}]
    ends = []
    for prompt in (question, [{"role": "user", "content": "ponder"}]):
        options = {"model": "scripted", "tools": tools, "thinking": thinking, **limit}
        reply = claude.messages.create(messages=prompt, **options)
        call = next(block for block in reply.content if block.type == "tool_use")
        result = {"type": "tool_result", "tool_use_id": call.id, "content": weather(**call.input)}
        history = [*prompt, {"role": "assistant", "content": reply.content}, {"role": "user", "content": [result]}]
        ends.append(claude.messages.create(messages=history, **options).content[-1].text)
    return ends


@check
def anthropic_count():
    return claude.messages.count_tokens(model="scripted", messages=greeting).input_tokens > 0


@check
def anthropic_batches():
    """Created, polled, read, cancelled and deleted."""
    params = {"model": "scripted", "messages": greeting, **limit}
    batch = claude.messages.batches.create(requests=[{"custom_id": f"line-{n}", "params": params} for n in range(3)])
    for _ in range(600):
        batch = claude.messages.batches.retrieve(batch.id)
        if batch.processing_status == "ended":
            break
        time.sleep(0.05)
    results = sorted(claude.messages.batches.results(batch.id), key=lambda each: each.custom_id)
    texts = [each.result.message.content[0].text for each in results]
    canceled = claude.messages.batches.cancel(batch.id).processing_status
    return [batch.request_counts.succeeded, texts, canceled, claude.messages.batches.delete(batch.id).type]
