"""What a credential looks like: a rule table of our own, and the checks that tell one from an example.

Patterns are RE2's, which takes time linear in the text whatever the text: under a backtracking matcher one
rule of this kind took minutes on a few kilobytes. They run over UTF-8 bytes, and the values they find never
leave this module.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from minutebook.policy.secret_checks import (
    entropy,
    is_basic_pair,
    is_example,
    is_identifier,
    is_named_password,
    is_password,
    is_random,
    is_strong_password,
    is_written_out,
    kinds,
)
from minutebook.policy.secret_rules import REFUSING, SecretRule

_URL_PASSWORD = (
    r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://([^\s/:@\"'<>?#]{0,100}):([^\s/\"'<>?]{3,200})@[A-Za-z0-9\[]"
)

# --- the rules that flag --------------------------------------------------------------------------------

_KEYWORD = (
    r"(?i)(password|passwd|passphrase|passcode|passwort|kennwort|contrase(?:ñ|n)a|mot de passe|senha"
    r"|密码|口令|pwd|\bpass\b"
    r"|secret|api[ _-]?key|(?:access|signing|encryption|private|auth|account|master|license"
    r"|service)[ _-]?key|token|credentials?|creds?\b)"
)
_KEYWORD_VALUE = (
    _KEYWORD
    + r"([^\n:=]{0,40}?)[\"'`\]*]{0,3}\s{0,3}(:=|=>|[:=]|\bis\b|\bare\b|\bwas\b|\bto\b|\bist\b|\best\b"
    r"|\bes\b|是|为)[\s\"'`*(\[]{0,5}"
    r"([^\s\"'`,;<>]{4,200})"
)
_RANDOM_NEAR_KEYWORD = _KEYWORD + r"[^\n]{0,60}?[\s\"'`:=(]([A-Za-z0-9+/_-]{20,200}={0,2})"
_LOGIN_PAIR = (
    r"(?i)\b(?:creds?|credentials|log ?in|logon|sign in|account|user(?:name)?)\b[^\n]{0,30}?[\s:=\"'`(]"
    r"[\w.@-]{2,60}\s?(?:/|:|\band\b|,?\s(?:pass|pw|password)[\s:=]{1,3})\s?([^\s\"'`,;<>/]{5,60})"
)
_URL_KEY = r"(?i)[?&](?:[a-z_-]{0,20}(?:token|key|secret|password|pwd|signature|auth))=([^&\s#\"'<>]{12,300})"
_PG_PASS = r"(?m)^[\w.*-]{1,80}:(?:\d{2,5}|\*):[\w*-]{1,60}:[\w-]{1,60}:(\S{5,100})$"
_TEST_KEY = r"\b((?:[sr]k|pk)_test_[A-Za-z0-9]{16,100}|key-[0-9a-f]{32})\b"
_BARE_BASIC = r"(?i)\bbasic\s{1,3}([A-Za-z0-9+/]{12,200}={0,2})"
_SPACED = r"(?:^|[\s\"'`(:=])((?:[A-Za-z0-9_\-.][ \t]){15,200}[A-Za-z0-9_\-.])(?:[\s\"'`),;]|$)"
_SPLIT = (
    r"\b((?:gh[pousr]_|github_pat_|glpat-|sk-ant-|sk-proj-|sk-|AKIA|AIza|xox[abp]-|[sr]k_live_|npm_|hf_|mbk_"
    r"|SG\.|dop_v1_|pypi-)"
    r"[A-Za-z0-9_-]{2,}(?:[ \t]*[\n+\\\"'` ][ \t\"'`]*[A-Za-z0-9_-]{2,}){1,12})"
)
# What follows a keyword when the value is about the credential and not the credential itself.
_ABOUT = re.compile(
    r"(?i)s?[ _-]?(?:id|ids|name|names|count|counter|limit|budget|bucket|ttl|lifetime|length|size|type"
    r"|kind|url|uri|path|file|arn|expiry"
    r"|expires?(?:[ _-]?(?:in|at))?|policy|field|env|var|variable|prefix|suffix|format|hash|version"
    r"|manager|store|rotation|scope|usage"
    r"|ize[rd]?|ization|per|window|header|hint|label|column|parameter|param|class|module|endpoint|provider"
    r"|reset|strength)\b"
)
_NOT_SECRET_BEFORE = re.compile(
    r"(?i)\b(?:next[ _-]?)?(?:idempotency|cache|page|next|continuation|pagination|csrf|xsrf|cancellation"
    r"|public|primary"
    r"|foreign|sort|partition|max|min"
    r"|num|input|output|prompt|completion|total|per|stop|design|word|sub|no)[ _-]?$"
)


_NAMED_VALUE = re.compile(r"[A-Za-z][\w.-]*[=:]+[^=]")
_DIGIT_OR_SIGN = re.compile(rb"[0-9!@#$%^&*+=~?|]")


def _flag_keyword_value(match: Any, text: bytes) -> bool:
    if match[3] != b"=" and not _DIGIT_OR_SIGN.search(match[4]):
        return False  # the common case in prose, told apart before any work is done
    keyword, between, joint, value = (match[i].decode("utf-8", "replace") for i in (1, 2, 3, 4))
    before = text[max(0, match.start() - 24) : match.start()].decode("utf-8", "replace")
    if _ABOUT.match(between) or _NOT_SECRET_BEFORE.search(before):
        return False
    value = value.rstrip(".,:!?)]}*\\")
    if _NAMED_VALUE.match(value):
        return False  # NAME=value is a match of its own, if NAME is one of the words
    if is_identifier(value):
        # A password or an API key may well be a UUID or hexadecimal; a "token" in prose is more often an id.
        return keyword.lower() not in ("token", "credential", "credentials", "creds") and joint in (
            ":",
            "=",
            ":=",
            "is",
        )
    if is_password(value):
        return True
    # NAME=word in a configuration is a password even without a digit; in prose it is a sentence.
    assigned = joint == "=" and not between.strip().strip("_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    return assigned and keyword.isupper() and value.isalpha() and len(value) >= 6 and not is_example(value)


def _flag_random(match: Any, text: bytes) -> bool:
    value = match[match.lastindex].decode("utf-8", "replace")
    lower, upper, digits, _ = kinds(value)
    if is_identifier(value) or is_written_out(value):
        return False
    # Words joined by hyphens or slashes come near the entropy of a key; they lack its digits or its capitals.
    return (
        digits >= 2
        and (upper >= 2 or lower == 0 or digits >= 5)
        and entropy(value) >= 3.5
        and not is_example(value)
    )


def _flag_password(match: Any, text: bytes) -> bool:
    return is_password(match[1].decode("utf-8", "replace"))


def _flag_url_password(match: Any, text: bytes) -> bool:
    user, password = match[1].decode("utf-8", "replace"), match[2].decode("utf-8", "replace")
    return user != password and is_named_password(password)


def _flag_real(match: Any, text: bytes) -> bool:
    return is_random(match[1].decode("utf-8", "replace"))


def _flag_basic(match: Any, text: bytes) -> bool:
    return is_basic_pair(match[1].decode("utf-8", "replace"))


def _flag_pieces(match: Any, text: bytes) -> bool:
    """Whether the pieces, put together, are a token; prose put together has no digits and capitals."""
    whole = re.sub(rb"[^A-Za-z0-9_.-]", b"", match[1])
    lower, upper, digits, _ = kinds(whole.decode("ascii"))
    return digits >= 3 and (upper >= 2 or lower == 0 or digits >= 8) and bool(_refusals(whole))


def _flag_spaced(match: Any, text: bytes) -> bool:
    """Whether single characters, put together, are a token or as random as one; the alphabet is neither."""
    whole = re.sub(rb"\s", b"", match[1])
    value = whole.decode("ascii")
    return bool(_refusals(whole)) or (
        kinds(value)[2] >= 3 and entropy(value) >= 4.0 and not is_example(value)
    )


FLAGGING: tuple[tuple[str, str, str, Callable[[Any, bytes], bool]], ...] = (
    ("url_password", "://", _URL_PASSWORD, _flag_url_password),
    ("keyword_value", "", _KEYWORD_VALUE, _flag_keyword_value),
    ("random_near_keyword", "", _RANDOM_NEAR_KEYWORD, _flag_random),
    ("login_pair", "", _LOGIN_PAIR, _flag_password),
    ("url_key", "=", _URL_KEY, _flag_random),
    ("pgpass", ":", _PG_PASS, _flag_password),
    ("test_key", "_test_ key-", _TEST_KEY, _flag_real),
    ("basic_pair", "basic", _BARE_BASIC, _flag_basic),
    ("spaced_token", "", _SPACED, _flag_spaced),
    ("split_token", "", _SPLIT, _flag_pieces),
)

# --- running them ---------------------------------------------------------------------------------------


@functools.cache
def compiled(pattern: str) -> Any:
    """An RE2 pattern over UTF-8 bytes; a class or a repetition is of bytes, so it must hold ASCII alone."""
    # Imported and compiled on first use: the command line must start without them.
    import re2

    options = re2.Options()
    options.max_mem = 64 << 20
    options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(pattern.encode(), options)


@functools.cache
def _near_words() -> dict[str, frozenset[bytes]]:
    """The words of each `near`, read once."""
    every = {rule.near for rule in REFUSING} | {near for _, near, _, _ in FLAGGING}
    return {near: frozenset(word.encode() for word in near.split(" ")) for near in every if near}


@functools.cache
def _all_words() -> tuple[tuple[bytes, ...], Any]:
    """Every word that some rule looks for, and the RE2 set that finds all of them in one pass."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    words = tuple(sorted(set().union(*_near_words().values())))
    finder = re2.Set.SearchSet(options)
    for word in words:
        finder.Add(re2.escape(word))
    finder.Compile()
    return words, finder


