"""In the place of mlc_llm, from which MLC-LLM's tests take these two numbers."""

CHAT_COMPLETION_MAX_TOP_LOGPROBS = 20
COMPLETION_MAX_TOP_LOGPROBS = 5
