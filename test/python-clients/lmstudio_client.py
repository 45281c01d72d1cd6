"""The calls of lmstudio, over its WebSockets."""

import base64

import lmstudio

from common import ask, check, is_place, Place, server, weather

client = lmstudio.Client(server.removeprefix("http://"))
picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@check
def lmstudio_models():
    model = client.llm.model("scripted")
    keys = [info.model_key for info in client.list_downloaded_models()]
    loaded = [one.identifier for one in client.llm.list_loaded()]
    config = client.llm.model("tiny").get_load_config()
    return [keys, "scripted" in loaded, model.get_info().model_key, config.context_length > 0, model.get_load_config().context_length]


@check
def lmstudio_respond():
    model = client.llm.model("scripted")
    options = {"temperature": 0.2, "maxTokens": 50, "stopStrings": ["END"], "topKSampling": 40, "repeatPenalty": 1.1}
    whole = model.respond("hi", config=options)
    parts = "".join(part.content for part in model.respond_stream("hi"))
    return [whole.content, parts, whole.stats.stop_reason, whole.stats.predicted_tokens_count]


@check
def lmstudio_structured():
    said = client.llm.model("tiny").respond("A place, please.", response_format=Place, config={"maxTokens": 200})
    return is_place(Place.model_validate(said.parsed))


@check
def lmstudio_tools():
    said = []
    client.llm.model("scripted").act(ask, [weather], on_message=said.append)
    return said[-1].content[0].text


@check
def lmstudio_texts():
    model = client.llm.model("tiny")
    tokens = model.tokenize("Good morning.")
    vector = client.embedding.model("tiny").embed("Good morning.")
    completed = model.complete("Good", config={"maxTokens": 2, "temperature": 0}).stats
    template = model.apply_prompt_template("Good morning.")
    return [len(tokens) == model.count_tokens("Good morning."), len(vector), completed.stop_reason, "Good morning." in template]


@check
def lmstudio_picture():
    chat = lmstudio.Chat()
    chat.add_user_message("hi", images=[client.prepare_image(base64.b64decode(picture), "a.png")])
    return client.llm.model("scripted").respond(chat).content


@check
def lmstudio_cancel():
    stream = client.llm.model("tiny").respond_stream("Say all you know.", config={"temperature": 0, "maxTokens": 250})
    for _ in stream:
        stream.cancel()
    return stream.result().stats.stop_reason


@check
def lmstudio_loads():
    model = client.llm.load_new_instance("tiny", "second", config={"contextLength": 512})
    found = [model.identifier, model.get_context_length(), len(model.tokenize("Good morning.")) > 0]
    # The settings are for a model that is not loaded.
    found.append(client.llm.model("tiny", config={"contextLength": 8192}).get_context_length())
    model.unload()
    found.append(client.llm.model("tiny", config={"contextLength": 768}).get_context_length())
    return found


@check
def lmstudio_downloads():
    found = client.repository.search_models("some")[0]
    options = found.get_download_options()
    key = options[-1].download()
    stats = client.llm.model(key).complete("Good", config={"maxTokens": 2, "temperature": 0}).stats
    # A random model may end after one token.
    return [[option.info.quantization for option in options], stats.predicted_tokens_count > 0]


@check
def lmstudio_failures():
    failed = []
    for call in (
        lambda: client.llm.model("no-such-model"),
        lambda: client.llm.model("scripted").respond("hi", config={"contextOverflowPolicy": "rollingWindow"}),
    ):
        try:
            call()
        except lmstudio.LMStudioServerError as error:
            failed.append(str(error))
    return ["not found" in failed[0], "never truncated" in failed[1]]
