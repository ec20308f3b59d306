"""A two-minute story of what minutebook does, told by the program itself.

`make start` runs it. Every command is the installed program's, in a ledger of its own that is thrown away
afterwards. It ends with an error as soon as the program answers otherwise than is told here, so that the
story is also a test.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path

#: Errors by kind, as the program's exit codes tell them.
DENIED, REFUSED = 4, 6
INTERRUPTED = 130

#: Put together here, so that no scanner of this repository takes it for a real one.
LEAKED = "AKIA" + "Q3EGRTLZN7VWKXOP"

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_BOLD, _CYAN, _GREEN, _PLAIN = "\x1b[1m", "\x1b[36m", "\x1b[32m", "\x1b[0m"

#: Seconds to read a sentence, and one line of output; and the shortest and longest pause after a command.
_SENTENCE, _PER_LINE, _SHORTEST, _LONGEST = 1.5, 0.4, 0.6, 5.0


class Broken(Exception):
    """The program did not answer as the story tells."""


class Stage:
    """Where the story is played: a directory, a ledger, a program, and a screen."""

    def __init__(self, directory: Path, *, fast: bool) -> None:
        self.live = sys.stdout.isatty()
        self.slow = self.live and not fast
        self.colour = self.live and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.width = max(60, min(shutil.get_terminal_size((80, 24)).columns, 100))
        self.project = directory / "nostromo"
        self.project.mkdir()
        self.program = Path(sys.executable).parent / "minutebook"
        # Nothing of the reader's own settings may reach the story, nor the story the reader's own ledger.
        settings = {name: value for name, value in os.environ.items() if not name.startswith("MINUTEBOOK_")}
        self.environment = settings | {
            "MINUTEBOOK_HOME": str(directory / "home"),
            "MINUTEBOOK_IDLE_EXIT": "300",
            "LOGNAME": "you",
            "COLUMNS": str(self.width - 2),
        }
        self._chapters = 0

    def end(self) -> None:
        """End the service that the first command started, before its home is thrown away."""
        subprocess.run(
            [self.program, "stop", "--force"],
            env=self.environment,
            cwd=self.project,
            stdout=subprocess.DEVNULL,
            check=True,
        )

    # What is seen

    def chapter(self, title: str) -> None:
        self._chapters += 1
        self._line()
        rule = "─" if (sys.stdout.encoding or "").lower().startswith("utf") else "-"
        head = f"{rule * 2} {self._chapters}. {title} "
        self._line(head + rule * (self.width - len(head)), _BOLD)

    def say(self, sentence: str) -> None:
        self._line()
        self._line(textwrap.fill(sentence, self.width))
        self._pause(_SENTENCE)

    def run(self, *words: str, code: int = 0, shows: Sequence[str] = (), hides: Sequence[str] = ()) -> None:
        """Type a command, show the program's answer, and check that it is the one that is told."""
        self._line()
        self._type(words)
        answered, output = self._answer(words)
        for line in output.splitlines():
            for part in _folded(line, self.width - 2):
                sys.stdout.write(f"  {part}\n")
        sys.stdout.flush()
        plain = " ".join(_ESCAPE.sub("", output).split())
        if answered != code:
            raise Broken(f"the exit code is {answered}, and not {code}")
        for text in shows:
            if text not in plain:
                raise Broken(f"the answer does not say {text!r}")
        for text in hides:
            if text in plain:
                raise Broken(f"the answer says {text!r}")
        self._pause(min(_LONGEST, max(_SHORTEST, len(output.splitlines()) * _PER_LINE)))

    def export(self, name: str, value: str) -> None:
        """Set a variable for all that follows, as a person would in a shell."""
        self._line()
        self._prompt(f"export {name}={value}", "$ ")
        self.environment[name] = value

    def ask(self, *words: str) -> str:
        """The bare name of the first thing that a listing holds, unseen."""
        answered, output = self._answer((*words, "-q"))
        names = _ESCAPE.sub("", output).split()
        if answered or not names:
            raise Broken(f"{shlex.join(words)} names nothing")
        return names[0]

    def close(self, lines: Sequence[str]) -> None:
        self._line()
        for line in lines:
            self._line(line)

    def _line(self, text: str = "", style: str = "") -> None:
        sys.stdout.write((f"{style}{text}{_PLAIN}" if style and self.colour else text) + "\n")

    def _type(self, words: Sequence[str]) -> None:
        lines = _command_lines(["minutebook", *words], self.width)
        for number, line in enumerate(lines):
            self._prompt(line, "$ " if number == 0 else "    ")
        sys.stdout.flush()

    def _prompt(self, line: str, prompt: str) -> None:
        if self.colour:
            self._line(f"{_GREEN}{prompt}{_PLAIN}{_BOLD}{_CYAN}{line}{_PLAIN}")
        else:
            self._line(prompt + line)

    def _pause(self, seconds: float) -> None:
        if self.slow:
            sys.stdout.flush()
            time.sleep(seconds)

    # What is done

    def _answer(self, words: Sequence[str]) -> tuple[int, str]:
        command = [str(self.program), *words]
        if self.live:
            return _run_on_terminal(command, self.environment, self.project)
        done = subprocess.run(
            command,
            env=self.environment,
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return done.returncode, done.stdout.decode()


def _run_on_terminal(command: Sequence[str], environment: dict[str, str], directory: Path) -> tuple[int, str]:
    """Run a command with a terminal of its own, so that it speaks in colour, and read what it says."""
    import pty  # not on every system, and only a terminal needs it

    master, slave = pty.openpty()
    process = subprocess.Popen(
        command, env=environment, cwd=directory, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave
    )
    os.close(slave)
    said = b""
    try:
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # how Linux says that the other side was closed
                break
            if not part:
                break
            said += part
    finally:
        os.close(master)
    return process.wait(), said.decode().replace("\r\n", "\n")


def _quoted(word: str) -> str:
    """A word as a person would type it."""
    if shlex.quote(word) == word:
        return word
    return f'"{word}"' if not set(word) & set('"$`\\!') else shlex.quote(word)


def _command_lines(words: Sequence[str], width: int) -> list[str]:
    """A command, broken where it is too long for one line, as a shell takes it; a flag keeps its value."""
    units: list[str] = []
    for word in map(_quoted, words):
        if units and units[-1].startswith("--") and " " not in units[-1]:
            units[-1] += f" {word}"
        else:
            units.append(word)
    lines = [units[0]]
    for unit in units[1:]:
        if len(lines[-1]) + len(unit) + 7 > width:
            lines[-1] += " \\"
            lines.append(unit)
        else:
            lines[-1] += f" {unit}"
    return lines


def _folded(line: str, width: int) -> list[str]:
    """A line broken between words; escapes take no room."""
    if len(_ESCAPE.sub("", line)) <= width:
        return [line]
    first, *words = line.split(" ")
    parts = [first]
    for word in words:
        longer = f"{parts[-1]} {word}"
        if len(_ESCAPE.sub("", longer)) > width:
            parts.append(f"  {word}")
        else:
            parts[-1] = longer
    return parts


# The story


def tell(stage: Stage) -> None:
    _the_team(stage)
    _one_slug_two_agents(stage)
    _the_review(stage)
    _what_is_kept_out(stage)
    _what_an_agent_knows(stage)
    _the_undo(stage)
    _the_search(stage)


def _the_team(stage: Stage) -> None:
    stage.chapter("A project, and who works on it")
    stage.say("A directory becomes a project. Its id is in a file that travels with the repository.")
    stage.run("init", shows=["is the project nostromo now"])
    stage.say("Three agents may propose. A coordinator may review. You run the house.")
    stage.run("actors", "add", "Ripley", "-q", shows=["ripley"])
    stage.run("actors", "add", "Bishop", "-q", shows=["bishop"])
    stage.run("actors", "add", "Ash", "-q", shows=["ash"])
    stage.run("actors", "add", "Dallas", "--role", "coordinator", "-q", shows=["dallas"])
    stage.run("actors", "list", shows=["Ripley agent", "Bishop agent", "Ash agent", "Dallas coordinator"])


def _one_slug_two_agents(stage: Stage) -> None:
    stage.chapter("Two agents, one slug")
    stage.say("Ripley proposes a decision. It binds nobody before it is reviewed.")
    stage.run(
        "--as", "Ripley", "inbox", "submit", "architectural", "Use PostgreSQL",
        "One PostgreSQL database for all services.", "--slug", "database",
        shows=["created proposal database (pending, high risk)"],
    )  # fmt: skip
    stage.say("Bishop asks for the same slug. Nothing is overwritten: each has a proposal of its own.")
    bishops = (
        "--as", "Bishop", "inbox", "submit", "architectural", "Use SQLite",
        "Each service keeps a SQLite file of its own.", "--slug", "database",
    )  # fmt: skip
    stage.run(*bishops, shows=["created proposal database--bishop, because database is another agent's"])
    stage.say("Bishop is not sure that this arrived, and sends it again. A retry changes nothing.")
    stage.run(*bishops, shows=["unchanged proposal database--bishop"])
    stage.run("inbox", "list", shows=["database--bishop", "ripley high"])


def _the_review(stage: Stage) -> None:
    stage.chapter("A review that holds")
    stage.say("Ripley would like to approve its own proposal.")
    stage.run("--as", "Ripley", "inbox", "promote", "database", code=DENIED, shows=["error[not_allowed]"])
    stage.say("Dallas may. The proposal becomes a decision in one transaction, or nothing happens.")
    stage.run(
        "--as", "Dallas", "inbox", "promote", "database", "--reason", "one place to back up",
        shows=["promoted database -> decision"],
    )  # fmt: skip
    stage.run(
        "--as", "Dallas", "inbox", "reject", "database--bishop", "many files, many backups",
        shows=["rejected database--bishop: many files, many backups", "tombstone"],
    )  # fmt: skip


def _what_is_kept_out(stage: Stage) -> None:
    stage.chapter("What is kept out")
    stage.say("Ash brings the rejected idea back, spelled otherwise. A tombstone stands on the claim.")
    stage.run(
        "--as", "Ash", "inbox", "submit", "architectural", "SQLite again",
        "EACH service keeps a  SQLite file of its own.",
        code=REFUSED, shows=["error[tombstoned]", "rejected by dallas", "many files, many backups"],
    )  # fmt: skip
    stage.say("Ash notes a credential. It is refused; the refusal is recorded, the credential is not.")
    stage.run(
        "--as", "Ash", "memories", "write", "learning", f"Deploys work with the key {LEAKED}.",
        code=REFUSED, shows=["error[secret]", "aws_access_key"], hides=[LEAKED],
    )  # fmt: skip
    stage.say("What Ash learned itself it may write at once, and show to the others with a tag.")
    stage.run(
        "--as", "Ash", "memories", "write", "learning", "The staging proxy drops bodies over 1 MB.",
        "--slug", "staging-proxy", "--tag", "cross-team",
        shows=["added staging-proxy (revision 1)"],
    )  # fmt: skip


def _what_an_agent_knows(stage: Stage) -> None:
    stage.chapter("What an agent knows when it starts")
    stage.say("Ripley starts a run, and is told what binds it. That block is frozen for the run.")
    stage.run(
        "--as", "Ripley", "runs", "start", "--task", "upload large files",
        shows=["of ripley: open", "## Boundaries and Decisions", "One PostgreSQL database for all services."],
        hides=["proxy"],
    )  # fmt: skip
    stage.say("What an agent finds out in a run belongs to the run.")
    stage.export("MINUTEBOOK_RUN", "current")
    stage.run(
        "--as", "Ripley", "inbox", "submit", "learning", "Chunked uploads",
        "Uploads over 1 MB must be sent in chunks.", "--slug", "chunks", "-q",
        shows=["chunks"],
    )  # fmt: skip
    stage.run(
        "--as", "Ripley", "inbox", "submit", "scope", "No phones", "Nothing is built for phones this year.",
        "--slug", "no-phones", "-q",
        shows=["no-phones"],
    )  # fmt: skip
    stage.say("When the run ends, the scribe keeps what it learned. What would bind everyone waits for you.")
    stage.run(
        "--as", "Ripley", "runs", "finish", "current", "--summary", "Uploads work.",
        shows=["1 promoted, 1 waiting for review", "chunks learning add scribe", "no-phones scope high"],
    )  # fmt: skip
    stage.say("So Ripley's next run knows it.")
    stage.run(
        "context", "--agent", "ripley", "--task", "upload large files",
        shows=["## Memory", "**learning** by ripley, kept by the scribe", "must be sent in chunks."],
        hides=["phones"],
    )  # fmt: skip


def _the_undo(stage: Stage) -> None:
    stage.chapter("A better decision, and an undo")
    stage.say("You are an operator: you decide without a proposal, and the ledger says that you did.")
    stage.run(
        "decisions", "write", "architectural", "Use PostgreSQL 18",
        "One PostgreSQL 18 cluster for all services.", "--slug", "database",
        shows=["added database (revision 1): Supersedes 'database'."],
    )  # fmt: skip
    stage.say("Every write was answered by a verdict, the refused ones too. No content is in the list.")
    stage.run("verdicts", "list", shows=["supersede database", "refuse", "hold", "skip"], hides=[LEAKED])
    stage.say("PostgreSQL 18 came too early. The verdict is reverted: what it replaced governs again.")
    superseded = stage.ask("verdicts", "list", "--op", "supersede", "--limit", "1")
    stage.run(
        "verdicts", "revert", superseded, "--reason", "the driver is not ready",
        shows=["Reverted supersede of 'database'."],
    )  # fmt: skip
    stage.run("decisions", "list", shows=["Use PostgreSQL active"], hides=["PostgreSQL 18"])


def _the_search(stage: Stage) -> None:
    stage.chapter("What everybody finds")
    stage.say("Bishop asks. It sees the project's decisions, and what others tagged cross-team.")
    stage.run(
        "--as", "Bishop", "search", "postgresql proxy",
        shows=["2 found", "staging-proxy", "database"], hides=["PostgreSQL 18", "chunks"],
    )  # fmt: skip


def _what_next(stage: Stage) -> list[str]:
    installed = shutil.which("minutebook") is not None
    ready = [] if installed else ["  uv tool install .            (or: pipx install .)"]
    return [
        *ready,
        "  cd your/project",
        "  minutebook init",
        "  minutebook connect           let Claude Code, Codex, Cursor, … speak with it",
        "  minutebook inbox digest      what waits for you",
        "",
        textwrap.fill(
            "Set MINUTEBOOK_AGENT=ripley in an agent's environment, and all it does with minutebook is done "
            "as the agent ripley. README.md goes on from here; minutebook --help lists every command.",
            stage.width,
        ),
    ]


def main(arguments: Sequence[str]) -> int:
    if set(arguments) - {"--fast"}:
        sys.stderr.write("usage: python demo/story.py [--fast]\n")
        return 2
    with tempfile.TemporaryDirectory(prefix="minutebook-story-") as directory:
        stage = Stage(Path(directory), fast="--fast" in arguments)
        if not stage.program.exists():
            sys.stderr.write(f"there is no {stage.program}; run: make start\n")
            return 1
        stage.say(
            "minutebook is the shared, governed memory of a team of AI agents. This is the real program on a "
            "ledger of its own, which is thrown away at the end; yours is not touched."
        )
        try:
            tell(stage)
        except Broken as broken:
            sys.stdout.flush()
            sys.stderr.write(f"\nthe story broke here: {broken}\n")
            return 1
        except KeyboardInterrupt:
            sys.stdout.write("\nstopped; nothing of yours was touched\n")
            return INTERRUPTED
        finally:
            stage.end()
        stage.chapter("Now in your own project")
        stage.close(_what_next(stage))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
