"""What a service says about itself, and what the commands that start and end it answer."""

from __future__ import annotations

from dataclasses import dataclass

from minutebook.model.times import to_the_minute


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A service that listens, and where."""

    pid: int
    version: str
    since: str
    ledger: str
    #: HTTP, with the API below /api, MCP at /mcp and its description at /docs
    url: str
    #: the same for this user alone, without a token
    socket: str
    #: lines of MCP, for `minutebook mcp`
    mcp_socket: str
    log: str
    #: whether a command started it, so that it ends by itself when nobody needs it
    background: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A service, as the command says that started or found it."""

    sentence: str
    service: Running

    @property
    def http(self) -> str:
        return self.service.url

    @property
    def docs(self) -> str:
        return self.service.url + "/docs"

    @property
    def mcp(self) -> str:
        return f"{self.service.url}/mcp, or over stdio: minutebook mcp"

    @property
    def socket(self) -> str:
        return self.service.socket

    @property
    def agents(self) -> str:
        return "minutebook connect says how to configure each host"

    @property
    def token(self) -> str:
        return "minutebook tokens create --help (HTTP takes one)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How the service of a home is at this moment."""

    #: starting, running, ending, or absent
    state: str
    home: str
    service: Running | None = None
    #: connections open, but for the one that asks
    clients: int | None = None
    #: requests since it began
    requests: int | None = None
    #: writes that wait for the disk
    waiting: int | None = None
    advice: str = ""

    @property
    def sentence(self) -> str:
        if self.state == "absent":
            return f"No service runs for {self.home}."
        if self.service is None:
            return f"The service of {self.home} is {self.state}."
        what = f"minutebook {self.service.version}, process {self.service.pid}, since {to_the_minute(self.service.since)}"
        return f"The service is {self.state}: {what}."

    @property
    def ledger(self) -> str | None:
        return self.service and self.service.ledger

    @property
    def http(self) -> str | None:
        return self.service and self.service.url

    @property
    def socket(self) -> str | None:
        return self.service and self.service.socket


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """What stopping it came to."""

    #: the process that ended; None when there was none
    pid: int | None
    sentence: str
