"""An endpoint that says what a test wrote down, one answer after the other, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Scripted:
    """`answers` are bodies, or (status, body) pairs; the last one is given again and again."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""
        self.wait: threading.Event | None = None

    def next(self) -> tuple[int, bytes]:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        return status, body if isinstance(body, bytes) else json.dumps(body).encode()


def said(content: Any, **more: Any) -> dict[str, Any]:
    """A chat answer of this content."""
    text = content if isinstance(content, str) else json.dumps(content)
    return {
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20},
        **more,
    }


@contextmanager
def serving(script: Scripted) -> Iterator[Scripted]:
    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            script.asked.append({"path": self.path, **json.loads(self.rfile.read(length))})
            script.headers.append(dict(self.headers))
            if script.wait is not None:
                script.wait.wait(30)
            status, body = script.next()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
