"""Everything that can go wrong, once: a closed table of codes, each of one kind.

HTTP status and exit code follow from the kind, so that no surface decides for itself.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What sort of failure it is, and so what a caller can do about it."""

    INVALID = "invalid"  # change the request
    UNPROVEN = "unproven"  # say who you are, with a credential that holds
    DENIED = "denied"  # ask someone with the role
    NOT_FOUND = "not_found"  # name something else
    METHOD = "method"  # the route knows other methods
    CONFLICT = "conflict"  # look at the current state, then decide again
    OUTDATED = "outdated"  # what the condition names is not the present state: read again
    REFUSED = "refused"  # the controller judged it and said no; the verdict is recorded
    SIZE = "size"  # send less
    MEDIA = "media"  # send it in another form
    SLOW = "slow"  # send it faster
    LIMIT = "limit"  # send it later
    UNAVAILABLE = "unavailable"  # nothing is wrong with the request; try again, or run doctor
    INTERNAL = "internal"  # a defect of ours


EXIT_CODES: dict[Kind, int] = {
    Kind.INTERNAL: 1,
    Kind.INVALID: 2,
    Kind.METHOD: 2,
    Kind.MEDIA: 2,
    Kind.NOT_FOUND: 3,
    Kind.DENIED: 4,
    Kind.UNPROVEN: 4,
    Kind.CONFLICT: 5,
    Kind.OUTDATED: 5,
    Kind.REFUSED: 6,
    Kind.LIMIT: 7,
    Kind.SIZE: 7,
    Kind.SLOW: 7,
    Kind.UNAVAILABLE: 8,
}

HTTP_STATUS: dict[Kind, int] = {
    Kind.INTERNAL: 500,
    Kind.INVALID: 400,
    Kind.UNPROVEN: 401,
    Kind.DENIED: 403,
    Kind.NOT_FOUND: 404,
    Kind.METHOD: 405,
    Kind.SLOW: 408,
    Kind.CONFLICT: 409,
    Kind.OUTDATED: 412,
    Kind.SIZE: 413,
    Kind.MEDIA: 415,
    Kind.REFUSED: 422,
    Kind.LIMIT: 429,
    Kind.UNAVAILABLE: 503,
}

