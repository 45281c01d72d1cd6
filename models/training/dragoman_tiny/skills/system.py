"""Obeying a system message: language, capital letters, length, persona, a fixed word, and facts it states."""

from __future__ import annotations

import random
from collections.abc import Callable

from ..dialogue import Check, Dialogue, Split
from ..patterns import compose, join, sentences
from ..values import code, email, integer, value
from .chat import Item, Patterns, an, aside, dragoman_item, dress, talk_item, to_dialogue
from .copying import repeat_item
from .facts import CAPITALS, fact_item, sum_item, unknown_item
from .followup import memory

# What an instruction may begin with.
_LEADS = ["", "", "please ", "always ", "you must ", "you always ", "you have to ", "you should ", "from now on ", "your task is to ", "You are a helpful assistant. ", "You are a friendly assistant. Please ",
          "the user wants you to ", "no matter what the user says, ", "whatever the question is, ", "be kind and ", "rule: ", "important: "]
_ANSWER = ["answer ", "reply ", "respond ", "speak ", "write ", "talk ", "answer the user ", "answer every question ", "write every answer ", "give all answers ", "give your answers ", "reply to every question ", "write your answers "]
_ANSWERS = ["your answer ", "your answers ", "every answer ", "all answers ", "each answer ", "all your answers ", "every reply ", "all that you say "]
_MUST = ["must be ", "has to be ", "should be ", "is ", "is always "]

