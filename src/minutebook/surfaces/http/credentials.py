"""Who sends an HTTP request: the token that it bears, or the user at the other end of the socket."""

from __future__ import annotations

import base64
import binascii

from minutebook.ledger.database import Tx
from minutebook.model.actors import Origin
from minutebook.model.errors import MinutebookError
from minutebook.surfaces.asking import Asker, Doorkeeper, Said
from minutebook.surfaces.http.exchange import Request
from minutebook.surfaces.http.reading import header_text

#: The longest path that the system takes.
_MOST_PATH = 4_096
#: Doors that a caller on the socket may say it stands at.
_SAID_ORIGINS = {"cli": Origin.CLI, "python": Origin.PYTHON, "socket": Origin.SOCKET}


def asker_of(
    doorkeeper: Doorkeeper, request: Request, within: Tx | None = None, *, browser: bool = False
) -> Asker:
    """Whoever asks, proven. It reads the ledger, so it runs in a thread, or `within` an open snapshot.

    With `browser` a token may also come as the password of HTTP Basic, which is all that a browser can be
    asked for. A browser sends that again by itself, so only what is the same for everybody may take it.
    """
    said = Said(
        agent=header_text(request, b"minutebook-agent"),
        actor=header_text(request, b"minutebook-actor"),
        project=header_text(request, b"minutebook-project"),
        run=header_text(request, b"minutebook-run"),
        # A path of this machine means nothing to whoever asks over the network.
        workspace=None
        if request.peer is None
        else header_text(request, b"minutebook-workspace", most=_MOST_PATH),
    )
    secret = _secret(request, browser=browser)
    if request.peer is None:
        if secret is None:
            raise MinutebookError("no_token", hint="minutebook tokens create, then Authorization: Bearer …")
        return doorkeeper.by_token(secret, said, Origin.HTTP, within)
    origin = _said_origin(request)
    if secret is not None:
        return doorkeeper.by_token(secret, said, origin, within)
    return doorkeeper.by_peer(request.peer.uid, said, origin, within)


def _secret(request: Request, *, browser: bool) -> str | None:
    given = request.headers.get(b"authorization")
    if given is None:
        return None
    scheme, _, value = given.decode("latin-1").partition(" ")
    value = value.strip()
    if scheme.casefold() == "bearer" and value:
        return value
    if browser and scheme.casefold() == "basic":
        try:
            _, _, password = base64.b64decode(value, validate=True).decode("utf-8").partition(":")
        except (binascii.Error, UnicodeDecodeError):
            password = ""
        if password:
            return password
    raise MinutebookError("bad_token", "The Authorization header must be `Bearer` and a token.")


def _said_origin(request: Request) -> Origin:
    said = header_text(request, b"minutebook-origin") or "socket"
    if said not in _SAID_ORIGINS:
        raise MinutebookError(
            "invalid_input", f"The header minutebook-origin must be one of {', '.join(_SAID_ORIGINS)}."
        )
    return _SAID_ORIGINS[said]
