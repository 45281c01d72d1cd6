"""The mixture of skills: what a training set and a held-out set are made of."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from .dialogue import Dialogue, Split
from .skills import chat, choosing, copying, facts, followup, json_answers, results, system, tools

Make = Callable[[random.Random, Split], Dialogue]

_TALK: list[tuple[float, Make]] = [*chat.SKILLS, *facts.SKILLS]


def _talk(rng: random.Random, split: Split) -> Dialogue:
    return rng.choices([make for _, make in _TALK], [weight for weight, _ in _TALK])[0](rng, split)


def _group(skills: list[tuple[float, Make]]) -> Make:
    def make(rng: random.Random, split: Split) -> Dialogue:
        return rng.choices([make for _, make in skills], [weight for weight, _ in skills])[0](rng, split)

    return make


#: How often each skill is practised, and how often the held-out set has it. Training dwells on what is hardest.
MIXTURE: list[tuple[float, float, Make]] = [
    (150, 190, tools.single_call),
    (105, 70, tools.parallel_calls),
    (60, 60, tools.missing_tool),
    (40, 50, lambda rng, split: tools.unrelated(rng, split, _talk(rng, split))),
    (75, 70, results.answer_from_result),
    (45, 30, results.answer_from_two_results),
    (60, 60, results.session),
    (25, 25, results.call_again),
    (10, 20, results.thanks_after_result),
    (160, 125, json_answers.json_answer),
    (40, 70, _group(chat.SKILLS)),
    (50, 90, _group(facts.SKILLS)),
    (60, 70, _group(followup.SKILLS)),
    (130, 130, _group(system.SKILLS)),
    (50, 70, _group(copying.SKILLS)),
    (160, 0, choosing.choosing),
]


def dialogues(seed: int, split: Split) -> Iterator[Dialogue]:
    """Endless dialogues; the same seed gives the same ones."""
    rng = random.Random(f"{split}-{seed}")
    makers, weights = [make for *_, make in MIXTURE], [held_out if split == "heldout" else practised for practised, held_out, _ in MIXTURE]
    while True:
        yield vary(rng, split, rng.choices(makers, weights)[0](rng, split))


def vary(rng: random.Random, split: Split, dialogue: Dialogue) -> Dialogue:
    """Thinking on or off, a system message that changes nothing, tools that are only declared."""
    if rng.random() >= 0.25:
        dialogue = replace(dialogue, thought=None)
    plain = dialogue.messages[0]["role"] != "system"
    if plain and rng.random() < 0.2:
        dialogue = replace(dialogue, messages=[{"role": "system", "content": _generic_system(rng)}, *dialogue.messages])
    return dialogue


def _generic_system(rng: random.Random) -> str:
    count = rng.choices([1, 2, 3], [70, 20, 10])[0]
    return " ".join(rng.sample(system.GENERIC_SYSTEM_MESSAGES, count))
