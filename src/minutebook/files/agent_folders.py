"""The folder of an agent in a workspace: a plain name, the same for the same agent, and never shared by two."""

from __future__ import annotations

from functools import lru_cache

from minutebook.files.lines import sha256_of
from minutebook.model.text import slug_segment

_HASH_CHARS = 8


@lru_cache(4_096)
def agent_folder(agent: str) -> str:
    """The name of an agent's folder. A name that is no plain word is told apart from others by its hash."""
    segment = slug_segment(agent)
    return segment if segment == agent else f"{segment}-{sha256_of(agent.encode())[:_HASH_CHARS]}"
