"""What an adoption says of itself: what was found by kind, what becomes of it, what needs a look, how to go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from minutebook.model.adoption import Adopted, PieceLine, Remark, Sheet, SheetGroup, SheetLine, Survey
from minutebook.model.counting import counted
from minutebook.operations.adopting import Item, Plan

#: Remarks and left-out files that an answer lists; it tells the number of all.
_LISTED = 12
#: What each way of reading is called.
_READ_AS = {
    "ledger": "decision ledger", "history": "agents' histories", "charter": "agents' charters", "drop-box": "drop-box",
    "focus": "current focus", "wisdom": "shared patterns", "adr": "decision records", "note": "notes",
    "instructions": "instructions to agents", "basic-memory": "observations", "knowledge-graph": "entities",
    "mirror": "written by minutebook", "raw": "kept whole, not read",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """Says what was found and what becomes of it, before and after."""

    plan: Plan
    activate: bool
    #: the command that asked
    again: str

    def told(
        self, items: Sequence[Item], *, pieces: bool, applied: bool = False, id: str | None = None
    ) -> Adopted:
        survey = self.plan.survey
        becomes = Counter(item.becomes for item in items)
        uncertain = list(_uncertain(survey, items))
        files = [_line(sheet, items) for sheet in survey.sheets]
        history = sum(
            item.piece.accepted and not item.piece.withheld and item.becomes != "known" for item in items
        )
        return Adopted(
            applied=applied,
            sentence=self._sentence(items, becomes, applied=applied, uncertain=len(uncertain)),
            root=survey.root,
            id=id,
            groups=tuple(_groups(files)) if not applied or self._new(becomes) else (),
            files=tuple(files),
            entries=len(items),
            becomes=dict(sorted(becomes.items())),
            history=history,
            uncertain=tuple(uncertain[:_LISTED]),
            uncertain_count=len(uncertain),
            secrets=tuple(
                Remark(f"{sheet.path}:{mark.line}", f"{mark.what}: the line is not kept")
                for sheet in survey.sheets
                for mark in sheet.secrets
            ),
            left_out=survey.left_out[:_LISTED],
            left_out_count=len(survey.left_out),
            pieces=tuple(_piece(item) for item in items) if pieces else (),
            next_steps=self._after(becomes, id) if applied else self._before(becomes, history),
        )

    def _sentence(
        self, items: Sequence[Item], becomes: Counter[str], *, applied: bool, uncertain: int
    ) -> str:
        survey = self.plan.survey
        if not survey.sheets:
            return f"Nothing to adopt was found in {survey.root}."
        if applied and not self._new(becomes):
            return f"Nothing new: all of {survey.root} that can be adopted is known already."
        found = f"{counted(len(items), 'entry', 'entries')} in {counted(len(survey.sheets), 'file', 'files')}"
        words = {
            "proposed": "wait in the inbox" if applied else "would wait in the inbox",
            "active": "are active now" if applied else "would be active at once",
            "archived": "were let in and archived" if applied else "would be let in and archived",
            "known": "are known already",
            "kept": "stay lines of their files",
            "refused": "were refused",
        }
        parts = [_so_many(becomes[name], said) for name, said in words.items() if becomes[name]]
        parts = parts or ["no entries"]
        new = len(self.plan.new_files)
        one = new == 1
        are = ("is" if one else "are") if applied else "would be"
        kept = f"{new:,} of the files {are} kept as {'a new source' if one else 'new sources'}"
        told = f"{'Adopted' if applied else 'Found'} {found} of {survey.root}: {', '.join(parts)}; {kept}."
        if uncertain:
            told += f" {uncertain:,} need{'s' if uncertain == 1 else ''} a look."
        if not applied:
            told += " Nothing was written."
            if self.plan.interrupted:
                told += " An adoption from here was interrupted: to confirm goes on with it."
        return told

    def _new(self, becomes: Counter[str]) -> bool:
        return bool(self.plan.new_files or becomes.keys() - {"known", "kept"})

    def _before(self, becomes: Counter[str], history: int) -> str:
        new = becomes["proposed"] + becomes["active"] + becomes["archived"]
        steps = []
        if self.plan.new_files or new or self.plan.interrupted:
            steps.append((f"{self.again} --confirm", "keep the files; every entry waits in the inbox"))
        if history:
            # Up to so many: what the judge holds is known when each is written.
            entries = counted(history, "entry", "entries")
            said = f"the same, and up to {entries} of accepted history let in at once, what is judged sound"
            steps.append((f"{self.again} --confirm --activate", said))
        if new:
            steps.append((f"{self.again} --pieces", "list every entry, and what becomes of it"))
        return _listed(steps[1:] if self.activate and history else steps)

    def _after(self, becomes: Counter[str], id: str | None) -> str:
        if id is None or not becomes["proposed"]:
            return ""
        return _listed(
            [
                (f"minutebook adoptions show {id}", "the entries, and what became of each"),
                (
                    f"minutebook adoptions accept {id} --confirm",
                    "promote all that waits; --path takes one file's",
                ),
                (f"minutebook adoptions reject {id} REASON --confirm", "close all that waits"),
            ]
        )


def _groups(files: Sequence[SheetLine]) -> Iterator[SheetGroup]:
    """The files by how they were read, what holds most entries first."""
    alike: dict[tuple[str, str], list[SheetLine]] = {}
    for file in files:
        alike.setdefault((file.form, file.read_as), []).append(file)
    for (form, read_as), some in sorted(
        alike.items(), key=lambda pair: -sum(file.entries for file in pair[1])
    ):
        yield SheetGroup(
            what=f"{form}: {_READ_AS.get(read_as, read_as)}" if read_as != form else _READ_AS[read_as],
            files=len(some),
            entries=sum(file.entries for file in some),
            new=sum(file.new for file in some),
            authors=sum(file.authors for file in some),
            dates=sum(file.dates for file in some),
            guessed=sum(file.guessed for file in some),
            loose_lines=sum(file.loose_lines for file in some),
            first=some[0].path,
        )


def _line(sheet: Sheet, items: Iterable[Item]) -> SheetLine:
    own = [item for item in items if item.sheet is sheet]
    return SheetLine(
        path=sheet.path,
        form=sheet.form,
        read_as=sheet.dialect,
        entries=len(own),
        new=sum(item.becomes not in ("known", "kept") for item in own),
        authors=sum(bool(item.piece.authors) for item in own),
        dates=sum(item.piece.date is not None for item in own),
        guessed=sum(item.piece.certainty == "guessed" for item in own),
        loose_lines=sheet.loose,
        bytes=len(sheet.data),
    )


def _piece(item: Item) -> PieceLine:
    piece = item.piece
    return PieceLine(
        where=item.where,
        type=piece.type,
        certainty=piece.certainty,
        author=", ".join(piece.authors) or None,
        date=piece.date,
        title=item.candidate.title if item.candidate is not None else piece.title,
        becomes=item.becomes,
        why=item.why,
        slug=item.slug,
    )


def _uncertain(survey: Survey, items: Iterable[Item]) -> Iterator[Remark]:
    """What a person should look at: what a parser doubts, what is kept alone, and entries that nobody signed."""
    for sheet in survey.sheets:
        for mark in sheet.doubts:
            yield Remark(f"{sheet.path}:{mark.line}", mark.what)
    for item in items:
        if item.becomes == "known":
            continue
        if item.becomes in ("kept", "refused"):
            yield Remark(item.where, item.why)
        elif item.becomes == "proposed" and item.why:
            yield Remark(item.where, f"waits: {item.why}")
        elif not item.piece.authors and not item.piece.date and item.piece.certainty == "guessed":
            yield Remark(item.where, f"no author, no date, and {item.piece.type} is a guess")


_OF_ONE = {"wait": "waits", "are": "is", "were": "was", "stay": "stays"}


def _so_many(number: int, said: str) -> str:
    """So many entries and what becomes of them; the verb, which comes first, is that of the number."""
    verb, _, rest = said.partition(" ")
    return f"{number:,} {_OF_ONE.get(verb, verb) if number == 1 else verb} {rest}"


def _listed(steps: Sequence[tuple[str, str]]) -> str:
    """Commands, and below each what it is for."""
    return "\n".join(f"{command}\n  {said}" for command, said in steps)
