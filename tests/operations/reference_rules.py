"""The ledger's rules in plain Python: no database, one project, words that never nearly match.

It is told each answer of the real ledger, takes the new ids from it, and says what the answer had to be. What
must be refused it raises as `Refused`, with the code.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.operations.reference import (
    Kept,
    Memory,
    Proposal,
    Refused,
    Ruling,
    Session,
    Words,
    number_in,
)

UNDOES = {
    "add": "retire", "update": "update", "supersede": "restore", "retire": "restore", "restore": "retire",
    "hold": "refuse", "refuse": "hold",
}  # fmt: skip


class Reference(Kept):
    """The model: one method for each operation."""

    # ── writing ────────────────────────────────────────────────────────────────────────────────────

    def own_request(self, who: str, slug: str) -> Proposal | None:
        mine = [p for p in self.proposals.values() if (p.requested, p.agent) == (slug, who)]
        named = [p for p in self.proposals.values() if (p.slug, p.agent) == (slug, who)]
        return mine[-1] if mine else named[0] if named else None

    def free_slug(self, who: str, slug: str, given: bool) -> str:
        taken = {proposal.slug for proposal in self.proposals.values()}
        if slug not in taken:
            return slug
        stem, mark = (f"{slug}--{who.lower()}", "--") if given else (slug, "-")
        number = 1
        while (name := stem if number == 1 else f"{stem}{mark}{number}") in taken:
            number += 1
        return name

    def write(
        self, who: str, words: Words, slug: str | None, answer: Any,
        *, target: str | None = None, propose: bool = False, amends: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        """Judge words, and hold, skip or accept them. The answer's fields that are foretold come back."""
        self.may(who, "agent")
        given = slug is not None
        name = slug if slug is not None else words.title.lower().replace(" ", "-")
        aimed = None if target is None else self.seen(who, target)
        mine = self.own_request(who, name) if given else None
        if mine is not None and amends and mine.status != "pending":
            mine = None  # a change to what stands does not reopen what was decided under its name
        if mine is not None and propose and mine.status != "pending":
            raise Refused("slug_decided")
        if aimed is not None and (aimed.status != "active" or aimed.words.governs != words.governs):
            raise Refused("bad_transition")
        identity = self.standing(words, name)
        known = aimed or (identity if given else None)
        if known is not None and not words.tags:
            words = replace(words, tags=known.words.tags)
        lifts = self.judge_tombstone(words, self.decides(who), who)
        said = self.said_already(words, aimed or identity)
        if said is not None:
            self.rule(answer.verdict, "skip", [])
            return {"memory": said.id, "op": "skip", "outcome": "known", "proposal": None, "id": None}
        alike = [
            p
            for p in self.proposals.values()
            if (p.agent, p.status, p.words.type, p.words.claim) == (who, "pending", words.type, words.claim)
        ]
        nothing_meant = not given and (aimed or identity) is None
        if alike and nothing_meant and (propose or not self.decides(who)):
            return self.unchanged(alike[0], answer)
        held: list[Any] = ["asked"] if propose else []
        if words.governs and not self.decides(who):
            held.append(("governs", words.type))
        op = "add"
        if known is not None:
            governs = known.words.governs or words.governs
            op = "supersede" if governs and not amends else "update"
            if known.author != who and not self.decides(who) and not known.words.governs:
                held.append(("author", known.slug, known.author))
        if held:
            return self.hold(who, words, name, given, mine, (op, known, tuple(held)), answer)
        effects, memory = self.accept(who, words, name, given, op, known, lifts, answer)
        self.rule(answer.verdict, op, effects, memory=memory.id)
        return {
            "op": op,
            "memory": memory.id,
            "slug": memory.slug,
            "revision": memory.revision,
            "proposal": None,
        }

    def judge_tombstone(self, words: Words, decides: bool, who: str) -> int | None:
        """The stone that a reviewer's act lifts; others are refused what was buried and does not stand."""
        stone = self.stone_on(words.claim, who)
        if stone is None or self.saying(words):
            return None
        if not self.decides(who):
            raise Refused("tombstoned")
        return stone

    def said_already(self, words: Words, meant: Memory | None) -> Memory | None:
        for memory in self.saying(words):
            if memory.words.governs != words.governs or meant not in (None, memory):
                continue
            if (meant is None and memory.words.type == words.type) or replace(
                memory.words, scope=words.scope
            ) == words:
                return memory
        return None

    def unchanged(self, proposal: Proposal, answer: Any) -> dict[str, Any]:
        self.rule(answer.verdict, "skip", [])
        foretold = {"op": "skip", "outcome": "unchanged", "slug": proposal.slug}
        return {**foretold, "proposal": proposal.id, "id": proposal.id, "memory": None}

    def hold(
        self, who: str, words: Words, name: str, given: bool, mine: Proposal | None, would: Any, answer: Any
    ) -> dict[str, Any]:
        if mine is not None and mine.status != "pending":
            raise Refused("slug_decided")
        op, aimed, held = would
        proposal = Proposal(
            id=mine.id if mine else (getattr(answer, "id", None) or answer.proposal),
            slug=mine.slug if mine else self.free_slug(who, name, given),
            requested=mine.requested if mine else name,
            agent=who,
            words=words,
            would=(op, aimed and aimed.id, held),
            base=aimed and aimed.id,
            base_revision=aimed and aimed.revision,
            revision=mine.revision if mine else 1,
        )
        if mine == proposal:
            return self.unchanged(proposal, answer)
        effect = ("proposal", proposal.id, "", "pending")
        if mine is not None:
            proposal = replace(proposal, revision=mine.revision + 1)
            effect = ("proposal", proposal.id, f"pending {mine.revision}", f"pending {proposal.revision}")
        assert mine is not None or proposal.id not in self.proposals
        self.proposals[proposal.id] = proposal
        self.rule(answer.verdict, "hold", [effect], proposal=proposal.id, words=words)
        outcome = "created" if mine is None else "updated"
        foretold = {
            "op": "hold",
            "outcome": outcome,
            "slug": proposal.slug,
            "requested_slug": proposal.requested,
        }
        return {**foretold, "proposal": proposal.id, "id": proposal.id, "memory": None}

    def accept(
        self, author: str, words: Words, name: str, given: bool, op: str, known: Memory | None,
        lifts: int | None, answer: Any, proposal: str | None = None,
    ) -> tuple[list[Any], Memory]:  # fmt: skip
        if op == "update" and known is not None:
            origin = proposal or known.proposal
            if known.words.content == words.content:
                author = known.author  # who changes the title has not written the words
            effects = [self.change(known, words=words, author=author, proposal=origin, successor=None)]
            memory = self.memories[known.id]
        else:
            slug = name if given or op == "supersede" else self.numbered(words, name)
            memory = Memory(getattr(answer, "memory", ""), slug, words, author, proposal=proposal)
            assert memory.id not in self.memories
            effects = []
            if op == "supersede" and known is not None:
                effects.append(self.change(known, status="superseded", successor=memory.id))
            self.store(memory)
            effects.append(("memory", memory.id, "0", "1"))
            if op == "supersede" and known is not None:
                effects += self.link(memory.id, known.id)
        if lifts is not None:
            effects.append(self.lift(lifts))
        return effects, memory

    def numbered(self, words: Words, name: str) -> str:
        number, slug = 1, name
        while self.standing(words, slug) is not None:
            number += 1
            slug = f"{name}-{number}"
        return slug

    # ── reviewing ──────────────────────────────────────────────────────────────────────────────────

    def stale(self, proposal: Proposal) -> bool:
        if proposal.base is None:
            return self.standing(proposal.words, proposal.slug) is not None
        base = self.memories[proposal.base]
        return base.status != "active" or base.revision != proposal.base_revision

    def promote(self, who: str, id: str, accept_stale: bool, answer: Any) -> dict[str, Any]:
        self.may(who, "coordinator")
        proposal = self.proposals[id]
        self.check_settling(who, proposal)
        if self.stale(proposal) and not accept_stale:
            raise Refused("stale_base")
        target = None if proposal.base is None else self.memories[proposal.base]
        while target is not None and target.successor is not None:
            target = self.memories[target.successor]
        if target is not None and target.status != "active":
            target = None
        words = proposal.words
        if target is not None and target.words.governs != words.governs:
            raise Refused("bad_transition")
        known = target or self.standing(words, proposal.slug)
        lifts = self.judge_tombstone(words, True, who)
        if self.said_already(words, known) is not None:
            raise Refused("exists")
        amends = proposal.would[0] == "update"
        op = "add" if known is None else "supersede" if words.governs and not amends else "update"
        effects, memory = self.accept(
            proposal.agent, words, proposal.slug, True, op, known, lifts, answer, proposal.id
        )
        self.proposals[id] = replace(proposal, status="merged", memory=memory.id)
        effects.insert(0, ("proposal", id, "pending", "merged"))
        self.rule(answer.verdict, op, effects, memory=memory.id, proposal=id, words=words)
        superseded = known.id if op == "supersede" and known is not None else None
        return {"op": op, "memory": memory.id, "superseded": superseded, "slug": proposal.slug}

    def check_settling(self, who: str, proposal: Proposal) -> None:
        if proposal.status != "pending":
            raise Refused("already_decided")
        if proposal.agent == who:
            raise Refused("own_proposal")

    def reject(self, who: str, id: str, answer: Any) -> dict[str, Any]:
        self.may(who, "coordinator")
        proposal = self.proposals[id]
        self.check_settling(who, proposal)
        return self.close(proposal, answer, bury=not self.saying(proposal.words))

    def withdraw(self, who: str, id: str, answer: Any) -> dict[str, Any]:
        self.may(who, "agent")
        proposal = self.proposals[id]
        if proposal.memory is not None and proposal.agent != who:
            self.seen(who, proposal.memory)
        if proposal.status != "pending":
            raise Refused("already_decided")
        if proposal.agent != who:
            raise Refused("other_agent")
        return self.close(proposal, answer, bury=False)

    def close(self, proposal: Proposal, answer: Any, *, bury: bool) -> dict[str, Any]:
        self.proposals[proposal.id] = replace(proposal, status="rejected")
        effects: list[Any] = [("proposal", proposal.id, "pending", "rejected")]
        if bury:
            effects.append(self.bury(proposal.words.claim, "rejected"))
        self.rule(answer.verdict, "refuse", effects, proposal=proposal.id)
        return {"slug": proposal.slug, "proposal": proposal.id}

    # ── changing what stands ───────────────────────────────────────────────────────────────────────

    def edit(
        self, who: str, id: str, title: str | None, content: str | None, revision: int | None, answer: Any
    ) -> dict[str, Any]:
        self.may(who, "agent")
        memory = self.seen(who, id)
        if revision not in (None, memory.revision):
            raise Refused("stale_revision")
        words = replace(
            memory.words, title=title or memory.words.title, content=content or memory.words.content
        )
        return self.write(who, words, memory.slug, answer, target=id, amends=True)

    def changeable(self, who: str, id: str) -> Memory:
        self.may(who, "agent")
        memory = self.seen(who, id)
        if not self.decides(who) and (memory.words.governs or memory.author != who):
            raise Refused("not_allowed")
        return memory

    def done(self, answer: Any, op: str, id: str, effects: list[Any]) -> dict[str, Any]:
        self.rule(answer.verdict, op, effects, memory=id)
        memory = self.memories[id]
        return {"op": op, "memory": id, "slug": memory.slug, "revision": memory.revision}

    def tag(self, who: str, id: str, tag: str, answer: Any, *, add: bool) -> dict[str, Any]:
        memory = self.changeable(who, id)
        tags = memory.words.tags
        tags = tuple(dict.fromkeys((*tags, tag))) if add else tuple(t for t in tags if t != tag)
        words = replace(memory.words, tags=tags)
        return self.done(answer, "update", id, [self.change(memory, words=words)])

    def retire(self, who: str, id: str, answer: Any) -> dict[str, Any]:
        memory = self.changeable(who, id)
        if memory.status != "active":
            raise Refused("bad_transition")
        # What an agent takes back binds that agent alone.
        # What an agent takes back binds that agent alone.
        agent = "" if self.decides(who) else who
        effects = [self.change(memory, status="retired"), self.bury(memory.words.claim, "retired", agent)]
        return self.done(answer, "retire", id, effects)

    def restore(self, who: str, id: str, answer: Any) -> dict[str, Any]:
        self.may(who, "coordinator")
        memory = self.seen(who, id)
        if memory.status != "retired":
            raise Refused("bad_transition")
        effects: list[Any] = []
        while (stone := self.stone_on(memory.words.claim, memory.author)) is not None:
            effects.append(self.lift(stone))
        effects.append(self.change(memory, status="active"))
        return self.done(answer, "restore", id, effects)

    def archive(self, who: str, id: str, answer: Any) -> dict[str, Any]:
        memory = self.changeable(who, id)
        if memory.status not in ("active", "superseded"):
            raise Refused("bad_transition")
        return self.done(answer, "retire", id, [self.change(memory, status="archived")])

    def supersede(self, who: str, id: str, by: str, answer: Any) -> dict[str, Any]:
        self.may(who, "agent")
        self.seen(who, id)
        successor = self.seen(who, by)
        old = self.changeable(who, id)
        later = successor
        chain = {later.id}
        while later.successor is not None:
            later = self.memories[later.successor]
            chain.add(later.id)
        if old.id in chain:
            raise Refused("cycle")
        if (old.status, successor.status) != ("active", "active"):
            raise Refused("bad_transition")
        if old.words.governs != successor.words.governs:
            raise Refused("bad_transition")
        effects = [self.change(old, status="superseded", successor=by), *self.link(by, id)]
        return self.done(answer, "supersede", id, effects)

    # ── undoing ────────────────────────────────────────────────────────────────────────────────────

    def revert(self, who: str, id: str, answer: Any) -> dict[str, Any]:
        self.may(who, "coordinator")
        ruling = self.rulings[id]
        if not ruling.effects:
            raise Refused("bad_transition")
        if ruling.reverted_by is not None:
            raise Refused("already_reverted")
        together = {ref for kind, ref, _, _ in ruling.effects if kind in ("memory", "proposal")}
        for effect in ruling.effects:
            if self.moved_on(effect, together):
                raise Refused("newer_stands")
        (new,) = answer.verdicts
        undone: list[Any] = []
        words = None
        reopens = any((kind, after) == ("proposal", "merged") for kind, _, _, after in ruling.effects)
        for kind, ref, before, after in reversed(ruling.effects):
            if kind == "memory":
                undone += self.put_back(self.memories[ref], before, bury=not reopens)
            elif kind == "proposal":
                effect, said = self.put_back_proposal(ruling, self.proposals[ref], before, after)
                undone.append(effect)
                words = said or words
            elif kind == "link":
                self.links.discard(ref)
                undone.append(("link", ref, "linked", "")) if after else undone.extend(self.link(*ref))
            elif after == "laid":
                undone += [] if self.stones[ref].lifted else [self.lift(ref)]
            else:
                self.stones[ref].lifted = False
                undone.append(("tombstone", ref, "lifted", "laid"))
        ruling.reverted_by = new
        if ruling.reverts is not None:
            self.rulings[ruling.reverts].reverted_by = None
        words_only = ruling.op == "hold" and ruling.effects[0][2].startswith("pending ")
        op = "hold" if words_only else UNDOES[ruling.op]
        subject = {"memory": ruling.memory, "proposal": ruling.proposal}
        self.rule(new, op, undone, reverts=id, words=words, **subject)
        return {"reverted": (id,), "applied": True}

    def moved_on(self, effect: tuple[str, Any, str, str], together: set[str]) -> bool:
        kind, ref, before, after = effect
        if kind == "memory":
            if self.stands(kind, ref, self.memories[ref].revision) != self.stands(kind, ref, int(after)):
                return True
            if before == "0":
                return False
            earlier = self.past[ref, int(before)]
            standing = self.standing(earlier.words, earlier.slug)
            return earlier.status == "active" and standing is not None and standing.id not in together
        if kind == "proposal":
            proposal = self.proposals[ref]
            status, _, revision = after.partition(" ")
            now, then = proposal.revision, int(revision or 1)
            changed = status == "pending" and self.stands(kind, ref, now) != self.stands(kind, ref, then)
            return proposal.status != status or changed
        return False

    def stands(self, kind: str, ref: str, revision: int) -> int:
        """The revision whose state this one has: what a revert made has that of an earlier one."""
        while (undone := self.undone_by_maker_of(kind, ref, revision)) is not None:
            revision = undone
        return revision

    def undone_by_maker_of(self, kind: str, ref: str, revision: int) -> int | None:
        for ruling in self.rulings.values():
            for of, what, before, after in ruling.effects:
                if (of, what, number_in(after)) != (kind, ref, revision) or number_in(before) is None:
                    continue
                if ruling.reverts is None:
                    return None
                effects = self.rulings[ruling.reverts].effects
                return next(number_in(before) for _, what, before, _ in effects if what == ref)
        return None

    def put_back(self, memory: Memory, before: str, *, bury: bool) -> list[Any]:
        if before == "0":
            # A proposal that waits again has no memory.
            origin = memory.proposal if bury else None
            effects: list[Any] = [self.change(memory, status="retired", proposal=origin)]
            return [*effects, self.bury(memory.words.claim, "retired")] if bury else effects
        earlier = self.past[memory.id, int(before)]
        self.store(replace(earlier, revision=memory.revision + 1))
        return [("memory", memory.id, str(memory.revision), str(memory.revision + 1))]

    def put_back_proposal(
        self, ruling: Ruling, proposal: Proposal, before: str, after: str
    ) -> tuple[tuple[str, str, str, str], Words | None]:
        if after in ("merged", "rejected"):
            self.proposals[proposal.id] = replace(proposal, status="pending", memory=None)
            return ("proposal", proposal.id, after, f"pending {proposal.revision}"), None
        if before in ("", "merged", "rejected"):
            status = before or "rejected"
            memory = ruling.memory if status == "merged" else None
            self.proposals[proposal.id] = replace(proposal, status=status, memory=memory)
            return ("proposal", proposal.id, "pending", status), None
        older = [r for r in self.before(ruling) if r.proposal == proposal.id and r.words is not None]
        put = replace(proposal, words=older[-1].words or proposal.words, revision=proposal.revision + 1)
        self.proposals[proposal.id] = put
        revisions = (f"pending {proposal.revision}", f"pending {put.revision}")
        return ("proposal", proposal.id, *revisions), put.words

    def before(self, ruling: Ruling) -> list[Ruling]:
        every = list(self.rulings.values())
        return every[: every.index(ruling)]

    # ── sessions ───────────────────────────────────────────────────────────────────────────────────

    def start(self, who: str, name: str | None, focus: str, answer: Any) -> dict[str, Any]:
        self.may(who, "agent")
        if any(session.name == name for session in self.sessions):
            raise Refused("exists")
        for session in self.sessions:
            session.open = False
        self.sessions.append(Session(name or answer.id, focus))
        return {"focus": focus, "ended_at": None}

    def current(self) -> Session:
        opened = [session for session in self.sessions if session.open]
        if not opened:
            raise Refused("not_found")
        return opened[0]

    def update(self, who: str, append: str, answer: Any, *, close: bool) -> dict[str, Any]:
        self.may(who, "agent")
        session = self.current()
        session.summary = f"{session.summary}\n{append}" if session.summary else append
        session.open = not close
        return {"summary": session.summary, "session": session.name}
