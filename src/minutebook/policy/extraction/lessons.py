"""How somebody tells what was found out, and what to do when it comes up again."""

from __future__ import annotations

from minutebook.policy.extraction.worth import ACT, LEAD, PLEASE, Worth, phrase

HINTS = (
    phrase(
        "hint.next_time",
        Worth.HINT,
        LEAD
        + r"(?:for )?(?:the )?next time(?:[:,]? "
        + ACT
        + r"(?! `?[\w ]+`? to see\b)| [^.;]*?[,:] "
        + ACT
        + r"|: .*\b(?:needs?|requires?|must)\b)",
        0.75,
        both=True,
        words=6,
    ),
    phrase(
        "hint.whenever",
        Worth.HINT,
        LEAD
        + r"whenever (?!you(?:'re| are| want| like| need| feel| have)\b|i\b|it\b)(?:[^.;]{4,}?[,;] "
        + ACT
        + r"|you \w+ .*\b(?:remember to|make sure|don't forget)\b)",
        0.75,
        both=True,
        words=8,
    ),
    phrase(
        "hint.if_then",
        Worth.HINT,
        LEAD
        + r"if (?!you (?:want|like|have|need|prefer|agree|can|could)|it works|not|so|possible|that)(?![^,;]* again\b)[^,;]{8,}[,;] (?:[^,;]{4,}; )?(?!log\b)"
        + ACT
        + r"(?! it and (?:tell|show) me)(?!.*\b(?:show|tell) me\b)",
        0.65,
        words=9,
    ),
    phrase(
        "hint.before",
        Worth.HINT,
        LEAD
        + r"before (?:you )?(?:touch|chang|deploy|merg|edit|run|releas|refactor|upgrad|start|add|remov|migrat)\w*\b[^,]*, (?:please )?(?:always )?(?:read|run|check|ask|make|look|take|back|stop|pull|see)\b",
        0.75,
        words=7,
    ),
    phrase(
        "hint.when_you",
        Worth.HINT,
        LEAD
        + r"when(?:ever)? you (?:add|change|bump|rename|remove|touch|upgrade|create|delete|move|edit|deploy|release) (?!the\b|this\b|that\b).*\b(?:also|remember|make sure|don't forget|must|first|or)\b",
        0.75,
        words=8,
    ),
    phrase(
        "hint.after",
        Worth.HINT,
        LEAD
        + r"after (?:you )?(?:upgrad|chang|bump|deploy|merg|edit|renam|add|mov|pull|rebas|updat)\w*\b(?! (?:it|this|that|them)\b)[^,]{3,}[, ] ?(?:always )?(?:run|check|restart|rebuild|regenerate|clear)\b",
        0.7,
        words=7,
    ),
    phrase(
        "hint.tip",
        Worth.HINT,
        LEAD + r"(?:pro ?)?tip(?: for later| for next time| for the future): \S",
        0.75,
        both=True,
        words=6,
    ),
    phrase(
        "hint.trick", Worth.HINT, r"\bthe trick (?:with|for|to|is|here)\b.*\bis to\b", 0.7, both=True, words=7
    ),
    phrase(
        "hint.way",
        Worth.HINT,
        LEAD
        + r"(?:a good|the best|the fastest|the quickest|the easiest|the only) way to (?!start|begin|\w+ (?:it|this|that)\b)\S+ .* is to \S",
        0.65,
        both=True,
        words=9,
    ),
    phrase(
        "hint.to_reproduce",
        Worth.HINT,
        LEAD
        + r"to (?:reproduce|debug|test|trigger|rebuild|reset|release|deploy|get) [^,]{3,}(?:,| (?=run\b)) ?(?:set|run|open|start|use|call|first|add)\b(?!.*\b(?:i|me) (?:need|want)\b)",
        0.7,
        words=8,
    ),
    phrase(
        "hint.remember",
        Worth.HINT,
        LEAD
        + PLEASE
        + r"(?:(?:always )?remember to \w+ \w+|(?:remember|(?:keep|bear) in mind)(?: that|:)(?! (?:you|i|we (?:still|just)|it|this|that|there(?:'s| is| are))\b| (?:the )?(?:one|last) time\b) \S)",
        0.65,
        words=6,
    ),
)

LEARNINGS = (
    phrase(
        "learning.turns_out",
        Worth.LEARNING,
        LEAD
        + r"(?:it )?turn(?:s|ed) out(?: that)?\b(?! to be\b| (?:it|the test) was\b| i (?:was|am|had|did|need|have|can|forgot)\b| you\b| (?:great|nice|fine|ok|well)\b)(?!.*\blet's\b)",
        0.8,
        both=True,
        words=9,
    ),
    phrase(
        "learning.root_cause",
        Worth.LEARNING,
        r"\b(?:root cause|real cause|actual cause)(?: here| of [^,;]{2,40})?(?: (?:was|is) |: )(?!not\b|one of\b)",
        0.85,
        both=True,
        words=8,
    ),
    phrase(
        "learning.caused",
        Worth.LEARNING,
        r"^the (?:outage|crash|bug|failure|incident|slowdown|leak|deadlock|regression|timeouts?|errors?) .{0,40}\b(?:was|were) caused by\b"
        r"|^(?:we |i )?(?:have )?found the (?:reason|cause|culprit): \S",
        0.85,
        both=True,
        words=8,
    ),
    phrase(
        "learning.label",
        Worth.LEARNING,
        LEAD
        + r"(?:lessons? learned|learn(?:ed|t) the hard way|key (?:insight|learning|takeaway)|takeaway|gotcha|what (?:i|we) learned|(?:note|heads-?up) (?:for|to) (?:the future|later|next time|future \w+)|learned today|learning)\s*[:—-]+ \S",
        0.8,
        both=True,
        words=7,
    ),
    phrase("learning.til", Worth.LEARNING, LEAD + r"til that\b", 0.75, both=True, words=6),
    phrase(
        "learning.found",
        Worth.LEARNING,
        LEAD
        + r"(?:i |we |i've |we've )?(?:just )?(?:discovered|found out|figured out|realised|realized|learned(?: the hard way)?|found) (?:that|why|how)\b(?! to\b| log\b)"
        + r"(?! (?:the|this|that|there (?:is|are)) (?:file|line|import|variable|directory|folder|bracket|two|three|no)\b| (?:you|i)\b)",
        0.75,
        both=True,
        words=8,
    ),
    phrase(
        "learning.because",
        Worth.LEARNING,
        r"\b(?:fails?|failed|happen(?:s|ed)|broke|breaks|crash(?:es|ed)|hangs?|hung|was slow|were slow|is slow|are slow|timed out|times out|was missing|were missing) (?:\w+ ){0,4}?because (?!of (?:a|the) typo)(?!.*\b(?:my|you|your|i)\b)",
        0.7,
        both=True,
        words=13,
    ),
    phrase(
        "learning.reason",
        Worth.LEARNING,
        LEAD + r"the reason (?:why |that )?.{6,} (?:is|was) that\b",
        0.75,
        both=True,
        words=13,
    ),
    phrase(
        "learning.come_from",
        Worth.LEARNING,
        LEAD + r"(?:fyi,? )?the .{4,60} (?:comes?|came|stems?) from the\b",
        0.6,
        words=10,
    ),
)
