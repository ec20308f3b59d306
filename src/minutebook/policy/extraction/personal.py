"""How a person says what they are like, and puts an agent right. The name comes first: it sounds like a correction."""

from __future__ import annotations

from minutebook.policy.extraction.worth import LEAD, PLEASE, Worth, phrase

PERSONAL = (
    phrase(
        "preference.call_me",
        Worth.PREFERENCE,
        LEAD + PLEASE + r"(?:just )?call me (?!when|if|back|later|at|on|tomorrow|today)\w+",
        0.8,
        words=3,
    ),
    phrase(
        "correction.said", Worth.CORRECTION, LEAD + r"i (?:said|meant|asked for)\b.*, not\b", 0.8, words=4
    ),
    phrase(
        "correction.no_use",
        Worth.CORRECTION,
        LEAD
        + r"(?:no|nope|wrong|actually|not quite|incorrect)[,.:;]? (?!i\b|i'm|i've|it's been|that sounds|thanks)(?:.*\b(?:use|uses|instead|runs?|lives?)\b|.*\b(?:is|are|was)\b.*\bnot\b)",
        0.75,
        words=6,
    ),
    phrase(
        "correction.wrong_thing",
        Worth.CORRECTION,
        LEAD + r"(?:that's|that is|you (?:used|took|picked|opened|changed) the) wrong \w+[,.:;] \S.*",
        0.75,
        words=6,
    ),
    phrase(
        "correction.wrong",
        Worth.CORRECTION,
        r"^(?:wrong \w+|that'?s (?:wrong|not right|not what i meant|not correct))[,:;] .*\b(?:is|are|use|counts|lives|not)\b",
        0.75,
        words=6,
    ),
    phrase(
        "correction.do_not",
        Worth.CORRECTION,
        LEAD
        + PLEASE
        + r"(?:don't|do not|stop|undo that|revert that)\b.*[,;:] (?:we (?:use|have|don't|do not|never|always|only|keep)|use|it's|the)\b",
        0.75,
        words=6,
    ),
    phrase(
        "correction.you",
        Worth.CORRECTION,
        LEAD
        + r"you (?:keep (?:calling|using|writing|putting)|assumed|confused|mixed up|misread|forgot that)\b.*[;,:.] \S",
        0.7,
        words=7,
    ),
    phrase(
        "correction.gone",
        Worth.CORRECTION,
        r"\b(?:was|were|is|are) (?:removed|renamed|replaced|deprecated|retired|gone)\b.*[,;:] (?:please )?use\b",
        0.75,
        words=6,
    ),
    phrase(
        "correction.not_but",
        Worth.CORRECTION,
        r"(?:^|\s)\S+, (?:and )?not (?!sure|yet|really|even|only|to mention|that|because|just|so|exactly|now|here|today)"
        r"(?:in |on |at |per |every |the |a |an |with |for |from )?\S+",
        0.7,
        words=5,
    ),
    phrase(
        "preference.prefer",
        Worth.PREFERENCE,
        LEAD + r"i (?:really |strongly |generally |usually |much )?prefer\b",
        0.85,
        words=4,
    ),
    phrase(
        "preference.rather",
        Worth.PREFERENCE,
        LEAD + r"(?:i'd|i would) rather (?:have|see|get|read|use|you)\b",
        0.75,
    ),
    phrase(
        "preference.like_my",
        Worth.PREFERENCE,
        LEAD + r"i (?:like|want|need) (?:my|your|to have|to get|it when|when you)\b.*",
        0.7,
    ),
    phrase(
        "preference.want_you",
        Worth.PREFERENCE,
        LEAD + r"i(?:'d like| want| would like|'d love) you to (?:always |never )?\w+",
        0.7,
    ),
    phrase(
        "preference.for_x_i_want",
        Worth.PREFERENCE,
        r"^(?:for|in|with) [^,]{3,40},? i (?:want|like|prefer|need|expect)\b",
        0.75,
    ),
    phrase(
        "preference.cannot_stand",
        Worth.PREFERENCE,
        r"\bi (?:can't stand|cannot stand|dislike|hate)\b(?=.*(?:\bkeep\b|\bdon't\b|\bplease\b|\bavoid\b))|^(?:please )?(?:don't|do not|no) .*\bi (?:can't stand|hate|dislike)\b",
        0.75,
    ),
    phrase(
        "preference.hate",
        Worth.PREFERENCE,
        LEAD + r"i (?:hate|dislike|can't stand) (?:it when|when you|surprise|long|verbose)\b",
        0.7,
        words=4,
    ),
    phrase(
        "preference.my",
        Worth.PREFERENCE,
        LEAD
        + r"my (?:time ?zone|pronouns are|native language|working hours|preferred \w+|editor|first name|keyboard layout)\b",
        0.8,
    ),
    phrase(
        "preference.language",
        Worth.PREFERENCE,
        LEAD + PLEASE + r"(?:always )?(?:answer|reply|respond|write|talk|speak)(?: to me)? in (?:[a-z]+)\b",
        0.75,
    ),
    phrase(
        "preference.used_to",
        Worth.PREFERENCE,
        LEAD + r"i(?:'m| am) used to (?!it\b)\w+.*[,;]",
        0.65,
        words=6,
    ),
    phrase(
        "preference.with_me",
        Worth.PREFERENCE,
        LEAD
        + PLEASE
        + r"(?:keep|be|stay|get|use|speak|talk|skip)\b.{2,60} (?:with me|when (?:you're |you are )?talking to me|in your answers to me)\b",
        0.65,
        words=5,
    ),
    phrase(
        "preference.when_you",
        Worth.PREFERENCE,
        LEAD
        + r"when(?:ever)? you (?:propose|explain|review|answer|summari[sz]e|report|suggest|present|show|write)\b.*\b(?:give|show|tell|ask|list|keep|start|put|skip)\b",
        0.7,
        words=7,
    ),
    phrase(
        "preference.no_need",
        Worth.PREFERENCE,
        LEAD + r"(?:there is |there's )?no need to (?:explain|tell|remind|summari[sz]e)\b.* me\b",
        0.7,
    ),
    phrase(
        "preference.hours",
        Worth.PREFERENCE,
        LEAD + r"i (?:only )?work (?:in|on|from|until|till|between) .*\b(?:only|so|please)\b",
        0.65,
        words=6,
    ),
)
