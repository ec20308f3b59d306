"""Every surface as something that can be asked: Python, the command line, the socket, HTTP, and MCP twice."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from minutebook import settings
from minutebook.client import Client
from minutebook.model.actors import Origin
from minutebook.model.errors import MinutebookError
from minutebook.operations.registry import REGISTRY, Operation, to_plain
from minutebook.service import LocalClient
from minutebook.surfaces import spelling
from minutebook.surfaces.asking import Doorkeeper, Said
from minutebook.surfaces.cli import program as cli
from minutebook.surfaces.remote import RemoteClient, SocketLink, UrlLink
from minutebook.wiring import open_caller, open_service
from tests.parity.story import PEOPLE, PROJECT
from tests.surfaces.services import Served

SURFACES = ("cli", "socket", "http", "mcp over http", "mcp over stdio")


class Surface:
    """Somewhere the story can be told. `ask` gives the plain answer, or the error's dict."""

    home: Path

    def settled(self) -> None:
        """The project and its people are there: tokens can be made."""

    def ask(self, who: str | None, operation: str, **arguments: Any) -> Any:
        raise AssertionError("each surface has its own")

    def close(self) -> None: ...


def of_client(client: Client, operation: str, arguments: Mapping[str, Any]) -> Any:
    try:
        return to_plain(client.invoke(REGISTRY.get(operation), dict(arguments)))
    except MinutebookError as error:
        return {"error": error.as_dict()}


class InProcess(Surface):
    """The oracle: the service in this process."""

    def __init__(self, home: Path, url: str) -> None:
        self.home = home
        self._service = open_service(settings.load({}, home=home, database_url=url))
        self._project: str | None = None

    def settled(self) -> None:
        self._project = PROJECT
        make_tokens(lambda arguments: self.ask(None, "tokens.create", **arguments))

    def ask(self, who: str | None, operation: str, **arguments: Any) -> Any:
        asker = Doorkeeper(self._service, uid=os.getuid()).by_peer(
            os.getuid(), Said(actor=who), Origin.PYTHON
        )
        client = LocalClient(self._service, actor=asker.actor, origin=Origin.PYTHON, project=self._project)
        return of_client(client, operation, arguments)

    def close(self) -> None:
        self._service.close()


def make_tokens(create: Callable[[dict[str, Any]], Any]) -> dict[str | None, str]:
    """A token for everybody in the story. Each surface makes them, so that each log has the same events."""
    found: dict[str | None, str] = {}
    people: dict[str | None, str] = {None: "operator", **PEOPLE}
    for who, role in people.items():
        more = {} if who is None else {"agent": who}
        found[who] = create({"role": role, "everywhere": True, "expires": "never", **more})["secret"]
    return found


class Outside(Surface):
    """A service in a process of its own."""

    def __init__(self, home: Path, url: str) -> None:
        self.home = home
        self._stack = ExitStack()
        work = home.parent / f"{home.name}-work"
        work.mkdir(parents=True)
        # Without workers: at which moment of the story a job is done would differ from surface to surface.
        self.served = Served(
            home, work, MINUTEBOOK_DATABASE_URL=url, MINUTEBOOK_PORT="0", MINUTEBOOK_JOB_WORKERS="0"
        )
        self._stack.callback(self.served.end)
        self._stack.enter_context(self.served.serving())
        self.facts = json.loads(Path(self.served.places.facts).read_text())
        self.project: str | None = None
        self.tokens: dict[str | None, str] = {}
        #: ask with a token also where the door itself would vouch for the name
        self.with_tokens = False

    def settled(self) -> None:
        self.project = PROJECT
        with self._by_socket(None) as client:
            self.tokens = make_tokens(lambda arguments: of_client(client, "tokens.create", arguments))

    def bind(self) -> None:
        """From here on everybody has a token for this project alone, and asks with it."""
        self.project = PROJECT
        with self._by_socket(None) as client:
            self.tokens = {
                who: of_client(client, "tokens.create", {"role": role, "agent": who})["secret"]
                for who, role in PEOPLE.items()
            }
        self.with_tokens = True

    def _by_socket(self, who: str | None) -> RemoteClient:
        link = SocketLink(self.served.places, {}, start=False, tell=_no_remark)
        if self.with_tokens and who is not None:
            return RemoteClient(link, {}, project=self.project, token=self.tokens[who])
        return RemoteClient(link, {"Minutebook-Actor": who}, project=self.project)

    def close(self) -> None:
        self._stack.close()


def _no_remark(text: str) -> None:
    raise AssertionError(text)


class Socket(Outside):
    def ask(self, who: str | None, operation: str, **arguments: Any) -> Any:
        with self._by_socket(who) as client:
            return of_client(client, operation, arguments)


class Http(Outside):
    def ask(self, who: str | None, operation: str, **arguments: Any) -> Any:
        if not self.tokens or who not in self.tokens:
            with self._by_socket(who) as client:
                return of_client(client, operation, arguments)
        link = UrlLink(self.facts["url"])
        with RemoteClient(link, {}, project=self.project, token=self.tokens[who]) as client:
            return of_client(client, operation, arguments)


