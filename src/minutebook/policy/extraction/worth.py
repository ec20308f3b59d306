"""What a sentence can be worth keeping as, and how a phrase that tells it is written down."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from minutebook.model.memories import Type
from minutebook.policy.extraction.turns import Speaker


class Worth(StrEnum):
    """What a sentence is worth keeping as."""

    DECISION = "decision"
    RULE = "rule"
    PREFERENCE = "preference"
    CORRECTION = "correction"
    LEARNING = "learning"
    HINT = "hint"

    @property
    def type(self) -> Type:
        return _TYPES[self]


_TYPES = {
    Worth.DECISION: Type.TECHNICAL,
    Worth.RULE: Type.PROCESS,
    Worth.PREFERENCE: Type.PROFILE,
    Worth.CORRECTION: Type.FEEDBACK,
    Worth.LEARNING: Type.LEARNING,
    Worth.HINT: Type.PATTERN,
}

_PEOPLE = frozenset({Speaker.PERSON})
_BOTH = frozenset({Speaker.PERSON, Speaker.AGENT})


@dataclass(frozen=True, slots=True)
class Phrase:
    """One way to say it."""

    name: str
    worth: Worth
    pattern: re.Pattern[str]
    confidence: float
    speakers: frozenset[Speaker] = _PEOPLE
    #: fewer words do not say enough
    words: int = 5


def phrase(
    name: str, worth: Worth, pattern: str, confidence: float, *, both: bool = False, words: int = 5
) -> Phrase:
    return Phrase(name, worth, re.compile(pattern), confidence, _BOTH if both else _PEOPLE, words)


#: Patterns are matched against the sentence in lower case, with quotations taken out.
LEAD = r"^(?:(?:ok(?:ay)?|so|right|well|also|and|but|then|yes|great|cool|alright|thanks)[,.:!]? (?:so )?)*"
PLEASE = r"(?:please |pls |kindly )?"
WE = r"(?:we|the (?:whole )?team|everyone|all of us|legal|ops|product|management)"
DECIDED = r"(?:decided|agreed|settled|chose|opted|resolved|concluded|voted|committed|standardi[sz]ed)"
VERB = (
    r"(?:hard-?code|add|allow|answer|ask|assume|avoid|block|break|build|bypass|cache|call|cast|catch|change"
    r"|check|close|combine|commit|compare|compute|convert|copy|create|delete|deploy|disable|duplicate|edit"
    r"|enable|encode|escape|expect|expose|force|format|generate|ignore|import|include|inject|inline|install"
    r"|invoke|join|keep|leave|load|lock|log|make|merge|mix|mock|modify|move|nest|open|override|parse"
    r"|persist|pin|poll|print|process|publish|push|put|query|quote|raise|rebase|refactor|reference|reformat"
    r"|release|rely|remove|rename|replace|reset|restart|retry|return|reuse|review|round|run|save|send|serve"
    r"|share|ship|sign|silence|skip|sleep|split|squash|start|store|swallow|tag|test|throw|touch|truncate"
    r"|trust|update|upgrade|use|validate|verify|wrap|write)"
)
#: What somebody is told to do: at the start of a clause.
ACT = (
    r"(?:please |pls |just |also |then |first |always |you (?:must|have to|need to) )*(?:"
    + VERB[3:-1]
    + r"|apply|back up|bump|clear|compare|confirm|deactivate|do not|don't|drop|execute|fix|increase|install|invalidate|kill|look|lower|make sure"
    r"|migrate|raise|read|rebuild|recreate|reconnect|regenerate|reinstall|reload|remember|replace|reset|restart|see|set|switch|try|turn|wait"
    r"|reproduce|purge|flush|re-?run|re-?index|pull|fetch|pass)\b"
)
CHOICE = (
    r"(?:use|support|ship|keep|drop|migrate|move|switch|adopt|store|stay|stick|standardi[sz]e|deploy|host|release|deprecate"
    r"|remove|replace|locali[sz]e|publish|build|rewrite|log|charge|allow|require|retire|freeze)"
)
#: What is decided to be done so that it stays.
LASTING = (
    r"(?:"
    + CHOICE[3:-1]
    + r"|archive|buy|cap|choose|convert|cut|end|enforce|extend|go with|introduce|limit|lower|open|outsource|own|pin|raise|reject|rename"
    r"|rely|run|split|stop \w+ing|sunset|treat|write)\b(?! (?:by|up|in touch)\b)"
)
CHOOSING = (
    r"(?:using|supporting|shipping|keeping|dropping|migrating|(?:moving|switching) (?=to\b|from\b|over\b|away\b|off\b)|adopting|storing|staying|sticking|going with"
    r"|standardi[sz]ing|deploying|hosting|deprecating|removing|replacing|rewriting|retiring|freezing)"
)
