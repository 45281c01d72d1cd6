"""Writes the trained picture encoder as a projector for llama.cpp: `python -m dragoman_tiny.vision.export --run DIR --out FILE`."""

from __future__ import annotations

import argparse
from pathlib import Path

import gguf
import numpy as np
import torch
from torch import Tensor

from ..model import Shape
from .eye import EyeShape
from .raster import SIDE

_BLOCK_NAMES = {"query": "attn_q", "key": "attn_k", "value": "attn_v", "output": "attn_out", "up": "ffn_up", "down": "ffn_down", "ln1": "ln1", "ln2": "ln2"}
_NAMES = {"patches": "v.patch_embd", "pre": "v.pre_ln", "post": "v.post_ln", "first": "mm.0", "second": "mm.2"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    weights = torch.load(options.run / "eye.pt", map_location="cpu", weights_only=True)
    writer = gguf.GGUFWriter(options.out, "clip")
    add_facts(writer, EyeShape(), Shape(vocabulary=0).width)
    for name, weight in weights.items():
        add(writer, tensor_name(name), weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{options.out}: {options.out.stat().st_size / 1e6:.2f} MB")


def add_facts(writer: gguf.GGUFWriter, shape: EyeShape, language_width: int) -> None:
    """The keys that llama.cpp's clip.cpp reads for a projector of type `mlp`."""
    writer.add_type("mmproj")
    writer.add_name("Dragoman Tiny Vision")
    writer.add_author("The Dragoman project")
    writer.add_license("apache-2.0")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.vision.projector_type", "mlp")
    writer.add_bool("clip.use_gelu", True)
    writer.add_uint32("clip.vision.image_size", SIDE)
    writer.add_uint32("clip.vision.patch_size", shape.patch)
    writer.add_uint32("clip.vision.embedding_length", shape.width)
    writer.add_uint32("clip.vision.feed_forward_length", shape.feed_forward)
    writer.add_uint32("clip.vision.block_count", shape.layers)
    writer.add_uint32("clip.vision.attention.head_count", shape.heads)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", shape.norm_epsilon)
    writer.add_uint32("clip.vision.projection_dim", language_width)
    writer.add_array("clip.vision.image_mean", [0.5, 0.5, 0.5])
    writer.add_array("clip.vision.image_std", [0.5, 0.5, 0.5])
    # Without it llama.cpp leaves out the last block, as LLaVA does.
    writer.add_array("clip.vision.feature_layer", [shape.layers])


def tensor_name(name: str) -> str:
    if name == "positions":
        return "v.position_embd.weight"
    if name.startswith("blocks."):
        _, block, part, kind = name.split(".")
        return f"v.blk.{block}.{_BLOCK_NAMES[part]}.{kind}"
    part, kind = name.split(".")
    return f"{_NAMES[part]}.{kind}"


def add(writer: gguf.GGUFWriter, name: str, weight: Tensor) -> None:
    """F16 for matrices, F32 for what is added."""
    is_matrix = weight.ndim > 1 and "position" not in name
    writer.add_tensor(name, weight.numpy().astype(np.float16 if is_matrix else np.float32))


if __name__ == "__main__":
    main()
