"""Writes the trained model as one GGUF file: `python -m dragoman_tiny.export --run DIR --out FILE`."""

from __future__ import annotations

import argparse
from pathlib import Path

import gguf
import numpy as np
import torch

from .model import Shape
from .render import TEMPLATE_SOURCE
from .tokenizer import CONTROL, USER_DEFINED, Vocabulary

CONTEXT_LENGTH = 4096
_BLOCK_NAMES = {
    "attention_norm": "attn_norm.weight",
    "query.weight": "attn_q.weight",
    "query.bias": "attn_q.bias",
    "key.weight": "attn_k.weight",
    "key.bias": "attn_k.bias",
    "value.weight": "attn_v.weight",
    "output.weight": "attn_output.weight",
    "feed_forward_norm": "ffn_norm.weight",
    "gate.weight": "ffn_gate.weight",
    "up.weight": "ffn_up.weight",
    "down.weight": "ffn_down.weight",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    vocabulary = Vocabulary.load(options.run / "vocabulary.json")
    weights = torch.load(options.run / "model.pt", map_location="cpu", weights_only=True)
    shape = Shape(vocabulary=len(vocabulary.tokens))
    writer = gguf.GGUFWriter(options.out, "llama")
    add_facts(writer, shape)
    add_vocabulary(writer, vocabulary)
    add_weights(writer, weights, shape)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{options.out}: {options.out.stat().st_size / 1e6:.2f} MB")


def add_facts(writer: gguf.GGUFWriter, shape: Shape) -> None:
    writer.add_name("Dragoman Tiny")
    writer.add_author("The Dragoman project")
    writer.add_license("apache-2.0")
    writer.add_description("A model of four million parameters for trying and testing a serving system. Not a general assistant.")
    writer.add_languages(["en"])
    writer.add_context_length(CONTEXT_LENGTH)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.key_value_heads)
    writer.add_rope_dimension_count(shape.head_width)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(shape.norm_epsilon)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


def add_vocabulary(writer: gguf.GGUFWriter, vocabulary: Vocabulary) -> None:
    kinds = [gguf.TokenType.NORMAL] * vocabulary.ordinary
    kinds += [gguf.TokenType.USER_DEFINED] * len(USER_DEFINED) + [gguf.TokenType.CONTROL] * len(CONTROL)
    first_control = len(vocabulary.tokens) - len(CONTROL)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(merge) for merge in vocabulary.merges])
    writer.add_pad_token_id(first_control)
    writer.add_bos_token_id(first_control + CONTROL.index("<|im_start|>"))
    writer.add_eos_token_id(first_control + CONTROL.index("<|im_end|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE_SOURCE)


def add_weights(writer: gguf.GGUFWriter, weights: dict[str, torch.Tensor], shape: Shape) -> None:
    """Q8_0 for matrices, F32 for norms and biases; the output layer is the embedding."""
    add_matrix(writer, "token_embd.weight", weights["embedding.weight"])
    writer.add_tensor("output_norm.weight", weights["norm"].numpy())
    for layer in range(shape.layers):
        for ours, theirs in _BLOCK_NAMES.items():
            weight = weights[f"blocks.{layer}.{ours}"]
            name = f"blk.{layer}.{theirs}"
            if theirs.startswith(("attn_q", "attn_k")):
                weight = interleave_heads(weight, shape.heads if theirs.startswith("attn_q") else shape.key_value_heads)
            if weight.ndim == 1:
                writer.add_tensor(name, weight.contiguous().numpy())
            else:
                add_matrix(writer, name, weight)


def add_matrix(writer: gguf.GGUFWriter, name: str, weight: torch.Tensor) -> None:
    kind = gguf.GGMLQuantizationType.Q8_0
    writer.add_tensor(name, gguf.quants.quantize(weight.float().numpy().astype(np.float32), kind), raw_dtype=kind)


def interleave_heads(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """llama.cpp's Llama rotates neighbouring pairs, ours the two halves of a head: the same, with rows in another order."""
    rows, *columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, *columns).transpose(1, 2).reshape(rows, *columns)


if __name__ == "__main__":
    main()
