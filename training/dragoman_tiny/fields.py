"""Fields of invented schemas: a name, a JSON Schema, a value that fits it, and the words in which a user says it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from . import values
from .dialogue import Split


@dataclass(frozen=True)
class Field:
    name: str
    schema: dict[str, Any]
    value: Any
    #: The user's words, such as `with the priority high`.
    clause: str
    pattern: str
    slots: tuple[str, ...]
    required: bool


#: How a user states a field of any type; {f} is its name in words, {v} its value.
_CLAUSES: dict[Split, list[str]] = {
    "train": [
        "with {f} {v}",
        "with the {f} {v}",
        "{f} {v}",
        "{f}: {v}",
        "{f} is {v}",
        "the {f} is {v}",
        "{f} = {v}",
        "using {v} as the {f}",
        "use {v} as {f}",
        "where {f} is {v}",
        "with {v} as the {f}",
        "its {f} is {v}",
        "and the {f} must be {v}",
        "{f} should be {v}",
        "for the {f} take {v}",
        "whose {f} is {v}",
        'with {f} "{v}"',
        'the {f} is "{v}"',
        "({f} {v})",
        "for {f} {v}",
        "give it the {f} {v}",
    ],
    "heldout": [
        "and its {f} should be {v}",
        "having the {f} {v}",
        "where the {f} equals {v}",
        "take {v} for the {f}",
        'and its {f} is to be "{v}"',
        "and use {v} as its {f}",
        "the {f} must be {v}",
    ],
}

_FLAGS: dict[Split, dict[bool, list[str]]] = {
    "train": {
        True: ["and make it {f}", "it is {f}", "{f}: yes", "with {f} on", "{f} is true", "mark it as {f}", "{f} please", "set {f} to true", "and {f}"],
        False: ["but not {f}", "it is not {f}", "{f}: no", "with {f} off", "{f} is false", "do not make it {f}", "set {f} to false", "and not {f}"],
    },
    "heldout": {
        True: ["it should be {f}", "with {f} set to true", "and mark this as {f}", "turn {f} on"],
        False: ["it should not be {f}", "with {f} set to false", "and this is not {f}", "turn {f} off"],
    },
}

_OBJECTS: dict[Split, list[str]] = {
    "train": [
        "with {f} {a} {va} and {b} {vb}",
        "the {f} has the {a} {va} and the {b} {vb}",
        "{f}: {a} {va}, {b} {vb}",
        "with the {f} ({a} {va}, {b} {vb})",
        "its {f} is {a} {va} and {b} {vb}",
        "where the {f} has {a} {va} and {b} {vb}",
        "in the {f} put {a} {va} and {b} {vb}",
    ],
    "heldout": ["whose {f} has the {a} {va} and the {b} {vb}", "and a {f} with {a} {va} and {b} {vb}", "the {f} is {a} {va}, {b} {vb}"],
}

_FLAG_NAMES: dict[Split, list[str]] = {
    "train": "urgent public private active hidden recursive archived shared verbose visible locked paid open premium silent enabled automatic temporary draft optional secret".split(),
    "heldout": "anonymous pinned encrypted refundable featured".split(),
}
_ENUMS: dict[Split, list[list[str]]] = {
    "train": [
        ["low", "medium", "high"],
        ["small", "large"],
        ["small", "medium", "large"],
        ["red", "green", "blue"],
        ["cash", "card"],
        ["daily", "weekly", "monthly"],
        ["ascending", "descending"],
        ["draft", "final"],
        ["open", "closed", "pending"],
        ["north", "south", "east", "west"],
        ["slow", "normal", "fast"],
        ["admin", "editor", "viewer"],
        ["text", "html"],
        ["new", "used"],
        ["light", "dark"],
    ],
    "heldout": [["bronze", "silver", "gold"], ["hourly", "yearly"], ["junior", "senior"], ["left", "center", "right"], ["economy", "business"]],
}


def spoken(name: str) -> str:
    """`dueDate` and `due_date` as a user says them: `due date`."""
    words = "".join(f" {c.lower()}" if c.isupper() else c for c in name).replace("_", " ").replace("-", " ")
    return words.strip()


def invent_fields(rng: random.Random, split: Split, count: int, *, nested: bool = True) -> list[Field]:
    """Fields with different names; the first is always required."""
    names: list[str] = []
    fields: list[Field] = []
    while len(fields) < count:
        field = _invent(rng, split, names, nested=nested, required=not fields or rng.random() < 0.7)
        if field.name not in names:
            names.append(field.name)
            fields.append(field)
    return fields


def object_schema(fields: list[Field], *, extra: dict[str, Any] | None = None) -> dict[str, Any]:
    """The JSON Schema of an object with these fields."""
    required = [field.name for field in fields if field.required]
    return {
        "type": "object",
        "properties": {field.name: field.schema for field in fields},
        **({"required": required} if required else {}),
        **(extra or {}),
    }


def _field_name(rng: random.Random, split: Split) -> str:
    name = values.value(rng, split, "field")
    if rng.random() < 0.2:
        second = values.value(rng, split, "field")
        name = f"{name}_{second}" if rng.random() < 0.6 else f"{name}{second.capitalize()}"
    return name


def _invent(rng: random.Random, split: Split, taken: list[str], *, nested: bool, required: bool) -> Field:
    kind = rng.choices(
        ["text", "phrase", "integer", "decimal", "flag", "enum", "array", "object", "digits"],
        [30, 10, 16, 6, 10, 11, 9, 8 if nested else 0, 4],
    )[0]
    name = rng.choice(_FLAG_NAMES[split]) if kind == "flag" else _field_name(rng, split)
    described = {"description": rng.choice([f"The {spoken(name)}.", f"The {spoken(name)}", spoken(name)])} if rng.random() < 0.3 else {}
    if kind == "flag":
        flag = rng.random() < 0.55
        pattern = rng.choice(_FLAGS[split][flag])
        return Field(name, {"type": "boolean", **described}, flag, pattern.format(f=spoken(name)), pattern, (), required)
    if kind == "object":
        inner = invent_fields(rng, split, 2, nested=False)
        while any(field.schema["type"] not in ("string", "integer") or "enum" in field.schema for field in inner):
            inner = invent_fields(rng, split, 2, nested=False)
        pattern = rng.choice(_OBJECTS[split])
        a, b = inner
        clause = pattern.format(f=spoken(name), a=spoken(a.name), va=a.value, b=spoken(b.name), vb=b.value)
        value = {field.name: field.value for field in inner}
        schema = {**object_schema(inner), **described}
        return Field(name, schema, value, clause, pattern, (*a.slots, *b.slots), required)
    value, text, schema, slots = _plain_value(rng, split, kind)
    pattern = rng.choice(_CLAUSES[split])
    return Field(name, {**schema, **described}, value, pattern.format(f=spoken(name), v=text), pattern, slots, required)


def _plain_value(rng: random.Random, split: Split, kind: str) -> tuple[Any, str, dict[str, Any], tuple[str, ...]]:
    if kind == "integer":
        number = values.integer(rng, split, 1, rng.choice([20, 100, 1000, 10000]))
        return number, str(number), {"type": rng.choice(["integer", "integer", "number"])}, (str(number),)
    if kind == "decimal":
        amount = values.decimal(rng, split, rng.choice([20, 100]))
        return amount, str(amount), {"type": "number"}, (str(amount),)
    if kind == "enum":
        words = rng.choice(_ENUMS[split])
        word = rng.choice(words)
        return word, word, {"type": "string", "enum": words}, ()
    if kind == "array":
        sort = rng.choice(["thing", "person", "color", "topic", "city"])
        items = values.distinct(rng, split, sort, rng.randint(2, 3))
        text = f"{', '.join(items[:-1])} and {items[-1]}" if rng.random() < 0.7 else ", ".join(items)
        return items, text, {"type": "array", "items": {"type": "string"}}, tuple(items)
    if kind == "digits":
        digits = str(values.integer(rng, split, 1000, 99999))
        return digits, digits, {"type": "string"}, (digits,)
    if kind == "phrase":
        phrase = values.value(rng, split, rng.choice(["task", "message"]))
        return phrase, phrase, {"type": "string"}, (phrase,)
    text = plain_text(rng, split)
    return text, text, {"type": "string"}, (text,)


def plain_text(rng: random.Random, split: Split) -> str:
    """A short value: a name, a place, a thing, a code, an address."""
    sort = rng.choice(["person", "full", "city", "thing", "topic", "color", "code", "email", "person", "thing"])
    if sort == "full":
        return f"{values.value(rng, split, 'person')} {values.value(rng, split, 'surname')}"
    if sort == "code":
        return values.code(rng, split)
    if sort == "email":
        return values.email(rng, split)
    return values.value(rng, split, sort)
