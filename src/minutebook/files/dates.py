"""Dates as people and agents write them. What is not said is not made up: a date without a time has none.

A date comes out as `2026-02-14`; a time without an offset as `2026-02-14T10:30:00`; with one, in UTC, as
`2026-02-14T18:30:00Z`. A form that two readers would read differently (`03/04/2026`) is no date.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

_ISO = re.compile(
    r"(?<![\d-])(\d{4})[-/](\d{2})[-/](\d{2})"
    r"(?:[T ](\d{2})[:-](\d{2})(?:[:-](\d{2})(?:\.\d{1,9})?)?"
    r"\s?(?:(Z|UTC)\b|([+-])(\d{2})[:-]?(\d{2})(?!\d))?)?(?![\d])"
)
_MONTHS = {
    name: number
    for names in (
        "january february march april may june july august september october november december",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    )
    for number, name in enumerate(names.split(), start=1)
}
_MONTHS |= {name[:3]: number for name, number in list(_MONTHS.items())[:12]}
_WORDS = re.compile(
    r"\b(?:([A-Za-z]{3,10})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})"
    r"|(\d{1,2})(?:st|nd|rd|th)? (?:de )?([A-Za-z]{3,10})\.?,? (?:de )?(\d{4}))\b"
)
#: How far into a text a date is looked for.
_WITHIN = 400


def find_date(text: str) -> tuple[str, int, int] | None:
    """The first date in a text, in its normal form, and where it stands."""
    for match in _ISO.finditer(text[:_WITHIN]):
        if (found := _of_iso(match)) is not None:
            return found, match.start(), match.end()
    for match in _WORDS.finditer(text[:_WITHIN]):
        if (found := _of_words(match)) is not None:
            return found, match.start(), match.end()
    return None


def date_in(text: str) -> str | None:
    """The first date in a text, in its normal form."""
    found = find_date(text)
    return None if found is None else found[0]


def _of_iso(match: re.Match[str]) -> str | None:
    year, month, day, hour, minute, second, zulu, sign, off_hours, off_minutes = match.groups()
    try:
        if not 1970 <= int(year) <= 2199:
            return None
        if hour is None:
            return date(int(year), int(month), int(day)).isoformat()
        moment = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second or 0))
        if sign is None:
            return moment.isoformat() + ("Z" if zulu else "")
        offset = timedelta(hours=int(off_hours), minutes=int(off_minutes))
        if offset > timedelta(hours=15):
            return None
        utc = moment - offset if sign == "+" else moment + offset
        return utc.replace(tzinfo=UTC).isoformat().replace("+00:00", "Z")
    except ValueError:
        return None


def _of_words(match: re.Match[str]) -> str | None:
    month = _MONTHS.get((match[1] or match[5]).casefold())
    day, year = int(match[2] or match[4]), int(match[3] or match[6])
    if month is None or not 1970 <= year <= 2199:
        return None
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None
