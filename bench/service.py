"""The service under load: a read, a search and a durable write over socket and port, beside a bare handler.

The bare handler is Starlette doing nothing under the same uvicorn settings, in a process of its own. The
clients are in a third. Both are measured in turns within one run, because this machine's clock is not the next
one's; ratios are what counts. What runs is compiled first, as an installed program is.
"""

from __future__ import annotations

import compileall
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.report import Report, percentile, table  # noqa: E402
from bench.workload import Texts  # noqa: E402
from bench.writes import Column, Ours, drive  # noqa: E402
from minutebook.operations import memories, tokens  # noqa: E402

STANDING = int(os.environ.get("STANDING", "2000"))
SECONDS = float(os.environ.get("SECONDS", "1.5"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
STARTS = int(os.environ.get("STARTS", "5"))
CLIENTS = (1, 8, 32)
WARM = 0.3
#: Reads of which none is like another.
UNIQUE = 16_000
#: The most that one number of clients writes in a round.
BATCH = int(os.environ.get("BATCH", "1000"))


@dataclass
class Cell:
    """One kind of request, one way, so many clients: what each round measured."""

    per_second: list[float] = field(default_factory=list)
    p50: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)

    def row(self) -> list[str]:
        ordered = self.latencies
        return [
            f"{statistics.median(self.per_second):,.0f}",
            f"{percentile(ordered, 0.5) * 1e3:.2f}",
            f"{percentile(ordered, 0.99) * 1e3:.2f}",
        ]


@dataclass
class House:
    """A ledger that was lived in, and what is asked of it."""

    home: Path
    project: str
    token: str
    refs: list[str]


def filled(home: Path, texts: Texts) -> House:
    ours = Ours(home)
    drive(ours.write, texts.many(STANDING), 32, Column())
    refs = [line.id for line in ours.client(memories.list_, limit=500).items]
    made = ours.client(tokens.create, role="operator", agent="bench", everywhere=True)
    assert made.secret is not None
    house = House(home, ours.client.project or "", made.secret, refs)
    ours.close()
    return house


# --- processes ---------------------------------------------------------------------------------------


@contextmanager
def process(words: Sequence[str], environ: dict[str, str], **more: Any) -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        words, env=environ, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more
    )
    try:
        yield started
    finally:
        started.terminate()
        try:
            started.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            started.kill()
            started.communicate()


def resident(pid: int) -> float:
    """Megabytes in memory."""
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", text)
    return int(found[1]) / 1024 if found else 0.0


def first_answer(path: Path, request: bytes, patience: float = 30.0) -> bytes:
    """Ask until there is an answer; at most a millisecond is lost between two tries."""
    deadline = time.perf_counter() + patience
    while True:
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(str(path))
                connection.sendall(request)
                said = connection.recv(1 << 20)
            except (FileNotFoundError, ConnectionError):
                said = b""
        if said:
            return said
        if time.perf_counter() > deadline:
            raise TimeoutError("the service never answered")
        time.sleep(0.001)


# --- requests ----------------------------------------------------------------------------------------


def request(
    house: House,
    method: str,
    target: str,
    body: str = "",
    *,
    port: int | None = None,
    more: Sequence[str] = (),
) -> str:
    host = "localhost" if port is None else f"127.0.0.1:{port}"
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", f"Minutebook-Project: {house.project}"]
    lines += more
    if port is not None:
        lines.append(f"Authorization: Bearer {house.token}")
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines) + "\r\n\r\n" + body


def kinds(house: House, texts: Texts, port: int | None) -> dict[str, list[str]]:
    words = [quote(" ".join(texts.one().split()[:2])) for _ in range(300)]
    # The service gives an answer again until something is committed. A reader that names an answer it has asks
    # for another one each time, so those are read from the ledger every time.
    firsts = [
        request(house, "GET", f"/api/memories/{ref}", port=port, more=[f'If-None-Match: "{number}"'])
        for number, ref in zip(range(UNIQUE), cycle(house.refs), strict=False)
    ]
    return {
        "read": [request(house, "GET", f"/api/memories/{ref}", port=port) for ref in house.refs],
        "read for the first time": firsts,
        "search": [request(house, "GET", f"/api/search?query={word}", port=port) for word in words],
    }


def writes(house: House, texts: Texts, count: int, port: int | None) -> list[str]:
    return [
        request(house, "POST", "/api/memories", json.dumps({"type": "project", "content": text}), port=port)
        for text in texts.many(count)
    ]


