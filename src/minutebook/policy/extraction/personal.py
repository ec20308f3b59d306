"""How a person says what they are like, and puts an agent right. The name comes first: it sounds like a correction."""

from __future__ import annotations

from minutebook.policy.extraction.worth import LEAD, PLEASE, Worth, phrase

PERSONAL = (
    phrase(
        "preference.call_me",
        Worth.PREFERENCE,
        LEAD
        + r"(?:my name is|i'm called|"
        + PLEASE
        + r"(?:just )?call me) (?!when|if|an?\b|the\b|back|later|at|on|tomorrow|today|crazy|stupid|old|silly|paranoid|naive)\w+(?! but\b)",
        0.8,
        words=3,
    ),
    phrase("correction.said", Worth.CORRECTION, LEAD + r"i (?:said|meant)\b.*, not\b", 0.8, words=4),
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
        r"^(?:wrong (?!again)\w+|that'?s (?:wrong|not right|not what i meant|not correct))[,:;] (?!.*\b(?:still|missing|should be|broken|screenshot|looks?)\b).*\b(?:is|are|use|counts|lives|not)\b",
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
        + r"(?:you(?:'re| are) (?:using|looking at|editing|reading|calling) the (?:old|wrong|outdated|deprecated)|you (?:keep (?:calling|using|writing|putting)|assumed|confused|mixed up|misread))\b.*[;,:.] \S",
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
        r"^(?=.*\b(?:no|nope|actually|is|are|was|were|it's|they're|uses?|runs?|lives?|called|named|counts?|starts?|in this (?:project|repo\w*|codebase))\b).*"
        r"(?:^|\s)(?!(?:broken|slow|fast|dead|down|red|green|you),)\S+, (?:and )?not (?!sure|yet|really|even|only|to mention|that|because|just|so|exactly|now|here|today)"
        r"(?:in |on |at |per |every |the |a |an |with |for |from )?\S+",
        0.7,
        words=4,
    ),
    phrase("correction.called", Worth.CORRECTION, LEAD + r"actually,? .* (?:is|are) called \w+", 0.7),
    phrase(
        "preference.prefer",
        Worth.PREFERENCE,
        LEAD
        + r"i (?:really |strongly |generally |usually |much )?prefer\b(?! (?:to (?:do|look|talk|start|go|wait|have a look)\b|not\b|the\b|waiting|going|doing|staying))",
        0.85,
        words=4,
    ),
    phrase(
        "preference.rather",
        Worth.PREFERENCE,
        LEAD
        + r"(?:i'd|i would) rather (?:have|see|get|read|use|you (?:always |never )?(?:ask|tell|show|warn|explain|keep|check|confirm|write)(?:ed)?\b(?! (?:this|that|it|him|her|them)\b))",
        0.75,
    ),
    phrase(
        "preference.like_my",
        Worth.PREFERENCE,
        LEAD
        + r"i (?:(?:always |only |never )?(?:like|want) (?:(?:my|your) \w+(?: \w+)? (?:to be|in|with|without|as|sorted|small|short|long|terse|plain|first)|it when you|when you)\b|like tabs\b|always want to (?:see|get|have|read|know)\b|like (?:\w+ ){1,2}without\b).*",
        0.7,
    ),
    phrase(
        "preference.want_you",
        Worth.PREFERENCE,
        LEAD
        + r"i(?:'d like| want| would like|'d love) you to (?:always|never|ask|tell|warn|stop|keep|check with|confirm|answer|use|show|explain|think|write)\b(?! (?:this|that|it)\b)",
        0.7,
    ),
    phrase(
        "preference.for_x_i_want",
        Worth.PREFERENCE,
        r"^(?:for|in|with) (?!(?:the|this|that|a|an|my|now)\b)[^,]{3,40},? i (?:want|like|prefer|need|expect)\b",
        0.75,
    ),
    phrase(
        "preference.cannot_stand",
        Worth.PREFERENCE,
        r"\bi (?:can't stand|cannot stand|dislike|hate)\b(?=.*(?:\bkeep\b|\bdon't\b|\bplease\b|\bavoid\b|\bleave (?:it|them|those) out\b))|^(?:please )?(?:don't|do not|no) .*\bi (?:can't stand|hate|dislike)\b",
        0.75,
    ),
    phrase(
        "preference.hate",
        Worth.PREFERENCE,
        LEAD + r"i (?:hate|dislike|can't stand) (?:it when you|when you|surprise|long|verbose)\b",
        0.7,
        words=4,
    ),
    phrase(
        "preference.my",
        Worth.PREFERENCE,
        LEAD
        + r"my (?:preference is(?! that\b| this\b| the \w+ one| not\b)|pronouns are|(?:time ?zone|native language|working hours|preferred \w+|editor|first name|keyboard layout) (?:is|are)) (?!messed|broken|wrong|not|gone|down|\w+ing\b|shown)",
        0.8,
    ),
    phrase(
        "preference.language",
        Worth.PREFERENCE,
        LEAD
        + PLEASE
        + r"(?:always )?(?:answer|reply|respond|write|talk|speak)(?: to me)? in (?:english|german|spanish|french|italian|portuguese|dutch|polish|japanese|chinese|korean|russian|turkish|swedish|danish|norwegian|czech|plain \w+|bullet points|short sentences)\b",
        0.75,
        words=4,
    ),
    phrase(
        "preference.used_to",
        Worth.PREFERENCE,
        LEAD
        + PLEASE
        + r"(?:speak|talk) \w+ (?:to|with) me\b|"
        + LEAD
        + r"i(?:'m| am) used to (?!it\b)\w+.*[,;]",
        0.65,
        words=4,
    ),
    phrase(
        "preference.with_me",
        Worth.PREFERENCE,
        LEAD
        + PLEASE
        + r"keep (?:(?:your|the|all|any) )?(?:answers|replies|responses|explanations|summaries|reviews|reports|status updates) (?!in\b|from\b|this\b|that\b|here\b|\w+ing\b|under the\b|as (?:is|they)\b)\w+|"
        + LEAD
        + PLEASE
        + r"(?:keep|be|stay|get|use|speak|talk|skip)\b.{2,60} (?:with me|when (?:you're |you are )?talking to me|in your answers to me)\b",
        0.65,
        words=5,
    ),
    phrase(
        "preference.when_you",
        Worth.PREFERENCE,
        LEAD
        + r"when(?:ever)? you (?:propose|explain|review|answer|summari[sz]e|report|suggest|present|show me|give me|write (?!the\b|this\b|that\b))\b.*\b(?:give|show|tell|ask|list|keep|start|put|skip)\b",
        0.7,
        words=7,
    ),
    phrase(
        "preference.no_need",
        Worth.PREFERENCE,
        LEAD
        + PLEASE
        + r"(?:(?:there is |there's )?no need to (?:explain|tell|remind|summari[sz]e)\b.* me\b|(?:don't|do not|stop) (?:summari[sz](?:e|ing)|apologi[sz](?:e|ing)|prais(?:e|ing)|thank(?:ing)?)\b.*(?:[,;]|every|each|at the end))",
        0.7,
    ),
    phrase(
        "preference.hours",
        Worth.PREFERENCE,
        LEAD
        + r"i (?:(?:only )?work (?:in|on|from|until|till|between) .*\b(?:only|so|please)\b|(?:read|use|am|have|live|work) .{4,60}[, ]so (?:please )?(?:keep|use|avoid|write|make|don't|no)\b)",
        0.65,
        words=6,
    ),
)
