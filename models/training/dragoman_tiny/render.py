"""Dialogues as the model sees them, through the same chat template that goes into the GGUF file."""

from __future__ import annotations

import json
from pathlib import Path

from jinja2.sandbox import ImmutableSandboxedEnvironment

from .dialogue import Dialogue

TEMPLATE_SOURCE = (Path(__file__).parent.parent / "chat_template.jinja").read_text()

_environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
_environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
_template = _environment.from_string(TEMPLATE_SOURCE)


def render(dialogue: Dialogue) -> str:
    """The whole conversation with the right last answer, thought included."""
    messages = [*dialogue.messages]
    if dialogue.thought is not None:
        messages[-1] = {**messages[-1], "reasoning_content": dialogue.thought}
    return _template.render(messages=messages, tools=dialogue.tools or None, add_generation_prompt=False)


def render_prompt(dialogue: Dialogue) -> str:
    """The conversation up to where the model answers."""
    return _template.render(
        messages=dialogue.messages[:-1],
        tools=dialogue.tools or None,
        add_generation_prompt=True,
        enable_thinking=dialogue.thought is not None,
    )
