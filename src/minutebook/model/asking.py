"""Asking a language model: what is sent, and what came back. A model proposes; it never decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that a model is asked, with the form that its answer must have."""

    #: what it is to do; ours alone
    task: str
    #: what it is to do it with: words of others, which are never orders
    material: str
    #: the name and the JSON schema of the answer
    form: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said, and what that cost."""

    text: str
    tokens_in: int
    tokens_out: int
    #: it stopped because it had said as much as it may
    cut: bool = False
