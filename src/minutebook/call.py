"""What an operation is called with: who asks, where, when, and the transaction it runs in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from minutebook.ledger.database import Database, Tx
from minutebook.ledger.visibility import Reader
from minutebook.model.actors import Actor, Origin, Role
from minutebook.model.errors import MinutebookError
from minutebook.model.evidence import Evidence
from minutebook.model.ids import Ids
from minutebook.model.projects import Project
from minutebook.policy.limits import Limits

if TYPE_CHECKING:
    # What few calls have to do with: a command must not pay for importing it.
    from minutebook.model.adoption import Ground, Survey
    from minutebook.model.asking import Answer, Question
    from minutebook.model.context import EvidenceState
    from minutebook.model.files import FilesStatus, Synced, Wish
    from minutebook.model.meaning import Near, Space
    from minutebook.model.providers import Declared, Kind, Pulse
    from minutebook.model.search import Trace
    from minutebook.model.system import Mirror, Presence


class Preview(Exception):
    """Raised to have everything undone that was tried, and its outcome returned all the same."""

    def __init__(self, value: Any) -> None:
        super().__init__("preview")
        self.value = value


class Watch(Protocol):
    """Whoever wants to know how long a write waited, worked, and took to become durable."""

    def taken_up(self) -> None:
        """The writer begins with it; again when it has to run again."""
        ...

    def done(self) -> None:
        """Its work is done, and only the commit is left."""
        ...


class Witness(Protocol):
    """Whoever can look at what evidence points to, for the time of one call. Never raises, never waits long."""

    def state(self, evidence: Evidence) -> EvidenceState:
        """What became of what is cited."""
        ...

    def why(self, evidence: Evidence) -> tuple[EvidenceState, str]:
        """The same, and in a few words why."""
        ...

    def digest(self, evidence: Evidence) -> str | None:
        """The hash of what is cited, as it is now; None where that cannot be told."""
        ...


class Nobody:
    """The witness where no workspace is known."""

    def state(self, evidence: Evidence) -> EvidenceState:
        return self.why(evidence)[0]

    def why(self, evidence: Evidence) -> tuple[EvidenceState, str]:
        from minutebook.model.context import EvidenceState

        return EvidenceState.UNVERIFIABLE, "no workspace of the project is known here"

    def digest(self, evidence: Evidence) -> str | None:
        return None


class Files(Protocol):
    """Whoever keeps the files of workspaces on this machine. All of it concerns the project of the call."""

    def status(self, call: LongCall, *, every: bool = False) -> FilesStatus:
        """How the files stand: those that are not in step, or all of them."""
        ...

    def sync(self, call: LongCall, wish: Wish) -> Synced:
        """Bring files and ledger in step now, as far as nobody has to be asked."""
        ...

    def replace(self, call: LongCall, paths: Sequence[str]) -> Synced:
        """Take over files that others wrote or changed: what they hold is kept as a source first."""
        ...

    def mirror(self, call: LongCall, project: str | None) -> Mirror:
        """How far the generated files have come, of one project or of all."""
        ...


class NoFiles:
    """Where nobody keeps files: a program that embeds the ledger, a test."""

    def status(self, call: LongCall, *, every: bool = False) -> FilesStatus:
        from minutebook.model.files import FilesStatus

        return FilesStatus("no files are kept here")

    def sync(self, call: LongCall, wish: Wish) -> Synced:
        from minutebook.model.files import Synced

        return Synced("no files are kept here", (), self.status(call))

    def replace(self, call: LongCall, paths: Sequence[str]) -> Synced:
        from minutebook.model.files import Wish

        return self.sync(call, Wish())

    def mirror(self, call: LongCall, project: str | None) -> Mirror:
        from minutebook.model.system import Mirror

        return Mirror()


class Mind(Protocol):
    """A language model behind its door. It is asked by jobs alone, never within a write, and decides nothing."""

    @property
    def name(self) -> str: ...

    def ask(self, question: Question) -> Answer:
        """The answer to a question; an error where none came in time, or one that is no answer."""
        ...


class Meaning(Protocol):
    """Whoever can say what lies near a question by its meaning. Thread-safe, and never asked within a write."""

    def nearest(
        self,
        tx: Tx,
        query: str,
        *,
        reach: Sequence[str] | None,
        allowed: Callable[[Sequence[str]], Collection[str]],
        limit: int,
    ) -> Near:
        """The nearest memories of some projects (None is all) among those that are allowed, or why there are none."""
        ...

    def space(self) -> Space:
        """The space of the vectors; an error that says what to do where there is none."""
        ...

    def embed(self, texts: Sequence[Sequence[str]]) -> list[bytes]:
        """For the passages of each memory their vectors in float16, one after the other."""
        ...

    def forget(self, refs: Sequence[str]) -> None:
        """Let go of what is held in memory of these."""
        ...


class NoMeaning:
    """Where no model is known: texts are found by their words."""

    def __init__(self, why: str = "No model is installed: minutebook models add") -> None:
        self._why = why

    def nearest(
        self,
        tx: Tx,
        query: str,
        *,
        reach: Sequence[str] | None,
        allowed: Callable[[Sequence[str]], Collection[str]],
        limit: int,
    ) -> Near:
        from minutebook.model.meaning import Near

        return Near(missing=self._why)

    def space(self) -> Space:
        raise MinutebookError("no_model", self._why)

    def embed(self, texts: Sequence[Sequence[str]]) -> list[bytes]:
        raise MinutebookError("no_model", self._why)

    def forget(self, refs: Sequence[str]) -> None:
        """There is nothing to let go of."""


class Traces(Protocol):
    """Whoever keeps the traces of searches. Thread-safe; a search never waits for it."""

    @property
    def keeping(self) -> bool:
        """Whether traces are kept at all."""
        ...

    def note(self, trace: Trace) -> None:
        """Keep a trace, soon; when there are too many, the oldest that waits is dropped and counted."""
        ...

    def pending(self) -> Sequence[Trace]:
        """Those that are not in the ledger yet, oldest first."""
        ...

    def flush(self, database: Database) -> None:
        """Write what waits."""
        ...


class NoTraces:
    """Where nobody keeps traces: a program that embeds the ledger, a test."""

    keeping = False

    def note(self, trace: Trace) -> None:
        """There is nobody to keep it."""

    def pending(self) -> Sequence[Trace]:
        return ()

    def flush(self, database: Database) -> None:
        """There is nothing to write."""


class Providers(Protocol):
    """Whoever runs what other packages bring. Thread-safe; nothing is loaded that was not enabled."""

    def follow(self, database: Database) -> None:
        """Learn from a ledger what is enabled, when that is asked for first."""
        ...

    def declared(self) -> tuple[Declared, ...]:
        """What installed packages declare; nothing of theirs is run."""
        ...

    def refresh(self) -> None:
        """Read what is enabled now, and end whatever is not any more."""
        ...

    def keep_up(self) -> float | None:
        """Look whether another process changed what is enabled, now and then. The seconds until the next look."""
        ...

    def usable(self, kind: Kind) -> tuple[Declared, ...]:
        """What of a kind may be asked now."""
        ...

    def model(self) -> Mind | None:
        """The language model that was enabled, if one was."""
        ...

    def extractors(self) -> tuple[Mind, ...]:
        """The extractors that were enabled, each as a model that finds what is worth remembering."""
        ...

    def describe(self, one: Declared) -> dict[str, Any]:
        """What a provider says of itself."""
        ...

    def ask(self, one: Declared, seconds: float | None = None, **asked: Any) -> Any:
        """One answer; an error where none came in time, or the provider failed."""
        ...

    def blame(self, one: Declared, fault: str) -> MinutebookError:
        """Count an answer that is none as a failure, and give the error to raise."""
        ...

    def pulse(self, one: Declared) -> Pulse:
        """How one is doing here."""
        ...

    def try_out(self, one: Declared) -> str:
        """Start one and have it say what it is; what it is, in a few words."""
        ...

    def close(self) -> None:
        """End every process."""
        ...


class NoProviders:
    """Where nobody runs them: a program that embeds the ledger, a test."""

    def follow(self, database: Database) -> None:
        """There is nothing to learn."""

    def declared(self) -> tuple[Declared, ...]:
        return ()

    def refresh(self) -> None:
        """There is nothing to read."""

    def keep_up(self) -> float | None:
        return None

    def usable(self, kind: Kind) -> tuple[Declared, ...]:
        return ()

    def model(self) -> Mind | None:
        return None

    def extractors(self) -> tuple[Mind, ...]:
        return ()

    def describe(self, one: Declared) -> dict[str, Any]:
        raise self.blame(one, "")

    def ask(self, one: Declared, seconds: float | None = None, **asked: Any) -> Any:
        raise self.blame(one, "")

    def blame(self, one: Declared, fault: str) -> MinutebookError:
        return MinutebookError("no_provider", "No providers are run here.")

    def pulse(self, one: Declared) -> Pulse:
        from minutebook.model.providers import Pulse

        return Pulse()

    def try_out(self, one: Declared) -> str:
        raise self.blame(one, "")

    def close(self) -> None:
        """There is nothing to end."""


def nothing_to_adopt(ground: Ground) -> Survey:
    """Where nobody reads files: a program that embeds the ledger, a test."""
    from minutebook.model.adoption import Survey

    return Survey(str(ground.place or ""), False, ())


def nobody_serves() -> Presence:
    """Where nothing is known of a service: a program that embeds the ledger, a test."""
    from minutebook.model.system import Presence

    return Presence()


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What comes in through the door: the clock, ids, randomness, limits, the process around us."""

    clock: Callable[[], str]
    ids: Ids
    secret: Callable[[], str]
    limits: Limits
    #: where this ledger keeps its backups and its list of erasures
    home: Path
    #: the process that has the ledger open, and who was seen at its doors
    presence: Callable[[], Presence] = nobody_serves
    #: looks at files for a call: given the root of a workspace and the id of the project that it must belong to
    witness: Callable[[Path, str], Witness] = lambda _root, _project: Nobody()
    #: finds by meaning; where there is no model it says so, and text alone answers
    meaning: Meaning = field(default_factory=NoMeaning)
    #: a language model, where one is set up
    mind: Mind | None = None
    #: keeps the traces of searches
    traces: Traces = field(default_factory=NoTraces)
    #: keeps the files of the workspaces on this machine
    files: Files = NoFiles()
    #: looks through a repository for what can be adopted
    survey: Callable[[Ground], Survey] = nothing_to_adopt
    #: runs what other packages bring
    providers: Providers = field(default_factory=NoProviders)

    def model(self) -> Mind | None:
        """The language model that is asked: one that an operator enabled, else that of the settings."""
        return self.providers.model() or self.mind


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks, through which door, for which project."""

    actor: Actor
    origin: Origin
    project: Project | None
    run: str | None = None
    key: str | None = None
    #: the id of the bearer token that named the actor, if one did
    token: str | None = None
    #: sees what an agent sees, whatever the role: a token of an agent that may only read
    as_agent: bool = False
    #: the root of the workspace that the caller works in, where its files can be read from here
    workspace: Path | None = None

    @property
    def needed_project(self) -> Project:
        """The project the call is about; an error that says what to do when there is none."""
        if self.project is None:
            raise MinutebookError(
                "no_project",
                "No project was named, and this directory belongs to none.",
                hint="run `minutebook init` here, or give --project NAME",
            )
        return self.project


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One operation, being carried out inside one transaction."""

    tx: Tx
    caller: Caller
    world: World
    now: str

    @property
    def actor(self) -> Actor:
        return self.caller.actor

    @property
    def limits(self) -> Limits:
        return self.world.limits

    @property
    def project(self) -> Project:
        return self.caller.needed_project

    @property
    def reader(self) -> Reader:
        role = Role.AGENT if self.caller.as_agent else self.actor.role
        return Reader.of(self.actor.id, role, self.project.id)

    @property
    def witness(self) -> Witness:
        """Whoever can look at the caller's files. Ask once for a call: what was looked at is remembered."""
        if self.caller.workspace is None or self.caller.project is None:
            return Nobody()
        return self.world.witness(self.caller.workspace, self.caller.project.id)

    def new_id(self) -> str:
        return self.world.ids.new()

    def in_bounds(self, project: str) -> bool:
        """Whether the caller may change what is of that project; for who is bound, what is global is not."""
        return self.actor.project in (None, project)

    def check_bounds(self, project: str) -> None:
        """Refuse a change outside the project that the caller is bound to."""
        if not self.in_bounds(project):
            raise MinutebookError(
                "other_project",
                f"{self.actor.name} is bound to one project, and this would change what others see.",
            )

    def preview(self, value: Any) -> NoReturn:
        """Give `value` as the answer, and undo everything that this call wrote."""
        raise Preview(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class LongCall:
    """One operation that runs outside any transaction, and may open several."""

    database: Database
    caller: Caller
    world: World

    @property
    def actor(self) -> Actor:
        return self.caller.actor

    @property
    def project(self) -> Project:
        return self.caller.needed_project

    def now(self) -> str:
        return self.world.clock()

    def inside(self, tx: Tx) -> Call:
        """The call as an operation sees it that runs in `tx`."""
        return Call(tx=tx, caller=self.caller, world=self.world, now=self.now())
