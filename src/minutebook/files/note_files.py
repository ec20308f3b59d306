"""One note a file, with front matter: our own notes, AGH's, and the records of Squad's governed memory."""

from __future__ import annotations

from minutebook.files.dates import date_in
from minutebook.files.document import Document
from minutebook.files.entries import Certainty, Dialect, Doubt, Draft, Kind, Parsed, assemble
from minutebook.files.foreign_matter import read_foreign
from minutebook.files.headings import headline
from minutebook.files.ledgers import trimmed
from minutebook.model.errors import MinutebookError
from minutebook.model.memories import Type, parse_type

#: The classes of Squad's governed memory.
_CLASSES = {"local": Type.LEARNING, "policy": Type.PROCESS, "decision": Type.TECHNICAL}


def parse_note(document: Document, path: str) -> Parsed:
    """Read a note that another tool wrote. Our own are read strictly, by `read_note` in render.py."""
    matter = read_foreign(document.lines)
    stem = path.rpartition("/")[2].removesuffix(".md")
    if matter is None:
        return assemble(
            document, Dialect.NOTE, [], doubts=[Doubt(1, "The file has no front matter that ends.")]
        )
    text = trimmed(document.lines[matter.last :])
    said = matter.one("type") or (matter.one("class") or "").casefold()
    doubts: list[Doubt] = []
    try:
        of_type, certainty = _CLASSES.get(said) or parse_type(said), Certainty.SAID
    except MinutebookError:
        of_type, certainty = Type.PROJECT, Certainty.GUESSED
        doubts.append(
            Doubt(1, f"There is no type {said[:40]!r}." if said else "The front matter has no type.")
        )
    if not text:
        kinds = dict.fromkeys(range(matter.last), Kind.MATTER)
        doubts.append(Doubt(matter.last, "There is nothing below the front matter."))
        return assemble(document, Dialect.NOTE, [], kinds=kinds, doubts=doubts)
    name = matter.one("title", "name")
    draft = Draft(
        0,
        len(document.lines) - 1,
        name or headline(text),
        text,
        of_type,
        certainty,
        # AGH's `source_actor` is a door (cli, tool, …), not a person: it names no author.
        authors=tuple(filter(None, [matter.one("agent", "author")])),
        date=date_in(
            matter.one(
                "provenance.updated_at", "provenance.created_at", "updated_at", "created_at", "createdat"
            )
            or ""
        ),
        slug=_slug(stem, said),
        tags=matter.many("tags"),
        fields=[(key, value) for key, values in matter.values.items() for value in values],
    )
    return assemble(document, Dialect.NOTE, [draft], doubts=doubts)


def _slug(stem: str, said: str) -> str:
    """The name of the file without the type with which AGH begins it."""
    bare = stem.removeprefix(f"{said}_") if said else stem
    return bare.replace("_", "-") or stem
