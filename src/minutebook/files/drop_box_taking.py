"""The drop-box: a letter that somebody laid there becomes a proposal for each entry in it.

What a letter says is judged like any proposal, in one transaction with the note that its bytes were read: the same
bytes are never proposed twice. A letter that was taken in whole, and is kept as a source byte by byte, is ours from
then on, and the mirror shows its proposals in its place. Every other one stays where it is, and is listed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from minutebook.controller.write import write
from minutebook.files.entries import Entry, Parsed
from minutebook.files.hands import NOBODY, Hands, call_of, tried, written
from minutebook.files.mirror_documents import INBOX
from minutebook.files.mirror_rules import has_conflict_marks
from minutebook.files.note_folders import is_text, nameless
from minutebook.files.note_writing import facts_text
from minutebook.files.place import Means, Place, enter
from minutebook.files.reading import parse
from minutebook.files.safe import Found, Named, Root, Sort
from minutebook.files.safe_writing import is_ours
from minutebook.ledger import inbox, letters, manifest, notes, readings, sources
from minutebook.ledger.database import Tx
from minutebook.ledger.readings import Reading
from minutebook.model.actors import Actor, Origin
from minutebook.model.candidates import Candidate
from minutebook.model.errors import MinutebookError
from minutebook.model.evidence import Evidence, EvidenceKind
from minutebook.model.files import FileDone, FileKind, FileLine, FileState, Wish, WrittenFile
from minutebook.model.inbox import Proposal, ProposalStatus
from minutebook.model.memories import DEFAULT_SCOPE, Type
from minutebook.model.scopes import Scope, ScopeKind
from minutebook.model.text import canonical_slug, fold_tag, plain, slug_from
from minutebook.model.times import moment_of
from minutebook.model.verdicts import Outcome
from minutebook.policy.screening import Family, Tier, screen

#: What is read of one letter at most.
MOST_LETTER_BYTES = 1024 * 1024
#: Entries of one letter that are proposed; a longer file is a ledger, and is adopted.
MOST_ENTRIES = 50
#: Proposals of files that may wait in one project; letters beyond them wait in their folder.
MOST_WAITING = 2_000


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter as it was read."""

    path: str
    found: Found
    parsed: Parsed
    before: Reading | None
    #: proposals that this file made, or shows
    own: tuple[str, ...] = ()


class DropBoxPart:
    """Takes in the letters of any workspace. One pass at a time for each of them."""

    def __init__(self, person: str) -> None:
        self._hands = Hands(person)
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def settle(self, means: Means, place: Place, wish: Wish) -> Sequence[FileDone]:
        return self.run(means, place)

    def run(
        self, means: Means, place: Place, *, forced: frozenset[str] = frozenset(), rest: float = 0.0
    ) -> list[FileDone]:
        """One pass. A letter that was written to within the last `rest` seconds is left for the next one."""
        with self._guard:
            lock = self._locks.setdefault(place.part, threading.Lock())
        with lock:
            root, binding = enter(place)
            with root:
                if not binding.mirror:
                    return []
                return _Pass(means, place, root, self._hands, forced, rest).run()

    def look(self, means: Means, place: Place, *, settled: bool = False) -> Sequence[FileLine]:
        root, binding = enter(place)
        with root:
            if not binding.mirror:
                return ()
            return _Pass(means, place, root, self._hands, frozenset(), 0.0).look()


