"""The fixed routes beside the operations: the description of the API, its page, and what is counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from minutebook.model.errors import MinutebookError
from minutebook.surfaces.http import following
from minutebook.surfaces.http.exchange import JSON, Answer, failure
from minutebook.surfaces.reach import Reach


@dataclass(frozen=True, slots=True)
class Fixed:
    """One of them. It is rendered in a thread; the one that is not is a stream."""

    name: str
    render: Callable[[], Answer] | None
    #: the same for everybody, so a browser may be asked for the token as a password
    browser: bool = False
    #: tells of every project at once, so nobody who is bound to one is told
    whole: bool = False


class Pages:
    """All of them, by their paths."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._all = {
            b"/docs": Fixed("docs", _docs, browser=True),
            b"/openapi.json": Fixed("openapi", _openapi, browser=True),
            b"/metrics": Fixed("metrics", self._metrics, whole=True),
            following.PATH.encode(): Fixed("events.follow", None),
        }

    def find(self, path: bytes) -> Fixed | None:
        return self._all.get(path)

    def _metrics(self) -> Answer:
        from minutebook.surfaces.observing import metrics

        body = metrics.render(self._reach)
        return Answer(200, body, [(b"content-type", b"text/plain; version=0.0.4; charset=utf-8")])


@cache
def _openapi() -> Answer:
    from minutebook.surfaces.http import openapi

    body = json.dumps(openapi.document(), ensure_ascii=False, separators=(",", ":")).encode()
    return Answer(200, body, [JSON])


@cache
def _docs() -> Answer:
    from minutebook.surfaces.http import docs_page

    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-security-policy", docs_page.POLICY.encode()),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"referrer-policy", b"no-referrer"),
        (b"x-frame-options", b"DENY"),
    ]
    return Answer(200, docs_page.render().encode(), headers)


def asked_for_password(error: MinutebookError) -> Answer:
    """The refusal of such a page, which makes a browser ask for the token."""
    answer = failure(error)
    answer.headers.append(
        (b"www-authenticate", b'Basic realm="minutebook: any name, and a token", charset="UTF-8"')
    )
    return answer
