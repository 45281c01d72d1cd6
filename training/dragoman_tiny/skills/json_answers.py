"""Answers that are JSON for a schema which the conversation states."""

from __future__ import annotations

import json
import random

from ..dialogue import Check, Dialogue, Split
from ..fields import invent_fields, object_schema

_INSTRUCTIONS: dict[Split, list[str]] = {
    "train": [
        "Answer with JSON that matches this schema: {schema}",
        "Answer only with JSON for this schema: {schema}",
        "Reply in JSON. The schema is {schema}",
        "You reply with one JSON object and nothing else. Schema: {schema}",
        "Extract the data as JSON with the schema {schema}",
        "Fill in this JSON schema: {schema}",
        "Your output must be a JSON object that is valid for {schema}",
        "Respond with a JSON object following this schema:\n{schema}",
        "Turn what the user says into JSON. Use this schema: {schema}",
        "Output JSON only.\nSchema:\n{schema}",
        "Write the facts as a JSON object like this: {schema}",
        "JSON schema: {schema}. Answer in JSON.",
    ],
    "heldout": [
        "Answer with one JSON object for this schema: {schema}",
        "Reply only with JSON that is valid for the schema {schema}",
        "Respond in JSON. Use this schema:\n{schema}",
        "Extract the facts as JSON. Schema: {schema}",
    ],
}

_FACTS: dict[Split, list[str]] = {
    "train": ["{facts}", "Here it is: {facts}", "{facts}.", "Data: {facts}", "I have this: {facts}", "We know: {facts}.", "Text: {facts}", "Please note {facts}", "It comes {facts}", "One item {facts}"],
    "heldout": ["Here is the data: {facts}", "We have {facts}.", "Please take this: {facts}", "The facts: {facts}"],
}


def json_answer(rng: random.Random, split: Split) -> Dialogue:
    fields = [field for field in invent_fields(rng, split, rng.choices([1, 2, 3, 4], [20, 38, 30, 12])[0])]
    said = [field for field in fields if field.required or rng.random() < 0.6]
    order = list(said)
    rng.shuffle(order)
    glue = rng.choice([", ", " and ", "; ", ". "])
    facts = glue.join(field.clause.removeprefix("and ").removeprefix("but ") for field in order)
    schema = object_schema(fields, extra=rng.choice([None, None, {"additionalProperties": False}]))
    if rng.random() < 0.15:
        schema = {"$schema": "http://json-schema.org/draft-07/schema#", **schema}
    instruction, carrier = rng.choice(_INSTRUCTIONS[split]), rng.choice(_FACTS[split])
    told = instruction.replace("{schema}", json.dumps(schema, ensure_ascii=False))
    text = carrier.replace("{facts}", facts)
    if rng.random() < 0.6:
        messages = [{"role": "system", "content": told}, {"role": "user", "content": text}]
    else:
        messages = [{"role": "user", "content": f"{told}\n\n{text}" if rng.random() < 0.7 else f"{text}\n\n{told}"}]
    value = {field.name: field.value for field in said}
    messages.append({"role": "assistant", "content": json.dumps(value, ensure_ascii=False)})
    return Dialogue(
        "json-answer",
        messages,
        Check("json", {"schema": schema, "value": value}),
        thought="I answer in JSON.",
        slots=tuple(slot for field in said for slot in field.slots),
        patterns=(instruction, carrier, *(field.pattern for field in said)),
    )
