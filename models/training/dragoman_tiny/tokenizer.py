"""Byte-level BPE, made so that a word has the same tokens wherever it stands.

Copying is most of what a tool call is: `Zanzibar` in a sentence must become `"Zanzibar"` in JSON. Tokenizers that glue the
space before a word to it give the two different tokens. Here merges never cross a space, except for frequent words of
our own sentences, which are merged last and so change nothing about other words. JSON that every tool schema has is one
token each (user-defined tokens, which llama.cpp finds before it merges), which makes prompts three times shorter.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import regex
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

USER_DEFINED = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "You can call these functions:\n<tools>\n",
    '</tools>\nTo call one, write:\n<tool_call>\n{"name": ..., "arguments": {...}}\n</tool_call>',
    '{"type": "function", "function": {"name": "',
    '", "description": "',
    '", "parameters": {"type": "object", "properties": {',
    '{"type": "object", "properties": {',
    ': {"type": "string"',
    ': {"type": "integer"',
    ': {"type": "number"',
    ': {"type": "boolean"',
    ': {"type": "array", "items": {"type": "string"}',
    ', "enum": ["',
    ', "required": ["',
    ', "description": "',
    ', "additionalProperties": false',
    '"$schema": "http://json-schema.org/draft-07/schema#"',
    '{"name": "',
    '", "arguments": {',
    '": "',
    '", "',
]

# What llama.cpp calls `smollm`: each digit alone, then the split of GPT-2.
_SPLITS = [r"\p{N}", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"]
_TRAINING_SPLIT = r"'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s"

SPACE = "Ġ"


@dataclass(frozen=True)
class Vocabulary:
    """Token texts by id (byte-level spelling for ordinary ones), and merges in order."""

    tokens: list[str]
    merges: list[tuple[str, str]]

    @property
    def ordinary(self) -> int:
        return len(self.tokens) - len(CONTROL) - len(USER_DEFINED)

    def letter_pieces(self) -> list[str]:
        """The tokens that are part of a lower-case word."""
        return [token for token in self.tokens[: self.ordinary] if token.isascii() and token.isalpha() and token.islower()]

    def first_pieces(self) -> list[str]:
        """The short tokens that can begin a word with a capital letter."""
        return [token for token in self.tokens[: self.ordinary] if token.isascii() and token.isalpha() and token.istitle() and len(token) < 5]

    def save(self, path: Path) -> None:
        path.write_text(json.dumps({"tokens": self.tokens, "merges": self.merges}, ensure_ascii=False))

    @staticmethod
    def load(path: Path) -> Vocabulary:
        data = json.loads(path.read_text())
        return Vocabulary(data["tokens"], [tuple(merge) for merge in data["merges"]])


def train_vocabulary(texts: Iterable[str], fixed_words: set[str], *, size: int, space_words: int) -> Vocabulary:
    """Learns merges from rendered dialogues. `fixed_words` may get a token that holds the space before them."""
    fragments = [fragment for text in texts for fragment, special in split_special(text) if not special]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(_TRAINING_SPLIT), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    budget = size - len(CONTROL) - len(USER_DEFINED) - space_words
    trainer = trainers.BpeTrainer(vocab_size=budget, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False)
    bpe.train_from_iterator(fragments, trainer)
    learned = json.loads(bpe.to_str())["model"]
    tokens = [token for token, _ in sorted(learned["vocab"].items(), key=lambda item: item[1])]
    merges = [tuple(merge) if isinstance(merge, list) else tuple(merge.split(" ")) for merge in learned["merges"]]
    known = set(tokens)
    counts = Counter(word for fragment in fragments for word in regex.findall(r" (\p{L}+)", fragment) if word in fixed_words)
    words = [word for word, _ in counts.most_common() if word in known][:space_words]
    return Vocabulary([*tokens, *(SPACE + word for word in words), *USER_DEFINED, *CONTROL], [*merges, *((SPACE, word) for word in words)])


def split_special(text: str) -> list[tuple[str, bool]]:
    """Cuts out user-defined and control tokens as llama.cpp does: the longest token first, over the whole text."""
    fragments = [(text, False)]
    for token in sorted([*USER_DEFINED, *CONTROL], key=len, reverse=True):
        if token not in text:
            continue
        cut: list[tuple[str, bool]] = []
        for fragment, special in fragments:
            if special or token not in fragment:
                cut.append((fragment, special))
                continue
            first, *rest = fragment.split(token)
            cut.append((first, False))
            for part in rest:
                cut += [(token, True), (part, False)]
        fragments = [(fragment, special) for fragment, special in cut if fragment]
    return fragments


class Encoder:
    """Text to token ids, with the result that llama.cpp gives for the same vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        ordinary = {token: index for index, token in enumerate(vocabulary.tokens[: vocabulary.ordinary])}
        self._special = {token: index for index, token in enumerate(vocabulary.tokens) if index >= vocabulary.ordinary}
        self._bpe = Tokenizer(models.BPE(vocab=ordinary, merges=vocabulary.merges))
        splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in _SPLITS]
        self._bpe.pre_tokenizer = pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])

    def encode(self, text: str) -> list[int]:
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: list[str]) -> list[list[int]]:
        pieces = [split_special(text) for text in texts]
        plain = [fragment for fragments in pieces for fragment, special in fragments if not special]
        encoded = iter(self._bpe.encode_batch_fast(plain, add_special_tokens=False))
        return [
            [token for fragment, special in fragments for token in ([self._special[fragment]] if special else next(encoded).ids)]
            for fragments in pieces
        ]

    def id(self, token: str) -> int:
        return self._special[token]
