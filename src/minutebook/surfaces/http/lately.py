"""Answers to short reads that were given lately, and are given again for as long as nothing was committed.

Many agents ask for the same few things between two writes. What the ledger says of them cannot have changed
while its count of commits stays what it was, and neither can what the one who asks may see; only a token can
have ended in the meantime, so that is looked at each time.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass

from minutebook.service import Service
from minutebook.surfaces.asking import Asker
from minutebook.surfaces.http.exchange import Answer, Request

#: Headers that say who asks, and where.
_SAID = tuple(
    b"minutebook-actor minutebook-agent minutebook-origin minutebook-project minutebook-run "
    b"minutebook-workspace".split()
)
#: Answers that are kept, the bytes of the longest, and the seconds after which all of them are let go.
_MOST, _LONGEST, _SECONDS = 2_000, 16 * 1024, 10.0

Who = tuple[bytes | int | None, ...]
Key = tuple[bytes | str | Who | None, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """An answer, and who proved to be the one who asked."""

    answer: Answer
    asker: Asker


class Lately:
    """The answers since the last commit, by everything that they depend on. For the event loop alone."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._commits = -1
        self._given: dict[Key, Given] = {}
        self._timer: asyncio.TimerHandle | None = None

    def find(self, request: Request, who: Who) -> Given | None:
        """The answer to this very request, if it still holds for whoever asks."""
        if self._commits != self._service.database.commits:
            self._given.clear()
            return None
        found = self._given.get(_key(request, who))
        if found is not None and not self._service.still_holds(found.asker.token, found.asker.expires_at):
            return None  # whoever looks again says why
        return found

    def keep(self, request: Request, who: Who, answer: Answer, asker: Asker, commits: int) -> None:
        """Keep an answer that was read when the ledger had so many commits."""
        if commits != self._commits:
            self._given.clear()
            self._commits = commits
        if len(answer.body) > _LONGEST:
            return
        if len(self._given) >= _MOST:
            self._given.clear()  # what is asked for often is soon here again
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SECONDS, self._let_go)
        self._given[_key(request, who)] = Given(answer, asker)

    def _let_go(self) -> None:
        self._timer = None
        self._given.clear()


def _key(request: Request, who: Who) -> Key:
    return request.path, request.query, request.method, request.headers.get(b"if-none-match"), who


def who_asks(request: Request) -> Who:
    """Everything in a request on which it depends who asks, and for which project."""
    headers = request.headers
    credential = headers.get(b"authorization")
    return (
        None if request.peer is None else request.peer.uid,
        # No token is kept in memory for longer than its request.
        None if credential is None else hashlib.sha256(credential).digest(),
        *map(headers.get, _SAID),
    )
