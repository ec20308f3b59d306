"""Reading an archive from anywhere: members only, no path is ever extracted, all is checked before use."""

from __future__ import annotations

import hashlib
import json
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from minutebook.ledger.archive import FORMAT, MANIFEST, VERSION, Manifest, Member, Table, file_error, tables
from minutebook.ledger.database import Row
from minutebook.ledger.plain import load_effects, load_evidence, load_state, load_tags, load_trace, load_would
from minutebook.ledger.runs import load_report
from minutebook.ledger.snapshots import load_bundle
from minutebook.model.errors import MinutebookError


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How much an archive may ask of us."""

    member_bytes: int = 4 * 1024**3  # one table, unpacked
    total_bytes: int = 8 * 1024**3  # all of them
    line_bytes: int = 32 * 1024**2  # one row
    manifest_bytes: int = 256 * 1024
    ratio: int = 200  # unpacked to packed, for members of more than a megabyte
    ratio_from: int = 1024**2


#: What reading a file that is no ZIP, or a broken one, may raise.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,
    RuntimeError,
    NotImplementedError,
    KeyError,
    TypeError,
    RecursionError,
    OverflowError,
    struct.error,
    OSError,  # an offset that points to nowhere
)
_INTEGERS = range(-(2**63), 2**63)


class Archive:
    """An archive that was read once from end to end and is what it says."""

    def __init__(self, file: zipfile.ZipFile, manifest: Manifest, limits: ArchiveLimits) -> None:
        self._file = file
        self.manifest = manifest
        self._limits = limits

    def rows(self, table: Table) -> Iterator[Row]:
        """The rows of a table, in order."""
        if table.name not in self.manifest.tables:
            return
        for line in _lines(self._file, table.member, self._limits):
            yield json.loads(line)


@contextmanager
def opened(
    path: Path, known: Mapping[str, tuple[str, ...]], *, schema: int, limits: ArchiveLimits | None = None
) -> Iterator[Archive]:
    """Open an archive and check the whole of it; `known` are the columns of each table here."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise _bad(f"{path} is not a file.")
        handle = path.open("rb")
    except OSError as error:
        raise file_error(path, error) from error
    with handle:
        yield from _checked(handle, known, schema, limits or ArchiveLimits())


def _checked(
    handle: IO[bytes], known: Mapping[str, tuple[str, ...]], schema: int, limits: ArchiveLimits
) -> Iterator[Archive]:
    try:
        file = zipfile.ZipFile(handle)
    except _BROKEN as error:
        raise _bad(f"It cannot be read as a ZIP file ({error}).") from error
    with file:
        try:
            archive = _check(file, known, schema, limits)
        except _BROKEN as error:
            raise _bad(f"It is broken ({type(error).__name__}: {str(error)[:200]}).") from error
        yield archive


def _check(
    file: zipfile.ZipFile, known: Mapping[str, tuple[str, ...]], schema: int, limits: ArchiveLimits
) -> Archive:
    _check_entries(file, limits)
    manifest = _manifest(file, schema, limits)
    here = {table.name: table for table in tables(backup=True)}
    expected = {table.name for table in tables(backup=manifest.backup)}
    unknown = set(manifest.tables) - set(here)
    if unknown:
        raise _bad(f"It holds the unknown tables {_names(unknown)}.")
    if manifest.schema == schema and set(manifest.tables) != expected:
        raise _bad(f"Tables are missing or too many: {_names(set(manifest.tables) ^ expected)}.")
    members = {entry.filename for entry in file.infolist()}
    if members != {MANIFEST, *(here[name].member for name in manifest.tables)}:
        raise _bad("Its members are not those that its manifest names.")
    for name, member in manifest.tables.items():
        strange = set(member.columns) - set(known[name])
        if strange or not set(here[name].key) <= set(member.columns):
            raise _bad(f"The table {name} has unknown columns or lacks its key: {_names(strange)}.")
        if manifest.schema == schema and set(member.columns) != set(known[name]):
            raise _bad(f"The table {name} lacks columns: {_names(set(known[name]) - set(member.columns))}.")
        _check_member(file, here[name], member, limits)
    return Archive(file, manifest, limits)


def _names(names: set[str]) -> str:
    return ", ".join(sorted(repr(name[:60]) for name in names)) or "none"


def _check_entries(file: zipfile.ZipFile, limits: ArchiveLimits) -> None:
    """What can be said of the members before one byte of them is unpacked."""
    allowed = {MANIFEST, *(table.member for table in tables(backup=True))}
    seen: set[str] = set()
    total = 0
    for entry in file.infolist():
        name = entry.filename
        if name in seen:
            raise _bad(f"The member {name[:60]!r} is there twice.")
        seen.add(name)
        # Every other name is refused, and with it each path that climbs or begins at the root.
        if name not in allowed:
            raise _bad(f"It holds the unknown member {name[:60]!r}.")
        mode = entry.external_attr >> 16
        if entry.is_dir() or (mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode)):
            raise _bad(f"The member {name!r} is a link or a directory, and not a file.")
        if entry.flag_bits & 0x1:
            raise _bad(f"The member {name!r} is encrypted.")
        if entry.file_size > limits.member_bytes:
            raise _too_large(
                f"The member {name!r} unpacks to {entry.file_size:,} bytes.", limits.member_bytes
            )
        if entry.file_size > limits.ratio_from and entry.file_size > limits.ratio * max(
            entry.compress_size, 1
        ):
            raise _too_large(
                f"The member {name!r} unpacks to more than {limits.ratio} times its size.", limits.ratio
            )
        total += entry.file_size
    if total > limits.total_bytes:
        raise _too_large(f"It unpacks to {total:,} bytes.", limits.total_bytes)
    if MANIFEST not in seen:
        raise _bad("It has no manifest; it is no archive of ours.")


