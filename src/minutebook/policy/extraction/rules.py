"""What a sentence is worth keeping as, if anything, and what it is about.

Precision comes before recall: what is missed can be said again, what is proposed wrongly costs a reviewer's time.
A sentence is looked at by itself. It must be a statement, not a question or a supposition, and be said by somebody
whose word it is: a person decides, demands, prefers and corrects; what was learned an agent may tell as well.
"""

from __future__ import annotations

import re

from minutebook.policy.extraction.lessons import HINTS, LEARNINGS
from minutebook.policy.extraction.personal import PERSONAL
from minutebook.policy.extraction.settling import DECISIONS, RULES
from minutebook.policy.extraction.turns import Speaker
from minutebook.policy.extraction.worth import Phrase

#: The first one that fits counts, so what is easily mistaken for something else stands before that.
PHRASES: tuple[Phrase, ...] = (*PERSONAL, *HINTS, *LEARNINGS, *RULES, *DECISIONS)

#: What makes a sentence no statement of its speaker, whatever phrase is in it.
_UNSAID = re.compile(
    r"\?\s*$"
    r"|^(?:what|which|who|when|where|why|how|should|shall|do|does|did|is|are|was|were|can|could|would|will|may|have|has) "
    r"(?:we|i|you|it|this|that|there|they|the|he|she|dark|retention|about|if)\b(?!.*[.!]$)"
    r"|^(?:would|could|should|do|does|did|can|is|are) (?:you|we|i|it|this|that|the) "
    r"|\b(?:what if|suppose|supposing|imagine|let's say|hypothetically|in theory)\b"
    r"|\bif we (?:decided|agreed|chose|used|went|switched|moved)\b"
    r"|\b(?:i guess|i suppose|maybe|perhaps|not (?:so )?sure|i'm unsure|might|i suspect|not verified|haven't decided|not decided|undecided)\b"
    r"|\b(?:decided|agreed) nothing\b|\bnever mind\b|\bnevermind\b"
    r"|\bcould (?:consider|use|go|move|also)\b|\bsounds interesting\b"
    r"|\b(?:we|you|one|it) would (?:need|have|be|take)\b"
    r"|\b(?:lol|haha|:d|:p|;\))(?:\s|$)"
)
#: What an agent says about its own work, or about the ledger's: chatter, not knowledge.
_CHATTER = re.compile(
    r"^(?:i'll|i will|i am going to|i'm going to|let me|i have|i've|i can|i could|i would|i should|now i|next,? i|first,? i|done\b|running\b|you're right"
    r"|understood|got it|sure|of course|certainly|great)\b"
    r"|\b(?:inbox|proposal|write controller|minutebook|memory (?:was |is )?(?:saved|stored|written)|ledger|snapshot of this run)\b"
    r"|\b(?:the |this )?(?:readme|style guide|docs?|documentation|manual|spec|comment|guide|article|author|vendor) (?:says?|states?|recommends?|claims?)\b"
    r"|\baccording to\b|\byou (?:could|can|should|may|might)\b|\bif you (?:want|like|prefer)\b"
)
#: What a person reports of others without making it their own.
_HEARSAY = re.compile(
    r"\b(?:my boss|someone|somebody|people|they|he|she|the (?:readme|docs?|blog|article|manual)) (?:says?|said|thinks?|claims?|wants?)\b|\baccording to\b"
)
#: Quotations; one that a sentence opens and does not close goes on to its end.
_QUOTATION = re.compile(r"\"[^\"\n]{1,300}(?:\"|$)|“[^”\n]{1,300}”|«[^»\n]{1,300}»|`[^`\n]{1,300}`")


def found_in(sentence: str, speaker: Speaker) -> Phrase | None:
    """The first phrase that a sentence holds, if its speaker states it."""
    masked = _QUOTATION.sub(lambda quoted: "x" * len(quoted[0]), sentence).casefold().replace("’", "'")
    if _UNSAID.search(masked):
        return None
    if speaker is Speaker.AGENT and _CHATTER.search(masked):
        return None
    if speaker is Speaker.PERSON and _HEARSAY.search(masked):
        return None
    count = len(masked.split())
    for phrase in PHRASES:
        if speaker in phrase.speakers and count >= phrase.words and phrase.pattern.search(masked):
            return phrase
    return None


# --- what it is about ----------------------------------------------------------------------------------------

_INSTEAD = re.compile(
    r"\b(?:use|using|with|to|on|chose|picked|adopt|take|pick) (?P<new>[\w.+#/@-]+(?: [\w.+#/@-]+){0,3}?) (?:instead of|rather than|over|in place of) "
    r"(?P<old>[\w.+#/@-]+(?-i:(?: [A-Z0-9][\w.+#-]*)?))",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"\b[Tt]he (?P<what>[a-z][\w -]{3,50}?) (?:is|are)(?P<named> called| named)?(?: now)? (?P<value>[^,;.]{1,60}),? (?:and )?not ",
    re.ASCII,
)
_NOW = re.compile(r"\b[Tt]he (?P<what>[a-z][\w .-]{3,60}?) (?:is|are) now (?P<value>[^,;.]{1,60})", re.ASCII)
_VAGUE = frozenset({"that", "this", "it", "file", "thing", "one", "owner of that module", "same"})


def slot_of(sentence: str) -> tuple[str, str] | None:
    """The entity and the attribute that a sentence fills, where it says them plainly."""
    instead = _INSTEAD.search(sentence)
    if instead is not None:
        old = instead["old"].strip(".,")
        return None if old.casefold() in _VAGUE or (old.islower() and len(old) < 3) else (old, "used instead")
    value = _VALUE.search(sentence) or _NOW.search(sentence)
    if value is None or value["what"].casefold() in _VAGUE or " that " in f" {value['what']} ":
        return None
    return value["what"].strip(), "name" if value.groupdict().get("named") else "value"
