"""How people settle something for everybody: decisions, and rules that bind."""

from __future__ import annotations

from minutebook.policy.extraction.worth import (
    CHOICE,
    CHOOSING,
    DECIDED,
    LASTING,
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
        LEAD
        + r"(?:(?:no|nope|wait|stop)[,.:!] )?"
        + PLEASE
        + r"(?:in this (?:repo(?:sitory)?|project|codebase|team),? )?(?:we )?(?:never|always|don't ever)(?: ever|, under any circumstances,)? "
        + VERB
        + r"\b",
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
        r"^(?!(?:it|that|this|there|he|she|they|i) )(?:.*\b(?:must|shall|should|have to|has to|are to|is to) (?:never|always|not ever)\b(?! have\b)"
        r"|.*\b(?:must not|mustn't|shall not) (?!be (?:easy|fun|true|it|that)\b|have\b)\w+)"
        r"|^(?!(?:it|that|this|you|he|she|they|i|we) must)(?:(?:(?:all|every|each|any|no) )(?:[\w'-]+ ){1,7}|(?:[\w'-]+ ){0,7}[\w'-]*[^\Ws]s )must (?:go through|pass|use|contain|start with|end with|live in|stay in"
        r"|be (?!excited|thrilled|tired|interested|relieved|worried|inspired|exhausted|pleased|delighted|stoked|pumped)\w+(?:ed|en|ept|ilt|un)\b)",
        0.7,
    ),
    phrase(
        "rule.you_must_not",
        Worth.RULE,
        LEAD + r"you (?:must not|may not|must never|must always|shall not)\b(?! have\b)",
        0.8,
    ),
    phrase(
        "rule.have_to_never", Worth.RULE, r"\b(?:have|has|need|needs) to be \w+, (?:never|not|always)\b", 0.75
    ),
    phrase(
        "rule.do_not",
        Worth.RULE,
        LEAD
        + PLEASE
        + r"(?:don't|do not)(?: ever)? "
        + VERB
        + r"\b (?!(?:it|this|that|them|the|so|my|your|here|any)\b).*",
        0.65,
    ),
    phrase(
        "rule.no_without",
        Worth.RULE,
        LEAD + r"no [\w.]+(?: \w+){0,3} (?:without|outside of|inside of)\b",
        0.75,
    ),
    phrase(
        "rule.every",
        Worth.RULE,
        LEAD
        + r"(?:every|each|all|any) (?!time\b|.*\bi (?:need|have)\b).{3,60}\b(?:needs?|must|has to|have to|requires?|goes? through)\b(?! (?:have been|have \w+ed|to load|to be (?:a|some)|about|\d+)\b)",
        0.7,
        words=5,
    ),
    phrase(
        "rule.only_may", Worth.RULE, LEAD + r"only (?:the |a )?.{3,40} (?:may|(?:is|are) allowed to)\b", 0.75
    ),
    phrase("rule.exceptions", Worth.RULE, r"\bno exceptions?\b", 0.8, words=5),
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
        LEAD
        + PLEASE
        + r"keep (?!an eye\b|me\b)(?:the |all |every |your )?.{3,40} (?:under|below|above|within|at most) \d",
        0.65,
    ),
)

