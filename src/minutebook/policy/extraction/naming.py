"""What a source is called where nobody gave it a title."""

from __future__ import annotations

import re

from minutebook.policy.extraction import transcripts
from minutebook.policy.extraction.turns import Speaker

#: So many characters of a source are looked at for its name.
_HEAD = 20_000
_MATTER = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_NAME = re.compile(r"^(?:title|name):[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)


def name_in(content: str) -> str:
    """The words that tell what a source is: its own title, what somebody asked first, or its beginning."""
    head = content.lstrip()[:_HEAD]
    if head[:1] in ("{", "["):
        return _asked_first(head if len(content) <= _HEAD else head.rpartition("\n")[0]) or head
    matter = _MATTER.match(head)
    if matter is None:
        return head
    name = _NAME.search(matter[1])
    return name[1].strip("\"' ") if name is not None else head[matter.end() :].lstrip() or head


def _asked_first(text: str) -> str:
    _, turns = transcripts.read(text)
    said = [turn for turn in turns if turn.speaker is Speaker.PERSON] or turns
    return said[0].text.strip() if said else ""
