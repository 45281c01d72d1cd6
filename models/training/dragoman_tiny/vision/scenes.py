"""Pictures of equal shapes on a plain ground, and questions about them with their answers."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass

COLOURS = {
    "red": (214, 40, 40),
    "green": (46, 160, 67),
    "blue": (38, 84, 214),
    "yellow": (246, 214, 30),
    "orange": (247, 127, 0),
    "purple": (128, 40, 160),
    "black": (16, 16, 16),
    "white": (248, 248, 248),
}
KINDS = ("square", "circle")
#: Largest difference from a named colour, per channel.
SHADE = 16
#: Smallest distance between the colours of the shapes and of the ground, as the sum over the channels.
CONTRAST = 170


@dataclass(frozen=True)
class Shape:
    """Centre and half the width, in units of the picture's shorter side."""

    x: float
    y: float
    reach: float


@dataclass(frozen=True)
class Scene:
    kind: str
    colour: str
    #: RGB, 0 to 255.
    paint: tuple[int, int, int]
    ground: tuple[int, int, int]
    #: Width and height in units of the shorter side.
    size: tuple[float, float]
    shapes: tuple[Shape, ...]

    @property
    def count(self) -> int:
        return len(self.shapes)


@dataclass(frozen=True)
class Question:
    text: str
    answer: str
    topic: str


def is_held_out(kind: str, colour: str, count: int) -> bool:
    """One in seven combinations is kept for the evaluation."""
    return zlib.crc32(f"{kind} {colour} {count}".encode()) % 7 == 0


def draw_scene(rng: random.Random, split: str) -> Scene:
    while True:
        kind, colour, count = rng.choice(KINDS), rng.choice(list(COLOURS)), rng.randint(1, 5)
        if is_held_out(kind, colour, count) == (split == "heldout"):
            break
    paint = tuple(min(255, max(0, channel + rng.randint(-SHADE, SHADE))) for channel in COLOURS[colour])
    longer = rng.choice([1.0, 1.0, rng.uniform(1.0, 2.0)])
    size = (longer, 1.0) if rng.random() < 0.5 else (1.0, longer)
    return Scene(kind, colour, paint, draw_ground(rng, paint), size, place_shapes(rng, count, size))


def draw_ground(rng: random.Random, paint: tuple[int, ...]) -> tuple[int, int, int]:
    while True:
        grey = rng.choice([255, 255, 0, rng.randint(0, 255)])
        tint = rng.choice([0, 0, 24])
        ground = tuple(min(255, max(0, grey + rng.randint(-tint, tint))) for _ in range(3))
        if sum(abs(a - b) for a, b in zip(paint, ground)) >= CONTRAST:
            return ground


def place_shapes(rng: random.Random, count: int, size: tuple[float, float]) -> tuple[Shape, ...]:
    """None touches another or the edge."""
    largest = 0.38 if count == 1 else 0.24 if count == 2 else 0.17
    alike = rng.random() < 0.6
    common = rng.uniform(0.09, largest)
    while True:
        shapes: list[Shape] = []
        for _ in range(60):
            reach = common if alike else rng.uniform(0.09, largest)
            x, y = (rng.uniform(reach + 0.02, side - reach - 0.02) for side in size)
            if all(max(abs(x - other.x), abs(y - other.y)) > reach + other.reach + 0.05 for other in shapes):
                shapes.append(Shape(x, y, reach))
            if len(shapes) == count:
                return tuple(shapes)
        common *= 0.9


_ASK = {
    "train": {
        "colour": [
            "What colour {is} {it}?",
            "What color {is} the {things}?",
            "Which colour {is} the {things}?",
            "Which color do you see?",
            "What is the colour of the {things}?",
            "Name the colour of the {things}.",
            "Tell me the color of the {things}.",
            "The {things} in this picture: what colour?",
            "What colour does the picture show?",
            "What color {is} {it}?",
            "Say which colour you see.",
            "Tell me what colour {it} {is}.",
            "What colour {is} the {things}?",
        ],
        "count": [
            "How many {asked} are there?",
            "How many {asked} do you see?",
            "How many {asked} are in the picture?",
            "Count the {asked}.",
            "What is the number of {asked}?",
            "Tell me how many {asked} the picture shows.",
            "How many {asked}?",
            "Give the number of {asked} in the picture.",
            "How many {asked} can be seen?",
        ],
        "kind": [
            "Is this a square or a circle?",
            "Which shape {is} {it}: square or circle?",
            "Which shape do you see?",
            "What shape {is} {it}?",
            "Squares or circles?",
            "Name the shape.",
            "Does the picture show a circle or a square?",
            "Are these squares or circles?",
            "Is it a circle or a square?",
            "Say which shape you see: a circle or a square.",
            "Which shape does the picture show?",
            "What kind of shape {is} {it}?",
            "Tell me which shape this is.",
        ],
        "whole": ["What do you see here?", "Describe the shapes.", "Say what you see.", "What can you see?", "What do you see?", "Describe the picture.", "What is in the picture?", "What does this picture show?", "Describe what you see."],
    },
    "heldout": {
        "colour": ["What colour are these {things}?", "Which colour does the picture show?", "Tell me which colour the {things} have.", "What is the color of the {things} in the picture?"],
        "count": ["Tell me the number of {asked}.", "How many {asked} does the picture show?", "Please count the {asked}.", "How many {asked} can you see?"],
        "kind": ["Do you see a square or a circle?", "Tell me the shape.", "What shape do you see?", "Is the shape a circle or a square?"],
        "whole": ["Tell me what you see.", "What is shown?", "Describe this.", "What do you see in the picture?"],
    },
}


def ask(rng: random.Random, scene: Scene, split: str) -> Question:
    topic = rng.choice(["colour", "colour", "count", "count", "count", "kind", "kind", "whole"])
    several = scene.count > 1
    things = rng.choice([plural(scene.kind) if several else scene.kind, "shapes" if several else "shape"])
    asked = rng.choice([plural(scene.kind), "shapes"])
    text = rng.choice(_ASK[split][topic]).format(things=things, asked=asked, it="they" if several else "it", **{"is": "are" if several else "is"})
    return Question(text, answer(scene, topic), topic)


def answer(scene: Scene, topic: str) -> str:
    """Words and numbers that are one token each, as far as there are any: the language model cannot learn others."""
    if topic == "colour":
        return scene.colour
    if topic == "kind":
        return scene.kind
    if topic == "count":
        return str(scene.count)
    return f"{scene.count} {scene.colour} {plural(scene.kind) if scene.count > 1 else scene.kind}"


def plural(kind: str) -> str:
    return f"{kind}s"
