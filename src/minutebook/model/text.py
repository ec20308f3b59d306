"""Pure facts about text: what is stored, what is shown, and when two spellings are one.

Text arrives from models, files and strangers. Everything here is linear in its length: the few patterns
are single character classes with bounded look-around, so the standard `re` cannot run away on them.
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata
from collections.abc import Callable
from typing import Generic, TypeVar

from minutebook.model.errors import MinutebookError

T = TypeVar("T")

MAX_SLUG = 200
MAX_SLUG_INPUT = 1_000
MAX_TITLE_SLUG = 80
MAX_SEGMENT = 40
MAX_NAME = 80
MAX_TAG = 64
MAX_SHOWN = 60  # characters of a refused text that an error repeats

# --- what is stored -------------------------------------------------------------------------------------

_LINE_BREAK = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_BREAKS = re.compile("[\n\t]+")


def storable(text: str) -> str:
    """Make text such that both databases can hold it: no NUL, and no half of a character."""
    text = text.replace("\0", "")
    if not text.isascii() and _SURROGATE.search(text):
        # UTF-16 joins the pairs that belong together and replaces the lone halves.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean(text: str) -> str:
    """Make text fit to be stored, changing only what a database or a reader would stumble over.

    Every other character stays as it came: what a text looks like is for its author to decide.
    """
    if text.isascii() and text.isprintable():
        return text.rstrip()  # one plain line: most texts, and nothing to change in it
    return _LINE_BREAK.sub("\n", storable(text)).lstrip("\ufeff").rstrip()


def one_line(text: str) -> str:
    """Clean a title, name or tag, and put it on one line."""
    return _BREAKS.sub(" ", clean(text)).strip(_BLANKS)


# --- what hides, and what is shown ----------------------------------------------------------------------

BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
TAG_CHARACTERS = frozenset(map(chr, range(0xE0000, 0xE0080)))

#: Characters that draw nothing, or move what is drawn: the default-ignorable ones and the controls.
_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
#: Beyond these, what a terminal or a page must not be handed raw: format characters that do draw, line
#: separators, surrogates, private use and noncharacters.
_UNPRINTABLE = (
    "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u2028\u2029\ud800-\uf8ff\ufdd0-\ufdef"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U000f0000-\U0010ffff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0xF0000, 0x10000))
)
# England, Scotland and Wales are a black flag, a region in tag letters, and an end mark.
_REGION_FLAG = (
    "\U0001f3f4[\U000e0061-\U000e007a]{2}[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,4}\U000e007f"
)
_IGNORED_AT = re.compile(f"[{_UNSEEN}]+")
_HIDDEN_AT = re.compile(f"{_REGION_FLAG}|([{_UNSEEN}])")
_SHOWN_AT = re.compile(f"{_REGION_FLAG}|([\t\n{_UNSEEN}{_UNPRINTABLE}])")
_CONTROL_NAMES = {0: "NULL", 7: "BELL", 8: "BACKSPACE", 13: "CARRIAGE RETURN", 27: "ESCAPE", 127: "DELETE"}


def _joins(char: str) -> bool:
    """Whether a joiner belongs beside this character: emoji, and scripts that shape their letters."""
    if char < "\u0590" or _IGNORED_AT.match(char):
        return False
    # Latin and Greek have their later letters at 1D00-1FFF; they never need a joiner.
    kind = unicodedata.category(char)[0]
    return kind == "S" or (kind in "LM" and not "\u1d00" <= char <= "\u1fff")


def _at_home(text: str, at: int) -> bool:
    """Whether the unseen character at this place does what it was made for, so that nothing is hidden."""
    char, before, after = text[at], text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if char in "\u200c\u200d":
        after_emoji = before == "\ufe0f" and _at_home(text, at - 1)
        return bool(before and after) and (after_emoji or _joins(before)) and _joins(after)
    if "\u180b" <= char <= "\u180d" or char == "\u180f":
        return "\u1820" <= before <= "\u18aa"
    ideograph = "\u3400" <= before <= "\u9fff" or "\U00020000" <= before <= "\U0003ffff"
    if "\U000e0100" <= char <= "\U000e01ef":
        return ideograph
    if not before or not "\ufe00" <= char <= "\ufe0f":
        return False
    if char >= "\ufe0e" and (before in "0123456789#*\u203c\u2049\u2139\u3030"):
        return True
    return ideograph or (before > "\x7f" and unicodedata.category(before)[0] == "S")


def hidden_characters(text: str) -> list[str]:
    """List the characters that hide or reorder what a reader sees, each once, in order of appearance."""
    found: dict[str, None] = {}
    if text.isascii() and text.isprintable():
        return []
    for match in _HIDDEN_AT.finditer(text):
        char = match[1]
        if char and char not in found and not _at_home(text, match.start()):
            found[char] = None
    return list(found)


def hidden(text: str) -> list[str]:
    """Name what hides or reorders a text to a reader's eye, such as `U+202E RIGHT-TO-LEFT OVERRIDE`."""
    return [_character_name(char) for char in hidden_characters(text)]


