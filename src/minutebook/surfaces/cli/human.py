"""Results in words and tables, for a person at a terminal. The only module that imports Rich.

Stored text is somebody's: it is made visible, handed to Rich as plain text, and never read as markup.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import typing
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from minutebook.model.paging import Page
from minutebook.model.text import visible
from minutebook.operations.plain import to_plain
from minutebook.operations.registry import Operation
from minutebook.surfaces.cli import human_search, output, tables
from minutebook.surfaces.cli.output import Screen

_GAP = 2  # between columns
#: Columns of these kinds are not made narrower than this; another column goes instead.
_LEAST = {"text": 16, "name": 28}
_LONG = 72  # a text longer than this stands in a block of its own
#: What a line of a compiled context begins with, in a unified diff too: every part of a long line shows it.
_MARK = re.compile(r"[-+ ]?[|>] ")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|\+00:00)")


#: For measuring alone: nothing is printed to it.
_RULER = Console(file=StringIO())


def show(value: Any, operation: Operation | None, again: str, screen: Screen) -> None:
    """Print an answer in words."""
    written = StringIO()
    console = Console(
        file=written,
        width=screen.width,
        force_terminal=screen.out_colour,
        color_system="standard" if screen.out_colour else None,
        no_color=not screen.out_colour,
        markup=False,
        emoji=False,
        highlight=False,
        safe_box=not screen.unicode,
        legacy_windows=False,
    )
    for part in _parts(value, operation, again, screen.width):
        console.print(part)
    # Rich fills every line up to the width, which a pipe or a file has no use for.
    for line in written.getvalue().split("\n")[:-1]:
        screen.out.write(line.rstrip(" ") + "\n")


def _parts(value: Any, operation: Operation | None, again: str, width: int) -> Iterable[RenderableType]:
    if isinstance(value, Page):
        yield from _page(value, operation, again, width)
    elif isinstance(value, list | tuple):
        yield _listing(value, width) if value else _nothing(_item_type(operation))
    elif type(value).__name__ == "Found":
        yield from human_search.found(value, width)
    elif dataclasses.is_dataclass(value):
        yield from _record(value, width)
    elif isinstance(value, Mapping):
        yield _grid(value.items())
    elif value is not None:
        yield _text(value)


def _page(page: Page[Any], operation: Operation | None, again: str, width: int) -> Iterable[RenderableType]:
    if page.items:
        yield _listing(page.items, width)
    else:
        yield _nothing(_item_type(operation))
    if page.next is not None:
        yield Text("")
        yield Text(
            f"more: {visible(again, lines=False)} --after {visible(page.next, lines=False)}", style="dim"
        )


def _nothing(kind: Any) -> Text:
    hint = tables.TABLES[kind.__name__].empty if getattr(kind, "__name__", "") in tables.TABLES else ""
    return Text("nothing here" + (f"; {hint}" if hint else ""), style="dim")


def _item_type(operation: Operation | None) -> Any:
    arguments = typing.get_args(operation.returns) if operation else ()
    return arguments[0] if arguments else None


# Listings


def _listing(items: Sequence[Any], width: int) -> RenderableType:
    if not dataclasses.is_dataclass(items[0]):
        return Text("\n").join(_text(item) for item in items)
    layout = tables.table_for(type(items[0]))
    columns = list(layout.columns)
    cells = {
        column.field: [_cell(_value(item, column.field), column) for item in items] for column in columns
    }
    columns = [
        column
        for column in columns
        if any(cell.plain not in ("", column.usual) for cell in cells[column.field])
    ]
    if not layout.under:
        widths = _widths(columns, cells, width)
        return _table(
            columns, [{field: cells[field][n] for field in widths} for n in range(len(items))], widths
        )
    widths = _widths(columns, cells, width - _GAP)
    parts: list[RenderableType] = []
    above = [_text(_value(item, layout.under), lines=False).plain for item in items]
    for name, some in itertools.groupby(range(len(items)), key=lambda number: above[number]):
        rows = [{field: cells[field][n] for field in widths} for n in some]
        parts += [
            Text(name, style="bold"),
            Padding(_table(columns, rows, widths, headers=not parts), (0, 0, 0, _GAP), expand=False),
        ]
    return Group(*parts)


def _table(
    columns: Sequence[tables.Column],
    rows: Sequence[Mapping[str, Text]],
    widths: Mapping[str, int],
    *,
    headers: bool = True,
) -> Table:
    table = Table(
        show_header=headers,
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, _GAP - 1, 0, 0),
        header_style="bold",
    )
    for column in columns:
        if column.field in widths:
            cropped = column.kind not in ("name", "id")
            table.add_column(
                column.header,
                justify="right" if column.kind == "number" else "left",
                width=widths[column.field],
                no_wrap=cropped,
                overflow="ellipsis" if cropped else "fold",
            )
    for row in rows:
        table.add_row(*row.values())
    return table


def _widths(
    columns: Sequence[tables.Column], cells: Mapping[str, Sequence[Text]], width: int
) -> dict[str, int]:
    """How wide each column is, by field; the columns that must go for lack of room are not in it.

    Rich's own way of squeezing a table takes from the columns that matter as soon as from the others.
    """
    natural = {column.field: _natural(column, cells[column.field]) for column in columns}
    least = {column.field: min(natural[column.field], _LEAST.get(column.kind, width)) for column in columns}
    kept = list(columns)
    while sum(least[column.field] + _GAP for column in kept) - _GAP > width:
        spare = max(kept, key=lambda column: column.drop)
        if spare.drop == 0:
            break
        kept.remove(spare)
    widths = {column.field: natural[column.field] for column in kept}
    missing = sum(widths.values()) + _GAP * (len(kept) - 1) - width
    for kind in ("text", "name", "id"):
        for column in sorted(kept, key=lambda column: -widths[column.field]):
            if column.kind == kind and missing > 0:
                floor = min(least[column.field], _LEAST["text"])
                given = min(missing, widths[column.field] - floor)
                widths[column.field] -= given
                missing -= given
    while missing > 0 and len(widths) > 1:  # narrower than any of it was made for
        missing -= widths.popitem()[1] + _GAP
    return widths


def _natural(column: tables.Column, cells: Sequence[Text]) -> int:
    return min(max(cell_len(column.header), *[cell.cell_len for cell in cells]), column.most)


def _value(item: Any, path: str) -> Any:
    for field in path.split("."):
        item = getattr(item, field, None)
    return item


def _cell(value: Any, column: tables.Column) -> Text:
    if isinstance(value, Mapping) and all(type(item) is int for item in value.values()):
        value = [f"{number:,} {name}" for name, number in value.items()]  # counts by name
    text = _text(value, lines=False)
    if column.kind == "day":
        return Text(text.plain[:10])
    if column.kind == "time":
        return Text(_TIME.sub(r"\1 \2", text.plain))
    if column.kind == "status":
        text.stylize(tables.STATUS_STYLES.get(text.plain, ""))
    elif column.kind == "id":
        text.stylize("dim")
    return text


# One thing


def _record(value: Any, width: int) -> Iterable[RenderableType]:
    act = tables.HEADLINES.get(type(value).__name__)
    if act is not None:
        yield from _hung(act.sentence(value), width)
        if act.rows is not None:
            yield from _beside(act.rows(value))
        yield from _fields(value, act.also, width, indent=2)
        return
    names = [field.name for field in dataclasses.fields(value)]
    first = getattr(value, names[0])
    if _composed(first):
        # A view of something: the thing itself comes first, then what the view adds.
        yield from _record(first, width)
        yield Text("")
        yield from _fields(value, names[1:], width)
        return
    title = next((name for name in ("title", "name", "slug") if getattr(value, name, None)), None)
    if title is not None:
        yield Text(visible(str(getattr(value, title)), lines=False), style="bold")
    yield from _fields(value, [name for name in names if name != title], width)


def _fields(value: Any, names: Iterable[str], width: int, indent: int = 0) -> Iterable[RenderableType]:
    """What is short in a grid, then what is long, each below its name."""
    short: list[tuple[str, Any]] = []
    long: list[tuple[str, Any]] = []
    for name in names:
        field = getattr(value, name)
        if field is None or (field in ("", (), [], {}) and not isinstance(field, bool | int)):
            continue
        (long if _is_long(name, field) else short).append((name, field))
    if short:
        yield Padding(_grid(short), (0, 0, 0, indent), expand=False)
    for name, field in long:
        yield Text("")
        yield Padding(Text(_label(name), style="bold"), (0, 0, 0, indent), expand=False)
        for part in _block(name, field, width - indent - 2):
            yield Padding(part, (0, 0, 0, indent + 2), expand=False)


def _is_long(name: str, field: Any) -> bool:
    if isinstance(field, str):
        return name in tables.BLOCK_FIELDS or "\n" in field or len(field) > _LONG
    if isinstance(field, list | tuple):
        return any(_composed(item) or isinstance(item, list | tuple) for item in field)
    return _composed(field) or isinstance(field, Mapping)


def _block(name: str, field: Any, width: int) -> Iterable[RenderableType]:
    if isinstance(field, str) and name in tables.DIFF_FIELDS:
        yield _diff(field, width)
    elif isinstance(field, str):
        yield from _hung(field, width)
    elif _composed(field):
        yield from _fields(field, [item.name for item in dataclasses.fields(field)], width)
    elif isinstance(field, Mapping):
        yield _grid([(key, _changed(item)) for key, item in field.items()])
    elif _composed(field[0]):
        yield _listing(field, width)
    else:
        yield Text("\n").join(_text(item) for item in field)


def _changed(item: Any) -> Any:
    """The two values of a field that differs, one and then the other."""
    return f"{item[0]} -> {item[1]}" if isinstance(item, tuple) and len(item) == 2 else item


def _composed(value: Any) -> bool:
    """Whether it is a value with parts and no spelling of its own; a scope, say, can spell itself."""
    return dataclasses.is_dataclass(value) and type(value).__str__ is object.__str__


def _grid(rows: Iterable[tuple[str, Any]]) -> Table:
    grid = Table.grid(padding=(0, _GAP, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        text = _text(value)
        plain = _TIME.sub(r"\1 \2\3 UTC", text.plain) if name == "at" or name.endswith("_at") else None
        if plain is not None:
            text = Text(plain)
        elif name in tables.STATUS_FIELDS:
            text.stylize(tables.STATUS_STYLES.get(text.plain, ""))
        elif name in tables.ID_FIELDS:
            text.stylize("dim")
        grid.add_row(Text(visible(_label(name), lines=False)), text)
    return grid


def _label(name: str) -> str:
    return str(name).replace("_", " ")


def _diff(text: str, width: int) -> Text:
    shown = Text()
    for line in visible(text).splitlines():
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        for part in _marked(line, width):
            shown.append(part + "\n", style="bold" if line.startswith(("+++", "---")) else style)
    return shown


def _hung(text: str, width: int) -> Iterable[RenderableType]:
    """Lines of a text; one that is too long for the screen goes on below where it began, and not at the edge."""
    for line in _text(text).plain.split("\n"):
        bare = line.lstrip(" ")
        indent = len(line) - len(bare)
        # A padding around nothing would be no line at all.
        for part in _marked(bare, width - indent):
            yield Padding(Text(part or " "), (0, 0, 0, indent), expand=False)


def _marked(line: str, width: int) -> list[str]:
    """A line as it is, or, where a mark says whose words it is, in parts that fit and bear the mark each.

    The compiler marks what is quoted, so that nothing quoted passes for its own; a screen must not undo that.
    """
    mark = _MARK.match(line)
    if mark is None or cell_len(line) <= width:
        return [line]
    parts = Text(line[mark.end() :]).wrap(_RULER, max(width - mark.end(), _LEAST["text"]))
    return [mark[0] + part.plain.rstrip() for part in parts]


def _beside(rows: Iterable[tuple[str, str]]) -> Iterable[RenderableType]:
    """Lines of two parts. Each is a grid of its own, so that a long left part widens its own line alone."""
    for left, right in rows:
        grid = Table.grid(padding=0)
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(_text(left, lines=False), _text(right, lines=False))
        yield grid


def _text(value: Any, *, lines: bool = True) -> Text:
    """Any value as text that cannot deceive and is never read as markup."""
    if value is None:
        return Text("")
    if isinstance(value, list | tuple | set | frozenset):
        return Text(", ".join(_text(item, lines=lines).plain for item in value))
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, Mapping):
        return Text(visible(output.line(to_plain(value))))
    return Text(visible(str(value).rstrip("\n"), lines=lines))