@dataclass
class Generator:
    """The process that asks."""

    child: subprocess.Popen[str]
    busiest: float = 0.0

    def run(self, spec: dict[str, Any], cell: Cell) -> None:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(json.dumps({"warm": WARM, "seconds": SECONDS, **spec}) + "\n")
        self.child.stdin.flush()
        said = json.loads(self.child.stdout.readline())
        wrong = {status: count for status, count in said["statuses"].items() if int(status) >= 400}
        if wrong or said["lost"]:
            raise RuntimeError(f"{wrong} {said['lost']} lost: {said['sample']}")
        cell.per_second.append(said["per_second"])
        cell.p50.append(percentile(said["latencies"], 0.5))
        cell.latencies += said["latencies"]
        self.busiest = max(self.busiest, said["busy"])


# --- what is measured --------------------------------------------------------------------------------


@dataclass
class Field:
    """The service and the bare handler side by side, each on a socket and a port, and who asks them."""

    house: House
    asks: Generator
    #: way -> where the bare handler is, and where the service is
    ways: dict[str, tuple[dict[str, Any], dict[str, Any]]]
    cells: dict[tuple[str, str, int], Cell] = field(default_factory=dict)

    def ask(self, kind: str, way: str, clients: int, requests: list[str], *, once: bool = False) -> None:
        place = self.ways[way][0 if kind == "bare" else 1]
        cell = self.cells.setdefault((kind, way, clients), Cell())
        self.asks.run({"clients": clients, "requests": requests, "once": once, **place}, cell)


def under_load(house: House, environ: dict[str, str], folder: Path, report: Report) -> None:
    texts = Texts(seed=11)
    python = sys.executable
    path, bare_path = house.home / "run" / "service.sock", folder / "bare.sock"
    with ExitStack() as stack:
        serve = stack.enter_context(process([python, "-m", "minutebook", "serve", "--with-parent"], environ))
        probe = request(house, "GET", f"/api/memories/{house.refs[0]}")
        size = len(first_answer(path, probe.encode()).partition(b"\r\n\r\n")[2])
        port = int(json.loads((house.home / "run" / "service.json").read_text())["url"].rpartition(":")[2])
        time.sleep(1.0)  # at rest: what starting it left undone is done
        report.goal("service at rest, MB", resident(serve.pid), "<= 90")
        words = [python, str(ROOT / "bench/bare.py"), str(bare_path), str(size)]
        bare = stack.enter_context(process(words, environ))
        assert bare.stdout is not None
        bare_port = int(bare.stdout.readline())
        asks = Generator(stack.enter_context(process([python, str(ROOT / "bench/load.py")], environ)))
        ways = {
            "socket": ({"unix": str(bare_path)}, {"unix": str(path)}),
            "port": ({"port": bare_port}, {"port": port}),
        }
        alone = stack.enter_context(closing(Ours(folder / "alone")))
        drive(alone.write, texts.many(STANDING), 32, Column())
        measured = Field(house, asks, ways)
        in_process = Column()
        for _ in range(ROUNDS):
            one_round(measured, texts)
            # In the same minute: what the ledger does for 32 threads without a service.
            drive(alone.write, texts.many(BATCH), 32, in_process)
        print(f"service under load: {resident(serve.pid):.0f} MB")
    judge(measured, in_process, report)


def one_round(measured: Field, texts: Texts) -> None:
    for way, (_, place) in measured.ways.items():
        port = place.get("port")
        asked = kinds(measured.house, texts, port)
        for clients in CLIENTS:
            measured.ask("bare", way, clients, asked["read"])
            for kind, requests in asked.items():
                measured.ask(kind, way, clients, requests)
            measured.ask("write", way, clients, writes(measured.house, texts, BATCH, port), once=True)


