"""Scenes as pictures, and as tensors that are scaled and padded as llama.cpp does with any picture for a projector of type `mlp`."""

from __future__ import annotations

import struct
import zlib

import torch
from torch import Tensor

from .scenes import Scene

#: Width and height of what the encoder sees, in pixels.
SIDE = 64
#: llama.cpp's ground beside a picture that is not square (RGB).
PADDING = (122, 116, 104)


def rasterize(scenes: list[Scene]) -> Tensor:
    """[scenes, 3, SIDE, SIDE], each channel from -1 to 1."""
    return torch.stack([pad(scene) for scene in scenes]) / 127.5 - 1


def pad(scene: Scene) -> Tensor:
    longer = max(scene.size)
    grid = ((torch.arange(SIDE) + 0.5) / SIDE - 0.5) * longer
    x, y = (grid + side / 2 for side in scene.size)
    inside = ((x > 0) & (x < scene.size[0]))[None, :] & ((y > 0) & (y < scene.size[1]))[:, None]
    return torch.where(inside, paint(scene, x, y, longer / SIDE), colour(PADDING))


def paint(scene: Scene, x: Tensor, y: Tensor, pixel: float) -> Tensor:
    """[3, y, x], 0 to 255; `pixel` is the width of a pixel in the scene's units."""
    places = torch.tensor([(shape.x, shape.y, shape.reach) for shape in scene.shapes])
    across = x[None, None, :] - places[:, 0, None, None] + 0 * y[None, :, None]
    down = y[None, :, None] - places[:, 1, None, None] + 0 * x[None, None, :]
    distance = torch.maximum(across.abs(), down.abs()) if scene.kind == "square" else torch.hypot(across, down)
    # Pixels at an edge are mixed, as after scaling.
    covered = ((places[:, 2, None, None] - distance) / pixel + 0.5).clamp(0, 1).amax(0)
    return colour(scene.paint) * covered + colour(scene.ground) * (1 - covered)


def colour(rgb: tuple[int, ...]) -> Tensor:
    return torch.tensor(rgb, dtype=torch.float32)[:, None, None]


def encode_png(scene: Scene, shorter: int) -> bytes:
    """The scene as a PNG file whose shorter side has `shorter` pixels."""
    width, height = (round(side * shorter) for side in scene.size)
    x, y = ((torch.arange(count) + 0.5) / shorter for count in (width, height))
    pixels = paint(scene, x, y, 1 / shorter).round().to(torch.uint8).permute(1, 2, 0).numpy()
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(name, data) for name, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")))


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
