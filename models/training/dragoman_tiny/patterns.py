"""Sentence patterns put together from parts, and dealt out: every seventh combination is kept for the evaluator."""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Sequence

from .dialogue import Split

Patterns = dict[Split, list[str]]


def compose(*parts: Sequence[str]) -> Patterns:
    """Every combination of one element of each part, in the split that its words fall into."""
    return deal(" ".join("".join(choice).split()).replace(" .", ".") for choice in itertools.product(*parts))


def deal(patterns: Sequence[str] | itertools.chain[str]) -> Patterns:
    """Sorts sentences into the splits, by a checksum of their words."""
    dealt: Patterns = {"train": [], "heldout": []}
    for pattern in dict.fromkeys(patterns):
        dealt["heldout" if zlib.crc32(plain(pattern).encode()) % 7 == 0 else "train"].append(pattern)
    return dealt


def plain(pattern: str) -> str:
    """Case, punctuation and spacing do not make another sentence."""
    return re.sub(r"[^\w{}]+", " ", pattern.lower()).strip()


def join(*several: Patterns) -> Patterns:
    """Both splits of several sets together."""
    return {split: [pattern for patterns in several for pattern in patterns[split]] for split in ("train", "heldout")}


def sentences(patterns: Patterns) -> Patterns:
    """The same with a capital letter at the start of each sentence."""
    return {split: [re.sub(r"(^|[.:!] )([a-z])", lambda found: found[1] + found[2].upper(), pattern) for pattern in listed] for split, listed in patterns.items()}
