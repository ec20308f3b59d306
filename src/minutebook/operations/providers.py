"""Embedders, extractors, models and importers of other packages: which there are, and which are in use."""

from __future__ import annotations

from typing import Annotated

from annotated_types import MaxLen

from minutebook.call import LongCall
from minutebook.ledger import events
from minutebook.ledger import providers as kept
from minutebook.ledger.database import Tx
from minutebook.model.errors import MinutebookError
from minutebook.model.paging import Page
from minutebook.model.providers import Enabled, Kind, ProviderLine, ProviderView, Pulse, Standing, Switched
from minutebook.model.scopes import GLOBAL
from minutebook.operations.registry import Access, Help, operation
from minutebook.policy.providing import Known, known, sentence, standing_now

ProviderRef = Annotated[str, Help("a provider's name"), MaxLen(64)]
KindOf = Annotated[Kind | None, Help("which kind, where several have the name")]


@operation(Access.READ)
def list_(call: LongCall) -> Page[ProviderLine]:
    """List what installed packages bring, and how each stands. Nothing is loaded by that.

    A package declares a provider by an entry point of the group minutebook.embedders, minutebook.extractors,
    minutebook.models or minutebook.importers.

    Example:
        minutebook providers list
    """
    return Page(tuple(line_of(call, each) for each in all_known(call)), None)


@operation(Access.READ)
def show(call: LongCall, name: ProviderRef, kind: KindOf = None) -> ProviderView:
    """Show a provider: where it comes from, who enabled it, and how it is doing in the process that answers.

    Example:
        minutebook providers show hashing
    """
    one = _one(call, name, kind)
    pulse = _pulse(call, one)
    declared, on = one.declared, one.enabled
    return ProviderView(
        name=one.name,
        kind=one.kind,
        standing=standing_now(one, pulse),
        sentence=sentence(one, pulse),
        package=one.package,
        version="" if declared is None else declared.version,
        target=on.target if on else declared.target if declared else "",
        enabled_by=None if on is None else on.by,
        enabled_at=None if on is None else on.at,
        failures=pulse.failures,
        resting_seconds=round(pulse.resting, 1),
        fault=pulse.fault,
        pid=pulse.pid,
        rivals=one.rivals,
    )


@operation(Access.OPERATE)
def enable(call: LongCall, name: ProviderRef, kind: KindOf = None) -> Switched:
    """Put a provider to use, after it was started once and said what it is.

    It runs in a process of its own, and is asked from now on. An embedder and a model take the place of those that
    the settings name; of each there is one. A name that several packages claim is refused.

    Example:
        minutebook providers enable hashing
    """
    _unbound(call)
    one = _one(call, name, kind)
    if one.enabled is not None:
        return _switched(call, one, f"{one.name} is enabled already.")
    if one.standing is Standing.COLLISION or one.declared is None:
        call.database.write(GLOBAL, lambda tx: _note(call, tx, "provider.collision", one, list(one.rivals)))
        raise MinutebookError("ambiguous", sentence(one, Pulse()), packages=list(one.rivals))
    declared = one.declared
    said = call.world.providers.try_out(declared)
    on = Enabled(one.kind, one.name, declared.package, declared.target, call.actor.id, call.now())

    def write(tx: Tx) -> None:
        if not kept.enable(tx, on):
            other = next((each.name for each in kept.enabled(tx) if each.kind is one.kind), one.name)
            raise MinutebookError(
                "exists",
                f"{other} is enabled, and only one {one.kind} can be.",
                hint=f"minutebook providers disable {other}",
            )
        _note(call, tx, "provider.enabled", one, [declared.package])

    call.database.write(GLOBAL, write)
    call.world.providers.refresh()
    return Switched(one.name, one.kind, Standing.ENABLED, f"{one.name} is in use: {said}.")


@operation(Access.OPERATE)
def disable(call: LongCall, name: ProviderRef, kind: KindOf = None) -> Switched:
    """Take a provider out of use. Its process ends at once, and what it gave stays.

    Example:
        minutebook providers disable hashing
    """
    _unbound(call)
    one = _one(call, name, kind)

    def write(tx: Tx) -> bool:
        done = kept.disable(tx, one.kind, one.name)
        if done:
            _note(call, tx, "provider.disabled", one, [one.package])
        return done

    done = call.database.write(GLOBAL, write)
    call.world.providers.refresh()
    said = "is not in use any more." if done else "is not enabled."
    return _switched(call, _one(call, name, one.kind) if one.declared else None, f"{one.name} {said}", one)


def _switched(call: LongCall, now: Known | None, said: str, before: Known | None = None) -> Switched:
    one = now or before
    assert one is not None
    standing = Standing.MISSING if now is None else standing_now(now, _pulse(call, now))
    return Switched(one.name, one.kind, standing, said)


# --- what there is ------------------------------------------------------------------------------------------------


def all_known(call: LongCall) -> tuple[Known, ...]:
    """Everything that is installed or enabled."""
    with call.database.read() as tx:
        enabled = kept.enabled(tx)
    return known(call.world.providers.declared(), enabled)


def all_enabled(call: LongCall) -> tuple[ProviderLine, ...]:
    """What is enabled, and how it does. What is installed is looked for only where anything is."""
    with call.database.read() as tx:
        enabled = kept.enabled(tx)
    found = known(call.world.providers.declared(), enabled) if enabled else ()
    return tuple(line_of(call, each) for each in found if each.enabled is not None)


def line_of(call: LongCall, one: Known) -> ProviderLine:
    pulse = _pulse(call, one)
    return ProviderLine(
        name=one.name,
        kind=one.kind,
        standing=standing_now(one, pulse),
        package=one.package,
        version="" if one.declared is None else one.declared.version,
        failures=pulse.failures,
        fault=pulse.fault,
    )


def _pulse(call: LongCall, one: Known) -> Pulse:
    return Pulse() if one.declared is None else call.world.providers.pulse(one.declared)


def _one(call: LongCall, name: str, kind: Kind | None) -> Known:
    wanted = name.strip().lower()
    found = [each for each in all_known(call) if each.name == wanted and kind in (None, each.kind)]
    if not found:
        raise MinutebookError(
            "not_found", f"No installed package brings {wanted[:64]!r}.", hint="minutebook providers list"
        )
    if len(found) > 1:
        kinds = [each.kind.value for each in found]
        raise MinutebookError("ambiguous", f"{wanted} is of several kinds.", hint="give --kind", kinds=kinds)
    return found[0]


def _unbound(call: LongCall) -> None:
    if call.actor.project is not None:
        raise MinutebookError(
            "other_project", f"{call.actor.name} is bound to one project; this concerns the whole ledger."
        )


def _note(call: LongCall, tx: Tx, kind: str, one: Known, packages: list[str]) -> None:
    events.append(
        tx,
        kind=kind,
        subject=f"{one.kind}:{one.name}",
        project=GLOBAL,
        actor=call.actor.id,
        role=call.actor.role,
        origin=call.caller.origin,
        at=call.now(),
        detail={"packages": packages},
    )
