"""Asking for what shall be refused, and keeping what was asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from minutebook.engine.recording import Recording
from minutebook.model.errors import MinutebookError
from tests.houses import House


def refusal(ask: Callable[..., Any], *arguments: Any, **named: Any) -> MinutebookError:
    """The error that a call ends with."""
    with pytest.raises(MinutebookError) as refused:
        ask(*arguments, **named)
    return refused.value


def code(ask: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    """The code of the error that a call ends with."""
    return refusal(ask, *arguments, **named).code


def recorded(house: House) -> Recording:
    """Keep traces of what is searched in a house; written when that is asked for."""
    kept = Recording(house.clock, days=30)
    house.service.world = replace(house.service.world, traces=kept)
    return kept
