"""The held-out set is held out: no sentence pattern and no slot value is in both sets. Needs the standard library only."""

import random
import unittest

from dragoman_tiny import values
from dragoman_tiny.corpus import dialogues
from dragoman_tiny.patterns import plain

COUNT = {"train": 30_000, "heldout": 10_000}


class Split(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.patterns, cls.slots, cls.questions = {}, {}, {}
        for split, count in COUNT.items():
            stream = dialogues(20_000 if split == "heldout" else 1, split)
            drawn = [next(stream) for _ in range(count)]
            cls.patterns[split] = {plain(pattern) for dialogue in drawn for pattern in dialogue.patterns}
            cls.slots[split] = {slot.strip().lower() for dialogue in drawn for slot in dialogue.slots}
            cls.questions[split] = {plain(dialogue.messages[-2]["content"]) for dialogue in drawn if dialogue.messages[-2]["role"] == "user"}

    def test_no_sentence_pattern_is_in_both_sets(self) -> None:
        self.assertEqual(self.patterns["train"] & self.patterns["heldout"], set())
        self.assertGreater(len(self.patterns["heldout"]), 500)

    def test_no_slot_value_is_in_both_sets(self) -> None:
        self.assertEqual(self.slots["train"] & self.slots["heldout"], set())
        self.assertGreater(len(self.slots["heldout"]), 3000)

    def test_no_question_is_in_both_sets(self) -> None:
        self.assertEqual(self.questions["train"] & self.questions["heldout"], set())

    def test_no_listed_value_is_in_both_sets(self) -> None:
        for kind, held_out in values.HELDOUT.items():
            self.assertEqual({value.lower() for value in held_out} & {value.lower() for value in values.TRAIN[kind]}, set(), kind)

    def test_an_invented_word_is_no_held_out_value_whatever_its_pieces(self) -> None:
        held_out = {word for listed in values.HELDOUT.values() for value in listed for word in value.lower().split()}
        values.use_pieces(sorted({word[at : at + 3] for word in held_out for at in range(0, len(word), 3)}))
        try:
            invented = {values.invented_word(random.Random(seed), (1, 3)) for seed in range(50_000)}
        finally:
            values.use_pieces([])
        self.assertEqual(invented & held_out, set())

    def test_the_same_seed_gives_the_same_dialogues(self) -> None:
        first, second = dialogues(7, "train"), dialogues(7, "train")
        self.assertEqual([next(first) for _ in range(500)], [next(second) for _ in range(500)])


if __name__ == "__main__":
    unittest.main()
