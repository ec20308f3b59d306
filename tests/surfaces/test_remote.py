"""The client of a service elsewhere: the same answers and errors as in process, and nothing done twice."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook import connect
from minutebook.client import Client
from minutebook.model.errors import MinutebookError, Refusal
from minutebook.operations import actors, decisions, inbox, memories, projects, system, tokens
from minutebook.surfaces.remote import RemoteClient, SocketLink, UrlLink
from tests.surfaces.services import Served, until


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One service for all tests of this file, each of which has a project of its own."""
    place = tmp_path_factory.mktemp("served")
    made = Served(place / "home", place)
    made.ok("serve", "--background")
    yield made
    made.end()


@pytest.fixture
def client(
    served: Served, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Client]:
    for name, value in served.environ(MINUTEBOOK_PROJECT="").items():
        if name.startswith("MINUTEBOOK_"):
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(served.cwd)
    with connect() as opened:
        made = opened(projects.create, name=f"Project {abs(hash(request.node.name)) % 10**9}")
        opened.project = made.id  # type: ignore[attr-defined]
        monkeypatch.setenv("MINUTEBOOK_PROJECT", made.id)
        yield opened


def error_of(work: Callable[[], Any]) -> MinutebookError:
    with pytest.raises(MinutebookError) as raised:
        work()
    return raised.value


# The same as in process


