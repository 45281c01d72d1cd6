"""Tool calls: choosing a declared function by what it does, copying its arguments, and leaving it when none fits."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import values
from ..dialogue import Check, Dialogue, Split
from ..fields import Declared, invent_fields, object_schema, say, spoken
from ..patterns import compose, join
from .tool_table import DOMAIN_TOOLS, DomainTool


@dataclass(frozen=True)
class InventedTool:
    """A made-up function `verb_noun`."""

    verb: str
    noun: str
    fields: list[Declared]


@dataclass(frozen=True)
class Request:
    """What a user asks for, and the call that does it."""

    tool: dict[str, Any]
    source: DomainTool | InventedTool
    text: str
    arguments: dict[str, Any]
    patterns: tuple[str, ...]
    slots: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.tool["function"]["name"]

    @property
    def call(self) -> dict[str, Any]:
        return {"name": self.name, "arguments": self.arguments}


#: Verb to the words a user may say for it.
_VERBS: dict[str, list[str]] = {
    "create": ["create", "make", "add", "open"],
    "delete": ["delete", "remove", "erase"],
    "update": ["update", "change", "edit"],
    "get": ["get", "show", "fetch", "look up"],
    "find": ["find", "search for", "locate"],
    "list": ["list", "show all", "enumerate"],
    "send": ["send", "deliver"],
    "book": ["book", "reserve"],
    "cancel": ["cancel", "call off"],
    "start": ["start", "launch", "run"],
    "stop": ["stop", "halt", "end"],
    "rename": ["rename"],
    "move": ["move", "transfer"],
    "copy": ["copy", "duplicate"],
    "share": ["share"],
    "archive": ["archive"],
    "assign": ["assign"],
    "approve": ["approve", "accept"],
    "reject": ["reject", "decline"],
    "export": ["export"],
    "import": ["import"],
    "schedule": ["schedule", "plan"],
    "lock": ["lock"],
    "check": ["check", "verify"],
    "rate": ["rate"],
    "print": ["print"],
}

_OPENERS = (
    "|please |can you |could you |could you please |would you |would you please |I want to |I want you to |I need to |I need you to |help me |help me to "
    "|let's |let us |time to |it is time to |hey, |go and |please go and |now |now please |we have to |we need to |you should |you must |I'd like to "
    "|I would like to |my boss wants you to |do me a favor and |quickly |next, |ok, |first, |just |can you help me and |I have to "
).split("|")
_SENTENCES = compose(_OPENERS, ["{verb} {det} {noun}"], [" ", ", ", ": ", " for me, ", " for me ", " now, ", " for us: "], ["{rest}", "{rest}", "{rest}?"])

_JOINS = join(
    compose(["", "two things: ", "do two things: ", "first "], ["{a}"], [" and ", ". Then ", ", and also ", "; ", ". Also ", " and then ", ", then ", ". After that ", "\n", ", then also ", ". When that is done, ", " plus "], ["{b}"]),
)

REFUSAL = "I have no function for that."


def _style(rng: random.Random) -> Callable[[str, str], str]:
    return rng.choices(
        [
            lambda verb, noun: f"{verb}_{noun}",
            lambda verb, noun: f"{verb}{noun.capitalize()}",
            lambda verb, noun: f"{noun}_{verb}",
            lambda verb, noun: f"{verb}-{noun}",
            lambda verb, noun: f"{noun}.{verb}",
        ],
        [60, 20, 8, 8, 4],
    )[0]


def _declare(rng: random.Random, name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    described = {"description": description} if rng.random() < 0.9 else {}
    return {"type": "function", "function": {"name": name, **described, "parameters": parameters}}


def _describe(rng: random.Random, verb: str, noun: str) -> str:
    phrase = rng.choice([verb, verb, *_VERBS[verb]])
    return rng.choice(
        [
            f"{phrase.capitalize()} a {noun}.",
            f"{phrase.capitalize()} a {noun}",
            f"{phrase.capitalize()} the {noun}.",
            f"Use this to {phrase} a {noun}.",
            f"Lets you {phrase} a {noun}.",
            f"{phrase.capitalize()} one {noun} of the user.",
        ]
    )


def invented_request(rng: random.Random, split: Split, *, noun: str | None = None, verb: str | None = None, around: Sequence[Declared] = ()) -> Request:
    """A request for a made-up function with made-up parameters, some of whose names share words with those `around` in training."""
    noun = noun or values.value(rng, split, "noun")
    verb = verb or rng.choice(list(_VERBS))
    # The evaluator stays within three parameters; training sees a few more.
    count = rng.choices([0, 1, 2, 3, 4], [3, 38, 36, 18, 5 if split == "train" else 0])[0]
    fields = invent_fields(rng, split, count, around=around) if count > 0 else []
    extra = rng.choices([None, {"additionalProperties": False}], [85, 15])[0]
    tool = _declare(rng, _style(rng)(verb, noun), _describe(rng, verb, noun), object_schema(fields, extra=extra))
    return _ask_invented(rng, split, tool, InventedTool(verb, noun, fields))


def _ask_invented(rng: random.Random, split: Split, tool: dict[str, Any], source: InventedTool) -> Request:
    verb, noun = source.verb, source.noun
    said = [say(rng, split, field) for field in source.fields if field.required or rng.random() < 0.6]
    rest = list(said)
    rng.shuffle(rest)
    glue = rng.choice([" ", ", ", " and ", ", "]) if len(rest) > 1 else ""
    clauses = glue.join(_without_and(field.clause) if glue == " and " else field.clause for field in rest)
    pattern = rng.choice(_SENTENCES[split])
    text = pattern.format(verb=rng.choice([verb, *_VERBS[verb]]), det=rng.choice(["a", "the", "the", "my", "this"]), noun=noun, rest=clauses)
    text = text.strip(" ,:").replace(" ?", "?").replace(",?", "?").replace(":?", "?")
    slots = tuple(slot for field in said for slot in field.slots)
    return Request(tool, source, _finish(rng, text), {field.name: field.value for field in said}, (pattern, *(f.pattern for f in said)), slots)


def _without_and(clause: str) -> str:
    return clause.removeprefix("and ").removeprefix("but ")


def _finish(rng: random.Random, text: str) -> str:
    if rng.random() < 0.4:
        text = text[0].upper() + text[1:]
    if text[-1] not in "?.!)" and rng.random() < 0.4:
        text += "."
    return text


def domain_request(rng: random.Random, split: Split, tool: DomainTool | None = None) -> Request:
    """A request for one of the functions that everybody's examples use."""
    tool = tool or rng.choice(DOMAIN_TOOLS)
    pattern, constants = tool.sentence(rng, split)
    arguments: dict[str, Any] = {}
    words: dict[str, str] = {}
    slots: list[str] = []
    for name, parameter in tool.parameters.items():
        if name in constants:
            arguments[name] = constants[name]
        elif "{" + name + "}" in pattern:
            drawn, text, used = parameter.draw(rng, split)
            arguments[name], words[name] = drawn, text
            slots += used
    prefix = rng.choice(["", "", "", "please ", "hey, ", "can you "]) if split == "train" and not pattern.endswith("?") else ""
    schema: dict[str, Any] = {"type": "object", "properties": {name: _documented(rng, parameter.schema, name) for name, parameter in tool.parameters.items()}}
    if tool.required:
        schema["required"] = list(tool.required)
    declared = _declare(rng, tool.name, rng.choice(tool.descriptions), schema)
    return Request(declared, tool, _finish(rng, prefix + pattern.format(**words)), arguments, (pattern,), tuple(slots))


