"""What the clients share: the server, the calls to make, and what is said in them."""

import sys
from typing import Literal

from pydantic import BaseModel

server = sys.argv[1]
base = f"{server}/v1"
checks = []


def check(function):
    """A call of a client, by the name of its function."""
    checks.append(function)
    return function


class Place(BaseModel):
    """A place."""

    city: Literal["Oslo", "Rome"]
    sunny: bool


def is_place(value):
    return isinstance(value, Place)


def weather(city: str) -> str:
    """The weather of a city."""
    return f"{city}: 21 degrees"


parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ask = "How is the weather in Oslo?"
question = [{"role": "user", "content": ask}]
greeting = [{"role": "user", "content": "hi"}]
wish = [{"role": "user", "content": "A place, please."}]
thought = [{"role": "user", "content": "think"}]
limit = {"max_tokens": 2048}
thinking = {"type": "enabled", "budget_tokens": 1024}
