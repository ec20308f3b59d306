"""The runtime of local models, imported so that it tells nobody.

The builds of ONNX Runtime from 1.29 on report to their publisher unless they are told not to before they are loaded:
they write an identifier of the machine into the home, and send what was loaded and run.
"""

from __future__ import annotations

import os
from typing import Any

from minutebook.model.errors import missing_extra


def quiet_runtime() -> Any:
    """The module `onnxruntime`, with its reports turned off."""
    # What the library reads is the environment of the process, and only once, while it is loaded.
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime
        import tokenizers  # noqa: F401  (no model is read without)
    except ImportError as error:
        raise missing_extra("A local model needs its runtime", "semantic") from error
    # Where somebody else in this process loaded it before us, at least nothing more is told of our sessions.
    onnxruntime.disable_telemetry_events()
    return onnxruntime