class _Pass:
    def __init__(
        self, means: Means, place: Place, root: Root, hands: Hands, forced: frozenset[str], rest: float
    ) -> None:
        self._means = means
        self._place = place
        self._root = root
        self._hands = hands
        self._forced = forced
        self._rest = rest
        self._done: list[FileDone] = []

    def run(self) -> list[FileDone]:
        named = {f"{INBOX}/{one.name}": one for one in self._root.names(INBOX) or () if is_letter(one)}
        with self._means.database.read() as tx:
            known = readings.of_root(tx, self._place.host, self._place.root, FileKind.LETTER)
            rows = manifest.of_root(tx, self._place.host, self._place.root, (FileKind.INBOX,))
            team = notes.agents(tx, self._place.project) if named else []
        ours = {row.path: row for row in rows}
        for path, one in named.items():
            try:
                self._read(path, one, ours.get(path), known.get(path), team)
            except MinutebookError as error:
                if error.code == "ledger_closed":
                    raise
                self._done.append(FileDone(path=path, kind=FileKind.LETTER, done="failed", why=error.message))
        gone = [path for path in known if path not in named]
        if gone:
            self._means.database.write(self._place.project, lambda tx: self._forget(tx, gone))
        return self._done

    def _forget(self, tx: Tx, paths: Sequence[str]) -> None:
        for path in paths:
            readings.drop(tx, self._place.host, self._place.root, path)

    def _read(
        self, path: str, one: Named, ours: WrittenFile | None, before: Reading | None, team: list[str]
    ) -> None:
        seen = before is not None and before.facts == facts_text(one.facts) and path not in self._forced
        if seen and one.sort is Sort.FILE and not self._tries_again(before):
            return
        try:
            found = self._root.read(path, most=MOST_LETTER_BYTES)
        except MinutebookError as error:
            self._leave(path, error, digest=f"unread {facts_text(one.facts)}", facts="", before=before)
            return
        if found is None:
            return
        if self._is_being_written(found):
            self._done.append(
                FileDone(path=path, kind=FileKind.LETTER, done="rests", why="it was just written to")
            )
            return
        if before is not None and before.digest == found.sha256 and not self._tries_again(before):
            return
        if self._is_mirrored(path, ours, found):
            if ours is None:
                self._claim(path, found)
            return
        try:
            if has_conflict_marks(found.data):
                raise MinutebookError("bad_file", "A merge left both sides in it; choose one.")
            parsed = parse(path, found.data, team=team)
            if not parsed.entries:
                doubt = parsed.doubts[0] if parsed.doubts else None
                why = "It holds nothing that could be a proposal." if doubt is None else doubt.reason
                line = 1 if doubt is None else doubt.line
                raise MinutebookError("bad_file", f"Line {line}: {why}", line=line)
            if len(parsed.entries) > MOST_ENTRIES:
                raise MinutebookError(
                    "too_many",
                    f"It holds {len(parsed.entries)} entries; a letter has {MOST_ENTRIES} at most.",
                )
        except MinutebookError as error:
            self._leave(path, error, digest=found.sha256, facts=facts_text(found.facts), before=before)
            return
        own = before.proposals if before is not None else ()
        letter = Letter(
            path, found, parsed, before, own or ((ours.ref,) if ours is not None and ours.ref else ())
        )
        self._done.append(self._means.database.write(self._place.project, lambda tx: self._taken(tx, letter)))

    def _is_being_written(self, found: Found) -> bool:
        """Whether somebody may still be at it: what they write after we took it would be written into nothing."""
        if not self._rest:
            return False
        age = moment_of(self._means.world.clock()).timestamp() - found.facts.changed_ns / 1e9
        return 0 <= age < self._rest

    def _tries_again(self, before: Reading | None) -> bool:
        """A letter that had to wait for room in the inbox is looked at again."""
        return before is not None and before.state is FileState.WAITING

    def _is_mirrored(self, path: str, ours: WrittenFile | None, found: Found) -> bool:
        """Whether a file shows a proposal as we wrote it, now or once; or one that a hand may not change."""
        with self._means.database.read() as tx:
            if manifest.knows(tx, self._place.project, path, found.sha256):
                return True
            shown = inbox.get(tx, ours.ref) if ours is not None and ours.ref else None
        if shown is None:
            return False
        # Who wrote a letter may write it again; what was proposed by other ways is not changed by a file.
        return shown.origin != Origin.FILE or shown.status is not ProposalStatus.PENDING

    def _claim(self, path: str, found: Found) -> None:
        """What another workspace wrote or took in, and git brought here, is ours here too: the mirror sees to it."""

        def work(tx: Tx) -> None:
            made = letters.proposals_of(tx, self._place.project, found.sha256)
            manifest.put(tx, self._row(path, found, made))

        self._means.database.write(self._place.project, work)
        self._done.append(
            FileDone(path=path, kind=FileKind.LETTER, done="read", why="it was taken in before")
        )

    def _row(self, path: str, found: Found, made: Sequence[Proposal]) -> WrittenFile:
        return WrittenFile(
            host=self._place.host,
            root=self._place.root,
            path=path,
            project=self._place.project,
            kind=FileKind.INBOX,
            ref=made[0].id if made else "",
            digest=found.sha256,
            seq=made[0].seq if made else 0,
            at=self._means.world.clock(),
        )

    def _leave(
        self, path: str, error: MinutebookError, *, digest: str, facts: str, before: Reading | None
    ) -> None:
        if before is not None and (before.state, before.digest) == (FileState.UNREADABLE, digest):
            return
        line = error.details.get("line")
        reading = self._reading(path, digest, facts, FileState.UNREADABLE)
        reading = replace(
            reading,
            why=error.message,
            advice="mend the file, or move it elsewhere",
            line=line if isinstance(line, int) else None,
        )
        self._means.database.write(self._place.project, lambda tx: readings.put(tx, reading))
        self._done.append(FileDone(path=path, kind=FileKind.LETTER, done="left", why=error.message))

    def _reading(self, path: str, digest: str, facts: str, state: FileState) -> Reading:
        return Reading(
            host=self._place.host,
            root=self._place.root,
            path=path,
            project=self._place.project,
            kind=FileKind.LETTER,
            digest=digest,
            facts=facts,
            state=state,
            at=self._means.world.clock(),
        )

    # --- in the transaction ---

    def _taken(self, tx: Tx, letter: Letter) -> FileDone:
        """Propose every entry of a letter, keep it whole, and note that it was read."""
        now = readings.get(tx, self._place.host, self._place.root, letter.path)
        if now != letter.before and now is not None and now.digest == letter.found.sha256:
            return FileDone(path=letter.path, kind=FileKind.LETTER, done="read", why=now.why)
        known = letters.proposals_of(tx, self._place.project, letter.found.sha256)
        if known and all(proposal.status is not ProposalStatus.REJECTED for proposal in known):
            return self._noted(tx, letter, known, why="it was taken in before")
        if letters.waiting(tx, self._place.project) + len(letter.parsed.entries) > MOST_WAITING:
            return self._waits(tx, letter)
        source = self._kept(tx, letter) if self._fit_to_keep(tx, letter) else None
        proposed: list[Proposal] = []
        refused: list[tuple[Entry, MinutebookError]] = []
        told: list[str] = []
        for number, entry in enumerate(letter.parsed.entries):
            done = written(
                tx, lambda number=number, entry=entry: self._submit(tx, letter, number, entry, source)
            )
            if isinstance(done, MinutebookError):
                refused.append((entry, done))
                continue
            told.append(f"{done.op} {done.slug}")
            proposal = inbox.get(tx, done.proposal) if done.proposal is not None else None
            if proposal is not None:
                proposed.append(proposal)
        if refused:
            return self._refused(tx, letter, proposed, refused)
        if source is None:
            return self._stays(tx, letter, proposed)
        return self._noted(tx, letter, proposed, why=", ".join(told))

    def _fit_to_keep(self, tx: Tx, letter: Letter) -> bool:
        """Whether the whole letter may lie in the ledger: it is text, holds no secret, and nothing of it is refused."""
        text = _text_of(letter.found.data)
        if text is None or any(_is_secret(text)):
            return False

        def all_taken() -> bool:
            for number, entry in enumerate(letter.parsed.entries):
                self._submit(tx, letter, number, entry, None)
            return True

        return tried(tx, all_taken) is True

    def _kept(self, tx: Tx, letter: Letter) -> str:
        text = _text_of(letter.found.data)
        assert text is not None
        material = sources.Material(
            project=self._place.project,
            kind="document",
            title=letter.path.rpartition("/")[2],
            content=text,
            locator=letter.path,
            capture_mode="drop-box",
        )
        author = self._author(tx, letter.parsed.entries[0])
        world = self._means.world
        return sources.keep(tx, world.ids.new(), material, by=author.id, at=world.clock())[0]

    def _author(self, tx: Tx, entry: Entry) -> Actor:
        return self._hands.named(tx, entry.author, self._place.project)

    def _submit(self, tx: Tx, letter: Letter, number: int, entry: Entry, source: str | None) -> Outcome:
        actor = self._author(tx, entry)
        call = call_of(tx, self._means, self._place, actor)
        return write(call, self._candidate(tx, letter, number, entry, source, actor))

    def _candidate(
        self, tx: Tx, letter: Letter, number: int, entry: Entry, source: str | None, actor: Actor
    ) -> Candidate:
        text = entry.text if plain(entry.text).strip() else entry.title
        title = entry.title or text.strip().partition("\n")[0][:200]
        slug, given = self._slug(tx, letter, number, entry, actor)
        # A source stays as it is, where the file itself will give way to its mirrored form.
        kind, ref = (EvidenceKind.FILE, letter.path) if source is None else (EvidenceKind.SOURCE, source)
        span = f"{entry.span.first}-{entry.span.last}"
        return Candidate(
            scope=_scope_of(entry.type, self._place.project, actor),
            type=entry.type,
            title=title,
            content=text,
            slug=slug,
            slug_given=given,
            rationale=entry.rationale,
            tags=tuple(dict.fromkeys(fold_tag(tag) for tag in entry.tags)),
            evidence=(Evidence(kind, ref, span, entry.span.digest),),
            source=source,
            propose=True,
        )

    def _slug(self, tx: Tx, letter: Letter, number: int, entry: Entry, actor: Actor) -> tuple[str, bool]:
        """The slug that a letter asks for; that of its own proposal when it is sent again, and never another's."""
        project = self._place.project
        mine = inbox.get(tx, letter.own[number]) if number < len(letter.own) else None
        if mine is not None and mine.status is ProposalStatus.PENDING and mine.agent == actor.id:
            return mine.requested_slug, True
        slug = slug_from(entry.title, entry.text)
        if entry.slug and number == 0:
            slug = _canonical(entry.slug) or slug
        taken = inbox.by_request(tx, project, slug, actor.id) or inbox.by_slug(tx, project, slug)
        return slug, taken is None or taken.agent != actor.id

    # --- what came of it ---

    def _noted(self, tx: Tx, letter: Letter, proposals: Sequence[Proposal], why: str) -> FileDone:
        """Taken in whole, and kept: the file is ours, and the mirror shows what became of it."""
        manifest.put(tx, self._row(letter.path, letter.found, proposals))
        self._put(tx, letter, FileState.IN_STEP, proposals, why="")
        return FileDone(path=letter.path, kind=FileKind.LETTER, done="read", why=why)

    def _stays(self, tx: Tx, letter: Letter, proposals: Sequence[Proposal]) -> FileDone:
        rules = sorted(set(_is_secret(_text_of(letter.found.data) or "")))
        why = "It was read, and stays where it is: it cannot be kept as it is"
        why += f" ({', '.join(rules)})." if rules else "."
        self._put(tx, letter, FileState.REFUSED, proposals, why=why, advice="remove it when it is settled")
        return FileDone(path=letter.path, kind=FileKind.LETTER, done="read", why=why)

    def _waits(self, tx: Tx, letter: Letter) -> FileDone:
        why = f"{MOST_WAITING:,} proposals of files wait already; it is read when some of them are decided."
        self._put(tx, letter, FileState.WAITING, (), why=why, advice="minutebook inbox list")
        return FileDone(path=letter.path, kind=FileKind.LETTER, done="waits", why=why)

    def _refused(
        self,
        tx: Tx,
        letter: Letter,
        proposed: Sequence[Proposal],
        refused: Sequence[tuple[Entry, MinutebookError]],
    ) -> FileDone:
        entry, error = refused[0]
        why = error.message
        if len(refused) + len(proposed) > 1:
            why = f"{len(refused)} of {len(letter.parsed.entries)} entries were not taken: {why}"
        self._put(tx, letter, FileState.REFUSED, proposed, why=why, line=entry.span.first)
        return FileDone(path=letter.path, kind=FileKind.LETTER, done="left", why=why)

    def _put(
        self,
        tx: Tx,
        letter: Letter,
        state: FileState,
        proposals: Sequence[Proposal],
        *,
        why: str,
        advice: str = "",
        line: int | None = None,
    ) -> None:
        reading = self._reading(letter.path, letter.found.sha256, facts_text(letter.found.facts), state)
        ids = tuple(proposal.id for proposal in proposals)
        readings.put(tx, replace(reading, why=why, advice=advice, line=line, proposals=ids))

    # --- telling ---

    def look(self) -> list[FileLine]:
        found = self._root.names(INBOX) or ()
        named = [one for one in found if is_letter(one)]
        lines: list[FileLine | None] = []
        with self._means.database.read() as tx:
            known = readings.of_root(tx, self._place.host, self._place.root, FileKind.LETTER)
            rows = {
                row.path: row
                for row in manifest.of_root(tx, self._place.host, self._place.root, (FileKind.INBOX,))
            }
            for one in named:
                path = f"{INBOX}/{one.name}"
                reading, row = known.get(path), rows.get(path)
                if reading is not None and reading.facts == facts_text(one.facts):
                    if reading.state is not FileState.IN_STEP:
                        lines.append(_line_of(reading))
                elif row is None:
                    lines.append(self._unread(tx, path, reading))
        lines += [nameless(f"{INBOX}/{one.name}", FileKind.LETTER) for one in found if not is_text(one.name)]
        return [line for line in lines if line is not None]

    def _unread(self, tx: Tx, path: str, reading: Reading | None) -> FileLine | None:
        """A file that was not read as it is now; what we once wrote is none."""
        try:
            found = self._root.read(path, most=MOST_LETTER_BYTES)
        except MinutebookError as error:
            return FileLine(path, FileKind.LETTER, FileState.UNREADABLE, error.message)
        if found is None or manifest.knows(tx, self._place.project, path, found.sha256):
            return None
        if reading is not None and reading.digest == found.sha256:
            return None if reading.state is FileState.IN_STEP else _line_of(reading)
        return FileLine(path, FileKind.LETTER, FileState.LATE, "it is not read yet", "minutebook files sync")


