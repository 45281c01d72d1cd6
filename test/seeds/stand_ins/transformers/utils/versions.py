"""In the place of transformers, from which LLaMA-Factory's examples take this one function."""


def require_version(requirement, hint=None):
    del requirement, hint
