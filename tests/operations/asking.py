"""Asking for what shall be refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from minutebook.model.errors import MinutebookError


def refusal(ask: Callable[..., Any], *arguments: Any, **named: Any) -> MinutebookError:
    """The error that a call ends with."""
    with pytest.raises(MinutebookError) as refused:
        ask(*arguments, **named)
    return refused.value


def code(ask: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    """The code of the error that a call ends with."""
    return refusal(ask, *arguments, **named).code
