"""How people settle something for everybody: decisions, and rules that bind."""

from __future__ import annotations

from minutebook.policy.extraction.worth import (
    CHOICE,
    CHOOSING,
    DECIDED,
    LEAD,
    PLEASE,
    VERB,
    WE,
    Worth,
    phrase,
)

RULES = (
    phrase(
        "rule.never_always",
        Worth.RULE,
        LEAD + PLEASE + r"(?:never|always)(?: ever)? " + VERB + r"\b",
        0.8,
        words=4,
    ),
    phrase(
        "rule.no_circumstances",
        Worth.RULE,
        LEAD + r"(?:under no circumstances|on no account|in no case)\b",
        0.8,
    ),
    phrase(
        "rule.must",
        Worth.RULE,
        # Not how it must feel: what must be done to something.
        r"\b(?:must|shall|should|have to|has to|are to|is to) (?:never|always|not ever)\b"
        r"|\b(?:must not|mustn't|shall not|may not) (?!be (?:easy|fun|true)|have\b)\w+"
        r"|^(?!(?:it|that|this|you|he|she|they|i|we) must)(?:[\w'-]+ ){1,8}must (?:go through|pass|use|contain|start with|end with|live in|stay in"
        r"|be (?!excited|thrilled|tired|interested|relieved|worried|inspired|exhausted|pleased|delighted|stoked|pumped)\w+(?:ed|en|ept|ilt|un)\b)",
        0.7,
    ),
    phrase(
        "rule.you_must_not",
        Worth.RULE,
        LEAD + r"you (?:must not|may not|must never|must always|shall not)\b",
        0.8,
    ),
    phrase(
        "rule.have_to_never", Worth.RULE, r"\b(?:have|has|need|needs) to be \w+, (?:never|not|always)\b", 0.75
    ),
    phrase("rule.do_not", Worth.RULE, LEAD + PLEASE + r"(?:don't|do not)(?: ever)? " + VERB + r"\b .*", 0.65),
    phrase("rule.no_without", Worth.RULE, LEAD + r"no \w+(?: \w+){0,3} without\b", 0.75),
    phrase(
        "rule.every",
        Worth.RULE,
        LEAD + r"(?:every|each|all|any) .{3,60}\b(?:needs?|must|has to|have to|requires?|goes? through)\b",
        0.7,
        words=6,
    ),
    phrase("rule.exceptions", Worth.RULE, r"\bno exceptions?\b", 0.8, words=6),
    phrase(
        "rule.needs_when",
        Worth.RULE,
        r"\b(?:needs?|requires?) (?:\w+ )?(?:approvals?|reviews?|sign-?off)\b.*\b(?:when|if|before|whenever)\b",
        0.7,
        words=8,
    ),
    phrase(
        "rule.keep_under",
        Worth.RULE,
        LEAD + PLEASE + r"keep (?:the |all |every |your )?.{3,40} (?:under|below|above|within|at most)\b",
        0.65,
    ),
)

DECISIONS = (
    phrase(
        "decision.we_decided",
        Worth.DECISION,
        r"\b"
        + WE
        + r"(?:'ve| have| had)?(?: (?:just|now|finally|all|already|also|unanimously))* "
        + DECIDED
        + r" (?:to|on|that|not to|against|for|in favou?r|upon|over|\w+ (?:over|instead of|rather than))",
        0.85,
        both=True,
    ),
    phrase(
        "decision.i_decided",
        Worth.DECISION,
        LEAD + r"i(?:'ve| have)? decided (?:to|on|that|not to|against|we)\b",
        0.75,
    ),
    phrase(
        "decision.was_decided",
        Worth.DECISION,
        r"\b(?:it|this) (?:was|has been|is) (?:decided|agreed|resolved|settled)(?: [^.]{0,50}?)? (?:that|to)\b",
        0.8,
        both=True,
    ),
    phrase(
        "decision.label",
        Worth.DECISION,
        LEAD
        + r"(?:(?:recorded |final |my |our |the )?(?:decision|call|verdict)|resolved(?: with \w+)?|agreed|approved|conclusion|outcome)\s*[:—-]+ \S",
        0.8,
        both=True,
        words=6,
    ),
    phrase(
        "decision.chose",
        Worth.DECISION,
        LEAD
        + WE
        + r"(?:'ve| have)? (?:chose|chosen|picked|selected) .* (?:over|instead of|rather than|because)\b",
        0.8,
        both=True,
    ),
    phrase(
        "decision.lets",
        Worth.DECISION,
        LEAD
        + r"let'?s (?:go with|standardi[sz]e on|stick (?:with|to)|adopt|switch to|move to|settle on|use|drop|keep (?=the |our |using |on using )) ?(?!a debugger|it\b|this\b|that\b|going\b|doing\b|our \w+ for)\S",
        0.7,
    ),
    phrase(
        "decision.instead",
        Worth.DECISION,
        LEAD + PLEASE + r"(?:use|take|pick|choose|prefer) .{2,60} (?:instead of|rather than|in place of)\b",
        0.8,
    ),
    phrase(
        "decision.going_with",
        Worth.DECISION,
        LEAD
        + r"(?:(?:we're|we are) (?:now |not )?(?:going (?:to "
        + CHOICE
        + r"|with)|"
        + CHOOSING
        + r")|(?:i'm|i am) going with)\b(?! (?:going|doing|positive|strong|up\b|it up|\w+ing\b))",
        0.75,
    ),
    phrase(
        "decision.we_will",
        Worth.DECISION,
        LEAD
        + r"(?:as agreed[^,]*, )?we(?:'ll| will| won't| will not| shall| do not| don't|'re going to) (?:only |no longer |not |never |always )?"
        + CHOICE
        + r"\b(?! (?:going|doing|on|it up|at it|in touch|up with|\w+ing)\b)",
        0.7,
    ),
    phrase(
        "decision.as_agreed",
        Worth.DECISION,
        r"\bas (?:agreed|decided|settled)\b[^,]{0,40}, (?:we|the)\b",
        0.75,
        both=True,
    ),
    phrase(
        "decision.from_now_on",
        Worth.DECISION,
        LEAD
        + r"(?:from now on|going forward|from here on|as of (?:today|now|next \w+|version \S+)|starting (?:today|now|next \w+|with version \S+)),? (?!i\b|i'll|nothing)\S",
        0.75,
        words=7,
    ),
    phrase(
        "decision.scope",
        Worth.DECISION,
        r"\b(?:is|are|stays?|remains?) (?:out of|not in|in) scope for\b",
        0.75,
    ),
    phrase("decision.plan", Worth.DECISION, LEAD + r"(?:the plan is|our plan is)(?: to\b|: )", 0.65, words=7),
    phrase(
        "decision.now",
        Worth.DECISION,
        r"\b(?:minimum|maximum|default|official|supported|required|only)\b.* (?:is|are) now\b",
        0.7,
        words=6,
    ),
    phrase(
        "decision.elsewhere",
        Worth.DECISION,
        r"\bwir haben (?:uns )?(?:\w+ ){0,4}?(?:entschieden|geeinigt|beschlossen)\b|\b(?:n[oó]s )?decidimos\b|\bhemos decidido\b|\bnous avons d[ée]cid[ée]\b|\babbiamo deciso\b",
        0.75,
    ),
)