_LANGUAGE = sentences(join(
    compose(_LEADS, _ANSWER, ["in {l}", "only in {l}", "in the {l} language", "in {l} only", "in {l}, even to English questions"], ["."]),
    compose(_LEADS, ["speak ", "use ", "write ", "talk "], ["{l}", "only {l}", "nothing but {l}"], ["."]),
    compose(["You are ", "Be ", "Act as ", "You work as "], ["a {l} assistant", "a {l} speaking assistant", "an assistant that speaks {l}", "an assistant that answers in {l}", "a model that answers only in {l}", "a helpful assistant who speaks {l}"], ["."]),
    compose(["Language: ", "The language of your answers is ", "The user speaks ", "The user understands only ", "The user reads only ", "All answers must be in ", "Your answers are in ", "Only ", "Write nothing but "], ["{l}"], [".", ", nothing else.", ", please."]),
))
# greeting, thanks, goodbye, how, who, human, size, maker, unknown; capital of {c}: {y}; the result {n}; and countries and capitals where they differ.
_WORDS: dict[str, tuple[dict[str, str], str, str, dict[str, tuple[str, str]]]] = {
    "German": (
        {"greeting": "Hallo! Wie kann ich helfen?", "thanks": "Gern geschehen!", "goodbye": "Auf Wiedersehen!", "how": "Mir geht es gut, danke.", "who": "Ich bin Dragoman Tiny, ein kleines Sprachmodell.", "human": "Nein, ich bin ein kleines Sprachmodell.",
         "size": "Ich habe etwa vier Millionen Parameter.", "maker": "Mich hat das Projekt Dragoman gemacht.", "unknown": "Das weiß ich nicht."},
        "Die Hauptstadt von {c} ist {y}.", "Das ergibt {n}.",
        {"France": ("Frankreich", "Paris"), "Germany": ("Deutschland", "Berlin"), "Spain": ("Spanien", "Madrid"), "Italy": ("Italien", "Rom"), "Austria": ("Österreich", "Wien"), "Portugal": ("Portugal", "Lissabon"), "Greece": ("Griechenland", "Athen"), "Poland": ("Polen", "Warschau"),
         "Norway": ("Norwegen", "Oslo"), "Sweden": ("Schweden", "Stockholm"), "England": ("England", "London"), "Japan": ("Japan", "Tokio"), "Russia": ("Russland", "Moskau")}),
    "French": (
        {"greeting": "Bonjour ! Comment puis-je aider ?", "thanks": "Avec plaisir !", "goodbye": "Au revoir !", "how": "Je vais bien, merci.", "who": "Je suis Dragoman Tiny, un petit modèle de langue.", "human": "Non, je suis un petit modèle de langue.",
         "size": "J'ai environ quatre millions de paramètres.", "maker": "Le projet Dragoman m'a fait.", "unknown": "Je ne sais pas."},
        "La capitale de {c} est {y}.", "Cela fait {n}.",
        {"France": ("la France", "Paris"), "Germany": ("l'Allemagne", "Berlin"), "Spain": ("l'Espagne", "Madrid"), "Italy": ("l'Italie", "Rome"), "Austria": ("l'Autriche", "Vienne"), "Greece": ("la Grèce", "Athènes"), "Poland": ("la Pologne", "Varsovie"),
         "Norway": ("la Norvège", "Oslo"), "Sweden": ("la Suède", "Stockholm"), "England": ("l'Angleterre", "Londres"), "Russia": ("la Russie", "Moscou"), "Belgium": ("la Belgique", "Bruxelles")}),
    "Spanish": (
        {"greeting": "¡Hola! ¿Cómo puedo ayudar?", "thanks": "¡De nada!", "goodbye": "¡Adiós!", "how": "Estoy bien, gracias.", "who": "Soy Dragoman Tiny, un pequeño modelo de lenguaje.", "human": "No, soy un pequeño modelo de lenguaje.",
         "size": "Tengo unos cuatro millones de parámetros.", "maker": "Me hizo el proyecto Dragoman.", "unknown": "No lo sé."},
        "La capital de {c} es {y}.", "El resultado es {n}.",
        {"France": ("Francia", "París"), "Germany": ("Alemania", "Berlín"), "Spain": ("España", "Madrid"), "Italy": ("Italia", "Roma"), "Austria": ("Austria", "Viena"), "Portugal": ("Portugal", "Lisboa"), "Greece": ("Grecia", "Atenas"), "Poland": ("Polonia", "Varsovia"),
         "Norway": ("Noruega", "Oslo"), "Sweden": ("Suecia", "Estocolmo"), "England": ("Inglaterra", "Londres"), "Japan": ("Japón", "Tokio"), "Russia": ("Rusia", "Moscú")}),
    "Italian": (
        {"greeting": "Ciao! Come posso aiutare?", "thanks": "Prego!", "goodbye": "Arrivederci!", "how": "Sto bene, grazie.", "who": "Sono Dragoman Tiny, un piccolo modello di lingua.", "human": "No, sono un piccolo modello di lingua.",
         "size": "Ho circa quattro milioni di parametri.", "maker": "Mi ha fatto il progetto Dragoman.", "unknown": "Non lo so."},
        "La capitale di {c} è {y}.", "Il risultato è {n}.",
        {"France": ("Francia", "Parigi"), "Germany": ("Germania", "Berlino"), "Spain": ("Spagna", "Madrid"), "Italy": ("Italia", "Roma"), "Austria": ("Austria", "Vienna"), "Portugal": ("Portogallo", "Lisbona"), "Greece": ("Grecia", "Atene"), "Poland": ("Polonia", "Varsavia"),
         "Norway": ("Norvegia", "Oslo"), "Sweden": ("Svezia", "Stoccolma"), "England": ("Inghilterra", "Londra"), "Japan": ("Giappone", "Tokyo"), "Russia": ("Russia", "Mosca")}),
}


def _result(item: Item) -> str:
    return item.answer.split("= ")[1][:-1]