def _manifest(file: zipfile.ZipFile, schema: int, limits: ArchiveLimits) -> Manifest:
    entry = file.getinfo(MANIFEST)
    if entry.file_size > limits.manifest_bytes:
        raise _too_large("Its manifest is too large to be one.", limits.manifest_bytes)
    with file.open(entry) as member:
        told = json.loads(member.read(limits.manifest_bytes + 1))
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise _bad("Its manifest is not one of ours.")
    if told["version"] != VERSION or told["schema"] > schema:
        raise MinutebookError(
            "ledger_newer",
            f"The archive has version {told['version']} and schema {told['schema']}; this minutebook knows "
            f"{VERSION} and {schema}: upgrade minutebook.",
            archive=told["schema"],
            program=schema,
        )
    found = {
        str(name): Member(int(m["rows"]), int(m["bytes"]), str(m["sha256"]), tuple(map(str, m["columns"])))
        for name, m in told["tables"].items()
    }
    project = told["project"]
    if not isinstance(told["backup"], bool) or not (project is None or isinstance(project, str)):
        raise _bad("Its manifest is not one of ours.")
    return Manifest(int(told["schema"]), project, told["backup"], found)


def _check_member(file: zipfile.ZipFile, table: Table, member: Member, limits: ArchiveLimits) -> None:
    digest = hashlib.sha256()
    count = size = 0
    columns = set(member.columns)
    last: tuple[Any, ...] | None = None
    for line in _lines(file, table.member, limits):
        digest.update(line)
        size += len(line)
        count += 1
        row = json.loads(line, parse_constant=_no_constant)
        if not isinstance(row, dict) or set(row) != columns:
            raise _bad(f"Row {count} of {table.name} has other columns than the manifest says.")
        _check_row(table, row, count)
        key = tuple(row[name] for name in table.key)
        if not table.order and last is not None and not last < key:
            raise _bad(f"Row {count} of {table.name} is not in order, or there twice.")
        last = key
    if (count, size, digest.hexdigest()) != (member.rows, member.bytes, member.sha256):
        raise _bad(f"The table {table.name} is not what the manifest says: it was changed or cut off.")


def _lines(file: zipfile.ZipFile, name: str, limits: ArchiveLimits) -> Iterator[bytes]:
    with file.open(name) as member:
        while line := member.readline(limits.line_bytes + 1):
            if len(line) > limits.line_bytes:
                raise _too_large(f"A row of {name!r} is too large.", limits.line_bytes)
            yield line


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no value of a row")


def _check_row(table: Table, row: Row, count: int) -> None:
    for name, value in row.items():
        if isinstance(value, str):
            if "\0" in value:
                raise _bad(f"Row {count} of {table.name}: {name} holds a NUL.")
            value.encode()  # a lone surrogate is no text: ValueError
        elif not (value is None or type(value) is float or (type(value) is int and value in _INTEGERS)):
            raise _bad(f"Row {count} of {table.name}: {name} is not a plain value.")
    for name in table.seqs:
        if row[name] is not None and (type(row[name]) is not int or row[name] < 0):
            raise _bad(f"Row {count} of {table.name}: {name} is no place in the log.")
    if table.name == "events" and row["seq"] != count:
        raise _bad("The events are not numbered 1, 2, 3, ….")
    for name, read in _MATERIAL.get(table.name, {}).items():
        if row.get(name) is not None:
            read(row[name])


def _state(text: str) -> None:
    load_state(text, id="", revision=0, seq=0)


#: Columns that hold JSON of ours: what cannot be read back must not come in.
_MATERIAL: dict[str, dict[str, Callable[[str], Any]]] = {
    "events": {"detail": json.loads},
    "memories": {"tags": load_tags, "evidence": load_evidence},
    "revisions": {"state": _state},
    "proposals": {"tags": load_tags, "evidence": load_evidence, "would": load_would},
    "verdicts": {
        "trace": load_trace,
        "effects": load_effects,
        "targets": json.loads,
        "candidate": json.loads,
    },
    "sessions": {"issues": json.loads},
    "runs": {"report": load_report},
    "snapshots": {"bundle": load_bundle},
    "claim_keys": {"secret": bytes.fromhex},
}


def _bad(problem: str) -> MinutebookError:
    return MinutebookError("bad_archive", f"The archive is refused. {problem} Nothing was written.")


def _too_large(problem: str, limit: int) -> MinutebookError:
    return MinutebookError(
        "bad_archive", f"The archive is refused. {problem} Nothing was written.", limit=limit
    )