def _documented(rng: random.Random, schema: dict[str, Any], name: str) -> dict[str, Any]:
    return {**schema, "description": f"The {spoken(name)}."} if rng.random() < 0.3 and "description" not in schema else schema


def request(rng: random.Random, split: Split) -> Request:
    """A request of either kind."""
    return domain_request(rng, split) if rng.random() < 0.4 else invented_request(rng, split)


def other_request(rng: random.Random, split: Split, taken: list[Request]) -> Request:
    """A request that none of these functions could do."""
    while True:
        other = request(rng, split)
        if not any(other.name == item.name or _same_job(other.name, item.name) for item in taken):
            return other


def _distractors(rng: random.Random, split: Split, wanted: list[Request], count: int) -> list[dict[str, Any]]:
    """Other functions, some of them close: the same noun with another verb, or the other way round."""
    names = {item.name for item in wanted}
    found: list[dict[str, Any]] = []
    while len(found) < count:
        other = _near_request(rng, split, rng.choice(wanted))
        if other.name not in names and not any(_same_job(other.name, name) for name in names):
            names.add(other.name)
            found.append(other.tool)
    return found


def _near_request(rng: random.Random, split: Split, near: Request) -> Request:
    """Any request, or one that is easily taken for this one."""
    verb, noun = _job(near, split)
    around = near.source.fields if isinstance(near.source, InventedTool) else []
    same_noun, same_verb = (0.3, 0.55) if split == "train" else (0.2, 0.35)
    roll = rng.random()
    if verb and noun and roll < same_noun:
        return invented_request(rng, split, noun=noun, verb=rng.choice([v for v in _VERBS if not _alike(v, verb)]), around=around)
    if verb and roll < same_verb:
        return invented_request(rng, split, verb=verb, around=around)
    return request(rng, split)


def unlike(rng: random.Random, split: Split, taken: list[Request]) -> Request:
    """A request that none of these functions could do, although it may sound like it."""
    while True:
        other = _near_request(rng, split, rng.choice(taken))
        if not any(other.name == item.name or _is_alike(_job(other, split), _job(item, split)) for item in taken):
            return other


