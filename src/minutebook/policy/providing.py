"""Which providers there are and how each stands: what is installed, held against what was enabled. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minutebook.model.providers import RESERVED, Declared, Enabled, Kind, Pulse, Standing


@dataclass(frozen=True, slots=True)
class Known:
    """One name of one kind: who declares it, and whether it is enabled."""

    kind: Kind
    name: str
    #: what is meant by the name: what was enabled, else what is installed
    declared: Declared | None
    enabled: Enabled | None
    standing: Standing
    #: packages that claim the name beside the one that is meant
    rivals: tuple[str, ...] = ()

    @property
    def package(self) -> str:
        return self.enabled.package if self.enabled else self.declared.package if self.declared else ""


def known(declared: Sequence[Declared], enabled: Sequence[Enabled]) -> tuple[Known, ...]:
    """Every name that is declared or enabled. What is enabled keeps its name, whoever else claims it."""
    names = sorted({(each.kind, each.name) for each in (*declared, *enabled)})
    return tuple(_one(kind, name, declared, enabled) for kind, name in names)


def _one(kind: Kind, name: str, declared: Sequence[Declared], enabled: Sequence[Enabled]) -> Known:
    claims = sorted(
        {each for each in declared if (each.kind, each.name) == (kind, name)},
        key=lambda each: (each.package, each.target),
    )
    on = next((each for each in enabled if (each.kind, each.name) == (kind, name)), None)
    if on is not None:
        mine = [each for each in claims if (each.package, each.target) == (on.package, on.target)]
        rivals = tuple(sorted({each.package for each in claims if each not in mine}))
        standing = Standing.ENABLED if mine else Standing.CHANGED if claims else Standing.MISSING
        return Known(kind, name, mine[0] if mine else None, on, standing, rivals)
    if name in RESERVED:
        return Known(kind, name, claims[0], None, Standing.COLLISION)
    if len(claims) > 1:
        others = tuple(sorted({each.package for each in claims}))
        return Known(kind, name, claims[0], None, Standing.COLLISION, others)
    return Known(kind, name, claims[0], None, Standing.AVAILABLE)


def usable(declared: Sequence[Declared], enabled: Sequence[Enabled], kind: Kind) -> tuple[Declared, ...]:
    """What of a kind may be loaded here: enabled, and installed as it was when it was enabled."""
    return tuple(
        each.declared
        for each in known(declared, enabled)
        if each.kind is kind and each.standing is Standing.ENABLED and each.declared is not None
    )


def standing_now(each: Known, pulse: Pulse) -> Standing:
    """How it stands, with what the process that answers has seen of it."""
    return Standing.COOLING if each.standing is Standing.ENABLED and pulse.resting > 0 else each.standing


def sentence(each: Known, pulse: Pulse) -> str:
    """The same, said."""
    match standing_now(each, pulse):
        case Standing.AVAILABLE:
            return f"It is installed, and nothing of it is loaded. Enable it: minutebook providers enable {each.name}"
        case Standing.COOLING:
            return f"It failed {pulse.failures} times and is left alone for {pulse.resting:.0f} seconds: {pulse.fault}"
        case Standing.ENABLED:
            return "It is in use."
        case Standing.MISSING:
            return f"It is enabled, but {each.package} is not installed here any more."
        case Standing.CHANGED:
            others = ", ".join(each.rivals)
            return (
                f"It is enabled as {each.package}, but what is installed under its name is something else "
                f"({others}); nothing is loaded. Disable it, look, and enable it again."
            )
        case Standing.COLLISION if each.rivals:
            return f"Several packages claim the name: {', '.join(each.rivals)}. Uninstall all but one."
        case Standing.COLLISION:
            return "The name is one of minutebook's own."
