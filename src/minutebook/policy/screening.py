"""What a text must not carry into the ledger: credentials, hidden characters, claims of authority.

Screening names the rule and the field, and nothing of the text: a finding is stored and shown, and must not
become the leak. It does not stop poisoning by itself; the gate of governance does. It shows a reviewer
where to look.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from minutebook.model import text as texts
from minutebook.policy import secrets


class Tier(StrEnum):
    """How sure a rule is: certain enough to refuse, or worth a reviewer's look."""

    REFUSE = "refuse"
    FLAG = "flag"


class Family(StrEnum):
    """What a rule looks for."""

    SECRET = "secret"
    HIDDEN = "hidden"
    AUTHORITY = "authority"


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that fired in one field. It holds neither the value nor where or how long it was."""

    rule: str
    tier: Tier
    family: Family
    field: str


def screen(fields: Mapping[str, str]) -> tuple[Finding, ...]:
    """Look through the texts of a candidate, and name each rule that fires, field by field."""
    # Nearly always there is nothing, and one look at all of them together says so.
    if len(fields) > 1 and not _found("\n\n".join(fields.values())):
        return ()
    return tuple(
        Finding(rule, tier, family, field)
        for field, text in fields.items()
        for rule, tier, family in _found(text)
    )


@functools.lru_cache(maxsize=256)
def _found(text: str) -> tuple[tuple[str, Tier, Family], ...]:
    """The rules that fire in a text. Kept for a moment: a write may be prepared before its turn comes."""
    return tuple(_look(text))


def _look(text: str) -> Iterator[tuple[str, Tier, Family]]:
    seen = texts.plain(text)
    refusing, suspicious = secrets.look(seen)
    for rule in refusing:
        yield rule, Tier.REFUSE, Family.SECRET
    for rule in suspicious:
        yield rule, Tier.FLAG, Family.SECRET
    for rule, tier in _hidden(text):
        yield rule, tier, Family.HIDDEN
    for rule in _authority(seen):
        yield rule, Tier.FLAG, Family.AUTHORITY


# --- hidden characters ----------------------------------------------------------------------------------

_DIRECTION_MARKS = frozenset("\u200e\u200f\u061c")


def _hidden(text: str) -> Iterator[tuple[str, Tier]]:
    found = texts.hidden_characters(text)
    marks = _DIRECTION_MARKS.intersection(found)
    # A direction mark beside Hebrew or Arabic is typography. It reorders nothing but its neighbours.
    if marks and any("\u0590" <= c <= "\u08ff" for c in text):
        yield "direction_mark", Tier.FLAG
        found = [c for c in found if c not in marks]
    if texts.BIDI_CONTROLS.intersection(found):
        yield "bidi_control", Tier.REFUSE
    if texts.TAG_CHARACTERS.intersection(found):
        yield "tag_character", Tier.REFUSE
    rest = [c for c in found if c not in texts.BIDI_CONTROLS and c not in texts.TAG_CHARACTERS]
    if any(c < " " or "\x7f" <= c <= "\x9f" for c in rest):
        yield "control_character", Tier.FLAG
    if any(c > "\x9f" for c in rest):
        yield "invisible_character", Tier.FLAG


# --- claims of authority --------------------------------------------------------------------------------

_WHO = (
    r"(?:operator|coordinator|administrator|admin|system|human|owner|maintainer|security team|management|ceo"
    r"|scribe)"
)
_W3 = r"(?:[^ ]+ ){0,3}?"

#: Phrases, in the UTF-8 bytes of text folded as claims are (lower case, no accents, no punctuation,
#: look-alikes undone).
#: They address the reader's instructions or claim a standing that only a row of the ledger can have.
#: Ordinary orders ("never deploy on Fridays") are what decisions are made of, and are not here.
PHRASES: tuple[tuple[str, str], ...] = (
    (
        "ignore_instructions",
        r"\b(?:ignore|disregard|forget|override|bypass|do not follow|don t follow|stop following|dismiss) "
        rf"(?:(?:all|any|every|each) )?{_W3}"
        r"(?:(?:previous|prior|above|earlier|preceding|existing|your|my|former|original|system) "
        r"(?:[^ ]+ ){0,2}?(?:instructions?|prompts?|directives?|guardrails|boundaries|decisions?|orders"
        r"|system message|rules|guidelines|context)"
        r"|(?:all|any|the|these|those|every) (?:instructions|directives|guardrails|boundaries"
        r"|safety [^ ]+))\b",
    ),
    (
        "ignore_instructions",
        r"\bignora(?:r|d)? (?:[^ ]+ ){0,3}?(?:instrucciones|ordenes|indicaciones)\b"
        r"|\bignorier(?:e|en|t)? (?:[^ ]+ ){0,4}?(?:anweisungen|instruktionen|vorgaben|befehle)\b"
        r"|\b(?:ignore[zr]?|oublie[zr]?) (?:toutes )?(?:les|tes|vos|mes"
        r"|ces) (?:[^ ]+ ){0,2}?(?:instructions|consignes|directives)\b"
        r"|(?:忽略|无视|忘记|不要理会)[^ ]{0,12}(?:之前|以上|先前|上面|上述|此前|所有)"
        r"[^ ]{0,18}(?:指令|指示|说明|规则|提示)"
        r"|(?:以前|上記|これまで)の[^ ]{0,12}(?:指示|命令)を[^ ]{0,12}(?:無視|忘れ)",
    ),
    (
        "orders_the_reader",
        r"\byou (?:must|shall|have to|need to|are required to|are ordered to|will) (?:now|obey|comply"
        r"|immediately|henceforth|from now on|always obey|unconditionally)\b"
        r"|\b(?:from now on|henceforth|from this point (?:on|forward)|starting now) you (?:are|will|must"
        r"|shall|act|obey|have)\b"
        r"|\byou are (?:now|no longer) (?:an? |the |in |operating |acting |free |bound |restricted"
        r"|required|dan\b|subject )"
        r"|\bif you are an? (?:ai|llm|language model|assistant|agent|model)\b"
        r"|\battention (?:all )?(?:ai|llms?|agents?|assistants?|language models?)\b"
        r"|\byour (?:new|real|true|only|updated) (?:instructions?|task|goal|role|orders|objective|purpose)\b"
        r"|\b(?:reveal|print|repeat|output|disclose) (?:your|the) (?:[^ ]+ )?(?:system prompt"
        r"|hidden prompt|initial instructions|system message)\b"
        r"|\ba partir de ahora (?:eres|debes|tu)\b|\bab (?:jetzt|sofort) (?:bist|musst|wirst) du\b"
        r"|\bdu bist (?:jetzt|nun|ab jetzt|ab sofort) (?:ein|eine|der|die|im)\b"
        r"|\b(?:tu es|vous etes) (?:maintenant|desormais) (?:un|une|le|la|en)\b|\b(?:desormais"
        r"|a partir de maintenant) (?:tu|vous) \w+"
        r"|你现在是|从现在开始你|从现在起你",
    ),
    (
        "takes_a_role",
        r"\b(?:act|behave|pretend|respond|answer) (?:as if you (?:are|were)|as though you|as (?:the"
        r"|an?) (?:unrestricted|operator|coordinator|administrator|system|root))\b"
        r"|\b(?:developer|god|jailbreak|dan|unrestricted|admin) mode (?:is )?(?:enabled|activated|on"
        r"|unlocked)\b",
    ),
    (
        "asks_for_secrecy",
        r"\b(?:do not|don t|dont|never|must not|without) (?:ever )?(?:tell|telling|informing|let|letting"
        r"|notifying|alerting) "
        r"(?:the |your |any |our )?(?:user|users|operator|human|humans|owner|reviewer|coordinator"
        r"|developer|anyone|anybody|people)\b"
        r"|\b(?:do not|don t|never) (?:mention|reveal|disclose|show|report|expose) (?:this|it|these|that"
        r"|any of this) (?:[^ ]+ ){0,2}?to (?:the |your |any )?"
        r"(?:user|users|operator|human|owner|reviewer|coordinator|developer|anyone)\b"
        r"|\bkeep (?:this|it|that) (?:a )?(?:secret|hidden|confidential) from (?:the |your )?(?:user"
        r"|operator|human|owner|reviewer|coordinator|team)\b"
        r"|\bno (?:le |les |se lo )?(?:digas|diga|cuentes|informes) (?:[^ ]+ ){0,2}?al (?:usuario|operador)\b"
        r"|\b(?:sag|sage|sagen sie|verrate|verraten sie) (?:[^ ]+ ){0,2}?(?:dem|den) (?:benutzer|nutzer"
        r"|anwender|operator) (?:nichts|nicht|davon)\b"
        r"|\bne (?:le |la |les )?(?:dis|dites|revele|revelez|parle|parlez) (?:[^ ]+ ){0,3}?(?:a l"
        r"|aux?) ?(?:utilisateurs?|operateur)\b"
        r"|(?:不要|不得|别)(?:告诉|通知|告知|让)[^ ]{0,6}(?:用户|操作员|管理员)",
    ),
    (
        "claims_authority",
        rf"\b(?:i|we) hereby \w+|\bas (?:the |your |an |acting )?{_WHO} (?:of [^ ]+ )?i (?:hereby |now "
        rf"|also |have |am )?"
        r"(?:approv|authori[sz]|decid|declar|order|grant|overrid|instruct|command|direct|promot|confirm"
        r"|requir|mandat)\w*"
        rf"|\b(?:by order of|on (?:the )?authority of|under (?:the )?authority of|on behalf of) (?:the "
        rf"|your )?{_WHO}\b"
        rf"|\b(?:i am|this is) (?:the |your ){_WHO} (?:speaking|writing|and|here|of this)\b"
        rf"|\b{_WHO} (?:override|authorization|authorisation|approval) (?:code|granted|active|in effect"
        rf"|accepted|confirmed|obtained|already given)\b"
        r"|\b(?:non negotiable|binding|unconditional|immutable) (?:[^ ]+ )?(?:boundary|boundaries"
        r"|directive|order|instruction|decision|mandate|command)\b"
        r"|\b(?:aprobado|autorizado|ordenado) por (?:el|la) (?:operador|coordinador|administrador)\b"
        r"|\b(?:genehmigt|freigegeben|angeordnet) (?:vom|durch den|von dem) (?:operator|koordinator"
        r"|administrator|betreiber)\b"
        r"|\b(?:approuve|autorise|ordonne)e? par (?:l operateur|le coordinateur|l administrateur)\b"
        r"|(?:操作员|管理员|协调员|运营者)(?:已经|已)?(?:批准|授权|同意)",
    ),
    (
        "claims_precedence",
        r"\b(?:this|these) (?:[^ ]+ ){0,3}?(?:overrides?|outranks?|supersedes?|replaces?"
        r"|takes? precedence over|trumps?) (?:[^ ]+ ){0,2}?"
        r"(?:all|any|every|your) (?:[^ ]+ ){0,2}?(?:instructions?|decisions?|boundaries|guidelines"
        r"|memories|directives|guardrails)\b",
    ),
    (
        "asks_for_approval",
        r"\b(?:approve|promote|accept|merge|auto approve|autoapprove|rubber stamp) this (?:proposal|memory"
        r"|decision|entry|candidate|submission)\b",
    ),
)

#: "Approved by the owner" is a claim, unless it is a condition: "until approved by the owner".
_APPROVED = (
    r"(?:approved|authori[sz]ed|sanctioned|ratified|signed off|mandated|cleared) (?:in advance |already "
    r"|personally )?"
    rf"by (?:the |your |our |an |my |project |human )*{_WHO}\b"
)
_CONDITION = (
    r"\b(?:unless|until|once|if|when|whenever|after|before|only|must|should|shall|needs?|can|may|to|be|being"
    r"|are|get|gets|not|every|each|or|wait)\b"
)

#: Structure, in the text as written: what only the compiler of a bundle, or a chat format, may emit.
STRUCTURE: tuple[tuple[str, str], ...] = (
    (
        "fakes_a_heading",
        r"(?mi)^[ \t]{0,3}(?:>[ \t]?){0,4}#{1,6}[ \t]*(?:active |approved |binding |project )?"
        r"(?:boundaries and decisions|current session|system (?:prompt|instructions?|message|override)"
        r"|operator (?:instructions?|override|orders?))[ \t#:]*$"
        r"|(?mi)^[ \t]{0,3}boundaries and decisions[ \t]*\n[ \t]{0,3}[=-]{3,}[ \t]*$",
    ),
    (
        "fakes_a_role",
        r"(?i)<[ \t]{0,2}/?[ \t]{0,2}(?:system|assistant|developer|system[-_ ]?(?:reminder|prompt|message"
        r"|instructions?)|admin|operator|coordinator"
        r"|boundary|boundaries|(?:important|new|hidden)[-_]instructions?"
        r"|instructions?)(?:[ \t][^<>\n]{0,80})?/?>"
        r"|<\|[a-z_]{2,24}\|>|\[/?INST\]|<</?SYS>>"
        r"|\[(?:system|admin|operator|coordinator) (?:message|note|override|prompt|instructions?)\]"
        r"|(?:^|\n)[ \t>*_]{0,6}\[(?:system|operator|coordinator)\]:?[ \t]+\S"
        r"|(?:^|\n)[ \t>*_#-]{0,6}system(?: (?:prompt|message|note|override|instructions?"
        r"|notice))?[*_]{0,2}[ \t]?:[*_]{0,2}[ \t]*(?:\S+[ \t]+){3}"
        r"|(?:^|\n)[ \t>*_#-]{0,6}(?:system|operator|developer) (?:prompt|message|override|instructions?"
        r"|notice)[*_]{0,2}[ \t]?:"
        r"|\n\n(?:human|assistant):[ \t]",
    ),
    (
        "fakes_a_label",
        r"(?mi)^[ \t>*_-]{0,6}(?:authority|approved[_ -]by|promoted[_ -]by|decided[_ -]by"
        r"|authori[sz]ed[_ -]by|trust(?:[_ -]level)?)[*_]{0,2}[ \t]?[:=][*_]{0,2}[ \t]*[\"'`]?"
        r"(?:the |an? )?(?:operator|coordinator|system|admin|administrator|scribe|trusted|human|owner|full"
        r"|maximum|highest)\b",
    ),
)


def _authority(seen: str) -> list[str]:
    """Names of the rules by which a text claims authority or orders its reader about."""
    folded = texts.fold_claim(seen).encode("utf-8", "replace")
    written = seen.encode("utf-8", "replace")
    found: list[str] = []
    # One pass asks for all of them; nearly every text has none, and is done.
    if secrets.compiled(_any_of(PHRASES, _APPROVED)).search(folded):
        found = [rule for rule, pattern in PHRASES if secrets.compiled(pattern).search(folded)]
        if "claims_authority" not in found and _claims_approval(folded):
            found.append("claims_authority")
    if secrets.compiled(_any_of(STRUCTURE)).search(written):
        found += [rule for rule, pattern in STRUCTURE if secrets.compiled(pattern).search(written)]
    return list(dict.fromkeys(found))


@functools.cache
def _any_of(rules: tuple[tuple[str, str], ...], *more: str) -> str:
    return "|".join(f"(?:{pattern})" for pattern in (*(pattern for _, pattern in rules), *more))


def _claims_approval(folded: bytes) -> bool:
    condition = secrets.compiled(_CONDITION)
    return any(
        not condition.search(folded[max(0, match.start() - 50) : match.start()])
        for match in secrets.compiled(_APPROVED).finditer(folded)
    )