def _present(lower: bytes) -> frozenset[bytes]:
    """Which words that any rule looks for are in the text: most texts have few, and most rules none."""
    words, finder = _all_words()
    return frozenset(words[index] for index in finder.Match(lower) or ())


def _has(present: frozenset[bytes], near: str) -> bool:
    return not near or not present.isdisjoint(_near_words()[near])


def _values(match: Any) -> Iterator[str]:
    return (group.decode("utf-8", "replace") for group in match.groups() if group)


@functools.cache
def _rules_by_word() -> tuple[tuple[int, ...], dict[bytes, tuple[int, ...]]]:
    """The rules that are always asked, and those that wait for a word, by their places in the table."""
    always = tuple(place for place, rule in enumerate(REFUSING) if not rule.near)
    by_word: dict[bytes, tuple[int, ...]] = {}
    for place, rule in enumerate(REFUSING):
        for word in _near_words().get(rule.near, ()):
            by_word[word] = (*by_word.get(word, ()), place)
    return always, by_word


def _asked(present: frozenset[bytes]) -> Iterable[SecretRule]:
    """The rules to ask, in their order."""
    always, by_word = _rules_by_word()
    asked = set(always).union(*(by_word.get(word, ()) for word in present))
    return [REFUSING[place] for place in sorted(asked)]


