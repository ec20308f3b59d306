"""How providers look to a person."""

from __future__ import annotations

from typing import Any

from minutebook.surfaces.cli.columns import Column, Headline, Table

TABLES: dict[str, Table] = {
    "ProviderLine": Table(
        (
            Column("PROVIDER", "name", "name", most=30),
            Column("KIND", "kind"),
            Column("STANDING", "standing", "status"),
            Column("PACKAGE", "package", most=30),
            Column("VERSION", "version", drop=2, most=14),
            Column("FAILURES", "failures", "number", drop=1),
            Column("FAULT", "fault", drop=3, most=50),
        ),
        empty="no installed package brings any",
    ),
}


def _view(it: Any) -> str:
    return f"{it.kind} {it.name}: {it.sentence}"


HEADLINES: dict[str, Headline] = {
    "ProviderView": Headline(
        _view,
        ("package", "version", "target", "enabled_by", "enabled_at", "failures", "fault", "rivals"),
    ),
    "Switched": Headline(lambda it: it.sentence),
}
