"""A head start on copying.

Most of a tool call is copied from the prompt. Transformers learn that as a circuit of two layers (C. Olsson et al., "In-context
Learning and Induction Heads", 2022): heads that look at the token before, and heads that look for what followed the current
token earlier. From random weights it takes tens of millions of tokens until that circuit appears, which is longer than this
model is trained at all. So both kinds of head are put there at the start, roughly; training does the rest.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .model import Block, Shape, TinyLlama


@torch.no_grad()
def plant_induction(model: TinyLlama, *, before: int = 0, after: int = 1) -> None:
    """Layer `before` gets heads that look back by position, layer `after` heads that look for the same token."""
    shape, first, second = model.shape, model.blocks[before], model.blocks[after]
    frames = orthonormal(shape.width)
    wide, kv = shape.head_width, shape.key_value_heads
    groups = shape.heads // kv
    for head in range(kv):
        content = frames[head * wide : (head + 1) * wide]
        written = frames[(kv + head) * wide : (kv + head + 1) * wide]
        look_back(first, shape, head, offsets=[1, 2] if head % 2 == 0 else [1, 3])
        rows = slice(head * wide, (head + 1) * wide)
        first.value.weight[rows] = content
        first.output.weight[:, columns(shape, head * groups)] = written.T * 0.06
        # The slow half of the rotary pairs hardly turns over a prompt: there, what is compared is content.
        slow = torch.zeros(wide)
        half = wide // 2
        slow[half // 2 : half] = slow[half + half // 2 :] = 1.0
        second.key.weight[rows] = written * slow[:, None] * 2.5
        second.query.weight[columns(shape, head * groups)] = content * slow[:, None] * 2.5
        second.value.weight[rows] = content
        second.output.weight[:, columns(shape, head * groups)] = content.T * 0.2


def columns(shape: Shape, head: int) -> slice:
    """Where a query head is in the joined heads."""
    return slice(head * shape.head_width, (head + 1) * shape.head_width)


def look_back(block: Block, shape: Shape, key_head: int, offsets: list[int]) -> None:
    """Biases with which the query heads of one key head attend to the tokens so many places before."""
    half = shape.head_width // 2
    frequencies = shape.rope_base ** (-torch.arange(half) / half)
    strength = torch.where(torch.arange(half) < half // 2, 4.0, 0.0)
    key = torch.cat([strength, torch.zeros(half)])
    block.key.bias[key_head * shape.head_width : (key_head + 1) * shape.head_width] = key
    groups = shape.heads // shape.key_value_heads
    for index, offset in enumerate(offsets):
        angle = -frequencies * offset
        query = torch.cat([strength * angle.cos(), strength * angle.sin()])
        block.query.bias[columns(shape, key_head * groups + index)] = query


def orthonormal(size: int) -> Tensor:
    """The rows of a random rotation."""
    return torch.linalg.qr(torch.randn(size, size))[0].T