class CommandLine(Outside):
    """`minutebook … -o json`, in this process and over the socket."""

    def ask(self, who: str | None, operation: str, **arguments: Any) -> Any:
        environ = {"MINUTEBOOK_HOME": str(self.home), "MINUTEBOOK_DATABASE_URL": self.served.environment["MINUTEBOOK_DATABASE_URL"], "MINUTEBOOK_SERVICE": "join"}  # fmt: skip
        words = ["-o", "json"]
        if self.with_tokens:
            environ["MINUTEBOOK_TOKEN"] = self.tokens[who]
        elif who is not None:
            words += ["--as", who]
        words += [] if self.project is None else ["--project", self.project]
        words += command_line(REGISTRY.get(operation), arguments)
        out, err = io.StringIO(), io.StringIO()
        program = cli.build_cli(REGISTRY, lambda options: open_caller(options, environ))
        with redirect_stdout(out), redirect_stderr(err):
            code = cli.run(program, words, {})
        if code == 0:
            return json.loads(out.getvalue())
        return {"error": json.loads(err.getvalue())}


def command_line(operation: Operation, arguments: Mapping[str, Any]) -> list[str]:
    """The words that a user would type."""
    options: list[str] = []
    places: list[str] = []
    for parameter in operation.parameters:
        if parameter.name not in arguments:
            continue
        value = arguments[parameter.name]
        flag = "--" + parameter.name.replace("_", "-")
        if parameter.argument:
            places += [str(item) for item in (value if parameter.many else [value])]
        elif parameter.switch:
            options += [flag] if value else []
        elif parameter.many:
            options += [word for item in value for word in (flag, str(item))] or [f"--no-{parameter.name}"]
        else:
            options += [flag, str(value)]
    return (
        [*operation.command.split(), *options, "--", *places]
        if places
        else [*operation.command.split(), *options]
    )


class Mcp(Outside):
    """The official SDK's own client: one conversation for each person."""

    def __init__(self, home: Path, url: str, *, stdio: bool) -> None:
        super().__init__(home, url)
        self._stdio = stdio
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._clients: dict[tuple[str | None, str | None], Any] = {}
        self._closers: list[Callable[[], Coroutine[Any, Any, None]]] = []

    def ask(self, who: str | None, operation: str, **arguments: Any) -> Any:
        if not self.tokens or who not in self.tokens:
            with self._by_socket(who) as client:
                return of_client(client, operation, arguments)
        return self._run(self._call(who, REGISTRY.get(operation), arguments))

    async def _call(self, who: str | None, operation: Operation, arguments: Mapping[str, Any]) -> Any:
        place = (who, self.project)
        if place not in self._clients:
            self._clients[place] = await self._connect(self.tokens[who], self.project or PROJECT)
        result = await self._clients[place].call_tool(spelling.tool(operation), dict(arguments))
        if result.is_error:
            return {"error": json.loads(result.content[0].text)}
        # The text says the same as the structure, for clients that know only the one.
        answer = unwrapped(result.structured_content)
        assert json.loads(result.content[0].text) == answer
        return answer

    async def _connect(self, token: str, project: str) -> Any:
        """A client that lives in a task of its own, as the SDK's cancel scopes ask for."""
        import httpx2
        from mcp import Client as McpClient
        from mcp import StdioServerParameters
        from mcp.client.streamable_http import streamable_http_client

        ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        leave = asyncio.Event()

        async def live() -> None:
            try:
                if self._stdio:
                    environ = {
                        **self.served.environment,
                        "MINUTEBOOK_HOME": str(self.home),
                        "MINUTEBOOK_TOKEN": token,
                        "MINUTEBOOK_PROJECT": project,
                    }
                    transport: Any = StdioServerParameters(
                        command=sys.executable, args=["-m", "minutebook", "mcp"], env=environ
                    )
                    async with McpClient(transport) as client:
                        ready.set_result(client)
                        await leave.wait()
                    return
                headers = {"Authorization": f"Bearer {token}", "Minutebook-Project": project}
                async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
                    transport = streamable_http_client(self.facts["url"] + "/mcp", http_client=http)
                    async with McpClient(transport) as client:
                        ready.set_result(client)
                        await leave.wait()
            except BaseException as error:
                if not ready.done():
                    ready.set_exception(error)
                    return
                raise

        task = asyncio.create_task(live())

        async def close() -> None:
            leave.set()
            await task

        self._closers.append(close)
        return await ready

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(120)

    def close(self) -> None:
        for closer in self._closers:
            self._run(closer())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        super().close()


def unwrapped(content: Any) -> Any:
    """MCP answers are objects: what is not one comes as `result`."""
    if isinstance(content, dict) and set(content) == {"result"}:
        return content["result"]
    return content


def open_surface(name: str, home: Path, url: str) -> Surface:
    if name == "cli":
        return CommandLine(home, url)
    if name == "socket":
        return Socket(home, url)
    if name == "http":
        return Http(home, url)
    return Mcp(home, url, stdio=name == "mcp over stdio")
