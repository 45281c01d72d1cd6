"""Muon (K. Jordan et al., 2024): momentum whose matrix is made orthogonal by a Newton-Schulz iteration."""

from __future__ import annotations

import torch
from torch import Tensor


class Muon:
    """For the weight matrices of hidden layers; it needs about half the steps that AdamW needs here."""

    def __init__(self, parameters: list[Tensor], lr: float) -> None:
        self._parameters = parameters
        self._velocity = [torch.zeros_like(parameter) for parameter in parameters]
        self._lr, self._momentum = lr, 0.95

    def set_learning_rate(self, lr: float, *, momentum: float) -> None:
        self._lr, self._momentum = lr, momentum

    @torch.no_grad()
    def step(self) -> None:
        for parameter, velocity in zip(self._parameters, self._velocity, strict=True):
            if parameter.grad is None:
                continue
            velocity.lerp_(parameter.grad, 1 - self._momentum)
            update = orthogonal(parameter.grad.lerp(velocity, self._momentum))
            rows, columns = parameter.shape
            parameter.mul_(1 - self._lr * 0.02)
            parameter.add_(update, alpha=-self._lr * max(1.0, rows / columns) ** 0.5)


def orthogonal(matrix: Tensor) -> Tensor:
    """The nearest matrix with singular values near 1: five steps of a quintic iteration."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrix.shape[0] > matrix.shape[1]
    x = (matrix.T if tall else matrix).bfloat16()
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        square = x @ x.T
        x = torch.addmm(x, torch.addmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return (x.T if tall else x).float()
