from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.model.errors import MinutebookError
from minutebook.model.text import (
    canonical_slug,
    check_name,
    clean,
    fold_claim,
    fold_name,
    fold_tag,
    hidden,
    one_line,
    plain,
    slug_from,
    slug_segment,
    visible,
    words,
)

SLUG = re.compile(r"[a-z0-9]+(-{1,2}[a-z0-9]+)*")
ANY = st.text(st.characters(), max_size=60)  # surrogates and controls too
ODD = st.text(
    st.sampled_from("ab1 -.\n\r\t\0\x1b\x85\u2028\u200b\u200d\u202e\ufeff\ufe0fé👩🏴\U000e0067ﷺİß"),
    max_size=30,
)
bounded = settings(max_examples=300, deadline=None)

ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
FAMILY = "👩\u200d👩\u200d👧"
RAINBOW = "🏳\ufe0f\u200d🌈"
PERSIAN = "می\u200cخواهم"
KEYCAP = "1\ufe0f\u20e3"
VARIANT = "葛\U000e0100"  # a Japanese name's own glyph


def refusal(code: str, call, *args) -> MinutebookError:
    with pytest.raises(MinutebookError) as caught:
        call(*args)
    assert caught.value.code == code
    return caught.value


# --- what is stored


@pytest.mark.parametrize(
    ("given_text", "stored"),
    [
        ("a\0b", "ab"),
        ("a\r\nb\rc\vd\fe\x1cf\x1dg\x1eh\x85i\u2028j\u2029k", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk"),
        ("\ufeff\ufefftext", "text"),
        ("mid\ufeffdle", "mid\ufeffdle"),
        ("  lead kept, tail not \t\n ", "  lead kept, tail not"),
        ("lone \ud83d half", "lone \ufffd half"),
        ("joined \ud83d\ude00 pair", "joined 😀 pair"),
        ("é ﬁ １", "é ﬁ １"),
        ("", ""),
    ],
)
def test_clean_changes_only_what_a_database_or_reader_would_stumble_over(
    given_text: str, stored: str
) -> None:
    assert clean(given_text) == stored


@bounded
@given(ANY | ODD)
def test_clean_and_one_line_settle_at_once_and_leave_storable_text(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    assert one_line(one_line(text)) == one_line(text)
    clean(text).encode("utf-8")
    assert "\0" not in clean(text)
    assert len(one_line(text).splitlines()) <= 1
    assert one_line(text) == one_line(text).strip()


def test_a_title_of_several_lines_becomes_one() -> None:
    assert one_line(" use\r\n\tpostgres\u2028now \n") == "use postgres now"


# --- what hides


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a\u202eb\u202e", ["U+202E RIGHT-TO-LEFT OVERRIDE"]),
        (
            "\u2066x\u2069\u200f",
            ["U+2066 LEFT-TO-RIGHT ISOLATE", "U+2069 POP DIRECTIONAL ISOLATE", "U+200F RIGHT-TO-LEFT MARK"],
        ),
        ("a\u061cb", ["U+061C ARABIC LETTER MARK"]),
        ("a\u200bb", ["U+200B ZERO WIDTH SPACE"]),
        ("a\u2060b\ufeffc", ["U+2060 WORD JOINER", "U+FEFF ZERO WIDTH NO-BREAK SPACE"]),
        ("a\u180eb", ["U+180E MONGOLIAN VOWEL SEPARATOR"]),
        ("a\u200db", ["U+200D ZERO WIDTH JOINER"]),
        ("éa\u200cé", ["U+200C ZERO WIDTH NON-JOINER"]),
        ("é\u200cé", ["U+200C ZERO WIDTH NON-JOINER"]),
        ("👩\u200d\u200d👧", ["U+200D ZERO WIDTH JOINER"]),
        ("👩\u200d", ["U+200D ZERO WIDTH JOINER"]),
        ("\U000e0041", ["U+E0041 TAG LATIN CAPITAL LETTER A"]),
        ("\U000e0000", ["U+E0000 TAG CHARACTER"]),
        ("🏴" + "".join(chr(0xE0000 + ord(c)) for c in "ignore all") + "\U000e007f", None),
        ("a\ufe0f", ["U+FE0F VARIATION SELECTOR-16"]),
        ("😀\U000e0101", ["U+E0101 VARIATION SELECTOR-18"]),
        ("葛\U000e0100\U000e0101", ["U+E0101 VARIATION SELECTOR-18"]),
        ("a\x1b[31m", ["U+001B ESCAPE"]),
        ("a\x9bb\x08\x7f", ["U+009B CONTROL", "U+0008 BACKSPACE", "U+007F DELETE"]),
        ("so\u00adft", ["U+00AD SOFT HYPHEN"]),
        ("\u3164", ["U+3164 HANGUL FILLER"]),
    ],
)
def test_a_character_that_hides_or_reorders_is_named(text: str, names: list[str] | None) -> None:
    if names is None:
        assert hidden(text)
    else:
        assert hidden(text) == names