def _character_name(char: str) -> str:
    code = ord(char)
    if char in TAG_CHARACTERS:
        fallback = "TAG CHARACTER"
    else:
        fallback = _CONTROL_NAMES.get(code, "CONTROL" if unicodedata.category(char) == "Cc" else "UNNAMED")
    return f"U+{code:04X} {unicodedata.name(char, fallback)}"


def visible(text: str, *, lines: bool = True) -> str:
    """Show text as it is, with every character that could deceive or steer a terminal spelled out.

    A joiner inside an emoji or a Persian word, or an emoji's own selector, is part of printable text and
    stays; the same character anywhere else is shown.
    """

    def shown(match: re.Match[str]) -> str:
        char = match[1]
        if char is None or (lines and char in "\n\t") or _at_home(text, match.start()):
            return match[0]
        return f"\\u{{{ord(char):x}}}"

    return _SHOWN_AT.sub(shown, text)


def _shortly(text: str) -> str:
    """A refused text as an error repeats it: safe to print, and not long."""
    return visible(text[:MAX_SHOWN], lines=False) + ("…" if len(text) > MAX_SHOWN else "")


def plain(text: str) -> str:
    """Text as screening reads it: without what draws nothing, and in the common form of each letter.

    A reader, human or model, sees through full width and zero width; so must the rules.
    """
    if text.isascii():
        return text if text.isprintable() else _IGNORED_AT.sub("", text)
    return unicodedata.normalize("NFKC", _IGNORED_AT.sub("", text))


# --- slugs ----------------------------------------------------------------------------------------------

RESERVED_SLUGS = frozenset(
    ["con", "prn", "aux", "nul", "memory", "index", "readme"]
    + [f"{device}{digit}" for device in ("com", "lpt") for digit in range(10)]
)
# Letters that Unicode does not take apart, though readers of Latin script do.
_UNDIVIDED = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ŧ": "t", "ı": "i", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe"}
)


_NO_SLUG = re.compile("[^a-z0-9]+")


