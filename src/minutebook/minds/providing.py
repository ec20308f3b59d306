"""Providers of other packages: found without being loaded, and each asked in a process of its own.

Nothing of a package runs before an operator enabled it. A call has a time, after which its process is killed; after
some failures one after the other a provider is left alone for a while; and one that is disabled is gone at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minutebook.ledger import providers as kept
from minutebook.ledger.database import Database
from minutebook.minds.breaking import Breaker
from minutebook.model.errors import MinutebookError
from minutebook.model.providers import Declared, Enabled, Kind, Pulse, name_of
from minutebook.policy.providing import usable

if TYPE_CHECKING:
    from minutebook.minds.provided import ProvidedExtractor, ProvidedModel, ProviderChoice

#: The largest answer that is read.
_ANSWER_BYTES = 64 * 1024**2
#: Seconds between two looks at what is enabled, where other processes write too.
_LOOK = 5.0
#: What an embedder is asked for before it is enabled.
_SAMPLE = "The quick brown fox jumps over the lazy dog."


@dataclass(frozen=True, slots=True)
class Terms:
    """How providers are run."""

    #: the interpreter, and what of our environment they see
    python: str
    environment: Mapping[str, str]
    #: where they start: never in a directory that somebody else chose
    folder: str
    seconds: float = 30.0
    failures: int = 5
    pause: float = 30.0


class Hosted:
    """What `World.providers` is in a running program. Thread-safe."""

    def __init__(self, terms: Terms, monotonic: Callable[[], float], *, tokens: int = 2_000) -> None:
        self._terms, self._monotonic, self._tokens = terms, monotonic, tokens
        self._lock = threading.Lock()
        self._database: Database | None = None
        self._enabled: tuple[Enabled, ...] | None = None
        self._declared: tuple[Declared, ...] = ()
        self._looked = 0.0
        self._seats: dict[Declared, _Seat] = {}

    def follow(self, database: Database) -> None:
        """Learn from a ledger what is enabled, when that is asked for first."""
        self._database = database

    # --- what there is -----------------------------------------------------------------------------------

    def declared(self) -> tuple[Declared, ...]:
        """What installed packages declare. Their metadata is read, and nothing of theirs is run."""
        from importlib import metadata  # it takes a while, and most commands need none of it

        found = {
            Declared(kind, name, entry.dist.name, entry.dist.version, entry.value)
            for kind in Kind
            for entry in metadata.entry_points(group=kind.group)
            if entry.dist is not None and (name := name_of(entry.name)) is not None
        }
        return tuple(sorted(found, key=lambda each: (each.kind, each.name, each.package, each.target)))

    def refresh(self) -> None:
        """Read what is enabled now, and end whatever is not any more."""
        if self._database is None:
            return
        with self._database.read() as tx:
            enabled = kept.enabled(tx)
        declared = self.declared() if enabled else ()
        with self._lock:
            self._enabled, self._declared, self._looked = enabled, declared, self._monotonic()
            standing = {each for kind in Kind for each in usable(declared, enabled, kind)}
            ended = [self._seats.pop(each) for each in [*self._seats] if each not in standing]
        for seat in ended:
            seat.end()

    def usable(self, kind: Kind) -> tuple[Declared, ...]:
        """What of a kind may be asked now: enabled, and installed as it was when it was enabled."""
        if self._enabled is None:
            self.refresh()
        return usable(self._declared, self._enabled or (), kind)

    def keep_up(self) -> float:
        """Look again now and then: another process may have enabled or disabled one. The seconds until then."""
        left = self._looked + _LOOK - self._monotonic()
        if self._enabled is None or left <= 0:
            self.refresh()
            return _LOOK
        return left

    # --- asking ------------------------------------------------------------------------------------------

    def describe(self, one: Declared) -> dict[str, Any]:
        """What a provider says of itself."""
        return self._seat(one).describe()

    def ask(self, one: Declared, seconds: float | None = None, **asked: Any) -> Any:
        """One answer; an error where none came in time, or the provider failed."""
        return self._seat(one).ask(asked, min(seconds or self._terms.seconds, self._terms.seconds))

    def blame(self, one: Declared, fault: str) -> MinutebookError:
        """Count an answer that is none as a failure, and give the error to raise."""
        return self._seat(one).blame(fault)

    def pulse(self, one: Declared) -> Pulse:
        with self._lock:
            seat = self._seats.get(one)
        return Pulse() if seat is None else seat.pulse()

    def try_out(self, one: Declared) -> str:
        """Start one and have it say what it is, before it is enabled. Its error is told, since no words of ours are
        in it."""
        seat = _Seat(one, self._terms, self._monotonic, open_hearted=True)
        try:
            said = seat.describe()
            if one.kind is Kind.EMBEDDER:
                rows = seat.ask({"texts": [_SAMPLE], "purpose": "passage"}, self._terms.seconds)
                if len(rows) != 1 or len(rows[0]) != said["dimensions"]:
                    raise seat.blame(f"it says {said['dimensions']} dimensions and gives others")
                return f"{said['dimensions']} dimensions"
            if one.kind is Kind.EXTRACTOR:
                seat.ask({"text": _SAMPLE}, self._terms.seconds)
            if one.kind is Kind.IMPORTER:
                return f"reads {', '.join(said['patterns'])}"
            return "it answers"
        finally:
            seat.end()

    def _seat(self, one: Declared) -> _Seat:
        with self._lock:
            if one not in usable(self._declared, self._enabled or (), one.kind):
                raise MinutebookError("no_provider", f"{one.name} is not enabled any more.")
            if one not in self._seats:
                self._seats[one] = _Seat(one, self._terms, self._monotonic)
            return self._seats[one]

    def embedder(self) -> ProviderChoice | None:
        """The embedder that is enabled, if one is."""
        found = self.usable(Kind.EMBEDDER)
        if not found:
            return None
        from minutebook.minds.provided import ProviderChoice

        return ProviderChoice(found[0], self)

    def model(self) -> ProvidedModel | None:
        """The language model that is enabled, if one is."""
        found = self.usable(Kind.MODEL)
        if not found:
            return None
        from minutebook.minds.provided import ProvidedModel

        return ProvidedModel(found[0], self, self._tokens)

    def extractors(self) -> tuple[ProvidedExtractor, ...]:
        """The extractors that are enabled."""
        found = self.usable(Kind.EXTRACTOR)
        if not found:
            return ()
        from minutebook.minds.provided import ProvidedExtractor

        return tuple(ProvidedExtractor(one, self) for one in found)

    def close(self) -> None:
        """End every process."""
        with self._lock:
            seats, self._seats = [*self._seats.values()], {}
            self._enabled = ()
        for seat in seats:
            seat.end()


class _Seat:
    """One provider: its process while it runs, and what became of what it was asked."""

    def __init__(
        self,
        one: Declared,
        terms: Terms,
        monotonic: Callable[[], float],
        *,
        open_hearted: bool = False,
    ) -> None:
        self._one, self._terms, self._monotonic, self._open_hearted = one, terms, monotonic, open_hearted
        self._turn = threading.Lock()
        self._breaker = Breaker(monotonic, failures=terms.failures, pause=terms.pause, says=self._silent)
        self._fault: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._described: dict[str, Any] = {}
        self._ended = False

    def describe(self) -> dict[str, Any]:
        return self._taking_turns(self._terms.seconds, lambda _: dict(self._described))

    def ask(self, asked: Mapping[str, Any], seconds: float) -> Any:
        line = json.dumps(dict(asked)).encode() + b"\n"
        return self._taking_turns(seconds, lambda until: self._answer(self._exchange(line, until)))

    def blame(self, fault: str) -> MinutebookError:
        self._fault = fault
        self._breaker.failed()
        return self._silent(fault)

    def pulse(self) -> Pulse:
        failures, resting = self._breaker.standing()
        process = self._process
        running = process is not None and process.poll() is None
        return Pulse(failures, resting, self._fault, process.pid if process and running else None)

    def end(self) -> None:
        """Kill its process; a call that waits for it hears that it is gone."""
        self._ended = True
        process = self._process
        if process is not None:
            process.kill()
        # Whoever waits for an answer holds the pipes, and lets go of them now.
        with self._turn:
            self._kill()

    # --- one after the other -----------------------------------------------------------------------------

    def _taking_turns(self, seconds: float, work: Callable[[float], Any]) -> Any:
        self._breaker.check()
        until = self._monotonic() + seconds
        if not self._turn.acquire(timeout=seconds):
            # Whoever has it is timed by its own limit: that is no failure of this call's.
            raise self._silent("it is busy with something else")
        try:
            self._started(until)
            answer = work(until)
        except _Failed as failed:
            self._kill()
            if self._ended:
                raise MinutebookError("no_provider", f"{self._one.name} was disabled meanwhile.") from None
            raise self.blame(failed.fault) from None
        finally:
            self._turn.release()
        self._breaker.answered()
        return answer

    def _started(self, until: float) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._kill()
        if self._ended:
            raise _Failed("it was disabled")
        one = self._one
        # -P: the directory that it starts in is nobody's package.
        command = [self._terms.python, "-P", "-m", "minutebook.minds.provider_process"]
        try:
            self._process = subprocess.Popen(
                [*command, one.kind.group, one.name, one.package, one.target],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=self._terms.folder,
                env=dict(self._terms.environment),
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise _Failed(f"it cannot be started: {type(error).__name__}") from error
        if self._ended:
            raise _Failed("it was disabled")
        self._described = {}
        self._described = self._answer(self._exchange(b"", until))

    def _exchange(self, line: bytes, until: float) -> bytes:
        """Write a line and read one, and be nobody's hostage at either."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise _Failed("it ended")
        left, parts, size = memoryview(line), [], 0
        with selectors.DefaultSelector() as waiting:
            for stream, event in (
                (process.stdin, selectors.EVENT_WRITE),
                (process.stdout, selectors.EVENT_READ),
            ):
                try:
                    os.set_blocking(stream.fileno(), False)
                    if event == selectors.EVENT_READ or left:
                        waiting.register(stream, event)
                except (ValueError, OSError):
                    raise _Failed("it ended") from None
            while True:
                left_of_time = until - self._monotonic()
                ready = waiting.select(left_of_time) if left_of_time > 0 else []
                if not ready:
                    raise _Failed("it did not answer in its time")
                for key, event in ready:
                    try:
                        if event & selectors.EVENT_WRITE:
                            left = left[os.write(key.fd, left[:65_536]) :]
                            if not left:
                                waiting.unregister(key.fileobj)
                            continue
                        part = os.read(key.fd, 1 << 20)
                    except BlockingIOError:
                        continue
                    except OSError:
                        raise _Failed("it ended in the middle of it") from None
                    size += len(part)
                    if not part:
                        raise _Failed("it ended in the middle of it")
                    if size > _ANSWER_BYTES:
                        raise _Failed("its answer is larger than is read")
                    parts.append(part)
                    if part.endswith(b"\n"):
                        return b"".join(parts)

    def _answer(self, line: bytes) -> Any:
        try:
            said = json.loads(line)
            if "answer" in said:
                return said["answer"]
            kind, words = str(said["error"])[:80], str(said["said"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise _Failed("what it says cannot be read") from None
        if kind == "ValueError" and not self._open_hearted and self._described:
            # The contract: what it raises for words that it does not take. It is well.
            self._breaker.answered()
            raise MinutebookError("invalid_input", f"{self._one.name} does not take what it was given.")
        # Its words may quote what it was given: they are told only where that was ours.
        raise _Failed(f"{kind}: {words}" if self._open_hearted else f"it raised {kind}")

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        process.wait()

    def _silent(self, why: str) -> MinutebookError:
        # While it is left alone the reason is the one that it failed for.
        said = f"{why}; last, {self._fault}" if "left alone" in why and self._fault else why
        return MinutebookError(
            "no_provider",
            f"The {self._one.kind} {self._one.name} cannot be used: {said}.",
            hint=f"minutebook providers show {self._one.name}",
        )


class _Failed(Exception):
    """What went wrong with a provider, in words that quote nobody."""

    def __init__(self, fault: str) -> None:
        super().__init__(fault)
        self.fault = fault
