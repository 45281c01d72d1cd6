"""What follows a call: answering from its result, and calling again for a follow-up question."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

from .. import values
from ..dialogue import Check, Dialogue, Split
from ..fields import plain_text, spoken
from ..patterns import compose
from .tools import Request, again, call_message, declare, domain_request, other_request, request
from .tool_table import DOMAIN_TOOLS

_CONDITIONS = ["sunny", "cloudy", "rainy", "windy", "snowy", "foggy", "clear", "stormy"]

#: Follow-up questions that ask the same of another place.
_AGAIN = compose(
    ["", "and ", "what about ", "how about ", "now ", "and now ", "then ", "the same for ", "do the same for ", "also ", "and what about ", "next: ", "now for "],
    ["", "in "],
    ["{v}"],
    ["", "?", " please", " then", " too", " now", " as well", " this time"],
)

_THANKS: dict[Split, list[tuple[str, str]]] = {
    "train": [("thanks", "You are welcome!"), ("Thank you!", "You are welcome!"), ("great, thanks", "You are welcome!"), ("ok", "Is there anything else?"), ("perfect", "Is there anything else?")],
    "heldout": [("thanks, that is all", "You are welcome!"), ("thanks, perfect", "You are welcome!")],
}


def _result(rng: random.Random, split: Split, asked: Request) -> tuple[str, str, list[str]]:
    """A tool's output, the answer that tells it, and what the answer must hold."""
    if asked.name == "get_weather" and rng.random() < 0.7:
        degrees = values.integer(rng, split, 0, 39)
        condition = rng.choice(_CONDITIONS)
        pairs: dict[str, Any] = {"temperature": degrees, "condition": condition}
    elif rng.random() < 0.12:
        reason = values.value(rng, split, "message") if rng.random() < 0.5 else f"{values.value(rng, split, 'noun')} not found"
        key = rng.choice(["error", "error", "message"])
        content = json.dumps({"error": reason}) if key == "error" else f"Error: {reason}"
        return content, f"That failed: {reason}.", [reason]
    elif rng.random() < 0.25:
        text = plain_text(rng, split) if rng.random() < 0.5 else str(values.integer(rng, split, 1, 5000))
        if rng.random() < 0.3:
            text = values.value(rng, split, rng.choice(["message", "task"]))
        content = rng.choice([text, json.dumps({"result": text}, ensure_ascii=False)])
        return content, f"The result is {text}.", [text]
    else:
        pairs = {}
        for _ in range(rng.choices([1, 2, 3], [40, 42, 18])[0]):
            key = values.value(rng, split, "field")
            if rng.random() < 0.15:
                key += "_" + values.value(rng, split, "field")
            pairs[key] = _result_value(rng, split)
    content = json.dumps(pairs, ensure_ascii=False)
    facts = [f"the {spoken(key)} is {_say(value)}" for key, value in pairs.items()]
    answer = facts[0] if len(facts) == 1 else f"{', '.join(facts[:-1])} and {facts[-1]}"
    return content, f"{answer[0].upper()}{answer[1:]}.", [_say(value) for value in pairs.values()]


def _result_value(rng: random.Random, split: Split) -> Any:
    roll = rng.random()
    if roll < 0.4:
        return plain_text(rng, split)
    if roll < 0.7:
        return values.integer(rng, split, 1, rng.choice([30, 500, 20000]))
    if roll < 0.8:
        return values.decimal(rng, split, 90)
    if roll < 0.88:
        return values.value(rng, split, rng.choice(["task", "message"]))
    return values.distinct(rng, split, rng.choice(["person", "thing", "city"]), rng.randint(2, 3))


def _say(value: Any) -> str:
    if isinstance(value, list):
        return f"{', '.join(value[:-1])} and {value[-1]}"
    return str(value)


def _free(texts: list[str]) -> list[str]:
    """Without the words of the closed list of weather conditions."""
    return [text for text in texts if text not in _CONDITIONS]


def tool_message(index: int, name: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"call_{index}", "name": name, "content": content}


def answer_from_result(rng: random.Random, split: Split) -> Dialogue:
    asked = request(rng, split)
    content, answer, musts = _result(rng, split, asked)
    messages = [{"role": "user", "content": asked.text}, call_message([asked]), tool_message(0, asked.name, content), {"role": "assistant", "content": answer}]
    tools = declare(rng, split, [asked], rng.choice([0, 1, 1, 2]))
    return Dialogue("tool-result", messages, Check("contains", musts), tools, "I tell the user the result.", (*asked.slots, *_free(musts)), asked.patterns)


