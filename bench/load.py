"""Clients that ask as fast as they are answered, in a process of their own: a line of JSON in, a line out.

Each client has one connection and one request under way. Nothing of an answer is read but where it ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import uvloop


class Client(asyncio.Protocol):
    """One connection: ask, wait, ask again."""

    def __init__(self, load: Load, first: int) -> None:
        self._load = load
        self._next = first
        self._buffer = b""
        self._asked = 0.0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        load = self._load
        if time.perf_counter() >= load.end or (load.once and self._next >= len(load.requests)):
            self._transport.close()
            return
        request = load.requests[self._next % len(load.requests)]
        self._next += load.clients
        self._asked = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        at = self._buffer.find(b"content-length: ", 0, head)
        length = int(self._buffer[at + 16 : self._buffer.index(b"\r\n", at)]) if at >= 0 else 0
        if len(self._buffer) < head + 4 + length:
            return
        now = time.perf_counter()
        load = self._load
        if self._asked >= load.begin:
            load.latencies.append(now - self._asked)
            load.last = now
        status = int(self._buffer[9:12])
        load.statuses[status] = load.statuses.get(status, 0) + 1
        if status >= 400 and not load.sample:
            load.sample = self._buffer[head + 4 :].decode("utf-8", "replace")[:300]
        self._buffer = b""
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None:
            self._load.lost += 1
        self._load.open -= 1
        if self._load.open == 0:
            self._load.done.set()


class Load:
    """What was asked for, and what came of it."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.requests = [text.encode("latin-1") for text in spec["requests"]]
        self.clients = spec["clients"]
        self.once = spec.get("once", False)
        self.begin = time.perf_counter() + spec["warm"]
        self.end = self.begin + spec["seconds"]
        self.last = self.begin
        self.latencies: list[float] = []
        self.statuses: dict[int, int] = {}
        self.sample = ""
        self.lost = 0
        self.open = self.clients
        self.done = asyncio.Event()


async def run(spec: dict[str, Any]) -> dict[str, Any]:
    load = Load(spec)
    loop = asyncio.get_running_loop()
    cpu = time.process_time()
    for number in range(load.clients):
        if "unix" in spec:
            await loop.create_unix_connection(lambda first=number: Client(load, first), spec["unix"])
        else:
            await loop.create_connection(lambda first=number: Client(load, first), "127.0.0.1", spec["port"])
    await load.done.wait()
    seconds = max(load.last - load.begin, 1e-9)
    return {
        "per_second": len(load.latencies) / seconds,
        "latencies": load.latencies,
        "statuses": load.statuses,
        "sample": load.sample,
        "lost": load.lost,
        "busy": (time.process_time() - cpu) / seconds,
    }


def main() -> None:
    for line in sys.stdin:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            print(json.dumps(runner.run(run(json.loads(line)))), flush=True)


if __name__ == "__main__":
    main()
