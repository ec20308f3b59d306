"""What stands before every route: hosts, origins, bodies, rates, crowds, heads. Asked by raw bytes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from minutebook.model.errors import MinutebookError
from minutebook.operations.registry import REGISTRY
from minutebook.surfaces import spelling
from minutebook.surfaces.http.guarding import Rates
from tests.conftest import Clock
from tests.houses import House
from tests.surfaces.serving import Reply, Served, exchange, read_reply


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[House]:
    """A house on SQLite: what stands before the routes never sees the database."""
    built = House(f"sqlite://{tmp_path}/ledger/ledger.db", tmp_path / "home", Clock())
    yield built
    built.close()


@pytest.fixture
def served(alone: House, tmp_path: Path) -> Iterator[Served]:
    with Served(alone, tmp_path, body_bytes=10_000, body_seconds=1.0, connections=20) as running:
        yield running


def _say(served: Served, said: bytes, *, tcp: bool = True) -> Reply:
    with served.raw(tcp=tcp) as raw:
        raw.sendall(said)
        return read_reply(raw)


def _get(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", *headers, "", ""]).encode("latin-1")


# Hosts and origins


def test_a_host_that_is_not_ours_is_refused_on_every_route(served: Served) -> None:
    token = served.token()
    routes = {spelling.http(operation) for operation in REGISTRY.all()}
    routes |= {
        ("GET", path) for path in ("/docs", "/openapi.json", "/metrics", "/api/events/follow", "/", "/mcp")
    }
    for method, path in sorted(routes):
        said = f"{method} {path.replace('{', '').replace('}', '')} HTTP/1.1\r\nHost: evil.example:{served.port}\r\n"
        reply = _say(served, f"{said}Authorization: Bearer {token}\r\n\r\n".encode())
        assert (reply.status, reply.code) == (403, "foreign_host"), path


def test_a_loopback_name_counts_with_the_port_that_we_listen_on(served: Served) -> None:
    port = served.port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
        assert _say(served, _get("/api/inbox", f"Host: {host}")).code == "no_token", host
    foreign = ["127.0.0.1", f"127.0.0.1:{port + 1}", "localhost", f"localhost.evil.example:{port}", "", "[::1]",
               f"127.0.0.1.evil.example:{port}", f"evil.example#localhost:{port}", f"127.0.0.2:{port}"]  # fmt: skip
    for host in foreign:
        assert _say(served, _get("/api/inbox", f"Host: {host}")).code == "foreign_host", host
    assert _say(served, b"GET /api/inbox HTTP/1.0\r\n\r\n").code == "foreign_host"


def test_a_host_is_said_once(served: Served) -> None:
    ours, theirs = f"Host: localhost:{served.port}", "Host: evil.example"
    for pair in ((ours, theirs), (theirs, ours)):
        assert _say(served, _get("/api/inbox", *pair)).code in ("invalid_input", "foreign_host")


@pytest.mark.parametrize("name", ["memory.example", "memory.example:8443"])
def test_a_name_that_is_allowed_is_answered_for(alone: House, tmp_path: Path, name: str) -> None:
    with Served(alone, tmp_path, allowed_hosts=f" {name.upper()}, other.example") as served:
        assert _say(served, _get("/", "Host: memory.example:8443")).code == "no_token"
        assert _say(served, _get("/", "Host: OTHER.example")).code == "no_token"
        assert _say(served, _get("/", "Host: more.memory.example:8443")).code == "foreign_host"
        https = _get("/", "Host: memory.example:8443", "Origin: https://memory.example:8443")
        assert _say(served, https).code == "no_token"


def test_a_page_of_another_origin_is_refused_and_can_read_nothing(served: Served) -> None:
    token = served.token()
    port = served.port
    origins = ["https://evil.example", "null", "", f"http://evil.example:{port}", "http://localhost", "file://",
               f"http://localhost:{port}.evil.example", f"ftp://localhost:{port}", f"localhost:{port}"]  # fmt: skip
    for origin in origins:
        for method in ("GET", "POST", "OPTIONS"):
            headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
            reply = served.ask(method, "/api/inbox", token=token, headers=headers)
            assert (reply.status, reply.code) == (403, "foreign_origin"), origin
            assert not [name for name in reply.headers if name.startswith("access-control")]
        assert served.ask("GET", "/api/inbox", headers={"Origin": origin}).code == "foreign_origin"
    ours = served.ask("GET", "/api/inbox", token=token, headers={"Origin": f"http://127.0.0.1:{port}"})
    assert ours.status == 200
    assert not [name for name in ours.headers if name.startswith("access-control")]


def test_a_caller_over_tcp_is_never_taken_for_one_on_the_socket(served: Served) -> None:
    claims = ["Minutebook-Agent: ripley", "Minutebook-Actor: mother", "X-Forwarded-For: 127.0.0.1", "Forwarded: for=unix",
              "X-Real-IP: unix:", "Minutebook-Peer: 0", "minutebook.connection: x"]  # fmt: skip
    for claim in claims:
        assert _say(served, _get("/api/inbox", f"Host: localhost:{served.port}", claim)).code == "no_token", (
            claim
        )
    assert (
        _say(served, _get("/api/inbox", "Host: whatever", "Minutebook-Project: nostromo"), tcp=False).status
        == 200
    )


# Bodies


def _post(served: Served, *headers: str) -> bytes:
    head = [f"POST /api/inbox HTTP/1.1\r\nHost: localhost:{served.port}", "Content-Type: application/json"]
    return "\r\n".join([*head, f"Minutebook-Project: {served.house.project}", *headers, "", ""]).encode()


def test_a_body_that_is_too_large_is_refused_by_what_it_says_and_by_what_it_is(served: Served) -> None:
    large = json.dumps({"content": "x" * 12_000}).encode()
    for tcp in (True, False):
        declared = _say(served, _post(served, f"Content-Length: {len(large)}") + large, tcp=tcp)
        assert (declared.status, declared.code) == (413, "too_large")
        assert declared.headers["connection"] == "close"
        parts = b"".join(b"%x\r\n%s\r\n" % (1000, b"x" * 1000) for _ in range(12)) + b"0\r\n\r\n"
        counted = _say(served, _post(served, "Transfer-Encoding: chunked") + parts, tcp=tcp)
        assert (counted.status, counted.code) == (413, "too_large")
    assert _say(served, _post(served, "Content-Length: 99999999999999999999999")).status in (400, 413)


def test_who_sends_a_huge_body_hears_why_it_is_not_taken(served: Served) -> None:
    connection = served.connect(tcp=True)
    headers = {"Content-Type": "application/json"}
    reply = exchange(connection, "POST", "/api/inbox", b"x" * 3_000_000, headers)
    assert (reply.status, reply.code) == (413, "too_large")
    connection.close()


def test_who_asks_before_sending_is_told_at_once(served: Served) -> None:
    # Waiting for the body, it would say that it is too slow.
    reply = _say(served, _post(served, "Content-Length: 50000", "Expect: 100-continue"))
    assert reply.code == "too_large"
    with served.raw(tcp=False) as raw:
        raw.sendall(_post(served, "Content-Length: 2", "Expect: 100-continue"))
        assert raw.recv(1000).startswith(b"HTTP/1.1 100 ")
        raw.sendall(b"{}")
        assert read_reply(raw).code == "invalid_input"


def test_a_body_that_takes_too_long_is_given_up(served: Served) -> None:
    for tcp in (True, False):
        slow = _say(served, _post(served, "Content-Length: 100") + b'{"ty', tcp=tcp)
        assert (slow.status, slow.code) == (408, "too_slow")
        assert slow.headers["connection"] == "close"


def test_a_caller_who_hangs_up_in_the_middle_harms_nobody(served: Served) -> None:
    for _ in range(30):
        with served.raw(tcp=False) as raw:
            raw.sendall(_post(served, "Content-Length: 100") + b'{"ty')
    assert served.ask("GET", "/api/inbox").status == 200


def test_bodies_that_arrive_at_once_are_held_within_bounds(alone: House, tmp_path: Path) -> None:
    """Each sends all but the last byte of the largest body; more than there is room for are turned away."""
    with (
        Served(alone, tmp_path, body_bytes=50_000, body_seconds=5.0) as served,
        contextlib.ExitStack() as stack,
    ):
        waiting = []
        for _ in range(30):
            raw = stack.enter_context(served.raw(tcp=False))
            raw.sendall(_post(served, "Content-Length: 50000") + b"x" * 49_999)
            waiting.append(raw)
        replies = [read_reply(raw) for raw in waiting]
    codes = sorted({(reply.status, reply.code) for reply in replies})
    assert codes == [(408, "too_slow"), (503, "overloaded")]
    assert sum(reply.status == 503 for reply in replies) >= 10


# Heads


def test_a_head_without_end_is_cut_off(served: Served) -> None:
    for said in (b"GET /" + b"a" * 300_000, b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 60_000,
                 b"GET / HTTP/1.1\r\nX: " + b"a" * 300_000):  # fmt: skip
        with served.raw() as raw:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                raw.sendall(said)
            with contextlib.suppress(ConnectionError):  # who is still sending when we hang up hears nothing
                assert read_reply(raw).code == "too_large"
    big = _get("/", f"Host: localhost:{served.port}", *[f"X-{n}: {'v' * 5000}" for n in range(20)])
    assert _say(served, big).status in (413, 400)
    assert served.ask("GET", "/api/inbox").status == 200


def test_an_address_that_is_too_long_is_called_that(served: Served) -> None:
    """A task of a few thousand signs of Chinese, percent-encoded, is longer than the parser takes."""
    refused = served.ask("GET", "/api/context?task=" + "%E7%99%BB" * 8_000)
    assert (refused.status, refused.code) == (413, "too_large")
    assert served.ask("GET", "/api/context?task=" + "%E7%99%BB" * 6_000).status == 200


def test_a_head_that_never_ends_is_given_up(served: Served) -> None:
    with served.raw() as silent, served.raw() as half:
        half.sendall(b"GET /api/inbox HTTP/1.1\r\nHost: loc")
        reply = read_reply(half)
        assert (reply.status, reply.code) == (408, "too_slow")
        assert silent.recv(10) == b""  # nothing was said, and nothing is answered


@pytest.mark.parametrize(
    "said",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"hello\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_no_request_gets_a_plain_no(served: Served, said: bytes) -> None:
    reply = _say(served, said)
    assert reply.status in (400, 403, 408)
    assert reply.code in ("invalid_input", "foreign_host", "too_slow")


def test_requests_that_are_sent_in_one_go_are_answered_in_order(served: Served) -> None:
    with served.raw(tcp=False) as raw:
        one = _get("/api/projects/-", "Host: x", "Minutebook-Project: nostromo")
        raw.sendall(one + _get("/nowhere", "Host: x") + _post(served, "Content-Length: 2") + b"{}" + one)
        stream = raw.makefile("rb")
        statuses = []
        for _ in range(4):
            statuses.append(int(stream.readline().split()[1]))
            length = 0
            while (line := stream.readline()) != b"\r\n":
                if line.startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            stream.read(length)
    assert statuses == [200, 404, 400, 200]


def test_an_upgrade_is_not_taken(served: Served) -> None:
    headers = ("Host: x", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: eA==")
    reply = _say(served, _get("/api/projects/-", *headers, "Minutebook-Project: nostromo"), tcp=False)
    assert reply.status == 200


# Rates


def test_a_token_that_asks_too_often_is_told_when_to_come_back(alone: House, tmp_path: Path) -> None:
    with Served(alone, tmp_path, requests_per_minute=5) as served:
        token, other = served.token("viewer", "Jones"), served.token("viewer", "Dallas")
        replies = [served.ask("GET", "/api/inbox", token=token) for _ in range(8)]
        assert [reply.status for reply in replies] == [*[200] * 5, *[429] * 3]
        assert replies[-1].code == "rate_limited"
        assert 1 <= int(replies[-1].headers["retry-after"]) <= 12
        assert served.ask("GET", "/api/inbox", token=other).status == 200
        assert all(served.ask("GET", "/api/inbox").status == 200 for _ in range(10))


def test_a_share_fills_up_again_evenly() -> None:
    now = [0.0]
    rates = Rates(60, lambda: now[0])
    for _ in range(60):
        rates.take(b"a")
    assert _limited(lambda: rates.take(b"a")) == pytest.approx(1.0)
    now[0] += 1.0
    rates.take(b"a")
    _limited(lambda: rates.take(b"a"))
    now[0] += 3600
    for _ in range(60):
        rates.take(b"a")
    _limited(lambda: rates.take(b"a"))
    rates.take(b"b")


def _limited(take: Callable[[], None]) -> float:
    with pytest.raises(MinutebookError) as refused:
        take()
    assert refused.value.code == "rate_limited"
    return refused.value.details["retry_after"]


def test_the_rates_of_strangers_take_no_room() -> None:
    rates = Rates(60, lambda: 0.0)
    for number in range(10_000):
        rates.take(b"%d" % number)
    assert len(rates._left) <= 4096


# Crowds


def test_more_connections_than_there_is_room_for_are_told_to_wait(served: Served) -> None:
    with contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(served.raw()) for _ in range(20)]
        assert len(crowd) == 20
        assert _until(lambda: served.reach.observer.gauge("connections") == 20)
        late = _say(served, _get("/", f"Host: localhost:{served.port}"))
        assert (late.status, late.code) == (503, "overloaded")
        assert late.headers["retry-after"] == "1"
        # The crowd is on the port; the socket is another door.
        assert served.ask("GET", "/api/inbox").status == 200
    assert _until(lambda: served.reach.observer.gauge("connections") == 0)
    assert served.ask("GET", "/api/inbox", token=served.token()).status == 200


def test_ten_thousand_connections_do_not_end_the_service(alone: House, tmp_path: Path) -> None:
    """Opened as fast as they can be, each kept open as long as there are handles for it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, 12_000) if hard != resource.RLIM_INFINITY else 12_000
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        with Served(alone, tmp_path, connections=200) as served:
            open_ones: list[socket.socket] = []
            served_meanwhile: list[int] = []
            for number in range(10_000):
                made = socket.socket()
                made.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    made.connect(("127.0.0.1", served.port))
                open_ones.append(made)
                if len(open_ones) > (wanted - 2_500) // 2:
                    open_ones.pop(0).close()
                if number % 2_000 == 0:
                    served_meanwhile.append(served.ask("GET", "/api/inbox").status)
            assert served_meanwhile == [200] * 5
            assert served.reach.observer.gauge("connections") <= 202
            for made in open_ones:
                made.close()
            assert _until(lambda: served.reach.observer.gauge("connections") == 0)
            assert served.ask("GET", "/api/inbox", token=served.token()).status == 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _until(holds: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not holds():
        if time.monotonic() > deadline:
            return False
        pause.wait(0.01)
    return True


def test_work_that_waits_is_bounded(alone: House, tmp_path: Path) -> None:
    """Backups and the like have few threads of their own; who comes when all wait already is told so."""
    with Served(alone, tmp_path) as served:
        go = threading.Event()
        started = threading.Semaphore(0)

        def occupy() -> None:
            started.release()
            go.wait(20)

        loop = served.server._loop
        assert loop is not None
        busy = [asyncio.run_coroutine_threadsafe(served.reach.slow.do(occupy), loop) for _ in range(8)]
        assert started.acquire(timeout=10)
        assert started.acquire(timeout=10)
        reply = served.ask("POST", "/api/system/reindex", {})
        assert (reply.status, reply.code) == (503, "overloaded")
        assert served.ask("GET", "/api/system/health").status == 200
        go.set()
        for done in busy:
            done.result(10)
        assert served.ask("POST", "/api/system/reindex", {}).status == 200


def test_a_short_write_and_a_short_read_need_no_thread(alone: House, tmp_path: Path) -> None:
    """Where all threads are at work, only what may take long has to wait."""
    with Served(alone, tmp_path) as served:
        go = threading.Event()
        started = threading.Semaphore(0)

        def occupy() -> None:
            started.release()
            go.wait(20)

        loop = served.server._loop
        assert loop is not None
        busy = [asyncio.run_coroutine_threadsafe(served.reach.quick.do(occupy), loop) for _ in range(8)]
        for _ in busy:
            assert started.acquire(timeout=10)
        made = served.ask("POST", "/api/memories", {"type": "learning", "content": "The airlock sticks."})
        assert made.status == 201
        assert served.ask("GET", made.headers["location"]).status == 200
        assert not any(done.done() for done in busy)
        go.set()
        for done in busy:
            done.result(10)
