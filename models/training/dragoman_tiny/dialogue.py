"""The one form of a training or test conversation, and what a right answer is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Split = Literal["train", "heldout"]


@dataclass(frozen=True)
class Check:
    """What the evaluator asks of the last assistant turn. Every check also asks that the turn ends by itself."""

    kind: Literal["call", "no-call", "contains", "equals", "json", "upper", "words", "begins", "ends"]
    #: `call`: [{"name", "arguments"}], in any order. `contains`: texts that must all occur. `equals`: the answer.
    #: `json`: {"schema", "value"}. `upper`: texts that must occur, and no lower-case letter may. `words`: {"max", "contains"}.
    #: `begins`, `ends`: a text. `no-call`: nothing.
    expected: Any = None


@dataclass(frozen=True)
class Dialogue:
    """Messages as OpenAI spells them, ending with the assistant's turn that is the right answer."""

    skill: str
    messages: list[dict[str, Any]]
    check: Check
    tools: list[dict[str, Any]] = field(default_factory=list)
    #: What the assistant thinks before the last turn; None when thinking is switched off.
    thought: str | None = None
    #: The free values that were put into sentence patterns, for the test of disjointness.
    slots: tuple[str, ...] = ()
    #: The sentence patterns used, for the same test.
    patterns: tuple[str, ...] = ()
    #: What the instruction alone asks for, whether or not the answer is right in substance; None where the check asks for nothing more.
    obeys: Check | None = None
