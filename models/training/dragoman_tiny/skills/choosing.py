"""Several requests for the same functions, some of which none of them does. Only practised: in few tokens it decides often."""

from __future__ import annotations

import random
from typing import Any

from .. import values
from ..dialogue import Check, Dialogue, Split
from ..fields import plain_text
from .results import tool_message
from .tools import REFUSAL, again, call_message, request, unlike


def choosing(rng: random.Random, split: Split) -> Dialogue:
    """Calls and refusals in turn; the results in between are short."""
    declared = [request(rng, split)]
    for _ in range(rng.choices([1, 2, 3], [45, 40, 15])[0]):
        declared.append(unlike(rng, split, declared))
    messages: list[dict[str, Any]] = []
    slots: list[str] = []
    patterns: list[str] = []
    turns = rng.choices([2, 3, 4], [40, 40, 20])[0]
    for turn in range(turns):
        fits = rng.random() < 0.55
        item = again(rng, split, rng.choice(declared)) if fits else unlike(rng, split, declared)
        slots += item.slots
        patterns += item.patterns
        messages.append({"role": "user", "content": item.text})
        messages.append(call_message([item]) if fits else {"role": "assistant", "content": REFUSAL})
        if fits and turn < turns - 1:
            text = plain_text(rng, split) if rng.random() < 0.5 else str(values.integer(rng, split, 1, 5000))
            messages += [tool_message(0, item.name, text), {"role": "assistant", "content": f"The result is {text}."}]
            slots.append(text)
    tools = [item.tool for item in declared]
    rng.shuffle(tools)
    check, thought = (Check("call", [item.call]), f"The user needs {item.name}.") if fits else (Check("no-call"), "None of the functions fits.")
    return Dialogue("tool-call" if fits else "no-tool-fits", messages, check, tools=tools, thought=thought, slots=tuple(slots), patterns=tuple(patterns))
