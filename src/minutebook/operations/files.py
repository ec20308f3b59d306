"""Files in workspaces: generated ones, notes, the drop-box; how they stand to the ledger, and settling it."""

from __future__ import annotations

from typing import Annotated

from annotated_types import MaxLen, MinLen

from minutebook.call import LongCall
from minutebook.model.actors import may_decide
from minutebook.model.errors import MinutebookError
from minutebook.model.files import FilesStatus, Synced, Wish
from minutebook.operations.registry import Access, Help, operation

#: Paths that one call takes over.
_MOST_PATHS = 200


@operation(Access.READ)
def status(
    call: LongCall,
    every: Annotated[bool, Help("also those that are in step")] = False,
) -> FilesStatus:
    """Show which files of the project's workspaces are in step with the ledger, and which are not, and why.

    A file that was edited by hand, or that somebody else wrote where minutebook would, is left alone and listed.
    Over the network it concerns the workspaces on the service's machine.

    Example:
        minutebook files status
        minutebook files status --every
    """
    _ = call.project
    return call.world.files.status(call, every=every)


@operation(Access.PROPOSE)
def sync(
    call: LongCall,
    confirm_deletions: Annotated[bool, Help("take deleted notes as retired, however many they are")] = False,
    bring_back: Annotated[bool, Help("write notes again whose files are missing")] = False,
) -> Synced:
    """Bring files and ledger in step now: the service does it by itself, a second after each write.

    What we did not write, or was changed since, is neither overwritten nor deleted; see `files replace`. Notes that
    vanished many at once, with their folder or by git's hand wait for a word: those who decide give it.

    Example:
        minutebook files sync
        minutebook files sync --bring-back
    """
    _ = call.project
    if confirm_deletions and not may_decide(call.actor.role):
        raise MinutebookError(
            "not_allowed", "Only those who decide confirm that many notes are to be retired."
        )
    wish = Wish(confirm_deletions=confirm_deletions, by=call.actor, bring_back=bring_back)
    return call.world.files.sync(call, wish)


@operation(Access.OPERATE)
def replace(
    call: LongCall,
    paths: Annotated[
        list[Annotated[str, MaxLen(4_096)]],
        Help("files as `files status` lists them"),
        MinLen(1),
        MaxLen(_MOST_PATHS),
    ],
) -> Synced:
    """Take over generated files that were edited by hand or that others wrote, and write them anew.

    What they hold is kept first, byte by byte, as a source of the project. A file that holds a credential is left.

    Example:
        minutebook files replace .squad/decisions.md
    """
    _ = call.project
    return call.world.files.replace(call, paths)
