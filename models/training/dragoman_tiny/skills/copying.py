"""Saying exactly what is asked for: repeating, counting, lists that everybody knows, and three little stories of our own."""

from __future__ import annotations

import random
from collections.abc import Callable

from ..dialogue import Check, Dialogue, Split
from ..patterns import compose, join
from ..values import code, decimal, email, integer, is_heldout_number, value
from .chat import Item, Patterns, ask, dress, to_dialogue
from .facts import DAYS, MONTHS

_SAY = ["repeat", "say", "echo", "write", "copy", "print", "type", "output"]
_REPEAT = join(
    compose(["", "", "now ", "I want you to ", "just ", "you must ", "your task: "], _SAY, ["", " after me", " exactly", " this", " exactly this", " the following", " my words", " only", " this text", " the text", " these words", " the words after me", " exactly the following", " this after me"], [": {x}", ' "{x}"', ': "{x}"']),
    compose(["", "now ", "just ", "I want you to "], ["answer ", "reply ", "respond ", "answer me "], ["with", "only with", "exactly with", "with exactly", "with this", "with the text", "with the words", "with nothing but"], [": {x}", ' "{x}"']),
    compose(["can you ", "could you "], _SAY, [" this", " the following", " after me", " exactly this", " the text"], ["? {x}", ': "{x}"?']),
    compose(["", "just ", "now "], ["say", "repeat", "write", "print", "echo"], [" {x}"]),
)
_ORDINARY = ["hello world", "yes", "no", "ok", "good morning", "I am a parrot", "one two three", "banana", "pong", "ready", "the cat sat on the mat", "hello", "ping", "test", "this is a test"]


def phrase(rng: random.Random, split: Split) -> tuple[str, tuple[str, ...]]:
    """One to eight words that must be copied, and the values in them."""
    kind = rng.choices(["task", "message", "thing", "person", "city", "code", "number", "email", "mixed", "name", "list", "ordinary"], [4, 4, 2, 2, 2, 2, 1.5, 1.5, 5, 1, 2, 1 if split == "train" else 0])[0]
    if kind == "ordinary":
        return rng.choice(_ORDINARY), ()
    if kind == "code":
        text = code(rng, split)
    elif kind == "email":
        text = email(rng, split)
    elif kind == "number":
        text = str(integer(rng, split, 20, 99999) if rng.random() < 0.6 else decimal(rng, split, 500))
    elif kind == "name":
        parts = (value(rng, split, "person"), value(rng, split, "surname"))
        return " ".join(parts), parts
    elif kind == "list":
        parts = tuple(value(rng, split, rng.choice(["thing", "color", "noun", "topic", "field"])) for _ in range(rng.randint(2, 5)))
        return rng.choice([", ", " ", " and "]).join(parts), parts
    elif kind == "mixed":
        parts = (value(rng, split, "person"), value(rng, split, "thing"), str(integer(rng, split, 20, 999)), value(rng, split, "city"), value(rng, split, "color"))
        person, thing, number, city, color = parts
        text = rng.choice([f"{person} has {number} {thing}", f"the {color} {thing} is in {city}", f"{city} {number}", f"{person} and the {color} {thing}", f"{person} lives in {city}", f"{thing} {number} {color}", f"{person}, {city}, {number}"])
        return text, tuple(part for part in parts if part in text)
    else:
        text = value(rng, split, kind)
    return text, (text,)


def repeat_item(rng: random.Random, split: Split) -> Item:
    """A phrase to say again, exactly."""
    pattern = rng.choice(_REPEAT[split])
    text, slots = phrase(rng, split)
    return Item("copying.repeat", dress(rng, pattern, tail=False).format(x=text), text, Check("equals", text), f"I say exactly: {text}", (pattern,), slots)


def repeat(rng: random.Random, split: Split) -> Dialogue:
    """A phrase to say again."""
    return to_dialogue(repeat_item(rng, split))


_COUNT: Patterns = {
    "train": ["Count from {a} to {b}.", "Count to {b} from {a}.", "Can you count from {a} to {b}?", "List the numbers from {a} to {b}.", "Write the numbers from {a} to {b}.", "Say the numbers from {a} to {b}.", "Count: {a} to {b}.", "Give me all numbers from {a} to {b}.",
              "Start at {a} and count to {b}.", "Count up from {a} to {b}.", "Which numbers are between {a} and {b}, both included?", "Numbers from {a} to {b}.", "Show the numbers {a} to {b}.", "Begin at {a} and stop at {b}. Count.", "Please count from {a} up to {b}."],
    "heldout": ["Can you count up from {a} to {b}?", "Say all numbers from {a} to {b}.", "List all numbers {a} to {b}.", "Start with {a}, count, and stop at {b}.", "Show me the numbers from {a} to {b}."],
}
_COUNT_ONE: Patterns = {
    "train": ["Count to {b}.", "Can you count to {b}?", "Please count to {b}.", "Count up to {b}.", "Count until {b}.", "I want you to count to {b}.", "Can you count up to {b}?"],
    "heldout": ["I want you to count up to {b}.", "Please show me how you count to {b}.", "Can you count until {b}?"],
}
_COUNT_DOWN: Patterns = {
    "train": ["Count down from {b} to {a}.", "Count backwards from {b} to {a}.", "Start at {b} and count down to {a}.", "Give me a countdown from {b} to {a}.", "Count from {b} down to {a}."],
    "heldout": ["Can you count down from {b} to {a}?", "Start at {b} and count backwards to {a}."],
}


