"""The calls of LangChain with its package for Ollama."""

from langchain_ollama import ChatOllama, OllamaEmbeddings, OllamaLLM

from common import check, is_place, Place, server
from langchain_common import langchain_loop, langchain_texts


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