#: code -> (kind, what it means, in a sentence a user could read)
CODES: dict[str, tuple[Kind, str]] = {
    # the request
    "invalid_input": (Kind.INVALID, "A parameter is missing, unknown, or not of its type."),
    "unknown_operation": (Kind.INVALID, "There is no operation of that name."),
    "unknown_type": (Kind.INVALID, "The memory type is not in the closed list."),
    "unknown_scope": (Kind.INVALID, "The scope is not in the closed list, or lacks what it needs."),
    "unknown_role": (Kind.INVALID, "The role is not in the closed list."),
    "blank_field": (Kind.INVALID, "A required text is empty once white space is taken away."),
    "bad_slug": (Kind.INVALID, "Nothing usable as a slug remains of the text."),
    "bad_name": (Kind.INVALID, "The name is empty, too long, or not one plain line."),
    "no_project": (Kind.INVALID, "The call needs a project and none was named or found."),
    "bad_workspace": (Kind.INVALID, "The workspace file is not valid; it is never regenerated."),
    "bad_setting": (Kind.INVALID, "A setting has a value that cannot be used."),
    "bad_archive": (Kind.INVALID, "The archive cannot be read as one of ours, whole."),
    "bad_file": (Kind.INVALID, "The file cannot be read as what it should hold; the line says where."),
    "bad_model": (Kind.INVALID, "The model cannot be used: not readable, or not what its hash says."),
    "wrong_method": (Kind.METHOD, "The route does not take this method."),
    "bad_media": (Kind.MEDIA, "The body is not in a form that the route takes."),
    # who asks
    "no_token": (Kind.UNPROVEN, "The route takes a bearer token, and none was sent."),
    "bad_token": (Kind.UNPROVEN, "The token is unknown, expired or revoked."),
    "foreign_user": (Kind.DENIED, "The socket is for the user who runs the service."),
    "foreign_host": (Kind.DENIED, "The request names a host that the service does not answer for."),
    "foreign_origin": (Kind.DENIED, "The request comes from a web page of another origin."),
    "foreign_path": (Kind.DENIED, "Over the network only files beneath the ledger's home can be named."),
    "unsafe_file": (Kind.DENIED, "The path leaves its folder, or is not a plain file of its own."),
    "not_allowed": (Kind.DENIED, "The actor's role is too small for this operation."),
    "own_proposal": (Kind.DENIED, "Nobody approves a proposal of their own."),
    "other_project": (Kind.DENIED, "The caller is bound to another project."),
    "other_agent": (Kind.DENIED, "The caller cannot act for, or change what belongs to, another agent."),
    # what is named
    "not_found": (Kind.NOT_FOUND, "There is nothing of that name here."),
    # the present state
    "slug_decided": (Kind.CONFLICT, "This agent's proposal of that slug is already merged or rejected."),
    "already_decided": (Kind.CONFLICT, "The proposal is not pending any more."),
    "stale_base": (Kind.CONFLICT, "What the proposal would change has changed since."),
    "stale_match": (Kind.OUTDATED, "If-Match names a revision that is not the present one."),
    "stale_revision": (Kind.CONFLICT, "The memory has a newer revision than the one edited."),
    "bad_transition": (Kind.CONFLICT, "The status cannot change that way."),
    "cycle": (Kind.CONFLICT, "A decision cannot, directly or in turn, supersede itself."),
    "newer_stands": (Kind.CONFLICT, "Something newer stands on what would be reverted."),
    "already_reverted": (Kind.CONFLICT, "The verdict was reverted before."),
    "key_reused": (Kind.CONFLICT, "The idempotency key was used for another request."),
    "file_changed": (Kind.CONFLICT, "The file is not as it was last seen; it was left alone."),
    "exists": (Kind.CONFLICT, "Something of that name exists already."),
    "ambiguous": (Kind.CONFLICT, "The name fits more than one thing."),
    "erased": (Kind.CONFLICT, "The content was erased and cannot be used."),
    # the controller's no (its verdict is committed before the error is raised)
    "secret": (Kind.REFUSED, "The text holds what looks like a credential; nothing of it was kept."),
    "tombstoned": (Kind.REFUSED, "The claim was rejected, retired or erased before."),
    "unsafe_text": (Kind.REFUSED, "The text holds characters that hide or reorder what a reader sees."),
    # limits
    "too_large": (Kind.SIZE, "A text is longer than its limit."),
    "too_many": (Kind.SIZE, "A list is longer than its limit."),
    "rate_limited": (Kind.LIMIT, "The actor wrote more than its share in the last minute."),
    "too_slow": (Kind.SLOW, "The request did not arrive, or was not answered, within its time."),
    # the house
    "no_service": (Kind.UNAVAILABLE, "The service does not answer and could not be started."),
    "overloaded": (Kind.UNAVAILABLE, "The service has as many open requests as it takes; try again."),
    "ledger_busy": (Kind.UNAVAILABLE, "Another process owns the ledger."),
    "ledger_gone": (Kind.UNAVAILABLE, "The ledger's files were moved, replaced or deleted under us."),
    "ledger_newer": (Kind.UNAVAILABLE, "The ledger was written by a newer minutebook."),
    "ledger_damaged": (Kind.UNAVAILABLE, "The database reports damage, or is not a ledger of ours."),
    "ledger_closed": (Kind.UNAVAILABLE, "The ledger was closed."),
    "cannot_open": (Kind.UNAVAILABLE, "The ledger cannot be opened or created there."),
    "disk_full": (Kind.UNAVAILABLE, "There is no room on the disk; nothing was written."),
    "io_error": (Kind.UNAVAILABLE, "The disk or the database server failed."),
    "no_access": (Kind.UNAVAILABLE, "A file or folder is there and cannot be read or written."),
    "missing_extra": (Kind.UNAVAILABLE, "An optional part is not installed."),
    "no_model": (Kind.UNAVAILABLE, "No embedding model is there, or it does not answer."),
    "no_provider": (Kind.UNAVAILABLE, "A provider is not there, failed, or did not answer in its time."),
    "backup_failed": (Kind.UNAVAILABLE, "The backup could not be made or did not pass its check."),
    # us
    "forbidden_open": (Kind.INTERNAL, "Our own process tried to open the database files by another way."),
    "internal": (Kind.INTERNAL, "Something failed that should not have; the ledger is unchanged."),
}


class MinutebookError(Exception):
    """The one error type. `code` is of the closed table; the kind follows from it."""

    #: True where what was written before the error must stay (see Refusal).
    recorded = False

    def __init__(self, code: str, message: str | None = None, **details: Any) -> None:
        kind, meaning = CODES[code]
        self.code = code
        self.kind = kind
        self.message = message or meaning
        self.details = details
        super().__init__(self.message)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.kind]

    @property
    def http_status(self) -> int:
        return HTTP_STATUS[self.kind]

    def as_dict(self) -> dict[str, Any]:
        """The one shape in which an error leaves the house."""
        return {"code": self.code, "message": self.message, "details": self.details}


def missing_extra(who: str, extra: str) -> MinutebookError:
    """An optional part that is not installed, and how to get it.

    By the folder that minutebook was installed from, and not by its name: an index may have another's package there.
    """
    return MinutebookError(
        "missing_extra",
        f"{who}, which comes with the extra `{extra}`.",
        hint=f"in minutebook's repository: uv tool install '.[{extra}]', or pip install '.[{extra}]'",
    )


class Refusal(MinutebookError):
    """The controller's no. Its verdict is in the transaction, which is committed before this is raised."""

    recorded = True