def is_letter(named: Named) -> bool:
    """Whether a name in the drop-box is that of a letter: a folder is none, nor what editors leave lying."""
    name = named.name
    return (
        name.endswith(".md")
        and is_text(name)
        and not name.startswith((".", "_", "#"))
        and not is_ours(name)
        and named.sort is not Sort.FOLDER
    )


def _line_of(reading: Reading) -> FileLine:
    return FileLine(reading.path, FileKind.LETTER, reading.state, reading.why, reading.advice, reading.line)


def _scope_of(type: Type, project: str, actor: Actor) -> Scope:
    """Where an accepted letter would live: with its agent what is an agent's own, else in the project."""
    if DEFAULT_SCOPE[type] is ScopeKind.AGENT and actor.id != NOBODY.id:
        return Scope.of_agent(project, actor.id)
    return Scope.of_project(project)


def _text_of(data: bytes) -> str | None:
    """The bytes as text that gives back the same bytes from either database; None where that cannot be."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _is_secret(text: str) -> list[str]:
    """The rules by which a text must not be kept."""
    return [
        finding.rule
        for finding in screen({"content": text})
        if finding.tier is Tier.REFUSE and finding.family is Family.SECRET
    ]


def _canonical(slug: str) -> str | None:
    try:
        return canonical_slug(slug)
    except MinutebookError:
        return None  # a name of which nothing is left as a slug; the title gives one