def language(rng: random.Random, split: Split) -> Dialogue:
    """The answer is in the language that the system message asks for."""
    name = rng.choice(list(_WORDS))
    talk, capital, total, places = _WORDS[name]
    pattern = rng.choice(_LANGUAGE[split])
    kind = rng.choices([*talk, "capital", "sum"], [3, 2, 2, 2, 2, 1, 1, 1, 3, 5, 3])[0]
    if kind == "capital":
        country = rng.choice(list(places))
        item = fact_item(rng, split, "capital")
        asked = next(entry for entry in CAPITALS if entry.lower() in item.user.lower())
        c, y = places[country]
        user = item.user.replace(asked, country).replace(asked.lower(), country.lower())
        item, answer = item._replace(user=user), capital.format(c=c, y=y)
    elif kind == "sum":
        item = sum_item(rng, split)
        answer = total.format(n=_result(item))
    else:
        item = unknown_item(rng, split) if kind == "unknown" else talk_item(rng, split, kind)
        answer = talk[kind]
    return to_dialogue(item._replace(skill="system.language", answer=answer, check=Check("equals", answer), obeys=Check("begins", answer.split(" ")[0]), thought=f"I must answer in {name}: {answer}", patterns=(*item.patterns, pattern)), system=pattern.format(l=name))


def _any_item(rng: random.Random, split: Split) -> tuple[list[tuple[str, str]], Item]:
    """Any question with a short answer, and the turns before it."""
    kind = rng.choices(["fact", "sum", "talk", "dragoman", "memory", "unknown"], [5, 3, 4, 1, 3, 1])[0]
    if kind == "memory":
        return memory(rng, split)
    return [], {"fact": fact_item, "sum": sum_item, "talk": aside, "dragoman": dragoman_item, "unknown": unknown_item}[kind](rng, split)


_CAPITALS = ["capital letters", "upper case", "uppercase", "capitals", "upper case letters", "uppercase letters", "big letters"]
_UPPER = sentences(join(
    compose(_LEADS, _ANSWER, ["in ", "only in ", "with "], _CAPITALS, [".", " only."]),
    compose(_LEADS, ["use ", "use only ", "write only ", "use nothing but "], _CAPITALS, [".", " for all answers.", " in every answer.", " for every letter."]),
    compose(["never ", "do not ", "you must never ", "please do not ", "you may not "], ["use ", "write "], ["lower case letters", "lower case", "small letters", "lowercase letters"], [".", " in an answer.", " in your answers.", " anywhere."]),
    compose(_ANSWERS, _MUST, ["in "], _CAPITALS, [".", " only."]),
    compose(["You shout: ", "You always shout: ", "SHOUT: ", "The user reads badly: "], ["use ", "answer in ", "write in "], _CAPITALS, ["."]),
))


def upper(rng: random.Random, split: Split) -> Dialogue:
    """Only capital letters."""
    before, item = ([], repeat_item(rng, split)) if rng.random() < 0.2 else _any_item(rng, split)
    pattern = rng.choice(_UPPER[split])
    answer = item.answer.upper()
    key = [answer] if item.check.kind == "equals" else [text.upper() for text in item.check.expected]
    return to_dialogue(item._replace(skill="system.upper", answer=answer, check=Check("upper", key), obeys=Check("upper", []), thought=f"I must use capital letters: {answer}", patterns=(*item.patterns, pattern)),
                       [(user, text.upper()) for user, text in before], pattern)


