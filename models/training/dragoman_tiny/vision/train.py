"""Trains the picture encoder for the language model that is in the repository: `python -m dragoman_tiny.vision.train --out DIR`.

The language model does not change: the encoder learns which vectors, in place of tokens, make it answer right. The same seed on one
machine gives the same encoder.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..model import TinyLlama
from ..optimizer import Muon
from ..tokenizer import Encoder
from .examples import Example, draw_example
from .eye import Eye, EyeShape
from .frozen import load, logits
from .raster import rasterize
from .scenes import COLOURS, KINDS, Scene, draw_scene

#: Steps in which the encoder only learns to name what is in a picture, and steps with the language model.
NAMING_STEPS, NAMING_BATCH = 2000, 128
ANSWER_BATCH = 32
MATRIX_RATE, OTHER_RATE = 0.012, 0.002
NAMING_WEIGHT = 0.3
#: The share of the rates with which a resumed run begins.
RESUMED = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", type=Path, default=Path(__file__).parents[3] / "dragoman-tiny.gguf")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--resume", type=Path, help="an `eye.pt` to go on from")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    model, vocabulary = load(options.model)
    encoder = Encoder(vocabulary)
    shape = EyeShape()
    eye, namer = Eye(shape, model.shape.width), Namer(shape.width)
    print(f"{sum(p.numel() for p in eye.parameters())} parameters")
    rng = random.Random(options.seed)
    if options.resume is None:
        learn_names(eye, namer, rng)
    else:
        eye.load_state_dict(torch.load(options.resume, weights_only=True))
    learn_answers(eye, namer, model, encoder, rng, options)


class Namer(nn.Module):
    """Colour, kind and number, from the mean of what the encoder sees; used in training only."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(width, classes) for classes in (len(COLOURS), len(KINDS), 5))

    def loss(self, seen: Tensor, scenes: list[Scene]) -> tuple[Tensor, Tensor]:
        """The loss, and the share of pictures of which all three are right."""
        facts = torch.tensor([(list(COLOURS).index(scene.colour), KINDS.index(scene.kind), scene.count - 1) for scene in scenes])
        named = [head(seen.mean(1)) for head in self.heads]
        loss = sum(functional.cross_entropy(scores, facts[:, index]) for index, scores in enumerate(named))
        right = torch.stack([scores.argmax(-1) == facts[:, index] for index, scores in enumerate(named)]).all(0)
        return loss, right.float().mean()


def learn_names(eye: Eye, namer: Namer, rng: random.Random) -> None:
    optimizer = Optimizer(eye, namer, without=("first.", "second."))
    started, rights = time.time(), []
    for step in range(NAMING_STEPS):
        scenes = [draw_scene(rng, "train") for _ in range(NAMING_BATCH)]
        loss, right = namer.loss(eye.look(rasterize(scenes)), scenes)
        optimizer.step(loss, scale(step, NAMING_STEPS, floor=0.2))
        rights.append(right)
        if step % 100 == 99:
            print(f"naming {step + 1}/{NAMING_STEPS}: {torch.stack(rights[-100:]).mean():.3f} right, {(time.time() - started) / 60:.1f} min", flush=True)


def learn_answers(eye: Eye, namer: Namer, model: TinyLlama, encoder: Encoder, rng: random.Random, options: argparse.Namespace) -> None:
    optimizer = Optimizer(eye, namer)
    started, losses, rights = time.time(), [], []
    for step in range(options.steps):
        examples = [draw_example(rng, encoder, "train") for _ in range(ANSWER_BATCH)]
        seen = eye.look(rasterize([example.scene for example in examples]))
        naming, _ = namer.loss(seen, [example.scene for example in examples])
        loss, right = answer_loss(model, eye.project(seen), examples)
        optimizer.step(loss + NAMING_WEIGHT * naming, scale(step, options.steps, floor=0.01) * (1.0 if options.resume is None else RESUMED))
        losses.append(loss.detach())
        rights.append(right)
        if step % 50 == 49:
            mean = [float(torch.stack(values[-50:]).mean()) for values in (losses, rights)]
            print(f"answers {step + 1}/{options.steps}: loss {mean[0]:.4f}, {mean[1]:.3f} right, {(time.time() - started) / 60:.1f} min", flush=True)
        if step % 200 == 199:
            torch.save(eye.state_dict(), options.out / "eye.pt")
            print(check(eye, model, encoder), flush=True)
    torch.save(eye.state_dict(), options.out / "eye.pt")


def answer_loss(model: TinyLlama, pictures: Tensor, examples: list[Example]) -> tuple[Tensor, Tensor]:
    """The loss of the answers' tokens, and the share of answers of which every token is the likeliest."""
    rows, keep, wanted = [], [], []
    count = pictures.shape[1]
    length = max(len(example.before) + count + len(example.after) for example in examples)
    for index, example in enumerate(examples):
        row = torch.cat([model.embedding(torch.tensor(example.before)), pictures[index], model.embedding(torch.tensor(example.after))])
        # One earlier: a position predicts the next token.
        end = len(row) - 1
        keep += [(index, position) for position in range(end - len(example.answer), end)]
        wanted += example.answer
        rows.append(functional.pad(row, (0, 0, 0, length - len(row))))
    places = torch.tensor(keep)
    scores = logits(model, torch.stack(rows), (places[:, 0], places[:, 1]))
    targets = torch.tensor(wanted)
    wrong = torch.zeros(len(examples)).index_add(0, places[:, 0], (scores.argmax(-1) != targets).float())
    return functional.cross_entropy(scores, targets), (wrong == 0).float().mean()


@torch.no_grad()
def check(eye: Eye, model: TinyLlama, encoder: Encoder, count: int = 200) -> str:
    rng = random.Random(77)
    by_topic: dict[str, list[float]] = {}
    for _ in range(count):
        example = draw_example(rng, encoder, "heldout")
        _, right = answer_loss(model, eye(rasterize([example.scene])), [example])
        by_topic.setdefault(example.question.topic, []).append(float(right))
    return "held out: " + ", ".join(f"{topic} {sum(values) / len(values):.3f}" for topic, values in sorted(by_topic.items()))


class Optimizer:
    """Muon for the matrices, which needs a third of the steps that AdamW needs here; AdamW for the rest."""

    def __init__(self, eye: Eye, namer: Namer, without: tuple[str, ...] = ()) -> None:
        named = {name: p for name, p in eye.named_parameters() if not name.startswith(without)}
        self._matrices = [p for name, p in named.items() if p.ndim == 2 and name != "positions"]
        self._others = [p for name, p in named.items() if p.ndim != 2 or name == "positions"] + list(namer.parameters())
        self._muon = Muon(self._matrices, lr=MATRIX_RATE)
        self._adam = torch.optim.AdamW(self._others, lr=OTHER_RATE, weight_decay=0.0)

    def step(self, loss: Tensor, scale: float) -> None:
        """Goes a step down the loss, of `scale` times the usual length."""
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._others, 1.0)
        self._muon.set_learning_rate(MATRIX_RATE * scale, momentum=0.95)
        for group in self._adam.param_groups:
            group["lr"] = OTHER_RATE * scale
        self._muon.step()
        self._adam.step()
        for parameter in [*self._matrices, *self._others]:
            parameter.grad = None


def scale(step: int, steps: int, *, floor: float) -> float:
    """A short rise, then a cosine down to `floor`."""
    return min(1.0, (step + 1) / 100) * (floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * step / steps)))


if __name__ == "__main__":
    main()
