"""Answers that are JSON for a schema which the conversation states."""

from __future__ import annotations

import json
import random

from ..dialogue import Check, Dialogue, Split
from ..fields import Declared, Field, invent_fields, object_schema, say
from ..patterns import compose, join

_INSTRUCTIONS = join(
    compose(
        ["Answer ", "Reply ", "Respond ", "Answer only ", "Reply only ", "Please answer ", "You answer ", "You reply "],
        ["with JSON ", "in JSON ", "with one JSON object ", "with a JSON object ", "as JSON "],
        ["that matches the schema ", "for this schema: ", "that is valid for ", "following this schema: ", "with this schema: ", ". Schema: ", "that fits the schema "],
        ["{schema}"],
    ),
    compose(
        ["Extract ", "Turn ", "Write ", "Put ", "Give me "],
        ["the data ", "the facts ", "this ", "what the user says ", "the text "],
        ["as JSON ", "into JSON ", "as a JSON object "],
        ["with the schema ", "for the schema ", ". Use this schema: ", ". Schema: ", "like this: "],
        ["{schema}"],
    ),
    compose(["Fill in this JSON schema: ", "JSON schema: ", "Output JSON only. Schema: ", "Your output must be valid JSON for ", "The schema of your JSON answer is "], ["{schema}"], ["", ". JSON only.", ". Nothing else.", ". Answer in JSON."]),
)

_FACTS = compose(["", "Here it is: ", "Data: ", "Text: ", "I have this: ", "We have this: ", "We know: ", "Please note: ", "One item ", "It comes ", "Here is the data: ", "The facts: ", "Please take this: "], ["{facts}"], ["", ".", " please", ". Thanks"])


def json_answer(rng: random.Random, split: Split) -> Dialogue:
    """One text into JSON; or several, one after the other, for a schema that the system message states."""
    fields = invent_fields(rng, split, rng.choices([1, 2, 3, 4], [20, 38, 30, 12])[0])
    schema = object_schema(fields, extra=rng.choice([None, None, {"additionalProperties": False}]))
    if rng.random() < 0.15:
        schema = {"$schema": "http://json-schema.org/draft-07/schema#", **schema}
    instruction = rng.choice(_INSTRUCTIONS[split])
    told = instruction.replace("{schema}", json.dumps(schema, ensure_ascii=False))
    by_system = rng.random() < 0.6
    messages = [{"role": "system", "content": told}] if by_system else []
    patterns, slots = [instruction], []
    for _ in range(rng.choice([1, 1, 2, 3]) if by_system else 1):
        text, said, carrier = _facts(rng, split, fields)
        value = {field.name: field.value for field in said}
        if not by_system:
            text = f"{told}\n\n{text}" if rng.random() < 0.7 else f"{text}\n\n{told}"
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": json.dumps(value, ensure_ascii=False)}]
        patterns += [carrier, *(field.pattern for field in said)]
        slots += [slot for field in said for slot in field.slots]
    return Dialogue("json-answer", messages, Check("json", {"schema": schema, "value": value}), thought="I answer in JSON.", slots=tuple(slots), patterns=tuple(patterns))


def _facts(rng: random.Random, split: Split, fields: list[Declared]) -> tuple[str, list[Field], str]:
    """A text that says a value for each required field, and for some of the others."""
    said = [say(rng, split, field) for field in fields if field.required or rng.random() < 0.6]
    order = list(said)
    rng.shuffle(order)
    glue, carrier = rng.choice([", ", " and ", "; ", ". "]), rng.choice(_FACTS[split])
    clauses = glue.join(field.clause.removeprefix("and ").removeprefix("but ") for field in order)
    return carrier.replace("{facts}", clauses), said, carrier
