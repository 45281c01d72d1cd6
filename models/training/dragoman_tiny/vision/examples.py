"""Questions about pictures as the language model sees them: tokens, with a place where the picture stands."""

from __future__ import annotations

import random
from dataclasses import dataclass

from ..render import render
from ..dialogue import Check, Dialogue
from ..tokenizer import Encoder
from .scenes import Question, Scene, answer, ask, draw_scene

#: Stands for the picture in a rendered prompt; no tokenizer sees it.
MARK = "\ue000"
#: The share of conversations in which the model thinks first.
THINKING = 0.35
_SYSTEMS = ["You are a helpful assistant.", "Answer briefly.", "You look at pictures.", "You are Dragoman."]


@dataclass(frozen=True)
class Example:
    scene: Scene
    question: Question
    before: list[int]
    after: list[int]
    #: The tokens of the answer, and of the thought before it, with the end of the turn; they are the last of `after`.
    answer: list[int]


def draw_example(rng: random.Random, encoder: Encoder, split: str) -> Example:
    scene = draw_scene(rng, split)
    question = ask(rng, scene, split)
    # llama.cpp puts nothing between a text and a picture; some clients send a line break.
    gap = rng.choice(["", "", "", "\n"])
    content = f"{MARK}{gap}{question.text}" if rng.random() < 0.5 else f"{question.text}{gap}{MARK}"
    system = [{"role": "system", "content": rng.choice(_SYSTEMS)}] if rng.random() < 0.2 else []
    messages = [*system, {"role": "user", "content": content}, {"role": "assistant", "content": question.answer}]
    # llama-server asks this template for thoughts unless a request says otherwise.
    thought = answer(scene, "whole") if rng.random() < THINKING else None
    dialogue = Dialogue(skill="picture", messages=messages, check=Check("equals", question.answer), thought=thought)
    before, after = render(dialogue).rstrip("\n").split(MARK)
    written = question.answer if thought is None else f"{thought}\n</think>\n\n{question.answer}"
    return Example(scene, question, encoder.encode(before), encoder.encode(after), encoder.encode(f"{written}<|im_end|>"))
