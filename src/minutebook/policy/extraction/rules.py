"""What a sentence is worth keeping as, if anything, and what it is about.

Precision comes before recall: what is missed can be said again, what is proposed wrongly costs a reviewer's time.
A sentence is looked at by itself. It must be a statement, not a question or a supposition, and be said by somebody
whose word it is: a person decides, demands, prefers and corrects; what was learned an agent may tell as well.
"""

from __future__ import annotations

import re

from minutebook.policy.extraction.lessons import HINTS, LEARNINGS
from minutebook.policy.extraction.personal import PERSONAL
from minutebook.policy.extraction.settling import DECISIONS, RULES, SETTLED
from minutebook.policy.extraction.turns import Speaker
from minutebook.policy.extraction.worth import Phrase, Worth

#: The first one that fits counts, so what is easily mistaken for something else stands before that.
PHRASES: tuple[Phrase, ...] = (*SETTLED, *PERSONAL, *HINTS, *LEARNINGS, *RULES, *DECISIONS)

#: What makes a sentence no statement of its speaker, whatever phrase is in it.
_UNSAID = re.compile(
    r"\?\s*$"
    r"|^(?:what|which|who|when(?!.*[,;])|where|why|how|should|shall|do|does|did|is|are|was|were|can|could|would|will|may|have|has) "
    r"(?:we|i|you|it|this|that|there|they|the|he|she|dark|retention|about|if)\b(?!.*[.!]$)"
    r"|^(?:would|could|should|do|does|did|can|is|are) (?:you|we|i|it|this|that|the) "
    r"|\b(?:what if|suppose|supposing|imagine|let's say|hypothetically|in theory)\b"
    r"|\bif we (?:decided|agreed|chose|used|went|switched|moved)\b"
    r"|\b(?:i guess|i suppose|maybe|perhaps|not (?:so )?sure|i'm unsure|might|i suspect|not verified|haven't decided|not decided|undecided)\b"
    r"|\b(?:likely|probably|possibly|presumably|apparently|seems?|unknown|unclear|(?:don't|do not) think|doubt|not (?:convinced|aware)|no idea)\b"
    r"|\bi think\b|\b(?:almost|nearly) (?:decided|agreed|chose)\b"
    r"|\b(?:decided|agreed) nothing\b|\bnever mind\b|\bnevermind\b"
    r"|\bcould (?:consider|use|go|move|also)\b|\bsounds interesting\b"
    r"|\b(?:we|you|one|it) would (?:need|have|be|take)\b"
    r"|\b(?:lol|haha|:d|:p|;\))(?:\s|$)|[:;]-?\)\s*$"
    # A text that is asked for, not what its words say.
    r"|^(?:please |pls |now |then |and |can you )*(?:write|draft|compose|translate|rephrase|reword|rewrite|paraphrase|proofread|rename)\b"
    r"|^(?:please |pls |now |then |and |can you )*(?:add|insert|put|change|set|replace|make) (?:a |an |the |this |that |its |their )?(?:\w+ )?"
    r"(?:comment|note|text|label|title|heading|caption|message|wording|sentence|paragraph|line|docstring|subject)\b"
    r"|^(?:please )?(?:remind me|remember (?:that|this|it) for me|summari[sz]e|list (?:all|the|every)|generate|explain (?:to me )?(?:why|how|what))\b"
    r"|^(?:acceptance criteria|user story|test case|example|spec|requirements?|expected|actual|steps?|given|lorem ipsum)\b[^:]{0,20}:"
    # What was, and what is elsewhere.
    r"|\b(?:years|months|weeks) ago\b|\bback then\b|\b(?:in|at) (?:the|my|our|an) (?:old|last|former|previous|other|earlier) (?:project|job|company|team|place)\b|\bregret"
)
#: Words that point at what stands elsewhere: alone, such a sentence says nothing.
_POINTING = re.compile(
    r"\bwith what (?:you|we) have\b|\b(?:with|use|using|prefer|take|pick|choose|adopt|keep|drop|to|on) (?:that|this|it|these|those|option|the) ?"
    r"(?:one|ones|first|second|third|last|latter|former|other|left|right|option|approach|\d+|two|three)?(?: one| option| approach)?[.!,]?(?: please| then| instead.*)?$"
    r"|\b(?:this|that) (?:page|file|function|line|class|method|button|case|commit|time|branch|pr|ticket|issue|screen|component"
    r"|loop|view|card|form|table|query|example|script|snippet|change)\b"
)
#: One of several that were shown.
_ONE_OF_THEM = re.compile(
    r"\b(?:the|this|that) \w+ one\b|\b(?:instead of|rather than|over) the (?:first|second|third|last|other|former|latter)\b"
)
_ANOTHER = re.compile(
    r"\bnot the \w+ one\b|\bthis one\b|\bthe other (?!\w+ is\b)|[,;] (?:please )?(?:fix|repair|correct) (?:the|it|this|that)\b(?! in\b)"
)
#: What is done once and then over with: nothing to go by later.
_PASSING = re.compile(
    r"\b(?:for now|just now|right now|(?:anything|nothing|it|this|that|them) yet|tonight|tomorrow|one sec|again, i|just explain|i just did|ignore that|sorry"
    r"|hold on|thanks|attached|paste (?:it|the|me)|find out (?:why|what|how)|in (?:a|\w+) (?:minutes?|moment|seconds?|hours?)|but (?:i|mine) \w+"
    r"|while i am|on my (?:\w+ )?(?:machine|laptop|phone)|joking|just kidding|can you\b|could you\b|please add\b|summari[sz]e (?:it|this)|here,|back in (?:five|ten|a)|i still need|i only (?:see|get)|this (?:morning|afternoon|evening)|the (?:demo|call)\b|screenshot|mock-?up|throwaway"
    r"|all of (?:this|that|it|them)|only this one|the other (?:files?|tests?))\b"
)
#: People's own time.
_LEISURE = re.compile(
    r"\b(?:lunch|dinner|breakfast|beers?|coffee|kids|lake|beach|weekend trip|holidays?|vacation|party|movies?|cinema|wedding|playdates?|doggy|yoga|hike|hiking)\b"
)
#: What an agent says about its own work, or about the ledger's: chatter, not knowledge.
_CHATTER = re.compile(
    r"^(?:i'll|i will|i am going to|i'm going to|let me|i have|i've|i can|i could|i would|i should|now i|next,? i|first,? i|done\b|running\b|you're right"
    r"|understood|got it|sure|of course|certainly|great)\b"
    r"|\b(?:inbox|proposal|write controller|minutebook|memory (?:was |is )?(?:saved|stored|written)|ledger|snapshot of this run)\b"
    r"|\b(?:the |this )?(?:readme|style guide|docs?|documentation|manual|spec|comment|guide|article|author|vendor) (?:says?|states?|recommends?|claims?)\b"
    r"|\baccording to\b|\byou (?:could|can|should|may|might|want|passed)\b|\byou'll\b|\byou're ready\b|\blet me\b|\bif you (?:want|like|prefer)\b"
    # What it is about to do, has done and got wrong.
    r"|\b(?:i'll|i will|i've|i have|i am|i'm|i (?:changed|fixed|added|removed|renamed|moved|updated|forgot|should|could|would|missed|misread|made))\b|\bmy\b"
    r"|, (?:now )?(?:fixing|creating|removing|adding|updating|renaming|correcting) (?:it|them|that|this)\b"
    r"|^[\w ]{3,30}\b(?:report|memory|summary|recap|notes?): |\b(?:undefined|shadowed|unused|call sites?|subagents?)\b"
    r"|.\bi (?!found|discovered|learned)|\bhere(?:'s| is) (?:the|a|step)\b|\bstep (?:one|two|\d)\b|\b(?:off-by-one|one-line|null check|the code was|which is what)\b"
    r"|\b(?:candidates?|extracted|this conversation|all green|tests? (?:passed|pass)|ready to merge|typo|line \d+|figured out|says|already \w+|of the test|the mock)\b|: (?:none|nothing|no)\b"
)
#: What a person reports of others without making it their own.
_HEARSAY = re.compile(
    r"\b(?:my boss|someone|somebody|people|they|he|she|the (?:readme|docs?|blog|article|manual)) (?:says?|said|thinks?|claims?|wants?)\b|\baccording to\b"
    r"|\b(?:docs?|documentation|manual|vendor|spec|ticket|customers?|tutorial|guide|article|blog|readme|linter|product|marketing)\b.{0,30}\b(?:says?|said|states?|claims?|wants?|requires?|recommends?)\b|\brequires? that\b"
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
            return None if _fleeting(phrase, masked) else phrase
    return None


def _fleeting(phrase: Phrase, masked: str) -> bool:
    """Whether what is said is about this moment, or about what only its surroundings tell."""
    if phrase.worth is Worth.CORRECTION:
        return bool(_ANOTHER.search(masked) or _POINTING.search(masked))
    if phrase.worth in (Worth.DECISION, Worth.PREFERENCE) and _LEISURE.search(masked):
        return True
    if phrase.worth in (Worth.DECISION, Worth.PREFERENCE) and _ONE_OF_THEM.search(masked):
        return True
    return bool(
        _POINTING.search(masked)
        or _ANOTHER.search(masked)
        or (phrase.worth is not Worth.LEARNING and _PASSING.search(masked))
    )


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