PRINTABLE = [
    "plain\n\ttext",
    ENGLAND,
    FAMILY,
    RAINBOW,
    PERSIAN,
    KEYCAP,
    VARIANT,
    "❤\ufe0f",
    "✔\ufe0e",
    "ℹ\ufe0f",
    "क्\u200dष",
    "Ünïcödé",
    "日本語",
    "שלום",
    "مرحبا",
    "👍🏽",
    "×≠√",
    "©\ufe0f",
]


@pytest.mark.parametrize("text", [*PRINTABLE, "private \ue0b0 use"])
def test_ordinary_text_of_any_script_hides_nothing(text: str) -> None:
    assert hidden(text) == []


@pytest.mark.parametrize("text", PRINTABLE)
def test_printable_text_is_shown_as_it_is(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", r"a\u{202e}b"),
        ("\x1b[2J", r"\u{1b}[2J"),
        ("a\rb\x9b", r"a\u{d}b\u{9b}"),
        ("\ue0b0\U000f0000", r"\u{e0b0}\u{f0000}"),
        ("\ud800", r"\u{d800}"),
        ("a\u2028b", r"a\u{2028}b"),
        ("a\u200db", r"a\u{200d}b"),
        ("\U000e0041", r"\u{e0041}"),
        ("\ufeff", r"\u{feff}"),
        ("a\n\tb", "a\n\tb"),
    ],
)
def test_what_could_deceive_a_terminal_is_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_line_breaks_and_tabs_are_spelled_out_where_one_line_is_wanted() -> None:
    assert visible("a\n\tb", lines=False) == r"a\u{a}\u{9}b"


def test_no_control_format_surrogate_or_private_character_of_unicode_passes_alone() -> None:
    for code in range(0x110000):
        kind = unicodedata.category(chr(code))
        if kind in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"):
            assert visible(f"a{chr(code)}b", lines=False) == f"a\\u{{{code:x}}}b", hex(code)


@bounded
@given(ANY | ODD, st.booleans())
def test_visible_never_emits_a_control_character(text: str, lines: bool) -> None:
    shown = visible(text, lines=lines)
    allowed = "\n\t" if lines else ""
    assert not [
        c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Co", "Zl", "Zp") and c not in allowed
    ]
    assert set(hidden(shown)) == set()
    assert visible(shown, lines=lines) == shown


def test_plain_text_is_what_a_reader_sees_through_the_disguise() -> None:
    assert plain("g\u200bh\u2060p_ａｂｃ\x1b") == "ghp_abc"
    assert plain("Zeile\n\tzwei") == "Zeile\n\tzwei"


# --- slugs


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Use Postgres", "use-postgres"),
        ("  use_POSTGRES!! ", "use-postgres"),
        ("Über Straße", "uber-strasse"),
        ("Łódź", "lodz"),
        ("ＦＵＬＬ ｗｉｄｔｈ", "full-width"),
        ("use-postgres--ripley", "use-postgres--ripley"),
        ("use-postgres---ripley----2", "use-postgres--ripley--2"),
        ("a -- b", "a-b"),
        ("../../etc/passwd", "etc-passwd"),
        ("İstanbul", "istanbul"),
        ("x" * 200, "x" * 200),
        ("console", "console"),
    ],
)
def test_a_given_slug_has_one_spelling(text: str, slug: str) -> None:
    assert canonical_slug(text) == slug
    assert canonical_slug(slug) == slug


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "...",
        "🚀🚀",
        "决定",
        "--",
        "\0",
        "con",
        "CON",
        "Nul.",
        "COM¹",
        "lpt0",
        "com9",
        "memory",
        "Index",
        "README",
        "x" * 201,
        "x" * 10_240,
        "ー" * 1_001,
    ],
)
def test_a_slug_with_nothing_usable_too_long_or_reserved_is_refused_with_advice(text: str) -> None:
    error = refusal("bad_slug", canonical_slug, text)
    assert len(error.details["given"]) < 600
    assert error.message.endswith(".")


def test_the_refusal_of_a_slug_repeats_it_safely() -> None:
    error = refusal("bad_slug", canonical_slug, "\u202e\x1b…")
    assert error.details["given"] == r"\u{202e}\u{1b}…"


