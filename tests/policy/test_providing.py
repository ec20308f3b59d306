"""Which providers there are, and how each stands."""

from __future__ import annotations

import pytest

from minutebook.model.providers import Declared, Enabled, Kind, Pulse, Standing, name_of
from minutebook.policy.providing import known, sentence, standing_now, usable

ACME = Declared(Kind.EMBEDDER, "hashing", "acme", "1", "acme:Hashing")
NEWER = Declared(Kind.EMBEDDER, "hashing", "acme", "2", "acme:Hashing")
OTHER = Declared(Kind.EMBEDDER, "hashing", "evil", "9", "evil:Hashing")
MOVED = Declared(Kind.EMBEDDER, "hashing", "acme", "2", "acme.new:Hashing")
ON = Enabled(Kind.EMBEDDER, "hashing", "acme", "acme:Hashing", "kim", "2026-01-01")


@pytest.mark.parametrize(
    ("declared", "enabled", "standing", "used"),
    [
        ([ACME], [], Standing.AVAILABLE, ()),
        ([ACME], [ON], Standing.ENABLED, (ACME,)),
        ([NEWER], [ON], Standing.ENABLED, (NEWER,)),
        ([], [ON], Standing.MISSING, ()),
        ([OTHER], [ON], Standing.CHANGED, ()),
        ([MOVED], [ON], Standing.CHANGED, ()),
        ([ACME, OTHER], [], Standing.COLLISION, ()),
        # Whoever comes later takes nothing away from what is in use.
        ([ACME, OTHER], [ON], Standing.ENABLED, (ACME,)),
    ],
)
def test_how_it_stands_with_a_name(
    declared: list[Declared], enabled: list[Enabled], standing: Standing, used: tuple[Declared, ...]
) -> None:
    [one] = known(declared, enabled)
    assert one.standing is standing
    assert usable(declared, enabled, Kind.EMBEDDER) == used
    assert usable(declared, enabled, Kind.MODEL) == ()
    assert sentence(one, Pulse()).endswith((".", "minutebook providers enable hashing"))


def test_the_rivals_of_a_name_are_told() -> None:
    assert known([ACME, OTHER], [])[0].rivals == ("acme", "evil")
    assert known([ACME, OTHER], [ON])[0].rivals == ("evil",)
    assert known([OTHER], [ON])[0].rivals == ("evil",)


def test_our_own_names_are_not_to_be_had() -> None:
    [one] = known([Declared(Kind.EMBEDDER, "local", "acme", "1", "acme:Local")], [])
    assert one.standing is Standing.COLLISION
    assert sentence(one, Pulse()) == "The name is one of minutebook's own."


def test_the_same_name_of_two_kinds_is_two_providers() -> None:
    model = Declared(Kind.MODEL, "hashing", "evil", "1", "evil:Model")
    assert [one.standing for one in known([ACME, model], [])] == [Standing.AVAILABLE] * 2


def test_what_rests_is_said_to_rest() -> None:
    [one] = known([ACME], [ON])
    resting = Pulse(failures=5, resting=12.4, fault="it raised KeyError")
    assert standing_now(one, resting) is Standing.COOLING
    assert sentence(one, resting) == (
        "It failed 5 times and is left alone for 12 seconds: it raised KeyError"
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (" Hashing ", "hashing"),
        ("a.b-c_1", "a.b-c_1"),
        ("", None),
        ("a b", None),
        ("../x", None),
        ("x" * 65, None),
    ],
)
def test_a_name_is_folded_and_plain(text: str, name: str | None) -> None:
    assert name_of(text) == name
