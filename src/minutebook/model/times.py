"""Times: UTC RFC 3339 text with microseconds, which sorts as it reads."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from minutebook.model.errors import MinutebookError

_AGO = re.compile(r"(\d{1,6})\s*(s|m|h|d|w)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def text_of(moment: datetime) -> str:
    if moment.tzinfo is UTC:
        return moment.isoformat(timespec="microseconds")[:-6] + "Z"
    # Not strftime: it writes the year 500 in three digits, and text that sorts needs four.
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def moment_of(text: str) -> datetime:
    return datetime.fromisoformat(text)


def to_the_minute(text: str) -> str:
    """A time as a sentence says it."""
    return f"{text[:10]} {text[11:16]} UTC"


def seconds_before(now: str, seconds: float) -> str:
    return text_of(moment_of(now) - timedelta(seconds=seconds))


def parse_deadline(text: str, now: str) -> str:
    """Read a time to come: RFC 3339, a date, or a span such as `12h`, `30d` from now."""
    given = text.strip()
    span = _AGO.fullmatch(given)
    try:
        deadline = seconds_before(now, -int(span[1]) * _SECONDS[span[2]]) if span else parse_time(given, now)
    except (MinutebookError, OverflowError):
        raise MinutebookError(
            "invalid_input",
            f"{given[:40]!r} is no time to come.",
            hint="12h, 30d, 2027-01-31, 2027-01-31T09:30:00Z, or never",
        ) from None
    if deadline <= now:
        raise MinutebookError("invalid_input", f"{given[:40]!r} is not in the future.")
    return deadline


def parse_time(text: str, now: str) -> str:
    """Read a time: RFC 3339, a date, or an age such as `90m`, `24h`, `7d` before now."""
    given = text.strip()
    ago = _AGO.fullmatch(given)
    try:
        if ago:
            return seconds_before(now, int(ago[1]) * _SECONDS[ago[2]])
        moment = datetime.fromisoformat(given)
        return text_of(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise MinutebookError(
            "invalid_input",
            f"{given[:40]!r} is no time.",
            hint="2026-11-16, 2026-11-16T09:30:00Z, or an age: 90m, 24h, 7d",
        ) from None


def age(then: str, now: str) -> str:
    """How long ago, in one short word: `3d`, `5h`, `12m`, `now`."""
    seconds = (moment_of(now) - moment_of(then)).total_seconds()
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return "now"
