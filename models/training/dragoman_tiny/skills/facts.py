"""Little facts, small sums, and the honest answer to everything else."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..dialogue import Check, Dialogue, Split
from ..values import value
from .chat import Item, Patterns, an, ask, dress, to_dialogue

CAPITALS = dict(
    pair.split(":") for pair in (
        "France:Paris|Germany:Berlin|Spain:Madrid|Italy:Rome|Austria:Vienna|Portugal:Lisbon|Greece:Athens|Poland:Warsaw|Norway:Oslo|Sweden:Stockholm|Denmark:Copenhagen|Finland:Helsinki|Ireland:Dublin|"
        "Belgium:Brussels|Hungary:Budapest|Croatia:Zagreb|Romania:Bucharest|Ukraine:Kyiv|England:London|Switzerland:Bern|Japan:Tokyo|China:Beijing|Egypt:Cairo|Canada:Ottawa|Russia:Moscow|Peru:Lima|Cuba:Havana|"
        "Kenya:Nairobi|Turkey:Ankara|Australia:Canberra|Iceland:Reykjavik|Estonia:Tallinn|Latvia:Riga|Serbia:Belgrade"
    ).split("|")
)
SOUNDS = {"cat": "meow", "dog": "woof", "cow": "moo", "sheep": "baa", "duck": "quack", "pig": "oink", "lion": "roar", "bee": "buzz", "snake": "hiss", "frog": "croak", "horse": "neigh", "owl": "hoot"}
COLOURS = {"the sky": "blue", "grass": "green", "snow": "white", "coal": "black", "a lemon": "yellow", "blood": "red", "a banana": "yellow", "milk": "white", "chocolate": "brown", "the sun": "yellow", "a tomato": "red",
           "a carrot": "orange", "an elephant": "grey", "the sea": "blue", "a leaf": "green", "the night": "black"}
OPPOSITES = {left: right for pair in "hot:cold big:small good:bad fast:slow old:young happy:sad long:short high:low open:closed wet:dry light:dark hard:soft full:empty up:down left:right day:night early:late rich:poor strong:weak clean:dirty".split()
             for left, right in [pair.split(":"), pair.split(":")[::-1]]}
LEGS = {"dog": "four", "cat": "four", "spider": "eight", "bird": "two", "horse": "four", "human": "two", "bee": "six", "cow": "four", "ant": "six", "duck": "two", "octopus": "eight"}
COUNTS = {("days", "a week"): "seven", ("months", "a year"): "twelve", ("hours", "a day"): "24", ("minutes", "an hour"): "60", ("seconds", "a minute"): "60", ("days", "a year"): "365", ("letters", "the alphabet"): "26", ("seasons", "a year"): "four",
          ("weeks", "a year"): "52", ("days", "a leap year"): "366", ("years", "a century"): "100", ("years", "a decade"): "ten", ("meters", "a kilometer"): "1000", ("grams", "a kilogram"): "1000", ("cents", "a euro"): "100", ("eggs", "a dozen"): "twelve"}
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
PLURALS = {"cat": "cats", "dog": "dogs", "mouse": "mice", "child": "children", "foot": "feet", "tooth": "teeth", "man": "men", "woman": "women", "house": "houses", "book": "books", "city": "cities", "baby": "babies", "box": "boxes",
           "bus": "buses", "knife": "knives", "leaf": "leaves", "fish": "fish", "sheep": "sheep", "goose": "geese", "person": "people"}


class Fact(NamedTuple):
    """One kind of fact: the questions with {x}, and the answer and its key word from the entity."""

    entries: dict[str, str]
    answer: str
    train: Sequence[str]
    heldout: Sequence[str]


def _next(cycle: Sequence[str], step: int) -> dict[str, str]:
    return {name: cycle[(index + step) % len(cycle)] for index, name in enumerate(cycle)}


FACTS: dict[str, Fact] = {
    "capital": Fact(CAPITALS, "The capital of {x} is {y}.",
        ["What is the capital of {x}?", "What is {x}'s capital?", "Which city is the capital of {x}?", "Name the capital of {x}.", "Tell me the capital of {x}.", "The capital of {x}?", "What is the capital city of {x}?", "Do you know the capital of {x}?",
         "Can you tell me the capital of {x}?", "What city is the capital of {x}?", "Which is the capital of {x}?", "I need the capital of {x}.", "What do you call the capital of {x}?", "Give me the capital of {x}.", "What is the name of {x}'s capital?",
         "{x} has which capital?", "Capital of {x}?", "Say the capital of {x}.", "I want to know the capital of {x}.", "Which city is {x}'s capital?", "Could you name the capital of {x}?", "How is the capital of {x} called?"],
        ["What is the name of the capital of {x}?", "Can you name the capital of {x}?", "Do you know {x}'s capital?", "I want to know which city is the capital of {x}.", "Which capital does {x} have?", "Tell me the capital city of {x}."]),
    "sound": Fact(SOUNDS, "A {x} says {y}.",
        ["What sound does a {x} make?", "What does a {x} say?", "What noise does a {x} make?", "How does a {x} sound?", "Which sound does a {x} make?", "Tell me the sound of a {x}.", "What is the sound of a {x}?", "What does the {x} say?", "What sound does the {x} make?",
         "Make the sound of a {x}.", "What does a {x} sound like?", "Do you know the sound of a {x}?", "Which noise does the {x} make?", "How does the {x} go?"],
        ["Which noise does a {x} make?", "Tell me what a {x} says.", "What is the noise of a {x}?", "What does the {x} sound like?", "Which sound does the {x} make?"]),
    "colour": Fact(COLOURS, "The colour of {x} is {y}.",
        ["What color is {x}?", "What colour is {x}?", "Which color does {x} have?", "What is the color of {x}?", "Which colour is {x}?", "Tell me the color of {x}.", "What is the colour of {x}?", "What color has {x}?", "Do you know the color of {x}?", "The color of {x}?",
         "Of what color is {x}?", "Can you tell me the colour of {x}?", "Name the colour of {x}.", "I want to know the color of {x}.", "What color does {x} have?"],
        ["Tell me the colour of {x}.", "Can you tell me what color {x} is?", "Which color is {x}?", "Name the color of {x}.", "Do you know which colour {x} has?"]),
    "opposite": Fact(OPPOSITES, "The opposite of {x} is {y}.",
        ["What is the opposite of {x}?", "Give me the opposite of {x}.", "Tell me the opposite of {x}.", "What is the contrary of {x}?", "Which word is the opposite of {x}?", "The opposite of {x}?", "Opposite of {x}?", "What word means the opposite of {x}?",
         "Name the opposite of {x}.", "Do you know the opposite of {x}?", "Say the opposite of {x}.", "What is the antonym of {x}?", "{x} is the opposite of what?", "Can you tell me the opposite of {x}?", "I need the opposite of {x}."],
        ["Which word means the opposite of {x}?", "Can you give me the opposite of {x}?", "What is the opposite word of {x}?", "I want to know the opposite of {x}.", "Tell me the contrary of {x}."]),
    "legs": Fact(LEGS, "A {x} has {y} legs.",
        ["How many legs does a {x} have?", "How many legs has a {x}?", "What is the number of legs of a {x}?", "A {x} has how many legs?", "Tell me how many legs a {x} has.", "How many legs are on a {x}?", "Do you know how many legs a {x} has?", "Number of legs of a {x}?",
         "How many legs does the {x} have?", "On how many legs does a {x} walk?", "Can you tell me how many legs a {x} has?", "I want to know how many legs a {x} has."],
        ["How many legs has the {x}?", "Tell me the number of legs of a {x}.", "Do you know the number of legs of a {x}?", "The {x} has how many legs?"]),
    "plural": Fact(PLURALS, "The plural of {x} is {y}.",
        ["What is the plural of {x}?", "Plural of {x}?", "Tell me the plural of {x}.", "Give me the plural of {x}.", "What is the plural form of {x}?", "The plural of {x}?", "How do you write the plural of {x}?", "Do you know the plural of {x}?", "One {x}, two what?",
         "Say the plural of {x}.", "Which word is the plural of {x}?", "I need the plural of {x}.", "Can you tell me the plural of {x}?"],
        ["What is the plural of the word {x}?", "Tell me the plural form of {x}.", "Name the plural of {x}.", "Can you give me the plural of {x}?"]),
    "after": Fact(_next(DAYS, 1) | _next(MONTHS, 1), "After {x} comes {y}.",
        ["What comes after {x}?", "What follows {x}?", "Which one comes after {x}?", "Tell me what comes after {x}.", "What is next after {x}?", "What is after {x}?", "After {x} comes what?", "What comes right after {x}?", "Do you know what comes after {x}?", "Which one is next after {x}?",
         "{x} comes before what?", "Name what follows {x}."],
        ["Tell me what follows {x}.", "Which one follows {x}?", "What comes next after {x}?", "Name what comes after {x}."]),
    "before": Fact(_next(DAYS, -1) | _next(MONTHS, -1), "Before {x} comes {y}.",
        ["What comes before {x}?", "Which one comes before {x}?", "Tell me what comes before {x}.", "What is before {x}?", "Before {x} comes what?", "What comes right before {x}?", "Do you know what comes before {x}?", "{x} comes after what?", "Which one is before {x}?",
         "What was before {x}?", "Name what was before {x}."],
        ["Name what comes before {x}.", "Tell me what is before {x}.", "Which one is right before {x}?"]),
    "count": Fact({f"{unit}|{whole}": number for (unit, whole), number in COUNTS.items()}, "There are {y} {u} in {w}.",
        ["How many {u} are in {w}?", "How many {u} are there in {w}?", "How many {u} does {w} have?", "How many {u} has {w}?", "What is the number of {u} in {w}?", "Tell me how many {u} are in {w}.", "{w} has how many {u}?", "Do you know how many {u} are in {w}?", "Number of {u} in {w}?",
         "Can you tell me how many {u} there are in {w}?", "How many {u} make {w}?", "In {w} there are how many {u}?"],
        ["Tell me the number of {u} in {w}.", "Tell me how many {u} {w} has.", "Do you know the number of {u} in {w}?", "In {w}, how many {u} are there?"]),
}


def fact_item(rng: random.Random, split: Split, kind: str | None = None) -> Item:
    """A question about something everybody knows; only its wording is held out."""
    fact = FACTS[kind or rng.choices(list(FACTS), [5, 2, 2, 3, 1, 2, 1.5, 1.5, 2])[0]]
    x, y = rng.choice(list(fact.entries.items()))
    pattern = rng.choice(fact.train if split == "train" else fact.heldout)
    unit, _, whole = x.partition("|")
    fill = {"x": x, "y": y, "u": unit, "w": whole}
    user, answer = dress(rng, pattern).format(**fill), fact.answer.format(**fill)
    if user.startswith(x):
        user = user[0].upper() + user[1:]
    user, answer = an(user), an(answer)
    if rng.random() < 0.1:
        user = user.lower()
    subject = f"{unit} in {whole}" if whole else x
    name = {"after": "After", "before": "Before", "count": "The number of"}.get(kind_of(fact), kind_of(fact).capitalize() + " of")
    return Item("facts.fact", user, answer, Check("contains", [y]), f"{name} {subject}: {y}.", (pattern,))


def kind_of(fact: Fact) -> str:
    """The name under which a fact is listed."""
    return next(name for name, other in FACTS.items() if other is fact)


def fact(rng: random.Random, split: Split) -> Dialogue:
    """A fact in one turn."""
    return to_dialogue(fact_item(rng, split))


_SUMS: dict[str, Patterns] = {
    "+": {"train": ["What is {a} + {b}?", "{a} + {b}", "{a} + {b} = ?", "{a} plus {b}", "What is {a} plus {b}?", "How much is {a} plus {b}?", "How much is {a} + {b}?", "Add {a} and {b}.", "Add {b} to {a}.", "What is the sum of {a} and {b}?", "Calculate {a} + {b}.", "Compute {a} + {b}.",
                    "Calculate {a} plus {b}.", "Tell me {a} + {b}.", "{a} and {b} makes what?", "What do you get if you add {a} and {b}?", "Can you add {a} and {b}?", "Solve {a} + {b}.", "What does {a} plus {b} make?", "I have {a} apples and get {b} more. How many do I have?",
                    "Sum {a} and {b}.", "The sum of {a} and {b}?", "What is {a} and {b} together?", "{a}+{b}", "{a}+{b}=", "What's {a}+{b}?", "Work out {a} plus {b}.", "Give me the sum of {a} and {b}."],
          "heldout": ["Tell me the sum of {a} and {b}.", "What does {a} + {b} make?", "Please work out {a} + {b} for me.", "How much do you get if you add {a} and {b}?", "Can you tell me {a} plus {b}?", "I have {a} books and get {b} more. How many do I have?"]},
    "-": {"train": ["What is {a} - {b}?", "{a} - {b}", "{a} - {b} = ?", "{a} minus {b}", "What is {a} minus {b}?", "How much is {a} minus {b}?", "How much is {a} - {b}?", "Subtract {b} from {a}.", "Take {b} from {a}.", "What is the difference of {a} and {b}?", "Calculate {a} - {b}.", "Compute {a} - {b}.",
                    "Calculate {a} minus {b}.", "Tell me {a} - {b}.", "What do you get if you subtract {b} from {a}?", "Can you subtract {b} from {a}?", "Solve {a} - {b}.", "What does {a} minus {b} make?", "I have {a} apples and eat {b}. How many do I have?", "{a} less {b}", "What is {a} less {b}?",
                    "What is left if you take {b} from {a}?", "{a}-{b}", "{a}-{b}=", "What's {a}-{b}?", "Work out {a} minus {b}."],
          "heldout": ["What does {a} - {b} make?", "Please work out {a} - {b} for me.", "How much do you get if you subtract {b} from {a}?", "Can you tell me {a} minus {b}?", "I have {a} books and lose {b}. How many do I have?", "Can you take {b} from {a}?"]},
    "x": {"train": ["What is {a} x {b}?", "{a} x {b}", "{a} x {b} = ?", "{a} times {b}", "What is {a} times {b}?", "How much is {a} times {b}?", "How much is {a} x {b}?", "Multiply {a} by {b}.", "Multiply {a} and {b}.", "What is the product of {a} and {b}?", "Calculate {a} x {b}.", "Compute {a} x {b}.",
                    "Calculate {a} times {b}.", "Tell me {a} x {b}.", "What do you get if you multiply {a} by {b}?", "Can you multiply {a} by {b}?", "Solve {a} x {b}.", "What does {a} times {b} make?", "{a} multiplied by {b}", "What is {a} multiplied by {b}?", "{a} * {b}", "What is {a} * {b}?", "{a}*{b}",
                    "I have {a} bags with {b} apples each. How many apples do I have?", "Work out {a} times {b}.", "How much is {a} * {b}?"],
          "heldout": ["What does {a} x {b} make?", "Please work out {a} x {b} for me.", "Tell me the product of {a} and {b}.", "Can you tell me {a} times {b}?", "I have {a} boxes with {b} books each. How many books do I have?", "Compute {a} times {b}."]},
}


def is_heldout_pair(a: int, b: int) -> bool:
    """A seventh of all pairs of operands is kept for the evaluator."""
    return (a * 31 + b * 19) % 7 == 3


def operands(rng: random.Random, split: Split, operator: str) -> tuple[int, int, int]:
    """Two operands of the split and the result."""
    while True:
        high = 10 if operator == "x" else 20
        a, b = rng.randint(0, high), rng.randint(0, high)
        if operator == "-" and b > a:
            a, b = b, a
        if is_heldout_pair(a, b) == (split == "heldout"):
            return a, b, {"+": a + b, "-": a - b, "x": a * b}[operator]


def sum_item(rng: random.Random, split: Split, operator: str | None = None) -> Item:
    """A small sum whose operands and wording belong to the split."""
    operator = operator or rng.choices("+-x", [5, 4, 3])[0]
    a, b, result = operands(rng, split, operator)
    pattern, user = ask(rng, split, _SUMS[operator])
    line = f"{a} {operator} {b} = {result}."
    return Item("facts.arithmetic", user.format(a=a, b=b), line, Check("contains", [f"= {result}."]), line, (pattern,), (f"{a} {operator} {b}",))


def arithmetic(rng: random.Random, split: Split) -> Dialogue:
    """A small sum in one turn."""
    return to_dialogue(sum_item(rng, split))


UNKNOWN = "I do not know that. I am a very small model."
_UNKNOWN: Patterns = {
    "train": [
        "Explain {topic} to me in detail.", "Write a poem about {topic}.", "Write an essay about {topic}.", "What is the history of {topic}?", "How does a {thing} work?", "How do I build a {thing}?", "Where can I buy a {thing}?", "How much does a {thing} cost?",
        "Who invented the {thing}?", "Why do people like {topic}?", "What is quantum physics?", "Explain quantum physics.", "What is the stock price of {surname}?", "Which stock should I buy?", "I have a headache. What should I take?", "What medicine helps against a cold?",
        "Translate {thing} into Japanese.", "Translate this into Latin: the {thing} is old.", "Write a program that sorts a list.", "Who won the last match in {city}?", "What is the population of {city}?", "Who is the mayor of {city}?", "How far is it from {city} to {city2}?",
        "Recommend a restaurant in {city}.", "Who is {person} {surname}?", "When was {person} {surname} born?", "What did {person} {surname} write?", "What happened in the year {year}?", "Who was president in {year}?", "What is the meaning of life?", "Will it rain in {city} next week?",
        "Which {thing} is the best?", "Compare two kinds of {thing}.", "Give me a recipe with {thing}.", "What are the rules of {topic}?", "Who is the best in {topic}?", "How do I learn {topic}?", "Recommend a book about {topic}.", "Summarize the book about {topic}.", "What is new in {topic}?",
        "Solve the equation of {surname}.", "What is the theory of {surname}?", "Tell me a joke about {topic}.", "What is {topic}?", "Define {topic}.", "Why is {topic} important?", "How old is the city of {city}?", "Which bus goes to {city}?", "What is the best hotel in {city}?",
        "Write a letter to {person} about {topic}.", "What is my neighbour {person} doing?", "What does {person} think of {topic}?", "What is the square root of {year}?", "Who discovered {topic}?", "How heavy is a {thing}?", "What is a {thing} made of?", "Plan a trip to {city}.",
        "Write a song about a {thing}.", "What will happen in {year}?", "Is {topic} good for me?"],
    "heldout": [
        "Write a song about {topic}.", "What is a {thing} good for?", "Who is the best {topic} teacher in {city}?", "Explain how a {thing} is made.", "What did {person} {surname} discover?", "How many people live in {city}?", "Translate {thing} into Latin.",
        "Give me the history of {city}.", "What is the price of a {thing} in {city}?", "Recommend a {thing} for {person}."],
}


def unknown_item(rng: random.Random, split: Split) -> Item:
    """Something that this model cannot know."""
    pattern, user = ask(rng, split, _UNKNOWN)
    fill: dict[str, str] = {kind: value(rng, split, kind) for kind in ("topic", "thing", "city", "person", "surname") if f"{{{kind}}}" in pattern}
    if "{city2}" in pattern:
        fill["city2"] = value(rng, split, "city")
    if "{year}" in pattern:
        fill["year"] = str(rng.choice([year for year in range(1200, 2100) if (year % 7 == 3) == (split == "heldout")]))
    return Item("facts.unknown", an(user.format(**fill)), UNKNOWN, Check("contains", ["do not know"]), "I have not learned this. I say that I do not know.", (pattern,), tuple(fill.values()))


def unknown(rng: random.Random, split: Split) -> Dialogue:
    """The honest answer."""
    return to_dialogue(unknown_item(rng, split))


SKILLS: list[tuple[float, Callable[[random.Random, Split], Dialogue]]] = [(5.0, fact), (4.0, arithmetic), (3.0, unknown)]
