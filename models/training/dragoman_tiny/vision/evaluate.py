"""Scores on held-out pictures and questions, through Dragoman's chat completions: `python -m dragoman_tiny.vision.evaluate`."""

from __future__ import annotations

import argparse
import base64
import json
import random
import urllib.request
from collections import defaultdict

from .raster import encode_png
from .scenes import ask, draw_scene


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:7411/v1")
    parser.add_argument("--model", required=True)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=500)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    scores: dict[str, list[bool]] = defaultdict(list)
    for _ in range(options.count):
        scene = draw_scene(rng, "heldout")
        question = ask(rng, scene, "heldout")
        picture = encode_png(scene, rng.randint(48, 400))
        url = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
        parts = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": question.text}]
        rng.shuffle(parts)
        scores[question.topic].append(complete(options, parts) == question.answer)
    for topic, right in sorted(scores.items()):
        print(f"{topic}: {100 * sum(right) / len(right):.1f} % of {len(right)}")


def complete(options: argparse.Namespace, parts: list[dict[str, object]]) -> str:
    body = {"model": options.model, "messages": [{"role": "user", "content": parts}], "temperature": 0, "max_tokens": 30, "reasoning_effort": "none"}
    request = urllib.request.Request(f"{options.url}/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]


if __name__ == "__main__":
    main()
