"""Measures a served model on held-out dialogues: `python -m dragoman_tiny.evaluate --url http://127.0.0.1:7411 --model M`.

Everything goes through the chat completions API, so the figures are those that a client gets: template, parser and all.
"""

from __future__ import annotations

import argparse
import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema

from .corpus import dialogues
from .dialogue import Check, Dialogue


@dataclass(frozen=True)
class Reply:
    text: str
    reasoning: str
    calls: list[dict[str, Any]]
    finish: str


@dataclass(frozen=True)
class Group:
    """Some held-out dialogues that are scored together."""

    title: str
    goal: int | None
    holds: Callable[[Dialogue], bool]


GROUPS = [
    Group("right tool and exactly the right arguments", 95, lambda d: d.check.kind == "call"),
    Group("no call when none fits", 98, lambda d: d.check.kind == "no-call"),
    Group("answer from a tool result", 95, lambda d: d.skill == "tool-result"),
    Group("JSON for a schema, its values right as well", None, lambda d: d.skill == "json-answer"),
    Group("system message obeyed, and the answer right", None, lambda d: d.skill.startswith("system.")),
    Group("greetings, identity, questions about Dragoman", None, lambda d: d.skill.startswith("chat.")),
    Group("facts", None, lambda d: d.skill == "facts.fact"),
    Group("arithmetic", None, lambda d: d.skill == "facts.arithmetic"),
    Group("says so when it does not know", None, lambda d: d.skill == "facts.unknown"),
    Group("follow-up questions", None, lambda d: d.skill.startswith("followup.")),
    Group("repeating, counting, stories", None, lambda d: d.skill.startswith("copying.")),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:7411")
    parser.add_argument("--model", default="dragoman-tiny")
    parser.add_argument("--count", type=int, default=300, help="dialogues of each group")
    parser.add_argument("--seed", type=int, default=20_000, help="another one draws other held-out dialogues")
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--out", type=Path, help="where the failures go, one JSON object a line")
    options = parser.parse_args()
    sets = draw(options.seed, options.count)
    with ThreadPoolExecutor(options.parallel) as pool:
        replies = {title: list(pool.map(lambda d: ask(options.url, options.model, d), members)) for title, members in sets.items()}
    report(sets, replies, options.out)


def draw(seed: int, count: int) -> dict[str, list[Dialogue]]:
    """The same held-out dialogues for the same seed and count."""
    sets: dict[str, list[Dialogue]] = {group.title: [] for group in GROUPS}
    for dialogue in dialogues(seed, "heldout"):
        for group in GROUPS:
            if group.holds(dialogue) and len(sets[group.title]) < count:
                sets[group.title].append(dialogue)
        if all(len(members) == count for members in sets.values()):
            return sets
    raise AssertionError("dialogues() never ends")


def ask(url: str, model: str, dialogue: Dialogue) -> Reply:
    """The model's greedy answer to the conversation up to its last turn."""
    body = {
        "model": model,
        "messages": [to_wire(message) for message in dialogue.messages[:-1]],
        "temperature": 0,
        "max_tokens": 600,
        "chat_template_kwargs": {"enable_thinking": dialogue.thought is not None},
        **({"tools": dialogue.tools} if dialogue.tools else {}),
    }
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request) as response:
            choice = json.load(response)["choices"][0]
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{error.code}: {error.read().decode()}\n{json.dumps(body)}") from error
    message = choice["message"]
    calls = [{"name": c["function"]["name"], "arguments": parse(c["function"]["arguments"])} for c in message.get("tool_calls") or []]
    return Reply(message["content"] or "", message.get("reasoning_content") or "", calls, choice["finish_reason"])


def parse(arguments: str) -> Any:
    """The text itself where it is not JSON, as in a call that the token limit cut."""
    try:
        return json.loads(arguments)
    except json.JSONDecodeError:
        return arguments


def to_wire(message: dict[str, Any]) -> dict[str, Any]:
    if not message.get("tool_calls"):
        return message
    calls = [{**call, "function": {**call["function"], "arguments": json.dumps(call["function"]["arguments"])}} for call in message["tool_calls"]]
    return {**message, "tool_calls": calls}


def is_right(check: Check, reply: Reply) -> bool:
    """Whether the last turn is what was asked for, its end apart."""
    text = reply.text.strip()
    if text == "" and check.kind != "call":
        return False
    match check.kind:
        case "call":
            key = lambda call: json.dumps(call, sort_keys=True)  # noqa: E731
            return sorted(map(key, reply.calls)) == sorted(map(key, check.expected))
        case "no-call":
            # A call to a function that was not declared comes as text: that is no answer either.
            return not reply.calls and "<tool_call>" not in text
        case "contains":
            return not reply.calls and all(holds(text, part) for part in check.expected)
        case "equals":
            return text == str(check.expected).strip()
        case "upper":
            return text == text.upper() and all(holds(text, part) for part in check.expected)
        case "words":
            return len(text.split()) <= check.expected["max"] and all(holds(text, part) for part in check.expected["contains"])
        case "begins":
            return text.startswith(check.expected)
        case "ends":
            return text.rstrip(".").endswith(check.expected)
        case "json":
            return fits(text, check.expected["schema"]) and json.loads(text) == check.expected["value"]


def holds(text: str, part: str) -> bool:
    """`part` as whole words, whatever its case."""
    return re.search(rf"(?<!\w){re.escape(str(part))}(?!\w)", text, re.IGNORECASE) is not None


def fits(text: str, schema: dict[str, Any]) -> bool:
    try:
        jsonschema.validate(json.loads(text), schema)
    except (json.JSONDecodeError, jsonschema.ValidationError):
        return False
    return True


def report(sets: dict[str, list[Dialogue]], replies: dict[str, list[Reply]], out: Path | None) -> None:
    """One line of a table for each figure."""
    print("| skill | right | of | goal |\n| --- | --- | --- | --- |")
    for group in GROUPS:
        pairs = list(zip(sets[group.title], replies[group.title], strict=True))
        row(group.title, [is_right(d.check, reply) for d, reply in pairs], group.goal)
        if group.title.startswith("JSON"):
            row("valid JSON for a schema, without a grammar", [fits(reply.text.strip(), d.check.expected["schema"]) for d, reply in pairs], 90)
        if group.title.startswith("system"):
            row("system message obeyed", [is_right(d.obeys or d.check, reply) and reply.finish == "stop" for d, reply in pairs], 90)
    pairs = [pair for title in sets for pair in zip(sets[title], replies[title], strict=True)]
    row("thinking switch obeyed", [(reply.reasoning != "") == (d.thought is not None) and bool(reply.text.strip() or reply.calls) for d, reply in pairs], 99)
    row("natural stop", [reply.finish in ("stop", "tool_calls") for _, reply in pairs], 99)
    if out is not None:
        wrong = [(d, reply) for d, reply in pairs if not is_right(d.check, reply)]
        lines = [{"skill": d.skill, "messages": d.messages, "tools": d.tools, "expected": d.check.expected, "reply": vars(reply)} for d, reply in wrong]
        out.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines))


def row(title: str, right: list[bool], goal: int | None) -> None:
    print(f"| {title} | {100 * sum(right) / len(right):.1f} % | {len(right)} | {'' if goal is None else f'≥ {goal} %'} |")


if __name__ == "__main__":
    main()
