"""How a slug is made unique without overwriting anybody."""

from __future__ import annotations

from collections.abc import Collection

from minutebook.model.text import slug_segment

_LONGEST = 200


def decollide(slug: str, agent: str, taken: Collection[str]) -> str:
    """`slug`, else `slug--agent`, else `slug--agent--2`, `--3`, … whichever is the first that is free."""
    if slug not in taken:
        return slug
    segment = slug_segment(agent)
    stem = f"{slug[: _LONGEST - len(segment) - 8].rstrip('-')}--{segment}"
    return numbered(stem, taken, mark="--")


def numbered(stem: str, taken: Collection[str], *, mark: str = "-") -> str:
    """`stem`, else `stem-2`, `stem-3`, …"""
    if stem not in taken:
        return stem
    stem = stem[: _LONGEST - 8].rstrip("-")
    number = 2
    while f"{stem}{mark}{number}" in taken:
        number += 1
    return f"{stem}{mark}{number}"