_ONE = ["one word", "a single word", "exactly one word", "just one word", "one word only", "only one word"]
_ONE_WORD = sentences(join(
    compose(_LEADS, _ANSWER, ["with ", "in "], _ONE, [".", ", nothing else.", ", no sentence."]),
    compose(_LEADS, ["use ", "say ", "give ", "write "], _ONE, [".", " for every answer.", " per answer.", ", nothing else.", ", not more."]),
    compose(_ANSWERS, _MUST, _ONE, ["."]),
    compose(["No sentences. ", "Be very short: ", "Be brief: ", "Length of an answer: "], _ONE, ["."]),
))
_FEW = ["at most {n} words", "no more than {n} words", "{n} words or less", "{n} words or fewer", "up to {n} words", "{n} words at most", "not more than {n} words"]
_FEW_WORDS = sentences(join(
    compose(_LEADS, _ANSWER, ["with ", "in "], _FEW, ["."]),
    compose(_LEADS, ["use ", "say ", "write ", "give "], _FEW, [".", " for every answer.", " per answer."]),
    compose(["never ", "do not ", "you must never ", "please do not "], ["use ", "write ", "say "], ["more than {n} words"], [".", " in an answer.", " per answer."]),
    compose(["limit ", "please limit ", "keep ", "always keep "], _ANSWERS, ["to ", "within ", "below or at "], ["{n} words", "{n} words or less"], ["."]),
    compose(_ANSWERS, ["has ", "must have ", "should have "], _FEW, ["."]),
    compose(["Be brief: ", "Be short: ", "Short answers only, ", "The limit is ", "Length of an answer: "], _FEW, ["."]),
))
_NUMBERS = {3: "three", 4: "four", 5: "five", 6: "six", 8: "eight", 10: "ten"}


def length(rng: random.Random, split: Split) -> Dialogue:
    """One word, or a few."""
    before, kind = [], rng.choice(["fact", "fact", "sum", "memory"])
    if kind == "memory":
        before, item = memory(rng, split)
        word = item.check.expected[0]
    else:
        item = fact_item(rng, split) if kind == "fact" else sum_item(rng, split)
        word = _result(item) if kind == "sum" else item.check.expected[0]
    limit = 1
    if " " in word or rng.random() < 0.4:
        limit = rng.choice([n for n in _NUMBERS if n >= 2 + len(word.split())])
    pattern = rng.choice((_ONE_WORD if limit == 1 else _FEW_WORDS)[split])
    answer = word if limit == 1 else f"It is {word}."
    system = pattern.format(n=rng.choice([str(limit), _NUMBERS[limit]])) if limit > 1 else pattern
    short = [(user, text if len(text.split()) <= limit else "Ok.") for user, text in before]
    thought = f"One word: {word}." if limit == 1 else f"At most {_NUMBERS[limit]} words: {answer}"
    return to_dialogue(item._replace(skill="system.length", answer=answer, check=Check("words", {"max": limit, "contains": [word]}), obeys=Check("words", {"max": limit, "contains": []}), thought=thought, patterns=(*item.patterns, pattern)), short, system)


_JOBS = {"train": "pirate teacher doctor cook gardener robot pilot baker sailor farmer librarian guide waiter driver painter nurse singer detective king wizard shopkeeper coach writer".split(), "heldout": "tailor butcher plumber carpenter knight".split()}
_PERSONA: Patterns = {
    "train": ["You are {p}, a {j}.", "You are {p}, a friendly {j}.", "Your name is {p}. You are a {j}.", "Your name is {p}.", "You are a {j} named {p}.", "You are a {j} called {p}.", "Play the role of {p}, a {j}.", "Act as {p}, a {j}.", "You are {p}.", "You are {p}, an old {j} who likes to help.", "Pretend to be {p}, a {j}.",
              "You are an assistant named {p}.", "You are a helpful assistant called {p}.", "The user talks to {p}, a {j}. You are {p}.", "From now on you are {p}, the {j}.", "You are {p}, the assistant of a {j}.", "Imagine that you are {p}, a {j}.", "Your name is {p} and you work as a {j}.", "{p} is your name. You are a kind {j}."],
    "heldout": ["You are a friendly {j} and your name is {p}.", "From now on your name is {p}. You work as a {j}.", "Imagine you are a {j} called {p}.", "You are the {j} {p}, who likes to help.", "Act as an assistant called {p}, who is a {j}."],
}
_JOB_ASKED: Patterns = {
    "train": ["What is your job?", "What do you do for work?", "What is your work?", "What are you, {p}?", "Which job do you have?", "Tell me your job.", "What do you work as?", "What is your profession?", "Do you have a job?"],
    "heldout": ["Tell me what you work as.", "What job do you have?", "Which work do you do?"],
}


