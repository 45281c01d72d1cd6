"""Fields of invented schemas: a name, a JSON Schema, a value that fits it, and the words in which a user says it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import values
from .dialogue import Split
from .patterns import Patterns, compose, join


@dataclass(frozen=True)
class Declared:
    """A field as a schema declares it."""

    name: str
    #: What its values are: text, phrase, integer, decimal, flag, enum, array, object or digits.
    kind: str
    schema: dict[str, Any]
    required: bool
    #: The fields of an object.
    inner: tuple[Declared, ...] = ()


@dataclass(frozen=True)
class Field:
    """A field with a value, and how a user says it."""

    name: str
    schema: dict[str, Any]
    value: Any
    #: The user's words, such as `with the priority high`.
    clause: str
    pattern: str
    slots: tuple[str, ...]


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


def invent_fields(rng: random.Random, split: Split, count: int, *, nested: bool = True, around: Sequence[Declared] = ()) -> list[Declared]:
    """Fields with different names; the first is always required. In training some share words with each other and with those `around`."""
    fields: list[Declared] = []
    while len(fields) < count:
        field = _invent(rng, split, nested=nested, required=not fields or rng.random() < 0.7, others=[*around, *fields])
        if field.name not in [other.name for other in fields]:
            fields.append(field)
    return fields


def object_schema(fields: Sequence[Declared], *, extra: dict[str, Any] | None = None) -> dict[str, Any]:
    """The JSON Schema of an object with these fields."""
    required = [field.name for field in fields if field.required]
    return {
        "type": "object",
        "properties": {field.name: field.schema for field in fields},
        **({"required": required} if required else {}),
        **(extra or {}),
    }


def _field_name(rng: random.Random, split: Split, others: Sequence[Declared]) -> str:
    name = values.value(rng, split, "field")
    if split == "train" and others and rng.random() < 0.35:
        # Fields that share words, such as `start` and `start_date`, have to be told apart.
        near = rng.choice(spoken(rng.choice(others).name).split())
        a, b = rng.choice([(name, near), (near, name)])
        return f"{a}_{b}" if rng.random() < 0.6 else f"{a}{b.capitalize()}"
    if rng.random() < 0.2:
        second = values.value(rng, split, "field")
        name = f"{name}_{second}" if rng.random() < 0.6 else f"{name}{second.capitalize()}"
    return name


def _invent(rng: random.Random, split: Split, *, nested: bool, required: bool, others: Sequence[Declared]) -> Declared:
    kind = rng.choices(
        ["text", "phrase", "integer", "decimal", "flag", "enum", "array", "object", "digits"],
        [30, 10, 16, 6, 10, 11, 9, 8 if nested else 0, 4],
    )[0]
    # Half of the flags and options of training have names like any other field, so that only the schema says what they are.
    any_name = split == "train" and rng.random() < 0.5
    name = rng.choice(_FLAG_NAMES[split]) if kind == "flag" and not any_name else _field_name(rng, split, others)
    described = {"description": rng.choice([f"The {spoken(name)}.", f"The {spoken(name)}", spoken(name)])} if rng.random() < 0.3 else {}
    inner: tuple[Declared, ...] = ()
    if kind == "object":
        while len(inner) < 2 or any(field.kind not in ("text", "phrase", "digits", "integer") for field in inner):
            inner = tuple(invent_fields(rng, split, 2, nested=False, around=others))
        schema: dict[str, Any] = object_schema(inner)
    elif kind == "enum":
        invented = list(dict.fromkeys(values.invented_word(rng, (1, 2)) for _ in range(rng.randint(2, 4))))
        schema = {"type": "string", "enum": invented if any_name and len(invented) > 1 else rng.choice(_ENUMS[split])}
    elif kind == "array":
        schema = {"type": "array", "items": {"type": "string"}}
    else:
        schema = {"type": {"integer": rng.choice(["integer", "integer", "number"]), "decimal": "number", "flag": "boolean"}.get(kind, "string")}
    return Declared(name, kind, {**schema, **described}, required, inner)


def say(rng: random.Random, split: Split, field: Declared) -> Field:
    """A value for the field, and words for it."""
    name = spoken(field.name)
    if field.kind == "flag":
        flag = rng.random() < 0.55
        pattern = rng.choice(_FLAGS[flag][split])
        return Field(field.name, field.schema, flag, pattern.format(f=name), pattern, ())
    if field.kind == "object":
        pattern = rng.choice(_OBJECTS[split])
        (a, va, text_a, slots_a), (b, vb, text_b, slots_b) = ((inner.name, *_plain_value(rng, split, inner)) for inner in field.inner)
        clause = pattern.format(f=name, a=spoken(a), va=text_a, b=spoken(b), vb=text_b)
        return Field(field.name, field.schema, {a: va, b: vb}, clause, pattern, (*slots_a, *slots_b))
    value, text, slots = _plain_value(rng, split, field)
    pattern = rng.choice(_CLAUSES[split])
    return Field(field.name, field.schema, value, pattern.format(f=name, v=text), pattern, slots)


def _plain_value(rng: random.Random, split: Split, field: Declared) -> tuple[Any, str, tuple[str, ...]]:
    """A value, the user's words for it, and the free values in it."""
    match field.kind:
        case "integer":
            number = values.integer(rng, split, 1, rng.choice([20, 100, 1000, 10000]))
            return number, str(number), (str(number),)
        case "decimal":
            amount = values.decimal(rng, split, rng.choice([20, 100]))
            return amount, str(amount), (str(amount),)
        case "enum":
            word = rng.choice(field.schema["enum"])
            return word, word, ()
        case "array":
            sort = rng.choice(["thing", "person", "color", "topic", "city"])
            items = values.distinct(rng, split, sort, rng.randint(2, 3))
            return items, f"{', '.join(items[:-1])} and {items[-1]}" if rng.random() < 0.7 else ", ".join(items), tuple(items)
        case "digits":
            text = str(values.integer(rng, split, 1000, 99999))
        case "phrase":
            text = values.value(rng, split, rng.choice(["task", "message"]))
        case _:
            text = plain_text(rng, split)
    return text, text, (text,)


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
