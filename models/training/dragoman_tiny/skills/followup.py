"""Questions that only the earlier turns can answer."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from ..dialogue import Check, Dialogue, Split
from ..patterns import compose, deal, join
from ..values import code, distinct, integer, value
from .chat import Item, Patterns, an, aside, dragoman_item, dress, to_dialogue
from .facts import FACTS, fact_item, is_heldout_pair, sum_item


class Memory(NamedTuple):
    """Something the user says about themselves and asks for later."""

    kind: str
    echo: str
    thought: str
    told: Patterns
    asked: Patterns


MEMORIES: dict[str, Memory] = {
    "name": Memory("person", "Your name is {v}.", "The user's name is {v}.",
        {"train": ["My name is {v}.", "I am {v}.", "Hi, I am {v}.", "You can call me {v}.", "Call me {v}.", "Please remember my name: {v}.", "I am called {v}.", "Hello, my name is {v}.", "People call me {v}.", "My first name is {v}."],
         "heldout": ["They call me {v}.", "Remember that my name is {v}.", "Please call me by my name, {v}."]},
        {"train": ["What is my name?", "Who am I?", "Do you know my name?", "What am I called?", "Tell me my name.", "Do you remember my name?", "What was my name?", "Say my name.", "How am I called?", "Can you tell me my name?", "My name is what?", "Do you remember who I am?"],
         "heldout": ["Can you remember my name?", "Tell me who I am.", "What do people call me?", "Which name do I have?"]}),
    "city": Memory("city", "You live in {v}.", "The user lives in {v}.",
        {"train": ["I live in {v}.", "My home is in {v}.", "I am from {v}.", "My city is {v}.", "I live in the city of {v}.", "I have a flat in {v}.", "We live in {v}.", "My family lives in {v}.", "My house is in {v}."],
         "heldout": ["I have a house in {v}.", "My home city is {v}.", "Our flat is in {v}."]},
        {"train": ["Where do I live?", "In which city do I live?", "What is my city?", "Do you know where I live?", "Tell me where I live.", "Do you remember where I live?", "Which city do I live in?", "Where is my home?", "What city do I live in?", "Can you tell me where I live?"],
         "heldout": ["Which city is my home?", "Do you remember my city?", "Tell me in which city I live."]}),
    "color": Memory("color", "Your favourite colour is {v}.", "The user likes the colour {v}.",
        {"train": ["My favourite colour is {v}.", "My favorite color is {v}.", "The color I like best is {v}.", "I like the colour {v} best.", "{v} is my favorite color.", "I love the color {v}.", "Of all colors I like {v} most."],
         "heldout": ["The colour I love is {v}.", "I like the color {v} most.", "My best loved colour is {v}."]},
        {"train": ["What is my favourite colour?", "What is my favorite color?", "Which color do I like?", "Which colour do I like best?", "Do you remember my favorite color?", "What color do I like best?", "Tell me my favourite colour.", "Do you know which color I like?", "What was my favorite color?"],
         "heldout": ["Which color do I love?", "Tell me which colour I like best.", "Do you know my favourite colour?"]}),
    "pet": Memory("person", "Your dog is called {v}.", "The user's dog is called {v}.",
        {"train": ["My dog is called {v}.", "I have a dog named {v}.", "The name of my dog is {v}.", "I have a dog. Its name is {v}.", "My dog's name is {v}.", "We call our dog {v}.", "I got a dog and called it {v}.", "This is my dog {v}."],
         "heldout": ["I call my dog {v}.", "We have a dog named {v}.", "I have a dog and its name is {v}."]},
        {"train": ["What is the name of my dog?", "What is my dog called?", "How is my dog called?", "Do you remember the name of my dog?", "Tell me the name of my dog.", "What is my dog's name?", "Do you know my dog's name?", "Which name has my dog?", "What was the name of my dog?"],
         "heldout": ["Do you remember what my dog is called?", "Which name does my dog have?", "Tell me my dog's name."]}),
    "number": Memory("number", "Your number is {v}.", "The user's number is {v}.",
        {"train": ["My number is {v}.", "My lucky number is {v}.", "Remember the number {v}.", "The number is {v}.", "I think of the number {v}.", "Please remember this number: {v}.", "Keep the number {v} for me.", "I chose the number {v}.", "I have the number {v}."],
         "heldout": ["Please keep this number: {v}.", "The number I chose is {v}.", "Remember my number, {v}."]},
        {"train": ["What is my number?", "What was my number?", "Which number did I say?", "Tell me my number.", "Do you remember the number?", "What was the number?", "Which number is it?", "What number did I tell you?", "Do you know my number?", "Say the number."],
         "heldout": ["What number did I say?", "Tell me the number.", "Do you remember my number?"]}),
    "thing": Memory("thing", "You bought a {v}.", "The user bought a {v}.",
        {"train": ["I bought a {v}.", "I bought a {v} today.", "Today I bought a {v}.", "Yesterday I bought a {v}.", "I just bought a {v}.", "I have bought a {v}.", "I went out and bought a {v}.", "I got a {v} in the shop.", "At the shop I bought a {v}."],
         "heldout": ["I got a {v} today.", "I went to the shop and bought a {v}.", "Yesterday I got a {v} in the shop."]},
        {"train": ["What did I buy?", "What have I bought?", "Which thing did I buy?", "Tell me what I bought.", "Do you remember what I bought?", "Do you know what I bought?", "What was it that I bought?", "What did I get?", "What did I say I bought?", "Can you tell me what I bought?"],
         "heldout": ["Can you remember what I bought?", "What did I get in the shop?", "Tell me which thing I bought."]}),
    "topic": Memory("topic", "You like {v}.", "The user likes {v}.",
        {"train": ["I like {v}.", "I love {v}.", "My hobby is {v}.", "My favorite hobby is {v}.", "I am interested in {v}.", "In my free time I like {v}.", "I spend my time with {v}.", "I enjoy {v}.", "{v} is my hobby."],
         "heldout": ["My free time is for {v}.", "I love to spend my time with {v}.", "My hobby has always been {v}."]},
        {"train": ["What do I like?", "What is my hobby?", "Which hobby do I have?", "Tell me my hobby.", "Do you remember my hobby?", "What do I love?", "What am I interested in?", "Do you know what I like?", "What was my hobby?", "Can you tell me what I like?"],
         "heldout": ["Do you remember what I like?", "What hobby do I have?", "Tell me what I am interested in."]}),
    "code": Memory("code", "Your code is {v}.", "The user's code is {v}.",
        {"train": ["My code is {v}.", "The code is {v}.", "Remember the code {v}.", "Please remember this code: {v}.", "My ticket has the code {v}.", "Keep the code {v} for me.", "Here is my code: {v}.", "I got the code {v}."],
         "heldout": ["Please keep this code: {v}.", "The code of my ticket is {v}.", "Here is a code to remember: {v}."]},
        {"train": ["What is my code?", "What was my code?", "What is the code?", "Tell me the code.", "Do you remember the code?", "What was the code?", "Which code did I tell you?", "Which code did I say?", "Say the code.", "Do you know my code?"],
         "heldout": ["What code did I say?", "Tell me my code.", "Do you remember my code?"]}),
}


#: What people ask for, as it stands behind "Tell me".
_ASKED: dict[str, list[str]] = {
    "name": ["my name", "what my name is", "what I am called", "who I am", "how people call me", "the name I told you", "what I said my name is", "what to call me"],
    "city": ["my city", "where I live", "in which city I live", "which city I live in", "where my home is", "what city is my home", "the city I told you"],
    "color": ["my favourite colour", "my favorite color", "which color I like", "which colour I like best", "what color I love", "the color I told you"],
    "pet": ["the name of my dog", "my dog's name", "what my dog is called", "how my dog is called", "what name my dog has", "how we call our dog"],
    "number": ["my number", "the number", "which number I said", "what number I told you", "the number I gave you", "which number I chose"],
    "thing": ["what I bought", "which thing I bought", "what I got in the shop", "what it was that I bought", "what I have bought"],
    "topic": ["my hobby", "what I like", "what I love", "which hobby I have", "what I am interested in", "what I enjoy"],
    "code": ["my code", "the code", "which code I said", "what code I told you", "the code I gave you"],
}
_LEADS = ["tell me", "do you remember", "do you know", "can you tell me", "can you remember", "I forgot", "remind me:", "say", "do you still know", "I want to know", "I would like to know", "could you tell me", "now tell me", "what was it again:", "answer me:", "quickly,"]
_TELLING = ["", "", "Remember: ", "Please remember: ", "You should know: ", "By the way, ", "I tell you: ", "Keep in mind: ", "A secret: ", "Listen: ", "One thing about me: "]


def _widened(name: str, memory: Memory) -> Memory:
    """With more ways to tell and to ask."""
    told = compose(_TELLING, [*memory.told["train"], *memory.told["heldout"]], [""])
    asked = join(deal([*memory.asked["train"], *memory.asked["heldout"]]), compose(_LEADS, [" "], _ASKED[name], ["?", "."]))
    return memory._replace(told=told, asked=asked)


MEMORIES = {name: _widened(name, memory) for name, memory in MEMORIES.items()}


def free_value(rng: random.Random, split: Split, kind: str) -> str:
    """A value of a kind, numbers and codes too."""
    return str(integer(rng, split, 20, 9999)) if kind == "number" else code(rng, split) if kind == "code" else value(rng, split, kind)


def memory(rng: random.Random, split: Split) -> tuple[list[tuple[str, str]], Item]:
    """One to three things told, perhaps something between, and the question for one of them: the turns before, and the item."""
    names = rng.sample(list(MEMORIES), rng.choices([1, 2, 3], [5, 3, 1])[0])
    asked = rng.choice(names)
    before: list[tuple[str, str]] = []
    patterns: list[str] = []
    slots: list[str] = []
    told: list[str] = []
    held: dict[str, str] = {}
    while len({v.lower() for v in held.values()}) < len(names):
        held = {name: free_value(rng, split, MEMORIES[name].kind) for name in names}
    for name in names:
        pattern, v = rng.choice(MEMORIES[name].told[split]), held[name]
        patterns.append(pattern)
        slots.append(v)
        text = an(pattern.format(v=v))
        told.append(text[0].upper() + text[1:])
    joined = rng.random() < 0.4
    for name, text in [(names[0], " ".join(told))] if joined else list(zip(names, told, strict=True)):
        reply = "Ok, I will remember that." if (joined and len(names) > 1) or rng.random() < 0.5 else f"Nice to meet you, {held[name]}!" if name == "name" else "Ok. " + an(MEMORIES[name].echo.format(v=held[name]))
        before.append((text, reply))
    for _ in range(rng.choices([0, 1, 2], [5, 4, 1])[0]):
        between = rng.choice([aside, fact_item, sum_item, dragoman_item])(rng, split)
        before.append((between.user, between.answer))
        patterns += between.patterns
        slots += between.slots
    question, v = rng.choice(MEMORIES[asked].asked[split]), held[asked]
    item = Item("followup.memory", dress(rng, question), an(MEMORIES[asked].echo.format(v=v)), Check("contains", [v]), an(MEMORIES[asked].thought.format(v=v)), (*patterns, question), tuple(slots))
    return before, item


def remember(rng: random.Random, split: Split) -> Dialogue:
    """Something told and asked for."""
    before, item = memory(rng, split)
    return to_dialogue(item, before)


# Two people: told with {p} and {v}; answered with {p} {v}; the value's kind.
_PEOPLE: list[tuple[str, str, Patterns, Patterns]] = [
    ("city", "{p} lives in {v}.",
     {"train": ["{p} lives in {v} and {p2} lives in {v2}.", "{p} lives in {v}. {p2} lives in {v2}.", "{p} is from {v}, {p2} is from {v2}.", "My friend {p} lives in {v}, my friend {p2} lives in {v2}.", "{p} moved to {v} and {p2} moved to {v2}.", "{p}: {v}. {p2}: {v2}. These are their cities."],
      "heldout": ["{p} lives in {v}, but {p2} lives in {v2}.", "My friend {p} is from {v} and my friend {p2} is from {v2}.", "{p} has moved to {v}. {p2} has moved to {v2}."]},
     {"train": ["Where does {p} live?", "In which city does {p} live?", "Where is {p}?", "What is the city of {p}?", "Do you know where {p} lives?", "And where does {p} live?", "Tell me where {p} lives.", "Which city does {p} live in?"],
      "heldout": ["Tell me in which city {p} lives.", "Which city is {p} in?", "Do you remember where {p} lives?"]}),
    ("topic", "{p} likes {v}.",
     {"train": ["{p} likes {v} and {p2} likes {v2}.", "{p} likes {v}. {p2} likes {v2}.", "{p} loves {v}, {p2} loves {v2}.", "The hobby of {p} is {v}, the hobby of {p2} is {v2}.", "My sister {p} likes {v}, my brother {p2} likes {v2}."],
      "heldout": ["{p} likes {v}, but {p2} likes {v2}.", "My brother {p} loves {v} and my sister {p2} loves {v2}."]},
     {"train": ["What does {p} like?", "What is the hobby of {p}?", "Which hobby does {p} have?", "Do you know what {p} likes?", "And what does {p} like?", "Tell me what {p} likes.", "What does {p} love?"],
      "heldout": ["Do you remember what {p} likes?", "Which hobby has {p}?", "Tell me the hobby of {p}."]}),
    ("thing", "{p} has the {v}.",
     {"train": ["{p} has the {v} and {p2} has the {v2}.", "{p} has the {v}. {p2} has the {v2}.", "I gave the {v} to {p} and the {v2} to {p2}.", "{p} took the {v}, {p2} took the {v2}.", "The {v} is with {p}, the {v2} is with {p2}."],
      "heldout": ["{p} has the {v}, but {p2} has the {v2}.", "The {v} went to {p} and the {v2} to {p2}."]},
     {"train": ["What does {p} have?", "What has {p}?", "Which thing does {p} have?", "Do you know what {p} has?", "And what does {p} have?", "Tell me what {p} has.", "What is with {p}?"],
      "heldout": ["Do you remember what {p} has?", "Which thing has {p}?", "Tell me which thing {p} has."]}),
    ("number", "{p} is number {v}.",
     {"train": ["{p} has number {v} and {p2} has number {v2}.", "{p} is number {v}. {p2} is number {v2}.", "The number of {p} is {v}, the number of {p2} is {v2}.", "{p}: {v}. {p2}: {v2}.", "Number {v} is for {p}, number {v2} is for {p2}."],
      "heldout": ["{p} got number {v}, {p2} got number {v2}.", "{p} is number {v} and {p2} is number {v2}, not more."]},
     {"train": ["Which number has {p}?", "What is the number of {p}?", "Which number does {p} have?", "Do you know the number of {p}?", "And the number of {p}?", "Tell me the number of {p}.", "What number is {p}?"],
      "heldout": ["What number does {p} have?", "Do you remember the number of {p}?", "Tell me which number {p} has."]}),
]


def two_people(rng: random.Random, split: Split) -> Dialogue:
    """Two people, and a question for one of them; sometimes in a single turn, sometimes for who it is."""
    kind, answer, told, asked = rng.choice(_PEOPLE)
    people = distinct(rng, split, "person", 2)
    values: list[str] = []
    while len({v.lower() for v in values}) < 2 or {v.lower() for v in values} & {p.lower() for p in people}:
        values = [free_value(rng, split, kind) for _ in range(2)]
    first, question = rng.choice(told[split]), rng.choice(asked[split])
    chosen = rng.randrange(2)
    fact = answer.format(p=people[chosen], v=values[chosen])
    text, ask_text = first.format(p=people[0], v=values[0], p2=people[1], v2=values[1]), question.format(p=people[chosen])
    slots = (*people, *values)
    if rng.random() < 0.35:
        return to_dialogue(Item("followup.people", f"{text} {ask_text}", fact, Check("contains", [values[chosen]]), fact, (first, question), slots))
    before = [(text, rng.choice(["Ok, I will remember that.", "I see."]))]
    return to_dialogue(Item("followup.people", ask_text, fact, Check("contains", [values[chosen]]), fact, (first, question), slots), before)


_AND: dict[str, Patterns] = {
    "capital": {"train": ["And of {x}?", "And {x}?", "What about {x}?", "And the one of {x}?", "And for {x}?", "How about {x}?", "Now {x}.", "The same for {x}?", "And that of {x}?", "Now for {x}."], "heldout": ["And what about {x}?", "And now {x}?", "What about the one of {x}?"]},
    "opposite": {"train": ["And of {x}?", "And {x}?", "What about {x}?", "And for {x}?", "How about {x}?", "Now {x}.", "The same for {x}?", "Now for {x}."], "heldout": ["And what about {x}?", "And now {x}?"]},
    "plural": {"train": ["And of {x}?", "And {x}?", "What about {x}?", "And for {x}?", "How about {x}?", "Now {x}.", "The same for {x}?", "Now for {x}."], "heldout": ["And what about {x}?", "And now {x}?"]},
    "after": {"train": ["And after {x}?", "And {x}?", "What about {x}?", "And what after {x}?", "How about {x}?"], "heldout": ["And what about {x}?", "And what comes after {x} then?"]},
    "legs": {"train": ["And a {x}?", "And the {x}?", "What about a {x}?", "How about a {x}?", "And how about the {x}?"], "heldout": ["And what about a {x}?", "What about the {x}?"]},
    "sound": {"train": ["And a {x}?", "And the {x}?", "What about a {x}?", "How about a {x}?", "And how about the {x}?"], "heldout": ["And what about a {x}?", "What about the {x}?"]},
    "colour": {"train": ["And {x}?", "What about {x}?", "And of {x}?", "How about {x}?", "The same for {x}?"], "heldout": ["And what about {x}?", "And now {x}?"]},
}


def and_of(rng: random.Random, split: Split) -> Dialogue:
    """A question of the same kind that does not say its kind again."""
    kind = rng.choices(list(_AND), [6, 2, 1, 1, 1, 1, 2])[0]
    before: list[tuple[str, str]] = []
    first = fact_item(rng, split, kind)
    before.append((first.user, first.answer))
    x, y = rng.choice([entry for entry in FACTS[kind].entries.items() if entry[0].lower() not in first.user.lower()])
    pattern = rng.choice(_AND[kind][split])
    user, answer = an(pattern.format(x=x)), an(FACTS[kind].answer.format(x=x, y=y))
    return to_dialogue(Item("followup.and", user, answer, Check("contains", [y]), f"The same question for {x}: {y}.", (*first.patterns, pattern)), before)


_THAT: dict[str, Patterns] = {
    "+": {"train": ["Add {b} to that.", "Now add {b}.", "Plus {b}?", "And plus {b}?", "And {b} more?", "Add {b} more.", "Add {b}.", "And if I add {b}?", "What is that plus {b}?", "How much is that plus {b}?"], "heldout": ["Now add {b} to that.", "And what is that plus {b}?", "And if I add {b} more?"]},
    "-": {"train": ["Subtract {b} from that.", "Now subtract {b}.", "Minus {b}?", "And minus {b}?", "And {b} less?", "Take {b} away.", "Subtract {b}.", "And if I take {b} away?", "What is that minus {b}?", "How much is that minus {b}?"], "heldout": ["Now subtract {b} from that.", "And what is that minus {b}?", "Take {b} away from that."]},
}


def with_that(rng: random.Random, split: Split) -> Dialogue:
    """A sum that goes on with the result of the last."""
    while True:
        first = sum_item(rng, split, rng.choice("+-"))
        a, operator = int(first.answer.split()[-1][:-1]), rng.choice("+-")
        choices = [b for b in range(1, 21) if a <= 20 and is_heldout_pair(a, b) == (split == "heldout") and (operator == "+" or b <= a)]
        if choices:
            break
    b = rng.choice(choices)
    pattern = rng.choice(_THAT[operator][split])
    line = f"{a} {operator} {b} = {a + b if operator == '+' else a - b}."
    item = Item("followup.sum", pattern.format(b=b), line, Check("contains", [line[line.index("="):]]), line, (*first.patterns, pattern), (*first.slots, f"{a} {operator} {b}"))
    return to_dialogue(item, [(first.user, first.answer)])


_SAID: Patterns = {
    "train": ["What did I just say?", "What did I say?", "What was my last message?", "Repeat what I said.", "What have I said?", "Tell me what I said.", "What did I write?", "What were my words?", "Do you remember what I said?", "What did I tell you?", "Repeat my last message.", "Can you repeat what I said?", "What did I just write?"],
    "heldout": ["Tell me what I just said.", "What was it that I said?", "Can you repeat my last message?", "Do you remember what I wrote?", "What have I just told you?"],
}
_AGAIN: Patterns = {
    "train": ["Repeat that.", "Say that again.", "Again, please.", "What did you say?", "Can you repeat that?", "Please say it again.", "Repeat your answer.", "Once more, please.", "Say it once more.", "I did not hear you. Repeat that.", "Could you repeat your last answer?", "What was that?", "Tell me again.", "What did you just say?", "Repeat your last message."],
    "heldout": ["Repeat your last answer.", "Could you say that again?", "Say that once more.", "What was your answer?", "I did not hear that. Tell me again."],
}
_SAYINGS: Patterns = {
    "train": ["The {thing} is {color}.", "I must {task}.", "I saw {person} in {city}.", "{person} wants the {thing}.", "Tomorrow we {task}.", "The {color} {thing} is mine.", "I told {person}: {message}.", "We go to {city} with {person}.", "{person} and I like {topic}."],
    "heldout": ["{person} has a {color} {thing}.", "Today I must {task}.", "I go to {city} tomorrow.", "{person} told me about {topic}."],
}


def said(rng: random.Random, split: Split) -> Dialogue:
    """What the user said, or what the assistant said."""
    if rng.random() < 0.45:
        first = rng.choice([fact_item, sum_item, dragoman_item])(rng, split)
        question = rng.choice(_AGAIN[split])
        return to_dialogue(Item("followup.again", question, first.answer, Check("equals", first.answer), "I say my last answer again.", (*first.patterns, question), first.slots), [(first.user, first.answer)])
    pattern, question = rng.choice(_SAYINGS[split]), rng.choice(_SAID[split])
    fill = {kind: value(rng, split, kind) for kind in ("thing", "color", "task", "person", "city", "message", "topic") if f"{{{kind}}}" in pattern}
    text = pattern.format(**fill)
    return to_dialogue(Item("followup.said", question, f"You said: {text}", Check("contains", [text[:-1]]), f"The user said: {text}", (pattern, question), tuple(fill.values())), [(text, rng.choice(["I see.", "Ok."]))])


_CHANGED: dict[str, Patterns] = {
    "name": {"train": ["Sorry, my name is {v}.", "No, my name is {v}.", "I made a mistake: my name is {v}.", "Now call me {v}.", "That was wrong. I am {v}."], "heldout": ["That was a mistake. My name is {v}.", "No, call me {v}."]},
    "city": {"train": ["Now I live in {v}.", "I moved to {v}.", "Sorry, I live in {v}.", "I made a mistake: I live in {v}.", "That was wrong. I live in {v}."], "heldout": ["Now I have moved to {v}.", "That was a mistake. I live in {v}."]},
    "number": {"train": ["Now my number is {v}.", "No, the number is {v}.", "Sorry, my number is {v}.", "Change the number to {v}.", "That was wrong. The number is {v}."], "heldout": ["Now change my number to {v}.", "That was a mistake. The number is {v}."]},
}


def changed(rng: random.Random, split: Split) -> Dialogue:
    """Something told, then corrected: the last word counts."""
    name: str = rng.choice(list(_CHANGED))
    memory_, values = MEMORIES[name], [""]
    while len(values) < 2:
        values = list(dict.fromkeys(free_value(rng, split, memory_.kind) for _ in range(2)))
    first, second, question = rng.choice(memory_.told[split]), rng.choice(_CHANGED[name][split]), rng.choice(memory_.asked[split])
    before = [(first.format(v=values[0]), "Ok, I will remember that."), (second.format(v=values[1]), "Ok. " + memory_.echo.format(v=values[1]))]
    return to_dialogue(Item("followup.changed", question, memory_.echo.format(v=values[1]), Check("contains", [values[1]]), memory_.thought.format(v=values[1]), (first, second, question), tuple(values)), before)


SKILLS: list[tuple[float, Callable[[random.Random, Split], Dialogue]]] = [(6.0, remember), (3.0, two_people), (2.0, and_of), (0.8, with_that), (1.5, said), (0.8, changed)]
