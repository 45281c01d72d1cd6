"""In the place of llama_stack, which llama-stack's tests ask whether a client is its library."""


class LlamaStackAsLibraryClient:
    pass
