"""Enabling and disabling providers: by operators alone, tried out first, told in the log, and one of a kind."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.minds.providing import Hosted, Terms
from minutebook.model.actors import Actor, Role
from minutebook.model.errors import MinutebookError
from minutebook.operations import adopt, events, providers, system
from minutebook.service import LocalClient
from tests.houses import House
from tests.operations.asking import code
from tests.packages import unpacked, wheel

CODE = """
class Reader:
    patterns = ["*.mem"]
    def read(self, path, text):
        yield {"first": 1, "title": "One", "type": "learning"}
        yield {"first": 9, "title": "Nine"}
        yield {"first": 1, "type": "nonsense"}
        yield {"first": 2, "last": 3, "text": "Two and three.", "tags": ["a"], "authors": ["Ana"], "date": "2026-02-03"}
        yield "rubbish"

class Model:
    def ask(self, task, material, schema, tokens):
        return "{}"
"""
IMPORTERS, MODELS = "minutebook.importers", "minutebook.models"


@pytest.fixture
def site(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for packages, which the house sees."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site)}
    hosted = Hosted(Terms(sys.executable, environment, "/"), lambda: 0.0)
    hosted.follow(house.service.database)
    house.service.world = replace(house.service.world, providers=hosted)
    yield site
    hosted.close()


def install(site: Path, name: str, **groups: dict[str, str]) -> None:
    entries = {f"minutebook.{group}": of for group, of in groups.items()}
    unpacked(wheel(site.parent, name, "1", CODE, entries), site)


def listed(house: House) -> dict[str, str]:
    return {
        line.name: line.standing
        for line in house.jones(providers.list_).items
        if line.package.startswith("t-")
    }


def test_what_is_enabled_is_told_in_the_log_and_by_health_and_what_is_disabled_is_not(
    house: House, site: Path
) -> None:
    install(site, "t-one", importers={"reader": "Reader"})
    assert listed(house) == {"reader": "available"}
    for who in (house.jones, house.ripley, house.dallas):
        assert code(lambda who=who: who(providers.enable, name="reader")) == "not_allowed"
    done = house.mother(providers.enable, name=" Reader ")
    assert (done.standing, done.sentence) == ("enabled", "reader is in use: reads *.mem.")
    assert house.mother(providers.enable, name="reader").sentence == "reader is enabled already."
    shown = house.jones(providers.show, name="reader")
    assert (shown.enabled_by, shown.package, shown.target) == ("mother", "t-one", "t_one:Reader")
    assert [each.name for each in house.mother(system.health).providers] == ["reader"]
    assert house.mother(providers.disable, name="reader").standing == "available"
    assert house.mother(providers.disable, name="reader").sentence == "reader is not enabled."
    assert house.mother(system.health).providers == ()
    told = [
        (event.kind, event.subject) for event in house.mother(events.list_).items if "provider" in event.kind
    ]
    assert told == [("provider.disabled", "importer:reader"), ("provider.enabled", "importer:reader")]


def test_a_name_that_two_packages_claim_is_refused_and_what_is_in_use_stays_in_use(
    house: House, site: Path
) -> None:
    install(site, "t-one", importers={"reader": "Reader"})
    house.mother(providers.enable, name="reader")
    install(site, "t-two", importers={"reader": "Reader", "other": "Reader"})
    shown = house.jones(providers.show, name="reader")
    assert (shown.standing, shown.package, shown.rivals) == ("enabled", "t-one", ("t-two",))
    house.mother(providers.disable, name="reader")
    with pytest.raises(MinutebookError, match="Several packages claim the name: t-one, t-two") as raised:
        house.mother(providers.enable, name="reader")
    assert raised.value.code == "ambiguous"
    assert house.mother(events.list_).items[0].kind == "provider.collision"
    assert listed(house) == {"reader": "collision", "other": "available"}


def test_what_became_another_package_under_the_same_name_is_not_loaded(house: House, site: Path) -> None:
    install(site, "t-one", importers={"reader": "Reader"})
    house.mother(providers.enable, name="reader")
    for path in sorted(site.glob("t_one*/*")):
        path.unlink()
    (site / "t_one-1.dist-info").rmdir()
    missing = house.jones(providers.show, name="reader")
    assert (missing.standing, missing.version) == ("missing", "")
    install(site, "t-evil", importers={"reader": "Reader"})
    assert house.jones(providers.show, name="reader").standing == "changed"
    health = house.mother(system.health)
    assert any("something else now" in finding.what for finding in health.findings)
    assert house.mother(providers.disable, name="reader").sentence == "reader is not in use any more."


def test_of_models_there_is_one(house: House, site: Path) -> None:
    install(site, "t-one", models={"a": "Model", "b": "Model"})
    house.mother(providers.enable, name="a")
    assert code(lambda: house.mother(providers.enable, name="b")) == "exists"
    model = house.service.world.model()
    assert model is not None
    assert model.name == "t-one:a"
    house.mother(providers.disable, name="a")
    assert house.service.world.model() is None
    house.mother(providers.enable, name="b")


def test_a_name_of_two_kinds_has_to_be_told_apart(house: House, site: Path) -> None:
    install(site, "t-one", models={"both": "Model"}, importers={"both": "Reader"})
    assert code(lambda: house.mother(providers.enable, name="both")) == "ambiguous"
    assert house.mother(providers.enable, name="both", kind="model").kind == "model"


def test_what_cannot_start_is_not_enabled(house: House, site: Path) -> None:
    install(site, "t-one", importers={"gone": "NoSuchThing"})
    with pytest.raises(MinutebookError, match="NoSuchThing") as raised:
        house.mother(providers.enable, name="gone")
    assert raised.value.code == "no_provider"
    assert listed(house) == {"gone": "available"}


def test_an_importer_reads_files_that_are_adopted_and_what_it_says_wrongly_costs_only_itself(
    house: House, site: Path, tmp_path: Path
) -> None:
    from minutebook.files.adopting import survey

    install(site, "t-one", importers={"reader": "Reader"})
    world = house.service.world
    house.service.world = replace(world, survey=lambda ground: survey(ground, world.providers))
    folder = tmp_path / "ship"
    folder.mkdir()
    (folder / "log.mem").write_text("The proxy drops bodies.\ntwo\nthree\nfour\n")
    (folder / "readme.md").write_text("nobody asked for this\n")
    login = house.service.actor("Mother") or Actor("mother", "Mother", Role.OPERATOR)
    mother = LocalClient(house.service, actor=login, origin=house.mother.origin, project=house.project)
    assert code(lambda: mother(adopt.adopt, path=folder, importer="reader")) == "not_found"
    house.mother(providers.enable, name="reader")
    found = mother(adopt.adopt, path=folder, importer="reader", pieces=True)
    assert [(piece.becomes, piece.title) for piece in found.pieces] == [("proposed", "One"), ("proposed", "Two and three.")]  # fmt: skip
    assert {doubt.what for doubt in found.uncertain} >= {
        "the importer cites lines that there are not", "there is no type 'nonsense'",
    }  # fmt: skip
    assert code(lambda: mother(adopt.adopt, path=folder, form="importer")) == "invalid_input"