def judge(measured: Field, in_process: Column, report: Report) -> None:
    cells = measured.cells
    table(
        ("request, way, clients", "per s", "p50 ms", "p99 ms"),
        [
            [f"{kind}, {way}, {clients}", *cells[kind, way, clients].row()]
            for kind, way, clients in sorted(cells)
        ],
    )
    print(f"the clients' process was at most {measured.asks.busiest:.0%} busy")
    print(
        f"durable writes of 32 threads, without a service: {statistics.median(in_process.per_second):,.0f} a second"
    )
    for way in measured.ways:
        for clients in CLIENTS:
            bare = cells["bare", way, clients].per_second
            for kind in ("read", "read for the first time"):
                times = ratio(bare, cells[kind, way, clients].per_second)
                said = f"{kind} over the {way}, {clients} clients: bare requests a second over ours"
                report.goal(said, times, "<= 3")
        share = ratio(cells["write", way, 32].per_second, in_process.per_second)
        report.goal(f"32 clients writing over the {way}: share of what a process does", share, ">= 0.5")


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """The median of what each round compares, because rounds differ more than we do."""
    return statistics.median(one / other for one, other in zip(above, below, strict=True))


def starting(house: House, environ: dict[str, str], report: Report) -> None:
    """From `minutebook serve` to the first answer, the ledger being there already."""
    path = house.home / "run" / "service.sock"
    probe = request(house, "GET", f"/api/memories/{house.refs[0]}").encode()
    taken = []
    for _ in range(STARTS):
        began = time.perf_counter()
        with process([sys.executable, "-m", "minutebook", "serve", "--with-parent"], environ):
            first_answer(path, probe)
            taken.append(time.perf_counter() - began)
    report.goal("from `minutebook serve` to the first answer, s", statistics.median(taken), "<= 0.6")


HELLO = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "b", "version": "1"},
        },
    }
)


def relay(environ: dict[str, str]) -> tuple[float, float]:
    """Seconds from starting `minutebook mcp` to its first answer, and its megabytes then."""
    began = time.perf_counter()
    with process([sys.executable, "-m", "minutebook", "mcp", "--agent", "bench"], environ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(HELLO + "\n")
        child.stdin.flush()
        assert "serverInfo" in child.stdout.readline()
        return time.perf_counter() - began, resident(child.pid)


def timed(words: list[str], environ: dict[str, str], given: str = "") -> float:
    began = time.perf_counter()
    subprocess.run(words, env=environ, input=given, text=True, check=True, capture_output=True)
    return time.perf_counter() - began


def small_programs(environ: dict[str, str], report: Report) -> None:
    """The relay and the hook, which every agent's host starts, beside Python itself."""
    python = sys.executable
    sent = json.dumps({"session_id": "1", "cwd": environ["HOME"], "hook_event_name": "SessionStart"})
    with process([python, "-m", "minutebook", "serve", "--with-parent"], environ):
        first_answer(
            Path(environ["MINUTEBOOK_HOME"]) / "run/service.sock", b"GET /service HTTP/1.1\r\nHost: x\r\n\r\n"
        )
        relay(environ)  # the service loads what MCP needs when it is first asked for
        base, relays, sizes, hooks = [], [], [], []
        for _ in range(STARTS * 4):
            base.append(timed([python, "-c", "pass"], environ))
            hooks.append(
                timed([python, "-m", "minutebook.surfaces.light.hook", "session-start"], environ, sent)
            )
            seconds, size = relay(environ)
            relays.append(seconds)
            sizes.append(size)
    receipts = (Path(environ["MINUTEBOOK_HOME"]) / "run/hooks.jsonl").read_text().splitlines()
    outcomes = {json.loads(line)["outcome"] for line in receipts}
    if outcomes != {"ok"}:
        raise RuntimeError(f"hooks ended with {outcomes}")
    bare = statistics.median(base)
    report.goal("hook over python -c pass, ms", (statistics.median(hooks) - bare) * 1e3, "<= 40")
    report.goal(
        "relay to its first answer over python -c pass, ms", (statistics.median(relays) - bare) * 1e3, "<= 40"
    )
    report.goal("relay, MB", statistics.median(sizes), "<= 15")


def main() -> int:
    report = Report("service")
    with tempfile.TemporaryDirectory(prefix="mb-bench-") as name:
        folder = Path(name)
        copy = folder / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(copy, quiet=1)
        environ = {"PATH": os.environ["PATH"], "HOME": name, "PYTHONPATH": str(copy), "LANG": "C.UTF-8"}
        environ |= {"MINUTEBOOK_HOME": str(folder / "home"), "MINUTEBOOK_REQUESTS_PER_MINUTE": "0"}
        print(f"writing {STANDING:,} memories …", flush=True)
        house = filled(folder / "home", Texts())
        starting(house, environ, report)
        small_programs(environ, report)
        under_load(house, environ, folder, report)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
