"""The calls of LangChain with its package for OpenAI."""

from langchain_openai import ChatOpenAI, OpenAIEmbeddings

from common import base, check, is_place, Place
from langchain_common import langchain_loop, langchain_texts


def chat_openai(name, **more):
    return ChatOpenAI(model=name, base_url=base, api_key="unused", max_retries=0, **more)


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
