"""Fields of invented schemas: a name, a JSON Schema, a value that fits it, and the words in which a user says it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from . import values
from .dialogue import Split
from .patterns import Patterns, compose, join


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
_VALUE = ["{v}", "{v}", '"{v}"']
_CLAUSES = join(
    compose(["with ", "with the ", "with a ", "having ", "having the ", "and the ", "and with ", "plus the ", "the ", "its ", "of ", "at ", "by ", "", "for "], ["{f} "], _VALUE),
    compose(
        ["the ", "its ", "where ", "where the ", "whose ", "and the ", "and its ", "and ", "", "so that the "],
        ["{f}"],
        [" is ", " equals ", " = ", ": ", " must be ", " should be ", " is to be ", " shall be ", " has to be ", " being ", " set to "],
        _VALUE,
    ),
    compose(
        ["with ", "use ", "using ", "and use ", "take ", "and take ", "put ", "set ", "give it ", "I want "],
        _VALUE,
        [" as ", " as the ", " as its ", " for ", " for the ", " for its ", " in the "],
        ["{f}"],
    ),
    compose(["set the ", "set its ", "set ", "and set the ", "change the ", "put the ", "make the ", "let the "], ["{f}"], [" to ", " to be "], _VALUE),
    compose(["for the ", "for ", "as the ", "as ", "in the "], ["{f} "], ["take ", "use ", "put ", "I want ", "we have "], _VALUE),
    compose(["give it the ", "and give it the ", "it has the ", "this has the "], ["{f} "], _VALUE),
)

_FLAGS: dict[bool, Patterns] = {
    True: join(
        compose(["", "and ", "please "], ["make it ", "mark it as ", "mark this as ", "it is ", "it should be ", "it must be ", "this is ", "let it be ", "I want it ", "it has to be "], ["{f}"]),
        compose(["with ", "and ", "set ", "turn ", "switch ", "the flag ", "where "], ["{f}"], [" on", " to true", " = true", ": yes", " is true", ": true", " set to true", " yes", " being true"]),
    ),
    False: join(
        compose(["", "and ", "but "], ["do not make it ", "do not mark it as ", "it is not ", "it should not be ", "it must not be ", "this is not ", "not ", "I do not want it ", "it has not to be "], ["{f}"]),
        compose(["with ", "and ", "set ", "turn ", "switch ", "the flag ", "where "], ["{f}"], [" off", " to false", " = false", ": no", " is false", ": false", " set to false", " no", " being false"]),
    ),
}

_OBJECTS = compose(
    ["with ", "with the ", "the ", "its ", "whose ", "and a ", "and the ", "where the ", "in the ", ""],
    ["{f}"],
    [" with ", " has ", " has the ", " having ", " with the ", " is ", ": ", " that has ", " put "],
    ["{a} {va}"],
    [" and ", ", ", " and the ", " and with "],
    ["{b} {vb}"],
)

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
        pattern = rng.choice(_FLAGS[flag][split])
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
