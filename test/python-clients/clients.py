"""Python clients against the server at argv[1]: a line of JSON for each, with what it said or how it failed."""

import json
import sys
import traceback
from typing import Literal

import anthropic
import instructor
import ollama
import openai
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_ollama import ChatOllama, OllamaEmbeddings, OllamaLLM
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel

server = sys.argv[1]
base = f"{server}/v1"
checks = []


def check(function):
    checks.append(function)
    return function


class Place(BaseModel):
    """A place."""

    city: Literal["Oslo", "Rome"]
    sunny: bool


def is_place(value):
    return isinstance(value, Place)


def weather(city: str) -> str:
    """The weather of a city."""
    return f"{city}: 21 degrees"


parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ask = "How is the weather in Oslo?"
question = [{"role": "user", "content": ask}]
greeting = [{"role": "user", "content": "hi"}]
wish = [{"role": "user", "content": "A place, please."}]
thought = [{"role": "user", "content": "think"}]

# openai

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


# anthropic

claude = anthropic.Anthropic(base_url=server, api_key="unused", max_retries=0)
thinking = {"type": "enabled", "budget_tokens": 1024}
limit = {"max_tokens": 2048}


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


# langchain


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


def chat_openai(name, **more):
    return ChatOpenAI(model=name, base_url=base, api_key="unused", max_retries=0, **more)


def chat_anthropic(name, **more):
    return ChatAnthropic(model=name, base_url=server, api_key="unused", max_retries=0, max_tokens=2048, **more)


@check
def langchain_openai():
    model = chat_openai("scripted", stream_usage=True)
    return [langchain_texts(model), langchain_loop(model)]


@check
def langchain_openai_responses():
    model = chat_openai("scripted", use_responses_api=True)
    return [langchain_texts(model), langchain_loop(model)]


@check
def langchain_openai_structured():
    methods = ("json_schema", "function_calling")
    models = [chat_openai("tiny").with_structured_output(Place, method=method) for method in methods]
    models.append(chat_openai("tiny", use_responses_api=True).with_structured_output(Place))
    return [is_place(model.invoke("A place, please.")) for model in models]


@check
def langchain_openai_embeddings():
    model = OpenAIEmbeddings(model="scripted", base_url=base, api_key="unused", check_embedding_ctx_length=False)
    return [len(vector) for vector in model.embed_documents(["a", "b"])]


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


# ollama

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


# langchain-ollama


@check
def langchain_ollama():
    model = ChatOllama(model="scripted", base_url=server, validate_model_on_init=True)
    return [langchain_texts(model), langchain_loop(model)]


@check
def langchain_ollama_reasoning():
    reply = ChatOllama(model="scripted", base_url=server, reasoning=True).invoke("think")
    return [reply.additional_kwargs["reasoning_content"], reply.text]


@check
def langchain_ollama_structured():
    model = ChatOllama(model="tiny", base_url=server, temperature=0, num_predict=200)
    return is_place(model.with_structured_output(Place).invoke("A place, please."))


@check
def langchain_ollama_texts():
    llm = OllamaLLM(model="scripted", base_url=server)
    vectors = OllamaEmbeddings(model="scripted", base_url=server).embed_documents(["a", "b"])
    return [llm.invoke("hi"), "".join(llm.stream("hi")), [len(vector) for vector in vectors]]


# llama-index


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


# instructor


@check
def instructor_openai():
    modes = (instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT, instructor.Mode.JSON_SCHEMA)
    found = []
    for mode in modes:
        patched = instructor.from_openai(client, mode=mode)
        options = {"model": "tiny", "messages": wish, "response_model": Place, "max_retries": 0}
        *_, partial = patched.chat.completions.create_partial(**options)
        found.append([is_place(patched.chat.completions.create(**options)), partial.city in ("Oslo", "Rome")])
    return found


@check
def instructor_anthropic():
    patched = instructor.from_anthropic(claude, mode=instructor.Mode.ANTHROPIC_TOOLS)
    return is_place(patched.messages.create(model="tiny", messages=wish, response_model=Place, max_retries=0, **limit))


for function in checks:
    outcome = {"name": function.__name__}
    try:
        outcome["said"] = function()
    except Exception:
        outcome["failure"] = traceback.format_exc(limit=-8)
    print(json.dumps(outcome), flush=True)