#: What says of itself that it is settled: nothing else that stands beside it counts.
SETTLED = (
    phrase(
        "decision.we_decided",
        Worth.DECISION,
        r"\b"
        + WE
        + r"(?:'ve| have| had)?(?: (?:just|now|finally|all|already|also|unanimously))* "
        + DECIDED
        + r"(?: (?:with|in|at|during) [^,;]{3,30}?)? (?:to "
        + LASTING
        + r"|on (?!slack\b|zoom\b|teams\b|the (?:call|phone)\b)|that (?!.{0,40}\b(?:went|was|looks?|is (?:great|good|nice|bad))\b)|not to (?!bother)|against|for|in favou?r|upon|over|\w+ (?:over|instead of|rather than))",
        0.85,
        both=True,
    ),
    phrase(
        "decision.was_decided",
        Worth.DECISION,
        r"\b(?:it|this) (?:was|has been|is) (?:decided|agreed|resolved|settled)(?: [^.]{0,50}?)? (?:that|to)\b"
        r"|^(?:ok(?:ay)?, )?(?:it|this|that)(?:'s| is) (?:now )?(?:settled|decided|agreed)(?: now| then)?[,:;—] (?:we|the|no|all|every)\b",
        0.8,
        both=True,
    ),
    phrase(
        "decision.label",
        Worth.DECISION,
        LEAD
        + r"(?:(?:recorded |final |my |our |the )?(?:decision(?! needed)|decided)|resolved with \w+|to record what we (?:agreed|decided))"
        + r"\s*[:—-]+ (?!\w+ or \w+)\S",
        0.8,
        both=True,
        words=5,
    ),
    phrase(
        "decision.agreed",
        Worth.DECISION,
        LEAD
        + r"(?:(?:final |my |our |the )?(?:call|verdict)|resolved|agreed(?: with \w+)?|approved|conclusion|outcome(?!: \d))\s*[:—-]+ \S",
        0.8,
        words=6,
    ),
    phrase(
        "decision.as_agreed",
        Worth.DECISION,
        r"\bas (?:you |we )?(?:agreed|decided|settled)\b[^,]{0,40}, (?:we|the)\b"
        r"|[,;] that(?: was|'s| is) (?:decided|agreed|settled|final)\b",
        0.75,
        both=True,
    ),
)

DECISIONS = (
    phrase(
        "decision.i_decided",
        Worth.DECISION,
        LEAD
        + r"i(?:'ve| have)? decided (?:to "
        + LASTING
        + r"|on|that (?!i\b)|not to (?!bother)|against|we)\b",
        0.75,
    ),
    phrase(
        "decision.chose",
        Worth.DECISION,
        LEAD
        + r"(?:for [^,]{3,40}? )?"
        + WE
        + r"(?:'ve| have)? (?:chose|chosen|picked|selected) .* (?:over|instead of|rather than|because)\b",
        0.8,
        both=True,
    ),
    phrase(
        "decision.lets",
        Worth.DECISION,
        LEAD
        + r"let'?s (?:go with|standardi[sz]e on|stick (?:with|to)|adopt|switch to (?!the\b)|move to (?!the\b)|settle on|use (?!the (?:time|rest))|drop|keep (?=the |our |using |on using )) ?(?!a debugger|it\b|this\b|that\b|your\b|what\b|going\b|doing\b|our \w+ for)\S",
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
        r"(?:^|[:;—] )"
        + LEAD[1:]
        + r"(?:(?:we're|we are) (?:now |not )?(?:going (?:to "
        + CHOICE
        + r"|with)|"
        + CHOOSING
        + r")|(?:i'm |i am )?going with (?=.* (?:instead of|rather than|over)\b))(?! (?:the flow|going|doing|positive|strong|up\b|it up|\w+ing\b))",
        0.75,
    ),
    phrase(
        "decision.we_will",
        Worth.DECISION,
        LEAD
        + r"(?:as agreed[^,]*, )?we(?:'ll| will| won't| will not| shall| do not| don't|'re going to) (?:only |no longer |not |never |always )?"
        + CHOICE
        + r"\b(?! (?:going|doing|on|it up|at it|by|in touch|up with|\w+ing)\b)",
        0.7,
    ),
    phrase(
        "decision.it_is",
        Worth.DECISION,
        r"(?:^|[:,;] )(?:[\w.+#-]+ ){1,3}it is (?:for|in|on) (?:the|our|all)\b",
        0.7,
    ),
    phrase(
        "decision.from_now_on",
        Worth.DECISION,
        LEAD
        + r"(?:from (?:now|today|here) on|going forward|as of (?:today|next \w+|version \S+)|starting (?:today|now|next \w+|with version \S+)),? (?!i\b|i'll|it\b|it's|nothing)\S",
        0.75,
        words=7,
    ),
    phrase(
        "decision.scope",
        Worth.DECISION,
        r"\b(?:is|are|stays?|remains?) (?:out of|not in|in) scope for\b",
        0.75,
    ),
    phrase(
        "decision.plan",
        Worth.DECISION,
        LEAD + r"(?:the plan is|our plan is)(?: to " + LASTING + r"|: )",
        0.65,
        words=7,
    ),
    phrase(
        "decision.now",
        Worth.DECISION,
        r"\b(?:minimum|maximum|default|official|supported|required)\b.* (?:is|are) now\b(?! (?:broken|missing|gone|empty|wrong|ok|fine|slow|fast|green|red)\b)",
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
