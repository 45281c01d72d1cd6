"""The language model as it is served: its weights and vocabulary, read from the GGUF file."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ..export import _BLOCK_NAMES
from ..model import Shape, TinyLlama, angles
from ..tokenizer import Vocabulary


def load(path: Path) -> tuple[TinyLlama, Vocabulary]:
    """The model with its weights as they are after quantization; none of them can be trained."""
    reader = gguf.GGUFReader(path)
    vocabulary = Vocabulary(
        [str(text) for text in reader.get_field("tokenizer.ggml.tokens").contents()],
        [tuple(str(merge).split(" ")) for merge in reader.get_field("tokenizer.ggml.merges").contents()],
    )
    shape = Shape(vocabulary=len(vocabulary.tokens))
    tensors = {tensor.name: torch.from_numpy(gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)) for tensor in reader.tensors}
    weights = {"embedding.weight": tensors["token_embd.weight"], "norm": tensors["output_norm.weight"]}
    for layer in range(shape.layers):
        for ours, theirs in _BLOCK_NAMES.items():
            weight = tensors[f"blk.{layer}.{theirs}"]
            if theirs.startswith(("attn_q", "attn_k")):
                weight = separate_halves(weight, shape.heads if theirs.startswith("attn_q") else shape.key_value_heads)
            weights[f"blocks.{layer}.{ours}"] = weight
    model = TinyLlama(shape)
    model.load_state_dict(weights)
    return model.eval().requires_grad_(False), vocabulary


def separate_halves(weight: Tensor, heads: int) -> Tensor:
    """The inverse of `export.interleave_heads`."""
    rows, *columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, *columns).transpose(1, 2).reshape(rows, *columns)


def logits(model: TinyLlama, embedded: Tensor, keep: Tensor) -> Tensor:
    """[kept positions, vocabulary] for vectors [rows, length, width] instead of tokens."""
    cos, sin = angles(embedded.shape[1], model.shape)
    for block in model.blocks:
        embedded = block(embedded, cos, sin)
    kept = functional.rms_norm(embedded[keep], (model.shape.width,), model.norm, model.shape.norm_epsilon)
    return functional.linear(kept, model.embedding.weight)
