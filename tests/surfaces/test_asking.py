"""Who is asking: the credential says it, and nothing that is said beside it makes more of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.model.actors import Origin, Role
from minutebook.operations import actors, memories, tokens
from minutebook.operations.registry import REGISTRY
from minutebook.surfaces.asking import Asker, Doorkeeper, Said
from tests.conftest import Clock
from tests.houses import House
from tests.operations.asking import code, refusal


@pytest.fixture
def ship(tmp_path: Path, clock: Clock) -> Iterator[House]:
    built = House(f"sqlite://{tmp_path}/home/ledger.db", tmp_path / "home", clock)
    yield built
    built.close()


@pytest.fixture
def door(ship: House) -> Doorkeeper:
    return Doorkeeper(ship.service, uid=os.getuid())


def test_a_token_says_who_asks_with_what_role_and_where(ship: House, door: Doorkeeper) -> None:
    made = ship.mother(tokens.create, agent="Newt", role="viewer")
    asker = door.by_token(made.secret, Said(run="R1"), Origin.HTTP)
    assert asker == Asker(
        actor=asker.actor,
        origin=Origin.HTTP,
        project=ship.project,
        run="R1",
        token=made.token.id,
        expires_at=made.token.expires_at,
    )
    assert (asker.actor.id, asker.actor.name, asker.actor.role, asker.actor.project) == (
        "newt", "Newt", Role.VIEWER, ship.project,
    )  # fmt: skip
    assert ship.service.invoke(REGISTRY.of(memories.list_), {}, **asker.terms()).items == ()


def test_the_door_sees_the_smaller_role_at_once(ship: House, door: Doorkeeper) -> None:
    made = ship.mother(tokens.create, agent="dallas", role="coordinator")
    assert door.by_token(made.secret, Said(), Origin.MCP).actor.role is Role.COORDINATOR
    ship.mother(actors.edit, name="dallas", role="agent")
    assert door.by_token(made.secret, Said(), Origin.MCP).actor.role is Role.AGENT


def test_what_is_said_beside_a_token_cannot_make_it_somebody_elses(ship: House, door: Doorkeeper) -> None:
    made = ship.mother(tokens.create, agent="ripley")
    for said in (Said(agent="RIPLEY"), Said(actor="Ripley"), Said(agent="ripley", actor="ripley")):
        assert door.by_token(made.secret, said, Origin.SOCKET).actor.id == "ripley"
    for said in (Said(agent="ash"), Said(actor="mother"), Said(agent="ripley", actor="dallas")):
        assert code(door.by_token, made.secret, said, Origin.SOCKET) == "other_agent"


def test_a_secret_that_does_not_hold_opens_no_door_and_the_error_does_not_repeat_it(
    ship: House, door: Doorkeeper
) -> None:
    made = ship.mother(tokens.create, agent="ripley", expires="1h")
    spoilt = made.secret[:-1] + ("A" if made.secret[-1] != "A" else "B")
    for secret in (
        "",
        "mbk_",
        spoilt,
        made.secret.upper(),
        made.secret + " ",
        "Bearer " + made.secret,
        "é" * 47,
    ):
        error = refusal(door.by_token, secret, Said(), Origin.HTTP)
        assert error.code == "bad_token"
        assert not secret or secret not in str(error.as_dict())
    ship.clock.advance(hours=1)
    assert "expired" in refusal(door.by_token, made.secret, Said(), Origin.HTTP).message


def test_the_kernel_vouches_for_the_user_and_for_nobody_else(ship: House, door: Doorkeeper) -> None:
    mine = os.getuid()
    assert door.by_peer(mine, Said(), Origin.SOCKET).actor.role is Role.OPERATOR
    assert door.by_peer(mine, Said(agent="Newt"), Origin.SOCKET).actor.role is Role.AGENT
    assert door.by_peer(mine, Said(actor="dallas"), Origin.SOCKET).actor.role is Role.COORDINATOR
    assert code(door.by_peer, mine, Said(actor="nobody"), Origin.SOCKET) == "not_found"
    assert code(door.by_peer, mine + 1, Said(), Origin.SOCKET) == "foreign_user"
