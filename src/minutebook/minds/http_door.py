"""The door to a model elsewhere: one request, one answer, bounded in time and size, and left alone when it is down."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
from typing import Any
from urllib.parse import urlsplit

from minutebook.minds.breaking import Breaker, silent
from minutebook.minds.embedders import Endpoint
from minutebook.model.errors import MinutebookError

__all__ = ["Breaker", "post", "silent", "strange"]

#: The largest answer that is read.
_ANSWER_BYTES = 4 * 1024**2
#: What an endpoint says of what it will not take; every other failure is its own.
_REFUSALS = (400, 413, 422)


def post(endpoint: Endpoint, path: str, body: dict[str, Any], seconds: float) -> Any:
    """Send JSON to an endpoint, and give the JSON that came back."""
    parts = urlsplit(endpoint.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise MinutebookError("bad_setting", "The address of a model must be http://… or https://….")
    kind: Any = http.client.HTTPConnection
    more: dict[str, Any] = {}
    if parts.scheme == "https":
        kind, more = http.client.HTTPSConnection, {"context": ssl.create_default_context()}
    connection = kind(parts.hostname, parts.port, timeout=seconds, **more)
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if endpoint.key:
        headers["Authorization"] = f"Bearer {endpoint.key}"
    late = threading.Event()
    over: threading.Timer | None = None
    try:
        connection.connect()
        # The time of a socket is for each piece: who sends a byte now and then would never be late.
        over = threading.Timer(seconds, _hang_up, (connection.sock, late))
        over.daemon = True
        over.start()
        connection.request("POST", parts.path.rstrip("/") + path, json.dumps(body), headers)
        with connection.getresponse() as answer:
            said = answer.read(_ANSWER_BYTES + 1)
    except (OSError, http.client.HTTPException) as error:
        raise silent("it took too long" if late.is_set() else type(error).__name__) from error
    finally:
        if over is not None:
            over.cancel()
        connection.close()
    if late.is_set():
        raise silent("it took too long")
    if answer.status in _REFUSALS:
        raise MinutebookError("invalid_input", f"The model does not take what it was sent ({answer.status}).")
    # Also when it sends us elsewhere: a key goes to nobody but whom it was given for.
    if answer.status != 200 or len(said) > _ANSWER_BYTES:
        raise silent(f"it answered {answer.status}")
    try:
        return json.loads(said)
    except (ValueError, RecursionError) as error:
        raise strange() from error


def _hang_up(line: socket.socket, late: threading.Event) -> None:
    late.set()
    with contextlib.suppress(OSError):  # it is gone already
        line.shutdown(socket.SHUT_RDWR)


def strange() -> MinutebookError:
    return MinutebookError("bad_model", "The model answered something else than it was asked for.")