def persona(rng: random.Random, split: Split) -> Dialogue:
    """A name, perhaps a job, given by the system message."""
    pattern, person, job = rng.choice(_PERSONA[split]), value(rng, split, "person"), rng.choice(_JOBS[split])
    system = pattern.format(p=person, j=job)
    slots = (person, job) if "{j}" in pattern else (person,)
    if "{j}" in pattern and "assistant of" not in pattern and rng.random() < 0.3:
        question = rng.choice(_JOB_ASKED[split])
        item = Item("system.persona", dress(rng, question).format(p=person), f"I am a {job}.", Check("contains", [job]), f"I am {person}, a {job}.", (question,))
    else:
        item = talk_item(rng, split, "who")._replace(answer=f"I am {person}.", check=Check("contains", [person]), thought=f"My name is {person}.")
    before = []
    if rng.random() < 0.25:
        first = fact_item(rng, split)
        before, item = [(first.user, first.answer)], item._replace(patterns=(*item.patterns, *first.patterns))
    return to_dialogue(item._replace(skill="system.persona", patterns=(*item.patterns, pattern), slots=slots), before, system)


_EVERY = ["every answer", "each answer", "all answers", "all your answers", "your answers", "every reply", "whatever you say"]
_WORD = ["the word {w}", "{w}", '"{w}"', 'the word "{w}"']
_END = sentences(join(
    compose(_LEADS, ["end ", "finish ", "close ", "conclude "], _EVERY, [" with "], _WORD, ["."]),
    compose(_LEADS, ["put ", "write ", "say ", "add "], _WORD, [" at the end of ", " after ", " as the last word of "], _EVERY, ["."]),
    compose(["your last word ", "the last word of every answer ", "the last word of all answers ", "the last word of each reply ", "the end of every answer "], _MUST, ["{w}", '"{w}"'], ["."]),
    compose(_LEADS, ["end ", "finish "], ["with "], _WORD, ["."]),
))
_BEGIN = sentences(join(
    compose(_LEADS, ["begin ", "start ", "open "], _EVERY, [" with "], _WORD, ["."]),
    compose(_LEADS, ["put ", "write ", "say ", "add "], _WORD, [" at the start of ", " at the beginning of ", " before ", " as the first word of "], _EVERY, ["."]),
    compose(["your first word ", "the first word of every answer ", "the first word of all answers ", "the first word of each reply ", "the start of every answer "], _MUST, ["{w}", '"{w}"'], ["."]),
    compose(_LEADS, ["begin ", "start "], ["with "], _WORD, ["."]),
))


def fixed_word(rng: random.Random, split: Split) -> Dialogue:
    """Every answer begins or ends with a given word."""
    begin, word = rng.random() < 0.5, value(rng, split, "thing")
    pattern = rng.choice((_BEGIN if begin else _END)[split])
    before, item = _any_item(rng, split)

    def mark(text: str) -> str:
        return f"{word}. {text}" if begin else f"{text} {word}"

    answer = mark(item.answer)
    return to_dialogue(item._replace(skill="system.word", answer=answer, check=Check("equals", answer), obeys=Check("begins" if begin else "ends", word), thought=f"I must {'begin' if begin else 'end'} with {word}: {answer}", patterns=(*item.patterns, pattern), slots=(*item.slots, word)),
                       [(user, mark(text)) for user, text in before], pattern.format(w=word))


