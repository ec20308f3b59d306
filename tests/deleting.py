"""Deleting a folder that a service is still writing into."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def delete(folder: Path) -> None:
    """Take a folder away at once, as a user's `rm -rf` does who is faster than the service.

    Under another name first: what is written into it meanwhile then cannot come back at its place.
    """
    away = folder.with_name(f"{folder.name}-deleted")
    os.rename(folder, away)
    shutil.rmtree(away, ignore_errors=True)
