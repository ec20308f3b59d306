"""Embedding: follows the log and puts into numbers what is new, behind every write and never in one."""

from __future__ import annotations

import threading
from collections.abc import Callable

from minutebook.call import Meaning
from minutebook.ledger.database import Database
from minutebook.ledger.embedding import Follower
from minutebook.model.errors import MinutebookError

#: Seconds between two looks for a model that somebody may have added.
_LOOK = 5.0
#: What is no failure: nobody has added a model, or its runtime.
_ABSENT = ("no_model", "missing_extra")


class Embedding:
    """The worker that keeps the vectors in step with the words."""

    name = "embedding"

    def __init__(self, database: Database, meaning: Meaning, clock: Callable[[], str]) -> None:
        self._database, self._meaning, self._clock = database, meaning, clock
        self._follower: Follower | None = None

    def step(self, ending: threading.Event) -> float | None:
        try:
            space = self._meaning.space()
        except MinutebookError as error:
            if error.code not in _ABSENT:
                raise
            self._follower = None
            return _LOOK
        if self._follower is None or self._follower.space != space:
            self._follower = Follower(self._database, space, self._meaning, self._clock)
        self._follower.step(ending)
        return _LOOK

    def close(self) -> None:
        """Nothing is held open but the model, which goes with the process."""
