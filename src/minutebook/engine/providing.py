"""Keeps the providers of this process in step with what the ledger says: another process may have changed it."""

from __future__ import annotations

import threading

from minutebook.call import Providers


class Providing:
    """The worker that looks now and then which providers are enabled."""

    name = "providers"

    def __init__(self, providers: Providers) -> None:
        self._providers = providers

    def step(self, ending: threading.Event) -> float | None:
        return self._providers.keep_up()

    def close(self) -> None:
        """They end with the service around them."""