def _job(item: Request, split: Split) -> tuple[str | None, str | None]:
    """What it does, to what. For the evaluator read from the name, which not every style lets: its draws stay what they were."""
    if split == "train" and isinstance(item.source, InventedTool):
        return item.source.verb, item.source.noun
    return _parts(item.name)


def _parts(name: str) -> tuple[str | None, str | None]:
    for separator in "_-.":
        if separator in name:
            a, b = name.split(separator, 1)
            if a in _VERBS:
                return a, b
            if b in _VERBS:
                return b, a
    return None, None


def _alike(a: str, b: str) -> bool:
    groups = [{"get", "find", "list", "check"}, {"book", "create", "schedule"}, {"cancel", "delete", "stop"}, {"start", "create"}, {"update", "rename"}]
    return a == b or any(a in group and b in group for group in groups)


def _same_job(a: str, b: str) -> bool:
    return _is_alike(_parts(a), _parts(b))


def _is_alike(a: tuple[str | None, str | None], b: tuple[str | None, str | None]) -> bool:
    (verb_a, noun_a), (verb_b, noun_b) = a, b
    return noun_a is not None and noun_a == noun_b and verb_a is not None and verb_b is not None and _alike(verb_a, verb_b)


def declare(rng: random.Random, split: Split, wanted: list[Request], count: int | None = None) -> list[dict[str, Any]]:
    """The functions of these requests and as many others, in any order."""
    count = rng.choices([0, 1, 2, 3, 4], [18, 30, 30, 16, 6])[0] if count is None else count
    tools = list({item.name: item.tool for item in wanted}.values()) + _distractors(rng, split, wanted, count)
    rng.shuffle(tools)
    return tools


def call_message(requests: list[Request]) -> dict[str, Any]:
    """The assistant's turn that makes these calls."""
    calls = [
        {"id": f"call_{index}", "type": "function", "function": {"name": item.name, "arguments": item.arguments}}
        for index, item in enumerate(requests)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def single_call(rng: random.Random, split: Split) -> Dialogue:
    wanted = request(rng, split)
    return _call_dialogue("tool-call", [wanted], wanted.text, declare(rng, split, [wanted]), wanted.patterns)


def parallel_calls(rng: random.Random, split: Split) -> Dialogue:
    first = request(rng, split)
    if rng.random() < 0.5 and first.arguments:
        second = again(rng, split, first)
        while second.arguments == first.arguments:
            first = request(rng, split)
            second = again(rng, split, first)
    else:
        second = other_request(rng, split, [first])
    join = rng.choice(_JOINS[split])
    text = join.format(a=first.text.rstrip(".?"), b=second.text[0].lower() + second.text[1:] if rng.random() < 0.5 else second.text)
    tools = declare(rng, split, [first, second], rng.choice([0, 0, 1, 2]))
    return _call_dialogue("parallel-calls", [first, second], text, tools, (join, *first.patterns, *second.patterns))


def again(rng: random.Random, split: Split, first: Request) -> Request:
    """The same function with other values."""
    if isinstance(first.source, InventedTool):
        return _ask_invented(rng, split, first.tool, first.source)
    return replace(domain_request(rng, split, first.source), tool=first.tool)


def _call_dialogue(skill: str, wanted: list[Request], text: str, tools: list[dict[str, Any]], patterns: tuple[str, ...]) -> Dialogue:
    names = " and ".join(item.name for item in wanted)
    return Dialogue(
        skill,
        [{"role": "user", "content": text}, call_message(wanted)],
        Check("call", [item.call for item in wanted]),
        tools=tools,
        thought=f"The user needs {names}.",
        slots=tuple(slot for item in wanted for slot in item.slots),
        patterns=patterns,
    )


def missing_tool(rng: random.Random, split: Split) -> Dialogue:
    """A request that none of the declared functions can do."""
    wanted = request(rng, split)
    tools = _distractors(rng, split, [wanted], rng.choices([1, 2, 3, 4], [35, 35, 20, 10])[0])
    return Dialogue(
        "no-tool-fits",
        [{"role": "user", "content": wanted.text}, {"role": "assistant", "content": REFUSAL}],
        Check("no-call"),
        tools=tools,
        thought="None of the functions fits.",
        slots=wanted.slots,
        patterns=wanted.patterns,
    )


def unrelated(rng: random.Random, split: Split, talk: Dialogue) -> Dialogue:
    """Small talk while functions are declared: it is answered, nothing is called."""
    near = request(rng, split)
    tools = [near.tool, *_distractors(rng, split, [near], rng.choices([0, 1, 2, 3], [40, 30, 20, 10])[0])]
    return replace(talk, skill="no-call", tools=tools, check=replace(talk.check, kind="no-call", expected=None))