# kind of value, answer, statements, questions
_GIVEN: list[tuple[str, str, Patterns, Patterns]] = [
    ("code", "The wifi password is {v}.", {"train": ["The wifi password is {v}.", "The password of the wifi is {v}.", "Wifi password: {v}", "Guests use the wifi password {v}.", "Our wifi has the password {v}.", "The password is {v}."], "heldout": ["Our wifi password is {v}.", "The wifi has the password {v} for guests."]},
     {"train": ["What is the wifi password?", "What is the password?", "How do I get into the wifi?", "Which password has the wifi?", "Can you give me the wifi password?", "I need the password.", "Do you know the wifi password?", "Tell me the password.", "The wifi password?"], "heldout": ["Can you tell me the password of the wifi?", "I need the wifi password.", "Which password does the wifi have?"]}),
    ("hour", "The shop opens at {v}.", {"train": ["The shop opens at {v}.", "Opening time of the shop: {v}", "The shop is open from {v}.", "Our shop opens every day at {v}.", "We open the shop at {v}.", "The shop starts at {v}."], "heldout": ["Every day the shop is open from {v}.", "Our shop starts at {v}."]},
     {"train": ["When does the shop open?", "At what time does the shop open?", "When do you open?", "When can I come to the shop?", "What is the opening time?", "From when is the shop open?", "Tell me when the shop opens.", "Do you know when the shop opens?"], "heldout": ["At what time do you open?", "From when can I come to the shop?", "Tell me the opening time."]}),
    ("person", "The manager is {v}.", {"train": ["The manager is {v}.", "Our manager is called {v}.", "The name of the manager is {v}.", "Manager: {v}", "{v} is the manager.", "The manager is named {v}."], "heldout": ["The manager is called {v}.", "The name of our manager is {v}."]},
     {"train": ["Who is the manager?", "What is the name of the manager?", "Who leads the team?", "Tell me who the manager is.", "Do you know the manager?", "What is the manager called?", "Can you tell me the name of the manager?", "Who is your manager?"], "heldout": ["Do you know who the manager is?", "Tell me the name of the manager.", "Can you tell me who is the manager?"]}),
    ("city", "The office is in {v}.", {"train": ["The office is in {v}.", "Our office is in {v}.", "We are in {v}.", "Office: {v}", "The company has its office in {v}.", "The office is located in {v}."], "heldout": ["Our company has an office in {v}.", "Our office is located in {v}."]},
     {"train": ["Where is the office?", "Where is your office?", "In which city is the office?", "What is the city of the office?", "Tell me where the office is.", "Do you know where the office is?", "Where can I find the office?", "Which city is the office in?"], "heldout": ["Tell me in which city the office is.", "In which city can I find the office?", "Do you know where your office is?"]}),
    ("room", "The meeting is in room {v}.", {"train": ["The meeting is in room {v}.", "Meeting room: {v}", "Today we meet in room {v}.", "Room {v} is for the meeting.", "We have the meeting in room {v}."], "heldout": ["Today the meeting is in room {v}.", "We meet in room {v}."]},
     {"train": ["Where is the meeting?", "In which room is the meeting?", "Which room is the meeting in?", "What is the room of the meeting?", "Tell me the meeting room.", "Where do we meet?", "Which room?", "Do you know the room of the meeting?"], "heldout": ["Tell me the room of the meeting.", "In which room do we meet?", "Which room is for the meeting?"]}),
    ("email", "The address is {v}.", {"train": ["The support address is {v}.", "Support: {v}", "Mail goes to {v}.", "Questions go to {v}.", "The email address of the support is {v}.", "Our email is {v}."], "heldout": ["The email of the support is {v}.", "Our support address is {v}."]},
     {"train": ["What is the email address?", "What is the support address?", "Where can I send a mail?", "What is your email?", "To which address do I write?", "Tell me the email address.", "How can I reach the support?", "Do you have an email address?"], "heldout": ["Tell me the support address.", "What is your email address?", "To which email address can I write?"]}),
    ("thing", "The gift is a {v}.", {"train": ["The gift is a {v}.", "The gift of the day is a {v}.", "Gift: {v}", "We give a {v} as a gift.", "Every guest gets a {v} as a gift."], "heldout": ["The gift for every guest is a {v}.", "Today we give a {v} as a gift."]},
     {"train": ["What is the gift?", "Which gift do I get?", "What is the gift of the day?", "Tell me the gift.", "What do I get as a gift?", "Do you know the gift?"], "heldout": ["Which gift is it?", "Tell me which gift I get."]}),
]


