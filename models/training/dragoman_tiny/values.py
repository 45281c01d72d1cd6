"""Slot values. The held-out ones never occur in training: they are listed apart, and everything invented is checked."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from .dialogue import Split

_TRAIN = {
    "person": "Ana Ben Carla David Elena Felix Greta Hugo Ines Jonas Karin Leo Maria Nils Olga Paul Rosa Simon Tanja Viktor Anna Bruno Clara Diego Emma Fiona Georg Hannah Ivan Julia Kevin Laura Martin Nora Oscar Petra Ralf Sara Thomas Ursula Vera Walter Alice Bob Charlie Daniel Eva Frank Grace Henry Isabel Jack Kate Liam Mia Noah Olivia Peter Quentin Ruth Sam Tina Victor Wendy Tom Lisa Max Lena Erik Sofia Omar Aisha Chen Yuki Raj Priya Ahmed Fatima Pavel Katya".split(),
    "surname": "Smith Jones Brown Miller Weber Schmidt Rossi Bianchi Garcia Lopez Martin Bernard Novak Horvat Jensen Larsen Kim Tanaka Singh Khan Walker Wright Hill Green Baker Carter Cooper Fisher Mason Turner".split(),
    "city": "Paris London Berlin Madrid Vienna Prague Warsaw Lisbon Dublin Athens Milan Munich Hamburg Zurich Geneva Brussels Antwerp Oslo Stockholm Copenhagen Helsinki Tokyo Osaka Kyoto Beijing Shanghai Seoul Delhi Mumbai Cairo Lagos Nairobi Boston Chicago Denver Dallas Seattle Miami Toronto Montreal Vancouver Sydney Melbourne Perth Lima Bogota Santiago Quito Havana Naples Turin Lyon Nice Bordeaux Seville Valencia Porto Cologne Leipzig Dresden Graz Basel Utrecht Tampere Riga Tallinn Vilnius Kyiv Sofia Bucharest Budapest Belgrade Zagreb|New York|San Francisco|Los Angeles|Buenos Aires|São Paulo|Cape Town|Tel Aviv|Hong Kong|Mexico City",
    "thing": "lamp chair table mirror bottle pencil notebook backpack umbrella wallet camera guitar violin bicycle helmet jacket sweater blanket pillow candle basket bucket hammer ladder rope tent kettle teapot fork spoon plate bowl towel brush soap shampoo battery cable charger keyboard mouse monitor printer speaker headphones clock watch ring necklace scarf glove boot sandal",
    "topic": "music history sports cooking travel science movies books gardening chess football painting fishing hiking yoga fashion photography astronomy biology chemistry economics poetry theater weather health finance",
    "task": "buy milk|call the bank|water the plants|pay the rent|clean the kitchen|walk the dog|send the report|book a flight|fix the printer|wash the car|read chapter two|feed the cat|order new chairs|renew the passport|visit grandma|write the summary|check the oil|return the books|update the website|charge the phone|bake a cake|paint the fence|sort the photos|cancel the meeting",
    "message": "I will be late|see you soon|the meeting is moved|thanks for the help|please call me back|dinner is ready|happy birthday|the parcel has arrived|I am on my way|we need more time|the door is open|good luck today|the train is delayed|lunch at noon|all tests are green|the server is down|bring your laptop|great work everyone|do not forget the keys|the order was shipped",
    "color": "red blue green yellow black white orange purple pink brown grey".split(),
    "noun": "ticket invoice order user account document folder file report note event meeting reminder task project team channel message email contact customer product article page comment post photo album video playlist song recipe room table flight hotel car bike package shipment payment refund coupon subscription license server database backup branch commit issue release build test device sensor door window light heater camera printer course lesson exam student teacher class book poll survey badge vote budget expense claim policy contract lead deal".split(),
    "field": "title name label code reason status owner location category topic subject level amount price quantity weight length width height count limit offset page size rating score priority color format language currency date time duration start end source target path host port version comment summary key value group tag unit mode style theme speed volume age year month day hour".split(),
}

_HELDOUT = {
    "person": "Agnes Boris Cora Dmitri Edith Fabio Gwen Hassan Imani Jasper Kira Lorenzo Mabel Nadia Otto Phoebe Rafael Selma Tobias Uma Vincent Willa Xavier Yara Zoe Anton Beatrix Cyril Dora Emil".split(),
    "surname": "Abbott Becker Colombo Dupont Eriksen Fontana Gruber Hansson Ivanov Johnson Keller Lindgren Moreau Nilsen Ortega".split(),
    "city": "Rome Barcelona Amsterdam Bergen Gdansk Krakow Salzburg Florence Venice Bologna Marseille Toulouse Granada Malaga Manila Jakarta Bangkok Hanoi Houston Phoenix Atlanta Portland Calgary Brisbane Auckland Rotterdam Stuttgart Bremen Aarhus Malmö|Las Vegas|Kuala Lumpur|San Diego|New Delhi",
    "thing": "sofa carpet vase drum flute tripod compass lantern trumpet bracelet raincoat suitcase thermos shovel stapler",
    "topic": "geology opera archery sailing robotics philosophy knitting surfing linguistics pottery",
    "task": "mow the lawn|defrost the freezer|iron the shirts|phone the dentist|vacuum the stairs|collect the laundry|polish the shoes|tidy the garage|sign the lease|repair the roof",
    "message": "the concert starts at eight|your taxi is waiting|we won the match|snow is coming tonight|the elevator is broken|congratulations on the promotion|breakfast was lovely|the museum is closed",
    "color": "turquoise crimson beige maroon".split(),
    "noun": "warehouse vehicle podcast webinar parcel voucher workspace dashboard pipeline cluster firewall sprinkler thermostat orchard clinic patient reservation timesheet payslip dataset milestone sticker".split(),
    "field": "nickname caption motive brightness altitude capacity deadline frequency humidity discount district genre tempo voltage salary".split(),
}


def _split(value: str | list[str]) -> list[str]:
    if isinstance(value, list):
        return value
    head, *rest = value.split("|")
    # A list of single words may end with phrases, each behind a bar.
    words = [head] if " " in head and rest and len(head.split()) <= 5 else head.split()
    return words + rest


TRAIN = {kind: _split(value) for kind, value in _TRAIN.items()}
HELDOUT = {kind: _split(value) for kind, value in _HELDOUT.items()}
_FORBIDDEN = {word.lower() for values in HELDOUT.values() for value in values for word in [value, *value.split()]}

_ACCENTED = "ä ö ü é è á í ó ñ ç ã ø å ß".split()
_pieces: list[str] = []
_first_pieces: list[str] = []

_ONSETS = "b c d f g h j k l m n p r s t v w z br ch cl cr dr fl fr gl gr kr pl pr qu sch sh sk sl sp st str th tr".split()
_VOWELS = "a e i o u a e i o ai au ea ee ei ie io oa oo ou".split()
_CODAS = ["", "", "", "n", "r", "s", "l", "t", "m", "k", "d", "ck", "nd", "nt", "rt", "st", "x", "sh", "ng", "lf"]


def invented_word(rng: random.Random, syllables: tuple[int, int] = (1, 3)) -> str:
    """A pronounceable word that is no held-out value: what forces the model to copy instead of to remember."""
    while True:
        count = rng.randint(*syllables)
        if _pieces and rng.random() < 0.55:
            word = "".join(rng.choice(_pieces) for _ in range(max(count, rng.randint(1, 3))))
            if rng.random() < 0.05:
                word += rng.choice(_ACCENTED) + rng.choice(_CODAS)
        else:
            word = "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS) for _ in range(count))
        if word not in _FORBIDDEN and 2 < len(word) < 16:
            return word


def invented_name(rng: random.Random) -> str:
    """The same with a capital letter, which begins with a piece that has one half of the time."""
    while True:
        word = invented_word(rng, (1, 3))
        name = rng.choice(_first_pieces) + word if _first_pieces and rng.random() < 0.5 else word.capitalize()
        if name.lower() not in _FORBIDDEN and len(name) < 16:
            return name


def use_pieces(pieces: Sequence[str], first_pieces: Sequence[str] = ()) -> None:
    """Lets invented words consist of these as well. With every piece of the tokenizer, no word is strange to the model."""
    _pieces[:] = pieces
    _first_pieces[:] = first_pieces


#: How often training takes an invented value instead of a listed one.
_INVENTED = {"person": 0.5, "surname": 0.6, "city": 0.5, "thing": 0.5, "topic": 0.4, "color": 0.4, "noun": 0.65, "field": 0.65}
#: How often a value of training has a second word.
_DOUBLE = {"city": 0.2, "thing": 0.08, "topic": 0.1, "person": 0.03, "color": 0.08}
_CAPITAL = {"person", "surname", "city"}

#: What phrases of training look like: {n} a noun, {v} a verb, {a} a property, {w} any word, {p} a small word.
_SHAPES = (
    "the {n} is {a}|the {n} {v}s at {w}|{w} {p} the {n}|{v} the {n}|{v} the {n}|your {n} is {v}ing|we {v} the {n}|{a} {n}|{v} my {n} and the {n}|I {v} the {n} {p} the {n}|{n} was {a}|{v} {n}|{p} {n} {v}s|{w}"
    "|{w} {w}|{w} {w} {w}|{a} {n} {p} your {n}|do not {v} the {n}|the {n} {p} the {n} is {a}|please {v} {p} {n}|all {n}s are {a}|{n} is {v}ing {w}|they {v}ed a {n}|{v} {p} {w} {p} {w}|this is {w}|{w} for {w}|my {n} has {w}|it is {a}"
).split("|")
_VERBS = "clean bring close order count call sell find keep take read carry watch fill lift cut wash pack visit build paint cook push pull turn hang write sort plan".split()
_PROPERTIES = "ready late old new empty full cold warm wet dry clean dirty open gone here fine safe great sold lost free busy loud quiet cheap broke tired".split()
_SMALL = "on at in for with from to of by about after before under over into without".split()


def value(rng: random.Random, split: Split, kind: str) -> str:
    """One value of a kind."""
    if split == "heldout":
        return rng.choice(HELDOUT[kind])
    if kind in ("task", "message"):
        return rng.choice(TRAIN[kind]) if rng.random() < 0.25 else _phrase(rng)
    first = _single(rng, kind)
    return f"{first} {_single(rng, kind)}" if rng.random() < _DOUBLE.get(kind, 0) else first


def _single(rng: random.Random, kind: str) -> str:
    if rng.random() >= _INVENTED[kind]:
        return rng.choice(TRAIN[kind])
    if kind in _CAPITAL:
        return invented_name(rng)
    return invented_word(rng, (1, 2) if kind in ("noun", "field") else (1, 3))


def _phrase(rng: random.Random) -> str:
    """One to eight words, so that only the sentence around them says where a text ends."""
    while (phrase := _any_phrase(rng)) in _SMALL:
        pass
    return phrase


def _any_phrase(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return " ".join(_phrase_word(rng) for _ in range(rng.randint(2, 6)))
    lists = {"n": TRAIN["thing"] + TRAIN["noun"], "v": _VERBS, "a": _PROPERTIES, "p": _SMALL, "w": [*_SMALL, *TRAIN["topic"], *_PROPERTIES, *TRAIN["color"]]}
    draw = lambda slot: rng.choice(lists[slot[1]]) if slot[1] == "p" or rng.random() < 0.55 else invented_word(rng, (1, 2))  # noqa: E731
    return re.sub(r"\{(\w)\}", draw, rng.choice(_SHAPES))


def _phrase_word(rng: random.Random) -> str:
    pool = rng.random()
    if pool < 0.45:
        return invented_word(rng, (1, 2))
    if pool < 0.65:
        return rng.choice(["the", "a", "my", "is", "to", "for", "and", "of", "with", "our", *_SMALL, "are", "was", "we", "you", "I", "your", "has", "that", "not"])
    return rng.choice(TRAIN[rng.choice(["thing", "noun", "topic", "color", "field"])]).lower()


def distinct(rng: random.Random, split: Split, kind: str, count: int) -> list[str]:
    """Different values of a kind."""
    found: list[str] = []
    while len(found) < count:
        candidate = value(rng, split, kind)
        if candidate.lower() not in [other.lower() for other in found]:
            found.append(candidate)
    return found


def is_heldout_number(number: int) -> bool:
    """A seventh of all whole numbers is kept for the evaluator."""
    return number % 7 == 3


def integer(rng: random.Random, split: Split, low: int, high: int) -> int:
    """A whole number in [low, high] that belongs to the split."""
    candidates = range(low, high + 1)
    if not any(is_heldout_number(n) == (split == "heldout") for n in candidates[:7]):
        raise ValueError(f"no {split} number between {low} and {high}")
    while True:
        number = rng.choice(candidates)
        if is_heldout_number(number) == (split == "heldout"):
            return number


def decimal(rng: random.Random, split: Split, high: int) -> float:
    """A number with one decimal whose digits, read as a whole number, belong to the split."""
    while True:
        number = integer(rng, split, 11, high * 10)
        if number % 10 != 0:
            return number / 10


def email(rng: random.Random, split: Split) -> str:
    """An address at a reserved domain."""
    person = value(rng, split, "person").lower()
    host = value(rng, split, "thing")
    return f"{person}@{host}.{rng.choice(['com', 'org', 'net'])}".encode("ascii", "ignore").decode()


def code(rng: random.Random, split: Split) -> str:
    """An identifier such as `KX-4821`; its number belongs to the split."""
    letters = "".join(rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(rng.randint(1, 3)))
    return f"{letters}{rng.choice(['-', '-', '', '_'])}{integer(rng, split, 100, 99999)}"


def pick(rng: random.Random, patterns: dict[Split, Sequence[str]], split: Split) -> str:
    """A sentence pattern of the split."""
    return rng.choice(patterns[split])
