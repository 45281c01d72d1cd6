"""In the place of llama_stack, from which llama-stack's tests take this one function."""


def resolve_model(descriptor):
    del descriptor
