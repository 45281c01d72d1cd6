"""LangChain's own integration tests for chat models, through each of the protocols that it speaks. Run by pytest; URL is the server."""

import os

from langchain_anthropic import ChatAnthropic
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ChatModelIntegrationTests

URL = os.environ["URL"]


class TestChatCompletions(ChatModelIntegrationTests):
    chat_model_class = ChatOpenAI
    # LangChain asks no other server than OpenAI's for the usage of a stream by itself.
    chat_model_params = {"model": "answers", "base_url": f"{URL}/v1", "api_key": "none", "stream_usage": True}
    supports_json_mode = True


class TestResponses(ChatModelIntegrationTests):
    chat_model_class = ChatOpenAI
    chat_model_params = {"model": "answers", "base_url": f"{URL}/v1", "api_key": "none", "use_responses_api": True}
    supports_json_mode = True


class TestMessages(ChatModelIntegrationTests):
    chat_model_class = ChatAnthropic
    chat_model_params = {"model": "answers", "base_url": URL, "api_key": "none", "max_tokens": 512}
    structured_output_kwargs = {"method": "json_schema"}
    supports_anthropic_inputs = True


class TestOllama(ChatModelIntegrationTests):
    chat_model_class = ChatOllama
    chat_model_params = {"model": "answers", "base_url": URL}
    # Ollama's API has no way to require a call.
    has_tool_choice = False
    supports_json_mode = True