def _latin(text: str) -> str:
    """Text without case, width and marks."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    if text.isascii():
        return text
    return "".join(c for c in text.translate(_UNDIVIDED) if unicodedata.category(c)[0] != "M")


def _hyphenated(latin: str) -> str:
    def hyphens(match: re.Match[str]) -> str:
        run = match[0]
        return "--" if len(run) > 1 and not run.strip("-") else "-"

    return _NO_SLUG.sub(hyphens if "--" in latin else "-", latin).strip("-")


def canonical_slug(text: str) -> str:
    """Bring a slug that a caller gives into its one spelling: `[a-z0-9]` words joined by hyphens.

    A doubled hyphen is kept, because it sets apart the agent in a de-collided slug.
    """
    if len(text) > MAX_SLUG_INPUT:
        raise _bad_slug(text, f"The slug is longer than {MAX_SLUG} characters; shorten it.")
    slug = _hyphenated(_latin(text))
    if not slug:
        raise _bad_slug(
            text,
            "Nothing usable as a slug remains; give one with letters a-z or digits, such as use-postgres.",
        )
    if len(slug) > MAX_SLUG:
        raise _bad_slug(text, f"The slug is longer than {MAX_SLUG} characters; shorten it.")
    if slug in RESERVED_SLUGS:
        raise _bad_slug(
            text, "That name is reserved for files of that name; add a word, such as use-postgres."
        )
    return slug


def _bad_slug(text: str, message: str) -> MinutebookError:
    return MinutebookError("bad_slug", message, given=_shortly(text))


def slug_from(title: str, content: str = "") -> str:
    """Make a slug for a text that came without one.

    A slug is an identity, so what is lost on the way (a long tail, letters of another script) is made up
    for by a hash: two titles that a reader tells apart must not become one.
    """
    title = clean(title)
    return _slug_or_hash(title, MAX_TITLE_SLUG) or "m-" + _hash(f"{title}\n{clean(content)}")[:12]


def slug_segment(name: str) -> str:
    """Make the agent's part of a de-collided slug from the agent's name."""
    name = fold_name(name)
    return _slug_or_hash(name, MAX_SEGMENT) or "a-" + _hash(name)[:8]


def _slug_or_hash(text: str, limit: int) -> str:
    """The slug form of text within the limit, with a hash where something was lost; empty if unusable."""
    latin = _latin(text[:MAX_SLUG_INPUT])
    slug = _hyphenated(latin).replace("--", "-")
    if not slug or slug in RESERVED_SLUGS:
        return ""
    lost = not latin.isascii() and any(
        c > "\x7f" and unicodedata.category(c) in ("Lu", "Ll", "Lo", "Nd", "Nl", "No") for c in latin
    )
    if len(slug) <= limit and len(text) <= MAX_SLUG_INPUT and not lost:
        return slug
    room = limit - 7
    if len(slug) > room:
        head = slug[:room] if slug[room] == "-" else slug[:room].rpartition("-")[0]
        slug = head if len(head) >= room // 2 else slug[:room]
    return f"{slug.rstrip('-')}-{_hash(text)[:6]}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


# --- names and tags -------------------------------------------------------------------------------------


def _folded(text: str) -> str:
    """Compatibility forms and case folded; twice, because folding case can undo the first normal form."""
    for _ in range(2):
        text = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", text)


def fold_name(name: str) -> str:
    """The identity of an actor's or a project's name: case, width, spacing and joiners do not count."""
    return " ".join(_folded(_IGNORED_AT.sub("", clean(name))).split())


def check_name(name: str, what: str) -> str:
    """Accept the name of an actor or a project, or say what is wrong with it."""
    line = clean(name).strip()
    given = {"what": what, "given": _shortly(name)}
    if not line:
        raise MinutebookError("bad_name", f"The {what}'s name is blank; give one.", **given)
    if len(line) > MAX_NAME:
        raise MinutebookError(
            "bad_name", f"The {what}'s name is over {MAX_NAME} characters; shorten it.", **given
        )
    if "\n" in line or "\t" in line:
        raise MinutebookError("bad_name", f"The {what}'s name must be one line, without tabs.", **given)
    if unseen := hidden(line):
        raise MinutebookError(
            "bad_name", f"The {what}'s name hides a character: {unseen[0]}. Remove it.", **given
        )
    wrong = [c for c in line if c not in " ._@+-\u200c\u200d" and unicodedata.category(c)[0] not in "LMN"]
    if wrong or not any(unicodedata.category(c)[0] in "LN" for c in line):
        raise MinutebookError(
            "bad_name", f"Use letters, digits, spaces and . _ @ + - in the {what}'s name.", **given
        )
    return one_line(line)


def fold_tag(tag: str) -> str:
    """The identity of a whole tag: case, width and spacing do not count."""
    if unseen := hidden(one_line(tag)):
        raise MinutebookError(
            "bad_name", f"The tag hides a character: {unseen[0]}. Remove it.", given=_shortly(tag)
        )
    folded = "-".join(_folded(one_line(tag)).split())
    if not folded:
        raise MinutebookError("bad_name", "The tag is blank; give it a word.", given=_shortly(tag))
    if len(folded) > MAX_TAG:
        raise MinutebookError(
            "bad_name", f"The tag is over {MAX_TAG} characters; shorten it.", given=_shortly(tag)
        )
    if "," in folded:
        raise MinutebookError(
            "bad_name", "A tag holds no comma; give the tags one by one.", given=_shortly(tag)
        )
    return folded


# --- claims ---------------------------------------------------------------------------------------------

# A table of our own: Unicode's list of confusables has thousands of pairs and folds digits into letters
# (1 and l, 0 and O), which would make two different numbers one claim. These are the letters that pass for
# Latin ones in running text, after case is folded: Cyrillic, Greek (not mu: 5 µs is not 5 ms), Armenian,
# Cherokee, small capitals, and Latin letters without a decomposition.
_LOOK_ALIKES = {
    letter: latin
    for letters, latins in (
        ("авеһіјкӏмнорԛстуԝхѕԁ", "abehijklmhopqctywxsd"),
        ("αβεζηικνορτυχω", "abezhikvoptuxw"),
        ("օսցհո", "oughn"),
        ("ᎪᏴᏟᎬᎻᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃ", "abcehjklmprstvwz"),
        ("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz"),
        ("ıȷɑɡɩʋłøđħŧɵƅ", "ijagivlodhtob"),
        ("ʼʻʽˈ", "    "),
    )
    for letter, latin in zip(letters, latins, strict=True)
}
# Signs that say no. The others decorate and are dropped; these turn a claim into its opposite.
_NO_SIGNS = frozenset("❌❎✗✘✖🚫⛔👎")
_OPTIONAL_MARKS = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
_MEANT = ".+#%<>=!-~^$€£¥"  # signs whose place decides whether they mean something
_SPELLED = str.maketrans({"−": "-", "≤": "<=", "≥": ">=", "≠": "!=", "≮": "!<", "≯": "!>"})


class _ClaimTable(dict[int, "str | None"]):
    """What each character becomes in a folded claim, worked out once per character."""

    def __missing__(self, code: int) -> str | None:
        self[code] = folded = self._fold(chr(code))
        return folded

    @staticmethod
    def _fold(char: str) -> str | None:
        kind = unicodedata.category(char)
        if char in _LOOK_ALIKES:
            return _LOOK_ALIKES[char]
        if char in _MEANT or kind == "Co":
            return char
        if kind == "Nd":
            return str(unicodedata.decimal(char))
        if kind[0] == "M":
            return None if _OPTIONAL_MARKS.match(char) else char
        if kind[0] in "LN":
            return char
        return " ❌ " if char in _NO_SIGNS else " "


_CLAIM_TABLE = _ClaimTable()
_SIGNS = re.compile("[.+#%<>=!~^$€£¥-][+#=]*")
_NUMBER_AHEAD = re.compile(r"\s*[-~^$€£¥]?\d")


def _signs(match: re.Match[str]) -> str:
    """Keep the signs that carry meaning where they stand: 1.10, c++, 50%, -1, $5, > 5."""
    run, text = match[0], match.string
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    sign = run[0]
    if sign in "+#":
        kept = run[: len(run) - len(run.lstrip("+#"))] if before.isalnum() else ""
        return kept + " " * (kept != run)
    if sign == "%":
        return run if before.isdigit() and run == "%" else "% " if before.isdigit() else " "
    if run in ("<", ">", "<=", ">=", "!="):
        return f" {run} " if _NUMBER_AHEAD.match(text, match.end()) else " "
    if run == ".":
        return "." if before.isdigit() and after.isdigit() else " "
    if run in "-~^$€£¥" and after.isdigit() and not before.isalnum() and before not in ("+", "#", "%"):
        return run
    return " "


@functools.lru_cache(maxsize=64)
def fold_claim(text: str) -> str:
    """The normal form of a claim: two texts that a hurried reader takes for one have the same.

    Tombstones and exact duplicates are keyed on it. Case, width, accents, look-alike letters, invisible
    characters, spacing and punctuation do not count; numbers, signs before them, and `c++` against `c#` do.
    Text with no words (emoji) keeps its signs.
    """
    text = clean(text)
    if not (text.isascii() and text.isprintable()):
        text = _IGNORED_AT.sub("", text)
    folded = text.lower()
    if not text.isascii():
        folded = unicodedata.normalize("NFKD", _folded(text.translate(_SPELLED)))
    folded = unicodedata.normalize("NFC", folded.translate(_CLAIM_TABLE))
    # What ends a sentence or a clause says nothing; taken out here, the pattern meets only the rarer signs.
    folded = folded.replace(", ", " ").replace(". ", " ")
    claim = " ".join(_SIGNS.sub(_signs, folded).split())
    return claim or " ".join(unicodedata.normalize("NFKC", text).split())


# Scripts that put no space between words (and Hangul, whose particles stick to the word).
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3031-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)


@functools.cache
def _runs() -> re.Pattern[str]:
    # The class spans most of Unicode and takes milliseconds to compile; few commands need it.
    return re.compile(f"([{_UNSPACED}]+)|[^{_UNSPACED}]+")


@functools.lru_cache(maxsize=64)
def words(text: str) -> tuple[str, ...]:
    """The folded words of a text; where a script has no spaces, its pairs of characters."""
    claim = fold_claim(text)
    tokens = claim.split()
    if claim.isascii():
        return tuple(tokens)
    found: list[str] = []
    for token in tokens:
        for run in _runs().finditer(token):
            pairs = run[1] if run[1] and len(run[1]) > 1 else ""
            found.extend([pairs[i : i + 2] for i in range(len(pairs) - 1)] if pairs else [run[0]])
    return tuple(found)


#: Words that are kept with what was found of them, and the longest that are: what is longer comes once.
_WORDS_KEPT = 32_768
_LONGEST_KEPT = 48


class PerWord(dict[str, T], Generic[T]):
    """What a function says of each word, found once: texts are long, and made of the same words."""

    def __init__(self, find: Callable[[str], T]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, word: str) -> T:
        found = self._find(word)
        if len(word) <= _LONGEST_KEPT:
            if len(self) >= _WORDS_KEPT:
                self.clear()
            self[word] = found
        return found