def count(rng: random.Random, split: Split) -> Dialogue:
    """Counting up, or down; the end (the higher number) belongs to the split."""
    kind = rng.choices(["range", "one", "down"], [5, 4, 1.5])[0]
    b = integer(rng, split, 2, 30) if kind == "one" else integer(rng, split, 4, 90)
    low = max(0, b - (39 if kind == "range" else 19))
    a = 1 if kind == "one" or rng.random() < 0.25 and low <= 1 else rng.choice([n for n in range(low, b - 1) if is_heldout_number(n) == (split == "heldout")] or [low])
    patterns = {"range": _COUNT, "one": _COUNT_ONE, "down": _COUNT_DOWN}[kind]
    pattern, user = ask(rng, split, patterns)
    numbers = range(b, a - 1, -1) if kind == "down" else range(a, b + 1)
    answer = ", ".join(str(n) for n in numbers)
    thought = f"I count {'down from ' + str(b) + ' to ' + str(a) if kind == 'down' else 'from ' + str(a) + ' to ' + str(b)}."
    return to_dialogue(Item("copying.count", user.format(a=a, b=b), answer, Check("equals", answer), thought, (pattern,), (f"count to {b}",)))


_ALPHABET = "a b c d e f g h i j k l m n o p q r s t u v w x y z".split()
_LISTS: dict[str, list[str]] = {"days of the week": DAYS, "months of the year": MONTHS, "letters of the alphabet": _ALPHABET, "seasons of the year": ["Spring", "Summer", "Autumn", "Winter"], "colours of the rainbow": "Red Orange Yellow Green Blue Indigo Violet".split()}
_LIST: Patterns = {
    "train": ["List the {x}.", "Name the {x}.", "What are the {x}?", "Tell me the {x}.", "Which are the {x}?", "Say the {x}.", "Can you name the {x}?", "Write the {x}.", "Give me the {x}.", "Can you list the {x}?", "The {x}?", "Do you know the {x}?", "Show me the {x}.", "Name all {x}.", "Recite the {x}.", "I need the {x}."],
    "heldout": ["List all {x}.", "Can you tell me the {x}?", "Write all {x}.", "Do you know all {x}?"],
}


def known_list(rng: random.Random, split: Split) -> Dialogue:
    """A list that everybody knows."""
    name, entries = rng.choice(list(_LISTS.items()))
    frame = rng.choice(_LIST[split])
    pattern = frame.replace("{x}", name)
    answer = ", ".join(entries) + "."
    return to_dialogue(Item("copying.list", dress(rng, pattern), answer, Check("contains", [", ".join(entries)]), f"I list the {name}.", (pattern,)))


_FOX = ("A young fox lived at the edge of a quiet forest. Every evening she looked at the lights of the village and wondered who lived there. One night she followed the path down the hill. In a garden she met an old dog. "
        "The dog did not bark. He showed her the warm barn, the deep well and the apple tree. In return the fox told him how the moon looks from the top of the hill. From then on they met every evening, and both of them were a little less alone.")
_SHIP = ("A small ship left the harbour early in the morning. Her captain carried letters for an island far away. At noon a storm came up and the waves grew tall. The captain tied the letters in a dry cloth and sang loudly, so that nobody was afraid. "
         "All night the ship went up and down like a nutshell. When the sun came back, the island lay in front of them. The people ran to the beach, read their letters and laughed. In the evening they lit a fire and sang the song of the captain.")
_LIGHTHOUSE = ("On a grey rock stood an old lighthouse. Its keeper lit the lamp every night for forty years. One winter the oil ran out and the sea was dark. The keeper took a big bell and rang it until his arms hurt. "
               "Far out, a fishing boat heard the sound and turned away from the rocks. In the morning the fishermen came with a barrel of oil and a basket of bread. Since then the lighthouse has a lamp and a bell, and the keeper is never out of friends.")
_STORIES = {"fox": (_FOX, "a little less alone"), "ship": (_SHIP, "the song of the captain"), "lighthouse": (_LIGHTHOUSE, "never out of friends")}
_STORY: Patterns = {
    "train": ["Tell me a story about a {x}.", "Tell a story about a {x}.", "I want a story about a {x}.", "Write a story about a {x}.", "Write me a short story about a {x}.", "Can you tell me a story about a {x}?", "A story about a {x}.", "Do you know a story about a {x}?",
              "I would like to hear a story about a {x}.", "Tell me something about a {x} as a story.", "Tell my child a story about a {x}.", "Tell me the story of the {x}.", "Make up a story about a {x}.", "Tell us a little story about a {x}."],
    "heldout": ["Tell me a little story about a {x}.", "I would like a short story about a {x}.", "Can you write a story about a {x}?", "Do you know the story of the {x}?"],
}
_ANY_STORY: Patterns = {
    "train": ["Tell me a story.", "Tell a story.", "Write a story.", "I want a story.", "Can you tell me a story?", "Write a short story.", "Tell me a short story.", "Do you know a story?", "I would like to hear a story.", "Make up a story.", "Tell us a story.", "A story, please.", "Tell my child a story.", "Read me a story."],
    "heldout": ["Tell me a little story.", "Can you write a short story?", "Do you know a little story?", "I would like a story."],
}


def story(rng: random.Random, split: Split) -> Dialogue:
    """One of three stories."""
    subject = rng.choice(["", *_STORIES])
    name = subject or "fox"
    text, key = _STORIES[name]
    frame = rng.choice((_STORY if subject else _ANY_STORY)[split])
    pattern = frame.replace("{x}", subject)
    return to_dialogue(Item("copying.story", dress(rng, pattern), text, Check("contains", [key]), f"The user wants a story. I tell the story of the {name}.", (pattern,)))


SKILLS: list[tuple[float, Callable[[random.Random, Split], Dialogue]]] = [(5.0, repeat), (1.2, count), (0.6, known_list), (0.5, story)]