def _refusals(data: bytes, present: frozenset[bytes] | None = None) -> list[str]:
    if present is None:
        present = _present(data.lower())
    found = [
        rule.name
        for rule in _asked(present)
        if any(
            rule.is_real(value) for match in compiled(rule.pattern).finditer(data) for value in _values(match)
        )
    ]
    if b"://" in data and any(
        match[1] != match[2] and is_strong_password(match[2].decode("utf-8", "replace"))
        for match in compiled(_URL_PASSWORD).finditer(data)
    ):
        found.append("url_password")
    return found


def look(text: str) -> tuple[list[str], list[str]]:
    """Names of the rules by which a text certainly holds a credential, and of those by which it may.

    Once it certainly does, what else might be one helps nobody, and is not looked for.
    """
    data = text.encode("utf-8", "replace")
    present = _present(data.lower())
    refusing = _refusals(data, present)
    return refusing, [] if refusing else _suspicions(data, present)


def _suspicions(data: bytes, present: frozenset[bytes]) -> list[str]:
    # The rules without a word of their own are asked all at once; nearly every text fits none of them.
    at_all = compiled(_without_words()).search(data) is not None
    return [
        name
        for name, near, pattern, is_suspect in FLAGGING
        if (_has(present, near) if near else at_all)
        and any(is_suspect(match, data) for match in _overlapping(pattern, data))
    ]


@functools.cache
def _without_words() -> str:
    return "|".join(f"(?:{pattern})" for _, near, pattern, _ in FLAGGING if not near)


def _overlapping(pattern: str, data: bytes) -> Iterator[Any]:
    """Matches from left to right, each search going on right after the first group of the one before.

    The first group is the keyword (or all there is): in "credential: API_KEY=..." the value of the first
    keyword holds the second.
    """
    at = 0
    while match := compiled(pattern).search(data, at):
        yield match
        at = match.end(1)
