"""Which embedder is in use: an enabled provider, else an endpoint that the settings name, else the home's model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from minutebook.minds.embedders import Endpoint
from minutebook.minds.meaning import Choice
from minutebook.minds.models import Shelf
from minutebook.model.errors import missing_extra

if TYPE_CHECKING:
    from minutebook.minds.embedders import Embedder
    from minutebook.minds.endpoint_embedder import Breaker


@dataclass(frozen=True, slots=True)
class EndpointChoice:
    """An endpoint; only it can say how wide its vectors are, so its space is known when it was asked."""

    endpoint: Endpoint
    monotonic: Callable[[], float] = field(compare=False)
    #: outlives what is opened: an endpoint that fails at once is left alone too
    _breaker: list[Breaker] = field(default_factory=list, compare=False)

    @property
    def space(self) -> None:
        return None

    def open(self) -> Embedder:
        try:
            from minutebook.minds.endpoint_embedder import Breaker, EndpointEmbedder
        except ImportError as error:
            raise missing_extra("Search by meaning needs numpy", "semantic") from error
        if not self._breaker:
            self._breaker.append(Breaker(self.monotonic))
        return EndpointEmbedder(self.endpoint, self._breaker[0])


def chooser(
    home: Path,
    endpoint: Endpoint | None,
    *,
    threads: int,
    monotonic: Callable[[], float],
    provided: Callable[[], Choice | None] = lambda: None,
) -> Callable[[], Choice]:
    """Says, each time it is asked, which embedder is in use now: a provider's, if an operator enabled one."""
    shelf, elsewhere = Shelf(home, threads), endpoint and EndpointChoice(endpoint, monotonic)
    return lambda: provided() or elsewhere or shelf.choose()