def session(rng: random.Random, split: Split) -> Dialogue:
    """Two or three round trips with the same functions; it ends with a call or with the answer from a result."""
    asked = [request(rng, split)]
    for _ in range(rng.choice([1, 1, 2])):
        asked.append(again(rng, split, asked[-1]) if rng.random() < 0.4 else other_request(rng, split, asked))
    messages: list[dict[str, Any]] = []
    slots: list[str] = []
    for item in asked:
        content, answer, musts = _result(rng, split, item)
        messages += [{"role": "user", "content": item.text}, call_message([item]), tool_message(0, item.name, content), {"role": "assistant", "content": answer}]
        slots += [*item.slots, *_free(musts)]
    tools = declare(rng, split, asked, rng.choice([0, 0, 1]))
    patterns = tuple(pattern for item in asked for pattern in item.patterns)
    if rng.random() < 0.5:
        return Dialogue("tool-result", messages, Check("contains", musts), tools, "I tell the user the result.", tuple(slots), patterns)
    return Dialogue("tool-call", messages[:-2], Check("call", [asked[-1].call]), tools, f"The user needs {asked[-1].name}.", tuple(slots), patterns)


def answer_from_two_results(rng: random.Random, split: Split) -> Dialogue:
    first = request(rng, split)
    second = other_request(rng, split, [first])
    told = [_result(rng, split, item) for item in (first, second)]
    messages = [
        {"role": "user", "content": f"{first.text.rstrip('.?')}. {second.text}"},
        call_message([first, second]),
        *(tool_message(index, item.name, content) for index, (item, (content, _, _)) in enumerate(zip((first, second), told, strict=True))),
        {"role": "assistant", "content": " ".join(answer for _, answer, _ in told)},
    ]
    musts = [text for _, _, texts in told for text in texts]
    tools = declare(rng, split, [first, second], rng.choice([0, 0, 1]))
    return Dialogue("tool-result", messages, Check("contains", musts), tools, "I tell the user both results.", (*first.slots, *second.slots, *_free(musts)), (*first.patterns, *second.patterns))


def call_again(rng: random.Random, split: Split) -> Dialogue:
    """A call, its result, its answer, and then the same for another value."""
    single = [tool for tool in DOMAIN_TOOLS if tool.name in ("get_weather", "get_time", "get_stock_price", "track_order", "read_file")]
    first = domain_request(rng, split, rng.choice(single))
    name = next(key for key in first.arguments if key != "unit")
    tool = next(tool for tool in single if tool.name == first.name and name in tool.parameters)
    drawn, text, _ = tool.parameters[name].draw(rng, split)
    other = replace(first, arguments={**first.arguments, name: drawn})
    pattern = rng.choice(_AGAIN[split])
    content, answer, musts = _result(rng, split, first)
    messages = [
        {"role": "user", "content": first.text},
        call_message([first]),
        tool_message(0, first.name, content),
        {"role": "assistant", "content": answer},
        {"role": "user", "content": pattern.format(v=text)},
        call_message([other]),
    ]
    tools = declare(rng, split, [first], rng.choice([0, 1, 1]))
    return Dialogue("tool-call", messages, Check("call", [other.call]), tools, f"The user needs {first.name}.", (*first.slots, text, *_free(musts)), (*first.patterns, pattern))


def thanks_after_result(rng: random.Random, split: Split) -> Dialogue:
    """A finished tool round trip, and small talk after it: nothing is called again."""
    asked = request(rng, split)
    content, answer, musts = _result(rng, split, asked)
    said, reply = rng.choice(_THANKS[split])
    messages = [
        {"role": "user", "content": asked.text},
        call_message([asked]),
        tool_message(0, asked.name, content),
        {"role": "assistant", "content": answer},
        {"role": "user", "content": said},
        {"role": "assistant", "content": reply},
    ]
    tools = declare(rng, split, [asked], rng.choice([0, 1]))
    return Dialogue("no-call", messages, Check("no-call"), tools, "The user is content.", (*asked.slots, *_free(musts)), (*asked.patterns, said))