@bounded
@given(ANY | ODD)
def test_every_accepted_slug_fits_the_pattern_and_is_its_own_canonical_form(text: str) -> None:
    try:
        slug = canonical_slug(text)
    except MinutebookError:
        refusal("bad_slug", canonical_slug, text)
        return
    assert SLUG.fullmatch(slug)
    assert len(slug) <= 200
    assert canonical_slug(slug) == slug
    assert canonical_slug(text.swapcase() if text.isascii() else text) == slug


plain_slugs = st.from_regex(r"\A[a-z0-9]{1,8}(-{1,2}[a-z0-9]{1,8}){0,4}\Z")


@bounded
@given(plain_slugs, plain_slugs)
def test_different_canonical_slugs_stay_different(one: str, other: str) -> None:
    def settled(text: str) -> str:
        try:
            return canonical_slug(text)
        except MinutebookError:
            return f"refused {text}"

    assert (settled(one) == settled(other)) == (one == other)


@bounded
@given(ANY | ODD, ANY)
def test_any_title_gets_a_slug_and_any_name_a_segment(title: str, content: str) -> None:
    slug = slug_from(title, content)
    assert canonical_slug(slug) == slug
    assert len(slug) <= 80
    assert "--" not in slug
    segment = slug_segment(title)
    assert canonical_slug(segment) == segment
    assert len(segment) <= 40
    assert "--" not in segment


def test_a_slug_is_made_from_the_title() -> None:
    assert slug_from("Use Postgres, not MySQL!") == "use-postgres-not-mysql"
    assert slug_from("Foo -- bar") == "foo-bar"


def test_long_titles_are_cut_at_a_word_and_stay_apart() -> None:
    one, other = slug_from("always " * 20 + "deploy"), slug_from("always " * 20 + "wait")
    assert one != other
    assert re.fullmatch(r"always(-always)+-[0-9a-f]{6}", one)
    assert re.fullmatch(r"x{73}-[0-9a-f]{6}", slug_from("x" * 300))


def test_titles_that_lose_letters_of_another_script_stay_apart() -> None:
    assert slug_from("数据库 API") != slug_from("前端 API")
    assert re.fullmatch(r"api-[0-9a-f]{6}", slug_from("数据库 API"))
    assert slug_from("Ship it 🚀") == "ship-it"


@pytest.mark.parametrize("title", ["决定", "🚀", "", "con", "README", "…"])
def test_a_title_without_a_usable_word_gets_a_hash_of_title_and_content(title: str) -> None:
    assert re.fullmatch(r"m-[0-9a-f]{12}", slug_from(title, "body"))
    assert slug_from(title, "body") == slug_from(f"\ufeff{title} ", "body\r\n")
    assert slug_from(title, "body") != slug_from(title, "other body")


def test_the_agents_segment_does_not_depend_on_the_spelling_of_its_name() -> None:
    assert slug_segment("Ripley 🚀") == slug_segment("RIPLEY") == "ripley"
    assert re.fullmatch(r"a-[0-9a-f]{8}", slug_segment("李"))
    assert slug_segment("李") != slug_segment("王")
    assert len(slug_segment("long name " * 8)) <= 40


# --- names and tags


def test_a_name_is_one_whatever_its_case_width_and_spacing() -> None:
    assert fold_name("  Ripley\u00a0 Ellen ") == fold_name("ｒｉｐｌｅｙ ELLEN") == "ripley ellen"
    assert fold_name(PERSIAN) == fold_name(PERSIAN.replace("\u200c", ""))


@bounded
@given(ANY | ODD)
def test_folding_a_name_settles_at_once(name: str) -> None:
    assert fold_name(fold_name(name)) == fold_name(name)


@pytest.mark.parametrize(
    "name", ["Ripley", "ripley.e@crew+1", "Élan 2", "李雷", "Анна", "हिन्दी", "a_b-c", PERSIAN]
)
def test_a_name_of_any_script_is_accepted(name: str) -> None:
    assert check_name(f" {name}\n", "agent") == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "  ",
        "a\nb",
        "a\u2028b",
        "a\tb",
        "x" * 81,
        "a/b",
        "a\\b",
        "..",
        ".",
        "@",
        "a:b",
        "a\u202eb",
        "a\u200bb",
        "a\x1bb",
        "🚀",
        "a;b",
        "a\u00a0b",
        "<b>",
        "$HOME",
    ],
)
def test_a_name_that_is_not_one_plain_line_is_refused(name: str) -> None:
    error = refusal("bad_name", check_name, name, "agent")
    assert "agent" in error.message
    assert error.details["what"] == "agent"


