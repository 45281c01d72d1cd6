"""Loaded by pytest before the programs of other servers: what their own fixtures give, with the server that already runs."""

import os

import pytest

URL = os.environ["SEED_URL"]
MODEL = os.environ["SEED_MODEL"]


@pytest.fixture(scope="module")
def served_model(request):
    # MLC-LLM's tests take the model and its library; one of them takes the model alone.
    return MODEL if "structural_tag" in request.module.__name__ else (MODEL, "lib.so")


@pytest.fixture(scope="session")
def launch_server():
    return None


@pytest.fixture(scope="session")
def base_url():
    return URL


@pytest.fixture(scope="session")
def api_key():
    return os.environ.get("SEED_KEY", "none")


@pytest.fixture(scope="session")
def text_model_id():
    return MODEL


@pytest.fixture(scope="session")
def embedding_model_id():
    return MODEL


@pytest.fixture(scope="session")
def inference_provider_type():
    # The one for which no test is left out.
    return "remote::vllm"


@pytest.fixture(scope="session")
def llama_stack_client():
    from llama_stack_client import LlamaStackClient

    return LlamaStackClient(base_url=URL)


@pytest.fixture(scope="session")
def client_with_models(llama_stack_client):
    return llama_stack_client


@pytest.fixture(scope="session")
def openai_client():
    from openai import OpenAI

    return OpenAI(base_url=f"{URL}/v1", api_key="none")


@pytest.fixture(scope="session", params=["openai_client", "llama_stack_client"])
def compat_client(request):
    return request.getfixturevalue(request.param)
