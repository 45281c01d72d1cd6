"""Trains the model: `python -m dragoman_tiny.train --out DIR`.

The same seed on one machine gives the same model.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from multiprocessing import Pool
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from . import values
from .corpus import dialogues
from .induction import plant_induction
from .model import Shape, TinyLlama
from .optimizer import Muon
from .render import render
from .tokenizer import Encoder, Vocabulary, train_vocabulary

BUCKETS = [32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512]
SHARD = 4000
PADDING = 0
MATRIX_RATE, OTHER_RATE = 0.012, 0.002
#: In the first part of the run the prompts are learnt as well, a little: they repeat names, which teaches to copy.
PROMPT_WEIGHT, PROMPT_PART = 0.3, 0.09


def main() -> None:
    options = parse_options()
    options.out.mkdir(parents=True, exist_ok=True)
    vocabulary = make_vocabulary(options)
    rows, held_out = make_rows(options, vocabulary)
    shape = Shape(vocabulary=len(vocabulary.tokens))
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    model = TinyLlama(shape)
    plant_induction(model)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {len(vocabulary.tokens)} tokens, {len(rows)} dialogues, {sum(len(t) for t, _ in rows) / 1e6:.1f} M tokens")
    train(model, rows, held_out, options)
    save(model, options)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dialogues", type=int, default=400_000)
    parser.add_argument("--vocabulary", type=int, default=2560)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def make_vocabulary(options: argparse.Namespace) -> Vocabulary:
    file = options.out / "vocabulary.json"
    if not file.exists():
        stream = dialogues(options.seed + 1_000_000, "train")
        drawn = [next(stream) for _ in range(12_000)]
        slot_words = {value.lower() for listed in values.TRAIN.values() for value in listed}
        fixed = {word for dialogue in drawn for pattern in dialogue.patterns for word in pattern.replace("{", " {").split() if word.isalpha()}
        texts = [render(dialogue) for dialogue in drawn]
        answers = {word.strip(".,!?:") for dialogue in drawn if not dialogue.slots for word in str(dialogue.messages[-1]["content"]).split()}
        train_vocabulary(texts, {word for word in fixed | answers if word.lower() not in slot_words}, size=options.vocabulary, space_words=320).save(file)
    return Vocabulary.load(file)


Row = tuple[np.ndarray, np.ndarray]


def make_rows(options: argparse.Namespace, vocabulary: Vocabulary) -> tuple[list[Row], dict[str, list[Row]]]:
    """Token ids and which of them are learnt, for training and (by skill) for the running check."""
    shards = [(options.seed * 100_000 + number, options.out) for number in range(-(-options.dialogues // SHARD))]
    with Pool(options.threads) as pool:
        rows = [row for shard in pool.imap(encode_shard, shards) for row in shard]
    encoder = Encoder(vocabulary)
    held_out: dict[str, list[Row]] = {}
    stream = dialogues(options.seed, "heldout")
    for _ in range(3000):
        dialogue = next(stream)
        held_out.setdefault(dialogue.skill + (" (thinking)" if dialogue.thought is not None else ""), []).append(to_row(encoder, encoder.encode(render(dialogue)), last_only=True))
    return rows, held_out


def encode_shard(work: tuple[int, Path]) -> list[Row]:
    seed, out = work
    vocabulary = Vocabulary.load(out / "vocabulary.json")
    values.use_pieces(vocabulary.letter_pieces(), vocabulary.first_pieces())
    encoder = Encoder(vocabulary)
    stream = dialogues(seed, "train")
    encoded = encoder.encode_batch([render(next(stream)) for _ in range(SHARD)])
    return [to_row(encoder, tokens) for tokens in encoded if len(tokens) <= BUCKETS[-1] + 1]


def to_row(encoder: Encoder, tokens: list[int], *, last_only: bool = False) -> Row:
    """Learnt is what the assistant writes, its end of turn included; not the `<think>` that the template writes."""
    start, end, think = encoder.id("<|im_start|>"), encoder.id("<|im_end|>"), encoder.id("<think>")
    assistant = encoder.encode("assistant\n")
    ids = np.array(tokens, dtype=np.int16)
    learnt = np.zeros(len(ids), dtype=bool)
    for index in np.flatnonzero(ids == start):
        begin = index + 1 + len(assistant)
        if tokens[index + 1 : begin] != assistant:
            continue
        stop = begin + tokens[begin:].index(end)
        if tokens[begin] == think:
            begin += 2
        if last_only:
            learnt[:] = False
        learnt[begin : stop + 1] = True
    return ids, learnt


def train(model: TinyLlama, rows: list[Row], held_out: dict[str, list[Row]], options: argparse.Namespace) -> None:
    batches = plan_batches(rows, options)
    matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "embedding" not in name]
    others = [p for name, p in model.named_parameters() if p.ndim == 1 or "embedding" in name]
    muon = Muon(matrices, lr=MATRIX_RATE)
    adam = torch.optim.AdamW(others, lr=OTHER_RATE, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    started, shown, losses = time.time(), time.time(), []
    total = len(batches)
    for step, batch in enumerate(batches):
        progress = step / total
        scale = learning_rate(progress, step)
        muon.set_learning_rate(MATRIX_RATE * scale, momentum=0.95)
        for group in adam.param_groups:
            group["lr"] = OTHER_RATE * scale
        loss, answer_loss = step_loss(model, [rows[index] for index in batch], PROMPT_WEIGHT if progress < PROMPT_PART else 0.0)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(others, 1.0)
        muon.step()
        adam.step()
        model.zero_grad(set_to_none=True)
        losses.append(answer_loss)
        if step % 50 == 49:
            print(f"step {step + 1}/{total} {100 * progress:.1f}% loss {np.mean(losses[-50:]):.4f} {(time.time() - started) / 60:.1f} min", flush=True)
        if step % 500 == 499:
            print(f"step {step + 1}: weights {checksum(model)}", flush=True)
        if time.time() - shown > 420:
            print(check(model, held_out, per_skill=25), flush=True)
            save(model, options)
            shown = time.time()
    print(check(model, held_out, per_skill=200), flush=True)


def learning_rate(progress: float, step: int) -> float:
    """Warm-up, then a straight line down to almost nothing."""
    return min(1.0, (step + 1) / 100) * (1 - progress + 0.01)


def plan_batches(rows: list[Row], options: argparse.Namespace) -> list[list[int]]:
    """Rows of about one length together, in random order; what fills no batch is left out, so that there are few shapes."""
    rng = np.random.default_rng(options.seed)
    buckets: dict[int, list[int]] = {size: [] for size in BUCKETS}
    for index, (tokens, _) in enumerate(rows):
        buckets[next(size for size in BUCKETS if size >= len(tokens) - 1)].append(index)
    batches = []
    for size, members in buckets.items():
        members = list(rng.permutation(members))
        count = max(1, options.batch_tokens // size)
        batches += [members[at : at + count] for at in range(0, len(members) - count + 1, count)]
    return [[int(index) for index in batches[at]] for at in rng.permutation(len(batches))]


def step_loss(model: TinyLlama, batch: list[Row], prompt_weight: float) -> tuple[torch.Tensor, float]:
    """What is minimised, and the mean loss of the assistant's tokens alone."""
    tokens, learnt = collate(batch, padded=next(size for size in BUCKETS if size >= max(len(tokens) for tokens, _ in batch) - 1) + 1)
    targets, answers = tokens[:, 1:], learnt[:, 1:]
    kept = answers if prompt_weight == 0 else targets != PADDING
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(tokens[:, :-1], kept)
    losses = functional.cross_entropy(logits.float(), targets[kept], reduction="none")
    weights = torch.where(answers[kept], 1.0, prompt_weight)
    return (losses * weights).sum() / weights.sum(), losses.detach()[answers[kept]].mean().item()


