"""Where episodes stand: what lies beside them in their source, run or session, and may be seen."""

from __future__ import annotations

from minutebook.ledger import vicinity
from minutebook.operations import memories, sessions
from minutebook.policy.fusion import Place
from tests.houses import House


def said(house: House, who: str, text: str) -> str:
    done = house.as_(who)(memories.write, type="episode", content=text, scope="session")
    assert done.memory is not None
    return done.memory


def placed(house: House, refs: list[str], clause: str = "m.status = 'active'") -> dict[str, Place]:
    with house.service.database.read() as tx:
        return vicinity.places(tx, refs, clause, {})


def test_an_episode_has_its_neighbours_of_the_same_session_and_its_author(house: House) -> None:
    house.mother(sessions.start, focus="landing")
    turns = [
        said(house, who, f"Turn {n} of the landing.") for n, who in enumerate(["Ripley", "Bishop", "Ripley"])
    ]
    house.mother(sessions.start, focus="leaving")
    alone = said(house, "Ripley", "Nobody answers here.")
    found = placed(house, [turns[1], alone])
    middle = found[turns[1]]
    assert (middle.before, middle.after, middle.author) == (turns[0], turns[2], "bishop")
    # The neighbours have their places too, because they may come in as hits; who is alone has none.
    assert set(found) == set(turns)
    assert {place.container for place in found.values()} == {middle.container}


def test_what_may_not_be_found_is_nobodys_neighbour(house: House) -> None:
    house.mother(sessions.start, focus="landing")
    turns = [said(house, "Ripley", f"Turn {number} of the landing.") for number in range(3)]
    house.mother(memories.retire, ref=turns[1], reason="wrong")
    found = placed(house, [turns[0]])
    assert found[turns[0]].after == turns[2]
    assert set(found) == {turns[0], turns[2]}


def test_a_memory_that_is_no_episode_has_no_place(house: House) -> None:
    one = house.mother(memories.write, type="project", content="A fact.").memory
    assert one is not None
    assert placed(house, [one]) == {}
    assert placed(house, []) == {}
