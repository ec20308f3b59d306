"""What can be made of a frozen bundle: the part that a child run inherits, and the same without erased words.

The text of a bundle falls apart again where the compiler put it together: no stored line is empty, so an empty line
is always the compiler's, and a block that begins with a label is one item, in the order of the items.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from minutebook.model.context import Bundle, Layer
from minutebook.policy.compilation import hash_of
from minutebook.policy.rendering import SESSION
from minutebook.policy.token_counts import estimate

_BETWEEN = "\n\n"
_LABEL = "**"


def boundaries_of(bundle: Bundle | None, *, agent: str, task: str) -> Bundle | None:
    """The boundaries of a bundle, byte for byte, as a bundle for somebody else; None where there are none."""
    if bundle is None:
        return None
    items = tuple(item for item in bundle.items if item.layer is Layer.BOUNDARY)
    left_out = tuple(out for out in bundle.left_out if out.layer is Layer.BOUNDARY)
    if not items and not left_out:
        return None
    blocks: list[str] = []
    if items:
        blocks = bundle.text.removesuffix("\n").split(_BETWEEN)
        del blocks[_item_blocks(blocks)[len(items) - 1] + 1 :]
    text = _BETWEEN.join(blocks) + "\n" if blocks else ""
    return replace(
        bundle,
        agent=agent,
        task=task,
        child=True,
        hash=hash_of(text, items),
        text=text,
        tokens=sum(map(estimate, blocks)) + len(blocks),
        stable=len(text.removesuffix("\n").encode()),
        items=items,
        left_out=left_out,
        left_out_count=len(left_out),
        faults=(),
    )


def without_words(text: str, positions: Collection[int], instead: str) -> str:
    """The text of a bundle where the items at these positions have kept their label and lost their words."""
    blocks = text.removesuffix("\n").split(_BETWEEN)
    places = _item_blocks(blocks)
    for position in positions:
        if position < len(places):
            label = blocks[places[position]].partition("\n")[0]
            blocks[places[position]] = f"{label}\n| {instead}"
    return _BETWEEN.join(blocks) + ("\n" if text.endswith("\n") else "")


def _item_blocks(blocks: list[str]) -> list[int]:
    """Where the items stand among the blocks; what follows the session's heading is no memory."""
    end = blocks.index(SESSION) if SESSION in blocks else len(blocks)
    return [place for place, block in enumerate(blocks[:end]) if block.startswith(_LABEL)]
