"""The picture encoder: a small vision transformer and the two layers that llama.cpp calls an `mlp` projector (LLaVA's)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from .raster import SIDE


@dataclass(frozen=True)
class EyeShape:
    width: int = 96
    layers: int = 4
    heads: int = 4
    feed_forward: int = 192
    patch: int = 16
    norm_epsilon: float = 1e-5

    @property
    def tokens(self) -> int:
        return (SIDE // self.patch) ** 2


class EyeBlock(nn.Module):
    def __init__(self, shape: EyeShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.ln1 = nn.LayerNorm(shape.width, shape.norm_epsilon)
        self.query, self.key, self.value, self.output = (nn.Linear(shape.width, shape.width) for _ in range(4))
        self.ln2 = nn.LayerNorm(shape.width, shape.norm_epsilon)
        self.up = nn.Linear(shape.width, shape.feed_forward)
        self.down = nn.Linear(shape.feed_forward, shape.width)

    def forward(self, x: Tensor) -> Tensor:
        normed = self.ln1(x)
        query, key, value = (self.split(layer(normed)) for layer in (self.query, self.key, self.value))
        attended = functional.scaled_dot_product_attention(query, key, value)
        x = x + self.output(attended.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.ln2(x)), approximate="tanh"))

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Eye(nn.Module):
    """Pictures [n, 3, SIDE, SIDE] to vectors [n, tokens, width of the language model] that stand where tokens stand."""

    def __init__(self, shape: EyeShape, language_width: int) -> None:
        super().__init__()
        self.shape = shape
        self.patches = nn.Conv2d(3, shape.width, shape.patch, shape.patch, bias=False)
        self.positions = nn.Parameter(torch.randn(shape.tokens, shape.width) * 0.02)
        self.pre = nn.LayerNorm(shape.width, shape.norm_epsilon)
        self.blocks = nn.ModuleList(EyeBlock(shape) for _ in range(shape.layers))
        self.post = nn.LayerNorm(shape.width, shape.norm_epsilon)
        self.first = nn.Linear(shape.width, language_width)
        self.second = nn.Linear(language_width, language_width)

    def look(self, pictures: Tensor) -> Tensor:
        x = self.patches(pictures).flatten(2).transpose(1, 2) + self.positions
        x = self.pre(x)
        for block in self.blocks:
            x = block(x)
        return self.post(x)

    def project(self, seen: Tensor) -> Tensor:
        return self.second(functional.gelu(self.first(seen), approximate="tanh"))

    def forward(self, pictures: Tensor) -> Tensor:
        return self.project(self.look(pictures))