def test_a_tag_is_matched_whole_whatever_its_case_width_and_spacing() -> None:
    assert fold_tag(" Cross  Team ") == fold_tag("ＣＲＯＳＳ-team") == fold_tag("cross\tteam") == "cross-team"
    assert fold_tag("数据库") == "数据库"
    assert fold_tag("c++") == "c++"


@pytest.mark.parametrize("tag", ["", "\n", "x" * 65, "a,b", "a，b", "cross\u200b-team"])
def test_a_tag_that_is_blank_long_or_a_list_is_refused(tag: str) -> None:
    refusal("bad_name", fold_tag, tag)


# --- claims

CLAIM = "deploy on fridays"


@pytest.mark.parametrize(
    "text",
    [
        "Deploy ON Fridays!",
        "Ｄｅｐｌｏｙ ｏｎ Ｆｒｉｄａｙｓ",
        "Deplоy оn Fridаys",
        "De\u200bploy\u00ad on Fri\u2060days",
        "  deploy \n\n on\t\tFRIDAYS ... ",
        "**Deploy** on _Fridays_",
        "> deploy on fridays",
        "ᴅᴇᴘʟᴏʏ ᴏɴ ꜰʀɪᴅᴀʏꜱ",
        "Déploy ön frıdays",
        "𝐃𝐞𝐩𝐥𝐨𝐲 𝓸𝓷 𝔽𝕣𝕚𝕕𝕒𝕪𝕤",
        "✅ Deploy on Fridays 🎉",
        "\u202edeploy\u202c on fridays",
        "d\u0336e\u0336p\u0336loy on fridays",
    ],
)
def test_disguises_of_one_claim_fold_to_one(text: str) -> None:
    assert fold_claim(text) == CLAIM


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("c++", "c#"),
        ("c++", "c"),
        ("c#", "c"),
        ("1.10", "1.1"),
        ("-1", "1"),
        ("−1", "1"),
        ("50%", "50"),
        ("x > 5", "x < 5"),
        ("x ≥ 5", "x ≤ 5"),
        ("x ≠ 5", "x 5"),
        ("5 µs", "5 ms"),
        ("$5", "€5"),
        ("❌ deploy", "✅ deploy"),
        ("か", "が"),
        ("10", "1 0"),
        ("कि", "कु"),
        ("deploy on fridays", "deploy on friday"),
        ("0", "o"),
        ("1", "l"),
        ("👍", "👎"),
        ("…", "!!"),
    ],
)
def test_different_numbers_words_and_signs_stay_different(one: str, other: str) -> None:
    assert fold_claim(one) != fold_claim(other)


@bounded
@given(ANY | ODD)
def test_folding_a_claim_settles_at_once(text: str) -> None:
    assert fold_claim(fold_claim(text)) == fold_claim(text)


LATIN = st.text(st.characters(max_codepoint=0x17F, exclude_categories=["Cc", "Cf"]), min_size=1, max_size=40)


@bounded
@given(LATIN, st.data())
def test_case_width_spacing_and_invisible_characters_do_not_change_a_claim(
    text: str, data: st.DataObject
) -> None:
    folded = fold_claim(text)
    assert fold_claim(text.upper().lower()) == folded
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)
    assert fold_claim(wide) == folded
    at = data.draw(st.integers(0, len(text)))
    unseen = data.draw(st.sampled_from("\u200b\u200d\u2060\u00ad\ufeff\u202e\ufe0f\x07\U000e0041"))
    assert fold_claim(text[:at] + unseen + text[at:]) == folded
    assert fold_claim("\n" + text.replace(" ", " \u3000\t") + "  ") == folded


def test_words_are_folded_and_unspaced_scripts_give_pairs() -> None:
    assert words("Use Postgres, NOT MySQL 8.0!") == ("use", "postgres", "not", "mysql", "8.0")
    assert words("数据库API设计") == ("数据", "据库", "api", "设计")
    assert words("データ") == ("デー", "ータ")
    assert words("가나다 라") == ("가나", "나다", "라")
    assert words("") == ()


@pytest.mark.parametrize(
    "piece", ["A", " ", "-", "\u200d", ".1", "<", "👩\u200d", "\r", "\ufeff", "é", "ﷺ", "中"]
)
def test_a_megabyte_of_anything_is_folded_within_bounds(piece: str) -> None:
    text = piece * (1_000_000 // len(piece) // (18 if piece == "ﷺ" else 1))
    for call in (clean, one_line, hidden, visible, fold_claim):
        assert call(text) is not None
    assert len(slug_from(text)) <= 80