def test_answers_are_typed_and_equal_to_those_in_process(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_SERVICE", "never")
    with connect(home=tmp_path / "alone", project="global") as alone:
        alone.project = alone(projects.create, name="Same").id  # type: ignore[attr-defined]
        for one in (client, alone):
            one(actors.add, name=f"Ripley {id(one)}", role="agent")
            done = one(decisions.write, type="scope", title="Range", content="Stay in orbit.", slug="range")
            assert (type(done).__name__, done.op, done.replayed) == ("Outcome", "add", False)
            one(decisions.write, type="scope", title="Range", content="Leave orbit.", slug="range")
        near, far = alone(decisions.show, ref="range"), client(decisions.show, ref="range")
        assert type(near) is type(far)
        assert near.memory.content == far.memory.content == "Leave orbit."
        assert type(near.memory.scope) is type(far.memory.scope)
        for listed in (alone(decisions.list_, limit=1), client(decisions.list_, limit=1)):
            assert [line.slug for line in listed.items] == ["range"]


@pytest.mark.parametrize(
    ("work", "code"),
    [
        (lambda client: client(inbox.show, ref="nothing"), "not_found"),
        (lambda client: client(memories.list_, limit=-1), "invalid_input"),
        (lambda client: client(memories.list_, limit="many"), "invalid_input"),
        (lambda client: client(memories.write, type="law", content="c"), "unknown_type"),
        (lambda client: client(memories.write, type="artifact"), "invalid_input"),
        (lambda client: client(memories.write, type="artifact", content="c", colour="red"), "invalid_input"),
        (lambda client: client(memories.write, type="artifact", content="x" * 70_000), "too_large"),
        (lambda client: client(memories.write, type="artifact", content=object()), "invalid_input"),
        (lambda client: client(memories.show, ref=""), "bad_slug"),
        (lambda client: client(inbox.promote, ref="a/b c?d#é%41"), "not_found"),
        (lambda client: client(inbox.promote, ref="."), "not_found"),
        (lambda client: client(inbox.promote, ref="promote"), "not_found"),
    ],
)
def test_errors_are_equal_to_those_in_process(
    client: Client, tmp_path: Path, work: Callable[[Client], Any], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_SERVICE", "never")
    with connect(home=tmp_path / "alone", project="global") as alone:
        near, far = error_of(lambda: work(alone)), error_of(lambda: work(client))
    for found in (near, far):
        found.details.pop("verdict", None)  # an id of its own
    assert (far.code, far.message, far.details) == (near.code, near.message, near.details)
    assert (far.code, type(far)) == (code, type(near))


def test_a_refusal_is_a_refusal(client: Client) -> None:
    with pytest.raises(Refusal) as refused:
        client(memories.write, type="artifact", content="The key is AKIA" + "Q3EGRIVJ4FBCX2LW")
    assert refused.value.code == "secret"


def test_every_kind_of_text_arrives_as_it_was(client: Client) -> None:
    told = 'Ünïcode, 漢字, 🚀, a % sign, a\ttab,\na line, "quotes" & <tags>; and + plus'
    client(memories.write, type="artifact", content=told, slug="text", tag=["a-b", "c.d"])
    found = client(memories.show, ref="text").memory
    assert (found.content, sorted(found.tags)) == (told, ["a-b", "c.d"])
    assert [line.slug for line in client(memories.list_, tag=["c.d"]).items] == ["text"]


def test_names_of_actors_and_projects_may_be_of_any_script(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect(agent="Рипли é") as ripley:
        ripley(inbox.submit, type="scope", title="Gate", content="Close it.", slug="gate")
    assert client(inbox.show, ref="gate").proposal.agent == "рипли é"
    with connect(actor="nobody é") as stranger:
        assert error_of(lambda: stranger(inbox.list_)).code == "not_found"


def test_relative_paths_are_made_absolute(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    client(system.export, file=Path("ledger.zip"))
    assert (tmp_path / "ledger.zip").exists()


# Threads, forks, closing


def test_threads_share_a_client(client: Client) -> None:
    raised: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for round in range(5):
                slug = f"map-{number}-{round}"
                client(
                    memories.write, type="artifact", content=f"Map {number} of {round}: {slug * 5}", slug=slug
                )
                assert client(memories.show, ref=slug).memory.slug == slug
        except BaseException as error:  # noqa: BLE001 - raised below, in the test's own thread
            raised.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert raised == []
    assert len(client(memories.list_, limit=100).items) == 60


def test_a_fork_has_connections_of_its_own(client: Client) -> None:
    assert client(memories.list_).items == ()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for _ in range(20):
                client(memories.list_)
            code = 0
        finally:
            os._exit(code)
    for _ in range(20):
        assert client(memories.list_).items == ()
    assert os.waitpid(child, 0)[1] == 0


def test_a_closed_client_says_so(client: Client) -> None:
    with connect() as other:
        other(memories.list_)
    assert error_of(lambda: other(memories.list_)).code == "ledger_closed"


# When the connection breaks


class Breaking:
    """Stands before the service and breaks connections: after a request went through, before its answer."""

    def __init__(self, path: str, behind: str, breaks: int, *, before: bool = False) -> None:
        self.path, self._behind, self._left, self._before = path, behind, breaks, before
        self.requests: list[bytes] = []
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(path)
        self._door.listen()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            caller, _ = self._door.accept()
            with caller:
                request = self._whole(caller)
                if request == b"":
                    return
                self.requests.append(request)
                breaking, self._left = self._left > 0, self._left - 1
                if breaking and self._before:
                    continue
                with socket.socket(socket.AF_UNIX) as service:
                    service.connect(self._behind)
                    service.sendall(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
                    answer = b""
                    while part := service.recv(65536):
                        answer += part
                if not breaking:
                    caller.sendall(answer)

    def _whole(self, caller: socket.socket) -> bytes:
        said = b""
        while b"\r\n\r\n" not in said:
            part = caller.recv(65536)
            if not part:
                return said
            said += part
        head, _, body = said.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        while len(body) < length:
            part = caller.recv(65536)
            said, body = said + part, body + part
        return said

    def close(self) -> None:
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(self.path)
        self._thread.join()
        self._door.close()


@pytest.fixture
def breaking(served: Served, tmp_path: Path) -> Iterator[Callable[..., tuple[Breaking, RemoteClient]]]:
    opened: list[Breaking] = []
    closed: list[RemoteClient] = []

    def make(breaks: int, project: str, **more: Any) -> tuple[Breaking, RemoteClient]:
        from minutebook.surfaces.light.places import Places

        places = Places(str(tmp_path / "front"))
        places.make()
        door = Breaking(places.socket, served.places.socket, breaks, **more)
        link = SocketLink(places, {}, start=False, tell=lambda _: None)
        made = RemoteClient(link, {"Minutebook-Origin": "python"}, project=project)
        opened.append(door)
        closed.append(made)
        return door, made

    yield make
    for made in closed:
        made.close()
    for door in opened:
        door.close()


@pytest.mark.parametrize("before", [True, False])
def test_a_write_without_an_answer_is_repeated_with_its_key_and_done_once(
    client: Client, breaking: Callable[..., tuple[Breaking, RemoteClient]], before: bool
) -> None:
    door, flaky = breaking(2, client.project, before=before)  # type: ignore[attr-defined]
    done = flaky(inbox.submit, type="scope", title="Gate", content="Close it.")
    assert done.slug == "gate"
    assert len(door.requests) == 3
    keys = {
        line
        for request in door.requests
        for line in request.split(b"\r\n")
        if line.startswith(b"Idempotency")
    }
    assert len(keys) == 1
    assert [line.slug for line in client(inbox.list_).items] == ["gate"]
    assert flaky(inbox.submit, type="scope", title="Lamp", content="Dim it.").slug == "lamp"
    assert len({r for r in door.requests if b"Idempotency" in r}) == 2, "every write has a key of its own"


def test_the_callers_own_key_is_the_one_that_is_sent(
    client: Client, breaking: Callable[..., tuple[Breaking, RemoteClient]]
) -> None:
    from minutebook.operations.registry import REGISTRY

    door, flaky = breaking(0, client.project)  # type: ignore[attr-defined]
    new = {"type": "artifact", "content": "A map.", "slug": "map"}
    operation = REGISTRY.get("memories.write")
    first = flaky.invoke(operation, new, key="mine")
    again = flaky.invoke(operation, new, key="mine")
    assert (first.replayed, again.replayed, again.memory) == (False, True, first.memory)
    other = error_of(lambda: flaky.invoke(operation, {**new, "content": "Another."}, key="mine"))
    assert other.code == "key_reused"
    assert all(b"Idempotency-Key: mine\r\n" in request for request in door.requests)


def test_a_read_is_repeated_and_what_has_no_key_is_not(
    client: Client, breaking: Callable[..., tuple[Breaking, RemoteClient]], tmp_path: Path
) -> None:
    door, flaky = breaking(1, client.project)  # type: ignore[attr-defined]
    assert flaky(inbox.list_).items == ()
    assert len(door.requests) == 2
    door._left = 1
    lost = error_of(lambda: flaky(system.export, file=tmp_path / "ledger.zip"))
    assert lost.code == "no_service"
    assert "not known" in lost.message
    assert len(door.requests) == 3


def test_something_else_that_listens_there_is_told_from_a_service(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:

        def answer() -> None:
            caller, _ = door.accept()
            with caller:
                caller.recv(65536)
                caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

        thread = threading.Thread(target=answer)
        thread.start()
        client = RemoteClient(UrlLink(f"http://127.0.0.1:{door.getsockname()[1]}"), {}, project="global")
        refused = error_of(lambda: client(memories.list_))
        thread.join()
        client.close()
    assert refused.code == "no_service"
    assert "not as minutebook does" in refused.message


# From afar


def test_a_token_leads_to_a_service_over_http(client: Client, served: Served) -> None:
    url = served.status()["service"]["url"]
    made = client(tokens.create, role="agent", agent="ripley")
    with connect(url=url, token=made.secret) as far:
        done = far(inbox.submit, type="scope", title="Gate", content="Close it.", slug="gate")
        assert done.slug == "gate"
        assert error_of(lambda: far(inbox.promote, ref="gate")).code == "not_allowed"
    assert client(inbox.show, ref="gate").proposal.agent == "ripley"
    with connect(url=url) as nobody:
        assert error_of(lambda: nobody(inbox.list_)).code == "no_token"
    with connect(url=url, token="mbk_" + "x" * 43) as stranger:
        assert error_of(lambda: stranger(inbox.list_)).code == "bad_token"
    # The same token on the socket binds as it does anywhere else.
    with connect(token=made.secret) as near:
        assert error_of(lambda: near(inbox.promote, ref="gate")).code == "not_allowed"
    done = served(
        "inbox", "list", "-q", MINUTEBOOK_SERVICE_URL=url, MINUTEBOOK_TOKEN=made.secret, MINUTEBOOK_PROJECT=""
    )
    assert (done.code, done.out) == (0, "gate\n")


def test_an_address_that_is_none_or_where_nobody_is_is_an_error(client: Client) -> None:
    for wrong in ("ledger.example", "ftp://ledger.example", "http://", "http://host/?a=b"):
        assert error_of(lambda wrong=wrong: connect(url=wrong)).code == "bad_setting"
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    with connect(url=f"http://127.0.0.1:{port}", token="mbk_x") as far:
        refused = error_of(lambda: far(inbox.list_))
    assert (refused.code, str(port) in refused.message) == ("no_service", True)
    assert error_of(lambda: connect(token="two words")).code == "bad_token"


def test_a_ledger_in_this_process_obeys_a_token_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINUTEBOOK_SERVICE", "never")
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home"
    with connect(home=home, project="global") as owner:
        owner.project = owner(projects.create, name="Nostromo").id  # type: ignore[attr-defined]
        secret = owner(tokens.create, role="agent", agent="ripley").secret
    with connect(home=home, token=secret) as ripley:
        assert error_of(lambda: ripley(inbox.promote, ref="gate")).code == "not_allowed"
        ripley(inbox.submit, type="scope", title="Gate", content="Close it.", slug="gate")


# What a command costs


def test_a_command_over_the_socket_imports_no_ledger(served: Served) -> None:
    script = (
        "import sys\nsys.argv = ['minutebook', 'inbox', 'list', '-o', 'json']\n"
        "from minutebook.__main__ import main\nassert main() == 0\n"
        "print(*sorted({'apsw', 'pydantic', 'uvicorn', 'starlette', 'mcp', 'asyncio', 're2', 'rich'} & set(sys.modules)),"
        " file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=served.environ(),
        cwd=served.cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["items"] == []
    assert done.stderr == "\n"


def test_after_a_restart_an_old_client_goes_on(client: Client, served: Served) -> None:
    client(memories.write, type="artifact", content="A map.", slug="map")
    before = served.status()["service"]["pid"]
    served.ok("restart")
    assert [line.slug for line in client(memories.list_).items] == ["map"]
    until(lambda: served.status()["service"]["pid"] != before, "it is another one")