def collate(batch: list[Row], padded: int) -> tuple[torch.Tensor, torch.Tensor]:
    ids = np.full((len(batch), padded), PADDING, dtype=np.int64)
    learnt = np.zeros((len(batch), padded), dtype=bool)
    for row, (tokens, mask) in enumerate(batch):
        ids[row, : len(tokens)] = tokens
        learnt[row, : len(mask)] = mask
    return torch.from_numpy(ids), torch.from_numpy(learnt)


@torch.no_grad()
def check(model: TinyLlama, held_out: dict[str, list[Row]], *, per_skill: int) -> str:
    """The share of held-out answers that greedy decoding would give word for word."""
    model.eval()
    lines = []
    for skill, rows in sorted(held_out.items()):
        right = 0
        for row in rows[:per_skill]:
            tokens, learnt = collate([row], len(row[0]))
            guessed = model(tokens[:, :-1], learnt[:, 1:]).argmax(-1)
            right += bool((guessed == tokens[:, 1:][learnt[:, 1:]]).all())
        lines.append(f"{skill} {100 * right / len(rows[:per_skill]):.0f}")
    model.train()
    return "held out: " + ", ".join(lines)


def checksum(model: TinyLlama) -> str:
    """Tells early whether two runs go the same way: they print the same at the same step."""
    digest = hashlib.sha256()
    for tensor in model.state_dict().values():
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()[:16]


def save(model: TinyLlama, options: argparse.Namespace) -> None:
    torch.save(model.state_dict(), options.out / "model.pt")
    (options.out / "run.json").write_text(json.dumps({key: str(value) for key, value in vars(options).items()}))


if __name__ == "__main__":
    main()
