"""Functions that everybody's examples use, with the ways users ask for them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import values
from ..dialogue import Split
from ..patterns import plain
from .phrasings import PHRASINGS, unfold

Draw = Callable[[random.Random, Split], tuple[Any, str, list[str]]]


@dataclass(frozen=True)
class Parameter:
    schema: dict[str, Any]
    #: A value, the user's words for it, and the free values in it.
    draw: Draw


@dataclass(frozen=True)
class DomainTool:
    name: str
    descriptions: list[str]
    parameters: dict[str, Parameter]
    required: list[str]
    #: A sentence with parameters in braces, and the arguments that its words imply.
    patterns: dict[Split, list[tuple[str, dict[str, Any]]]]

    def sentence(self, rng: random.Random, split: Split) -> tuple[str, dict[str, Any]]:
        """One of them; what training puts together is never a held-out sentence."""
        pattern, implied = rng.choice(self.patterns[split])
        if split == "heldout":
            return pattern, implied
        held_out = {plain(sentence) for sentence, _ in self.patterns["heldout"]}
        while plain(unfolded := unfold(rng, pattern)) in held_out:
            pass
        return unfolded, implied


def _text(kind: str) -> Parameter:
    def draw(rng: random.Random, split: Split) -> tuple[Any, str, list[str]]:
        value = values.value(rng, split, kind)
        return value, value, [value]

    return Parameter({"type": "string"}, draw)


def _made(make: Callable[[random.Random, Split], str]) -> Parameter:
    def draw(rng: random.Random, split: Split) -> tuple[Any, str, list[str]]:
        value = make(rng, split)
        return value, value, [value]

    return Parameter({"type": "string"}, draw)


def _number(low: int, high: int, kind: str = "integer") -> Parameter:
    def draw(rng: random.Random, split: Split) -> tuple[Any, str, list[str]]:
        value = values.integer(rng, split, low, high)
        return value, str(value), [str(value)]

    return Parameter({"type": kind}, draw)


def _amount() -> Parameter:
    def draw(rng: random.Random, split: Split) -> tuple[Any, str, list[str]]:
        value: float = values.decimal(rng, split, 100) if rng.random() < 0.3 else values.integer(rng, split, 1, 900)
        return value, str(value), [str(value)]

    return Parameter({"type": "number"}, draw)


def _enum(*words: str) -> Parameter:
    def draw(rng: random.Random, _: Split) -> tuple[Any, str, list[str]]:
        word = rng.choice(words)
        return word, word, []

    return Parameter({"type": "string", "enum": list(words)}, draw)


def _flag() -> Parameter:
    return Parameter({"type": "boolean"}, lambda rng, _: (True, "true", []))


def _list(kind: str) -> Parameter:
    def draw(rng: random.Random, split: Split) -> tuple[Any, str, list[str]]:
        items = values.distinct(rng, split, kind, rng.randint(2, 3))
        return items, f"{', '.join(items[:-1])} and {items[-1]}", items

    return Parameter({"type": "array", "items": {"type": "string"}}, draw)


def _address() -> Parameter:
    def draw(rng: random.Random, split: Split) -> tuple[Any, str, list[str]]:
        street, city = values.value(rng, split, "surname"), values.value(rng, split, "city")
        return {"street": street, "city": city}, f"{street} street in {city}", [street, city]

    schema = {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}, "required": ["street", "city"]}
    return Parameter(schema, draw)


def _time(rng: random.Random, split: Split) -> str:
    return f"{rng.randint(0, 23):02d}:{values.integer(rng, split, 0, 59):02d}"


def _date(rng: random.Random, split: Split) -> str:
    return f"2025-{rng.randint(1, 12):02d}-{values.integer(rng, split, 1, 28):02d}"


def _path(rng: random.Random, split: Split) -> str:
    return f"{rng.choice(['/', '/', '', './'])}{values.value(rng, split, 'noun')}/{values.value(rng, split, 'thing')}.{rng.choice(['txt', 'md', 'py', 'json', 'csv'])}"


def _sum(rng: random.Random, split: Split) -> str:
    return f"{values.integer(rng, split, 1, 999)} {rng.choice('+-*/')} {values.integer(rng, split, 1, 999)}"


def _tool(name: str, descriptions: str, parameters: dict[str, Parameter], required: str, train: str, heldout: str) -> DomainTool:
    more = PHRASINGS[name].replace("{place}", "{" + required + "}")
    return DomainTool(name, descriptions.split("|"), parameters, required.split(), {"train": _patterns(f"{train}\n{more}"), "heldout": _patterns(heldout)})


def _patterns(text: str) -> list[tuple[str, dict[str, Any]]]:
    """One pattern a line; `=> name=value` at its end gives arguments that the words imply."""
    found: list[tuple[str, dict[str, Any]]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        pattern, _, implied = line.partition(" => ")
        constants = dict(item.split("=") for item in implied.split()) if implied else {}
        found.append((pattern, {key: {"true": True, "false": False}.get(text, text) for key, text in constants.items()}))
    return found


DOMAIN_TOOLS: list[DomainTool] = [
    _tool(
        "get_weather",
        "Get the current weather in a city.|Returns the weather for a place.|Get the weather",
        {"city": _text("city"), "unit": _enum("celsius", "fahrenheit")},
        "city",
        """what is the weather in {city}
        what's the weather like in {city}?
        how is the weather in {city}?
        weather in {city}
        weather {city}
        is it raining in {city}?
        tell me the weather in {city}
        what is the weather in {city} in {unit}?
        weather for {city}, in {unit}
        how warm is it in {city} in {unit}?
        do I need an umbrella in {city}?
        how cold is it in {city} today?
        give me the weather report for {city}
        I am going to {city}, what is the weather there?
        show the weather in {city} in {unit}
        will it be sunny in {city}?""",
        """what is the weather like in {city} today?
        how is the weather today in {city}
        show me the weather report for {city}
        tell me how warm it is in {city} in {unit}
        is it sunny in {city}?""",
    ),
    _tool(
        "get_weather",
        "Get the current weather in a location.|Get the weather for a location",
        {"location": _text("city"), "unit": _enum("celsius", "fahrenheit")},
        "location",
        """what is the weather in {location}
        what's the weather in {location}?
        how is the weather in {location}?
        weather in {location}
        is it raining in {location}?
        get the weather of {location}
        tell me the weather in {location} in {unit}
        what is the weather in {location} in {unit}?
        how hot is it in {location}?
        is it cold in {location}?""",
        """what is the weather like today in {location}?
        tell me how the weather is in {location}
        how cold is it in {location} in {unit}?""",
    ),
    _tool(
        "get_time",
        "Get the current time in a city.|Tells the local time of a city.",
        {"city": _text("city")},
        "city",
        """what time is it in {city}?
        what is the time in {city}
        tell me the time in {city}
        current time in {city}
        time in {city}
        how late is it in {city}?
        do you know what time it is in {city}?
        give me the local time in {city}
        which time do they have in {city}?
        I need the time in {city}""",
        """what is the local time in {city}?
        tell me what time it is in {city}
        show me the current time in {city}""",
    ),
    _tool(
        "set_timer",
        "Set a timer.|Start a timer for some minutes.",
        {"minutes": _number(1, 120), "label": _text("topic")},
        "minutes",
        """set a timer for {minutes} minutes
        timer {minutes} minutes
        start a timer of {minutes} minutes
        wake me in {minutes} minutes
        remind me in {minutes} minutes
        set a {minutes} minute timer
        {minutes} minutes timer please
        I need a timer for {minutes} minutes
        set a timer for {minutes} minutes with label {label}
        start a {minutes} minute timer called {label}
        make a timer named {label} for {minutes} minutes
        count down {minutes} minutes
        timer for {label}, {minutes} minutes""",
        """start a timer for {minutes} minutes
        I need a {minutes} minute timer
        make a timer for {minutes} minutes called {label}
        set a {label} timer of {minutes} minutes""",
    ),
    _tool(
        "send_email",
        "Send an email.|Sends an email to somebody.",
        {"to": _made(values.email), "subject": _text("topic"), "body": _text("message")},
        "to subject body",
        """send an email to {to} about {subject} saying {body}
        email {to} with subject {subject}: {body}
        write to {to}, subject {subject}, text {body}
        send {to} an email with the subject {subject} and the body {body}
        mail {to} about {subject}: {body}
        write an email to {to} about {subject}. It should say {body}
        send a mail to {to}. Subject: {subject}. Body: {body}
        tell {to} by email that {body}, subject {subject}
        compose an email for {to} with subject {subject} and text {body}""",
        """write a mail to {to} about {subject} saying {body}
        send an email to {to}, subject {subject}, body {body}
        email {to} about {subject}. Body: {body}""",
    ),
    _tool(
        "send_message",
        "Send a text message to a person.|Text somebody.",
        {"recipient": _text("person"), "text": _text("message")},
        "recipient text",
        """tell {recipient} that {text}
        text {recipient}: {text}
        send {recipient} the message {text}
        send a message to {recipient} saying {text}
        write {recipient} that {text}
        message {recipient}: {text}
        let {recipient} know that {text}
        text {recipient} saying "{text}"
        send "{text}" to {recipient}
        please message {recipient} that {text}""",
        """send a text to {recipient} saying {text}
        let {recipient} know: {text}
        write a message to {recipient}: {text}""",
    ),
    _tool(
        "search_web",
        "Search the web.|Find pages on the internet.",
        {"query": _text("topic"), "limit": _number(1, 50)},
        "query",
        """search the web for {query}
        google {query}
        look up {query} on the internet
        find pages about {query}
        search for {query} online
        web search: {query}
        find {limit} pages about {query}
        search the web for {query} and show {limit} results
        I want to read about {query} on the web
        look for {query} online, {limit} results
        show me {limit} web results for {query}""",
        """search the internet for {query}
        look up {query} online
        find {limit} results about {query} on the web""",
    ),
    _tool(
        "convert_currency",
        "Convert an amount of money between currencies.|Currency converter.",
        {"amount": _amount(), "from": _enum("EUR", "USD", "GBP", "CHF", "JPY"), "to": _enum("EUR", "USD", "GBP", "CHF", "JPY")},
        "amount from to",
        """convert {amount} {from} to {to}
        how much is {amount} {from} in {to}?
        {amount} {from} in {to}
        what are {amount} {from} in {to}?
        change {amount} {from} into {to}
        exchange {amount} {from} to {to}
        I have {amount} {from}, how many {to} is that?
        give me {amount} {from} in {to}
        turn {amount} {from} into {to}""",
        """convert {amount} {from} into {to}
        what is {amount} {from} in {to}?
        I want to exchange {amount} {from} into {to}""",
    ),
    _tool(
        "calculate",
        "Evaluate an arithmetic expression.|A calculator.",
        {"expression": _made(_sum)},
        "expression",
        """calculate {expression}
        what is {expression}?
        compute {expression}
        how much is {expression}?
        use the calculator for {expression}
        evaluate {expression}
        please work out {expression}
        solve {expression}
        {expression} = ?""",
        """please calculate {expression} for me
        tell me how much {expression} is
        compute the value of {expression}""",
    ),
    _tool(
        "translate_text",
        "Translate a text into another language.|Translator.",
        {"text": _text("message"), "language": _enum("German", "French", "Spanish", "Italian")},
        "text language",
        """translate "{text}" into {language}
        translate {text} to {language}
        how do you say "{text}" in {language}?
        what is "{text}" in {language}?
        say {text} in {language}
        I need "{text}" in {language}
        put "{text}" into {language}
        give me the {language} for "{text}"
        translate into {language}: {text}""",
        """please translate "{text}" to {language}
        how does one say "{text}" in {language}
        translate this into {language}: {text}""",
    ),
    _tool(
        "add_todo",
        "Add a task to the to-do list.|Adds an item to the list of tasks.",
        {"task": _text("task"), "priority": _enum("low", "medium", "high")},
        "task",
        """add {task} to my to-do list
        remind me to {task}
        put {task} on my list
        new task: {task}
        add a task: {task}
        I have to {task}, put it on the list
        add {task} with {priority} priority
        to-do: {task}, {priority} priority
        don't let me forget to {task}
        note that I must {task}
        add the task {task} with priority {priority}
        put "{task}" on the to-do list with {priority} priority""",
        """add the task {task} to my list
        put {task} on my to-do list
        new task with {priority} priority: {task}""",
    ),
    _tool(
        "switch_light",
        "Switch the light in a room on or off.|Controls the lights.",
        {"room": _text("thing"), "on": _flag()},
        "room on",
        """turn on the light in the {room} room => on=true
        turn off the light in the {room} room => on=false
        switch the {room} room light on => on=true
        switch the {room} room light off => on=false
        lights on in the {room} room => on=true
        lights off in the {room} room => on=false
        light in the {room} room on => on=true
        light in the {room} room off => on=false
        make it bright in the {room} room => on=true
        make it dark in the {room} room => on=false""",
        """turn the light in the {room} room on => on=true
        turn the light in the {room} room off => on=false
        switch on the light of the {room} room => on=true
        switch off the light of the {room} room => on=false""",
    ),
    _tool(
        "book_table",
        "Book a table in a restaurant.|Reserves a table.",
        {"restaurant": _text("surname"), "people": _number(1, 20), "time": _made(_time)},
        "restaurant people",
        """book a table at {restaurant} for {people} people
        reserve a table for {people} at {restaurant}
        a table for {people} people at {restaurant} at {time}
        book {restaurant} for {people} at {time}
        table at {restaurant} at {time}, {people} people
        get us a table at {restaurant} for {people}
        I want to eat at {restaurant} with {people} people at {time}
        we are {people}, book a table at {restaurant}
        reserve {restaurant} at {time} for {people} people""",
        """book a table for {people} people at {restaurant}
        get a table at {restaurant} at {time} for {people}
        we want to eat at {restaurant}, {people} people""",
    ),
    _tool(
        "order_pizza",
        "Order a pizza.|Orders pizza with toppings.",
        {"size": _enum("small", "medium", "large"), "toppings": _list("color"), "delivery": _flag()},
        "size",
        """order a {size} pizza
        I want a {size} pizza with {toppings}
        a {size} pizza with {toppings}, deliver it => delivery=true
        one {size} pizza for pickup => delivery=false
        get me a {size} pizza with {toppings}
        order a {size} pizza with {toppings} for delivery => delivery=true
        {size} pizza, no delivery => delivery=false
        pizza, {size}, with {toppings}
        can I have a {size} pizza?
        bring me a {size} pizza with {toppings} => delivery=true""",
        """order one {size} pizza with {toppings}
        I want a {size} pizza for delivery => delivery=true
        get me one {size} pizza for pickup => delivery=false""",
    ),
    _tool(
        "create_contact",
        "Save a contact in the address book.|Creates a contact.",
        {"name": _text("person"), "email": _made(values.email), "address": _address()},
        "name",
        """save {name} as a contact
        add {name} with email {email} to my contacts
        new contact {name}, email {email}
        save {name}, {email}, who lives at {address}
        create a contact for {name} at {address}
        add {name} to the address book, email {email}
        contact: {name}, address {address}
        store {name} with address {address}
        put {name} and the email {email} into my contacts""",
        """add a contact for {name} with email {email}
        save the contact {name}, address {address}
        new contact: {name} who lives at {address}""",
    ),
    _tool(
        "get_directions",
        "Get directions between two places.|Route planner.",
        {"from": _text("city"), "to": _text("city"), "mode": _enum("car", "train", "bike")},
        "from to",
        """how do I get from {from} to {to}?
        directions from {from} to {to}
        show the way from {from} to {to} by {mode}
        route from {from} to {to} by {mode}
        I want to go from {from} to {to}
        plan a trip from {from} to {to} by {mode}
        get me from {from} to {to}
        how can I travel from {from} to {to} by {mode}?
        I am in {from} and want to go to {to}""",
        """show me the route from {from} to {to}
        how do I travel from {from} to {to} by {mode}?
        plan the way from {from} to {to}""",
    ),
    _tool(
        "play_song",
        "Play a song.|Plays music by title and artist.",
        {"title": _text("task"), "artist": _text("person")},
        "title",
        """play {title}
        play {title} by {artist}
        I want to hear {title}
        put on {title} by {artist}
        play the song {title}
        let me hear {title} from {artist}
        start the song {title} by {artist}
        play "{title}"
        could you play "{title}" by {artist}?""",
        """play the song {title} by {artist}
        put on the song "{title}"
        I want to hear {title} by {artist}""",
    ),
    _tool(
        "read_file",
        "Read a file.|Returns the content of a file.",
        {"path": _made(_path)},
        "path",
        """read {path}
        show me the file {path}
        open {path}
        what is in {path}?
        cat {path}
        read the file {path}
        print the content of {path}
        let me see {path}
        look into {path}""",
        """show me the content of {path}
        what is in the file {path}?
        open the file {path} and read it""",
    ),
    _tool(
        "set_temperature",
        "Set the temperature of a room in degrees.|Controls the heating.",
        {"room": _text("thing"), "degrees": _number(5, 35, "number")},
        "room degrees",
        """set the {room} room to {degrees} degrees
        make the {room} room {degrees} degrees
        heat the {room} room to {degrees}
        {degrees} degrees in the {room} room
        temperature {degrees} in the {room} room
        I want {degrees} degrees in the {room} room
        change the {room} room temperature to {degrees}
        cool the {room} room down to {degrees} degrees""",
        """set the temperature in the {room} room to {degrees} degrees
        make it {degrees} degrees in the {room} room
        heat the {room} room up to {degrees} degrees""",
    ),
    _tool(
        "track_order",
        "Track an order by its number.|Where is an order?",
        {"order_id": _made(values.code)},
        "order_id",
        """where is my order {order_id}?
        track order {order_id}
        status of order {order_id}
        what is the status of {order_id}?
        has {order_id} been shipped?
        track {order_id}
        find my order {order_id}
        my order number is {order_id}, where is it?
        when does order {order_id} arrive?""",
        """what is the status of my order {order_id}?
        track my order number {order_id}
        where is the order {order_id}""",
    ),
    _tool(
        "create_event",
        "Create an event in the calendar.|Adds a calendar entry.",
        {"title": _text("task"), "date": _made(_date), "attendees": _list("person")},
        "title date",
        """create an event {title} on {date}
        put {title} in my calendar on {date}
        schedule {title} on {date} with {attendees}
        new event on {date}: {title}
        add {title} on {date} to the calendar
        calendar: {title}, {date}, with {attendees}
        invite {attendees} to {title} on {date}
        I have {title} on {date}, add it to my calendar
        plan {title} for {date} with {attendees}""",
        """add an event on {date}: {title}
        put {title} on {date} into the calendar with {attendees}
        new calendar event {title} on {date}""",
    ),
    _tool(
        "roll_dice",
        "Roll dice.|Throws dice and returns the result.",
        {"sides": _number(4, 100), "count": _number(1, 20)},
        "sides",
        """roll a {sides} sided die
        roll {count} dice with {sides} sides
        throw a die with {sides} sides
        roll a d{sides}
        throw {count} dice, {sides} sides each
        give me a roll of a {sides} sided die
        dice: {count} with {sides} sides
        roll {count} {sides} sided dice""",
        """throw a {sides} sided die
        roll a die with {sides} sides
        throw {count} dice with {sides} sides""",
    ),
    _tool(
        "get_stock_price",
        "Get the price of a stock.|Looks up a share price.",
        {"symbol": _made(lambda rng, split: values.value(rng, split, "surname").upper()[:5])},
        "symbol",
        """what is the stock price of {symbol}?
        price of {symbol}
        how much is a share of {symbol}?
        stock price {symbol}
        get the share price of {symbol}
        how is {symbol} doing on the market?
        what does {symbol} cost at the exchange?
        quote for {symbol}""",
        """what is the share price of {symbol}?
        get me the stock price of {symbol}
        how much does a share of {symbol} cost?""",
    ),
]