def _hour(rng: random.Random, split: Split) -> str:
    hour = rng.choice([6, 7, 8, 9, 12, 13, 14] if split == "train" else [10, 11])
    # Other skills use the minutes 00, 15 and 30 in training, with any hour.
    endings = [" o'clock", ":15", ":30", ":00"] if split == "train" else [" o'clock", ":45"]
    return str(hour) + rng.choice(endings)


def given(rng: random.Random, split: Split) -> Dialogue:
    """Facts in the system message, one of them asked for."""
    entries = rng.sample(_GIVEN, rng.choices([1, 2, 3], [4, 3, 2])[0])
    chosen = rng.randrange(len(entries))
    told, patterns, slots, values = [], [], [], []
    for kind, _, statements, _ in entries:
        v = (code(rng, split) if kind == "code" else _hour(rng, split) if kind == "hour" else str(integer(rng, split, 20, 999)) if kind == "room" else email(rng, split) if kind == "email" else value(rng, split, kind))
        pattern = rng.choice(statements[split])
        text = an(pattern.format(v=v))
        told.append(text if text[-1] == "." else text + ".")
        patterns.append(pattern)
        slots.append(v)
        values.append(v)
    lead = rng.choice(["", "", "", "You are a helpful assistant. ", "You help guests. "]) if split == "train" else ""
    _, answer, _, questions = entries[chosen]
    question, v = rng.choice(questions[split]), values[chosen]
    fact = an(answer.format(v=v))
    before = []
    if rng.random() < 0.2:
        between = rng.choice([aside, fact_item])(rng, split)
        before.append((between.user, between.answer))
        patterns += between.patterns
    return to_dialogue(Item("system.given", dress(rng, question), fact, Check("contains", [v]), fact, (*patterns, question), tuple(slots)), before, lead + " ".join(told))


#: For the caller to put before conversations of training that need none.
GENERIC_SYSTEM_MESSAGES: list[str] = [
    "You are a helpful assistant.", "You are a helpful and friendly assistant.", "You are an assistant.", "You are a small assistant.", "You are Dragoman Tiny.", "You are Dragoman Tiny, a small language model.", "You help people.", "Be helpful.", "Be kind and helpful.", "Help the user.",
    "Answer the questions of the user.", "You are a friendly chat model.", "You answer questions.", "You are a polite assistant.", "Be polite.", "Be honest.", "You are a careful assistant.", "Help the user as well as you can.", "You are here to help.", "Talk with the user.",
    "You are a helpful assistant. Answer the user.", "You are a helpful assistant. Be brief and clear.", "You are a good assistant. You are honest. You are kind.", "You are a useful assistant. If you do not know something, say so.", "Give clear answers. Be friendly.",
    "You are a chat assistant. The user will ask you something. Answer it.", "You are an honest assistant. Never invent facts.", "You are a helpful AI assistant.", "You are an AI model that helps people with small tasks.", "Assist the user with the task.",
    "You are a helpful assistant running on the computer of the user.", "You work for the user. Be friendly and correct.", "Follow the instructions of the user.", "Read the question well. Then answer it.", "You are a smart assistant. Think before you answer.",
    "You are a calm assistant. Stay friendly.", "The user may ask anything. Help when you can. Say so when you cannot.", "You are a support assistant.", "You are a tool that answers simple questions.", "You are a helpful assistant. Use the tools when they help.",
]

SKILLS: list[tuple[float, Callable[[random.Random, Split], Dialogue]]] = [(4.0, language), (2.5, upper), (3.0, length), (2.0, persona), (2.0, fixed_word), (3.0, given)]
