"""The command line: `minutebook NOUN VERB`, a projection of the registry.

Nothing is imported before it is needed: the first help screen reads two tables, `minutebook inbox` imports
one module, and only a command that runs opens the ledger.
"""

from __future__ import annotations

import difflib
import os
import shlex
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

import minutebook
from minutebook.model.errors import MinutebookError
from minutebook.operations.registry import Registry
from minutebook.surfaces.cli import help as teaching
from minutebook.surfaces.cli import output
from minutebook.surfaces.cli.commands import (
    Act,
    Answer,
    Caller,
    CallerOptions,
    Invocation,
    OpenCaller,
    global_options,
)
from minutebook.surfaces.cli.completion import VARIABLE, complete, completion_command

__all__ = ["Answer", "Caller", "CallerOptions", "Invocation", "OpenCaller", "Program", "build_cli", "run"]

_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
BROKEN_PIPE = 141  # 128 + SIGPIPE
#: Nouns that read better as a verb: `minutebook capture note …`.
_SAID_ALSO = {"capture": "captures"}
#: So many commands are named where none is like what was said.
_MOST_NAMED = 12
#: What other programs call it, and what it is called here.
_SAID_ELSEWHERE = {
    "add": ("write", "submit", "create", "start"),
    "approve": ("promote", "accept"),
    "accept": ("promote",),
    "create": ("write", "submit", "add", "start"),
    "delete": ("retire", "archive", "erase", "remove", "revoke"),
    "end": ("finish", "close"),
    "find": ("search",),
    "get": ("show",),
    "list": ("decisions", "memories", "inbox"),
    "logs": ("events", "daily"),
    "ls": ("list", "decisions", "memories"),
    "new": ("write", "submit", "create", "start"),
    "propose": ("submit", "inbox"),
    "query": ("search",),
    "recall": ("search", "context"),
    "remember": ("memories",),
    "rm": ("retire", "archive", "erase", "remove", "revoke"),
    "undo": ("revert", "verdicts"),
    "view": ("show",),
}


def build_cli(registry: Registry, open_caller: OpenCaller) -> Program:
    """The whole command line; more commands may be added with `add_command`."""
    program = Program(registry, open_caller)
    program.add_command(completion_command(program))
    return program


def meant_by(word: str, known: Sequence[str]) -> list[str]:
    """What somebody may have meant who said a word that is no command here, the likeliest first."""
    if word in ("help", "version"):
        return [f"--{word}"]
    elsewhere = [name for name in _SAID_ELSEWHERE.get(word.casefold(), ()) if name in known]
    return elsewhere or difflib.get_close_matches(word, known, n=3, cutoff=0.6)


class _Commands(click.Group, ABC):
    """A group that knows its commands by name and summary, and builds only the one that is asked for."""

    @abstractmethod
    def summaries(self, ctx: click.Context) -> Mapping[str, str]:
        """Every command with one line about it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.summaries(ctx))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        command = self.get_command(ctx, args[0])
        if command is None and not ctx.resilient_parsing:
            known = self.list_commands(ctx)
            meant = meant_by(args[0], known)
            if meant:
                hint = f"; did you mean {' or '.join(meant)}?"
            else:  # beyond a dozen the help is easier to read
                hint = f"; known: {', '.join(known)}" if len(known) <= _MOST_NAMED else ""
            raise click.UsageError(f"there is no command {args[0]!r} here{hint}", ctx)
        return (args[0] if command else None), command, args[1:]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = self.summaries(ctx)
        found = [
            CompletionItem(name, help=said) for name, said in names.items() if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)


class Program(_Commands):
    """`minutebook` itself."""

    def __init__(self, registry: Registry, open_caller: OpenCaller) -> None:
        super().__init__(
            "minutebook", params=global_options(), context_settings=_SETTINGS, invoke_without_command=True
        )
        self.params.append(
            click.Option(
                ["--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_version,
                help="Print the version.",
            )
        )
        self._registry = registry
        self._open_caller = open_caller

    def summaries(self, ctx: click.Context) -> Mapping[str, str]:
        return self._nouns() | self._house()

    def _nouns(self) -> dict[str, str]:
        return {noun: said for noun, said in self._registry.nouns.items() if noun != "system"}

    def _house(self) -> dict[str, str]:
        added = {name: command.get_short_help_str(100) for name, command in self.commands.items()}
        return added | self._registry.system

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        if cmd_name in self._registry.system:
            return Act(self._registry.get(f"system.{cmd_name.replace('-', '_')}"), self._open_caller)
        cmd_name = _SAID_ALSO.get(cmd_name, cmd_name)
        if cmd_name not in self._nouns():
            return None
        operations = self._registry.noun(cmd_name)
        if [operation.verb for operation in operations] == [cmd_name]:
            return Act(operations[0], self._open_caller)
        return Noun(self._registry, cmd_name, self._open_caller)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        teaching.of_program(self._nouns(), self._house(), self.get_params(ctx), formatter)

    def invoke(self, ctx: click.Context) -> Any:
        value = super().invoke(ctx)
        if ctx.invoked_subcommand is None:
            click.echo(ctx.get_help(), color=ctx.color)
        return value


class Noun(_Commands):
    """`minutebook inbox`: the verbs of one noun. A verb of the noun's own name is said by the noun alone."""

    def __init__(self, registry: Registry, noun: str, open_caller: OpenCaller) -> None:
        self._summary = registry.nouns[noun]
        self._operations = {item.command.rpartition(" ")[2]: item for item in registry.noun(noun)}
        self._open_caller = open_caller
        alone = self._operations.pop(noun, None)
        self._alone = None if alone is None else Act(alone, open_caller)
        super().__init__(
            noun,
            params=global_options() if self._alone is None else self._alone.params,
            context_settings=_SETTINGS,
            invoke_without_command=self._alone is not None,
        )

    def summaries(self, ctx: click.Context) -> Mapping[str, str]:
        return {verb: operation.summary for verb, operation in self._operations.items()}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        operation = self._operations.get(cmd_name)
        return Act(operation, self._open_caller) if operation else None

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        others = list(self._operations.values())
        if self._alone is not None:
            teaching.of_operation(self._alone.operation, formatter, others)
        else:
            teaching.of_noun(str(self.name), self._summary, others, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        value = super().invoke(ctx)
        if self._alone is not None and ctx.invoked_subcommand is None:
            return self._alone.invoke(ctx)
        return value


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"minutebook {minutebook.__version__}")
        ctx.exit()


# Running


def run(program: click.Group, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run one command line, print its answer or its error, and return the exit code."""
    if instruction := environment.get(VARIABLE):
        return complete(program, instruction)
    screen = output.Screen.of(sys.stdout, sys.stderr, environment)
    invocation = Invocation()
    try:
        code, answer = _invoke(program, list(arguments), invocation, screen)
        if answer is not None:
            _print(answer, arguments, invocation, screen)
        screen.out.flush()
        return code
    except MinutebookError as error:
        return _fail(error, invocation, screen)
    except click.UsageError as error:
        # The options may not have been read when the parser gave up, so look for -o itself.
        invocation.output = _wanted_output(arguments) or invocation.output
        return _fail(_usage_error(error), invocation, screen)
    except (KeyboardInterrupt, click.Abort):
        screen.err.write("interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:
        _abandon(screen)
        return BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the last door: whatever comes here is shown as our defect
        if screen.debug:
            traceback.print_exc(file=screen.err)
        return _fail(_defect(error), invocation, screen)


def _invoke(
    program: click.Group, arguments: list[str], invocation: Invocation, screen: output.Screen
) -> tuple[int, Any]:
    try:
        with program.make_context(
            "minutebook",
            arguments,
            obj=invocation,
            color=screen.out_colour,
            terminal_width=min(screen.width, 100),
        ) as ctx:
            answer = program.invoke(ctx)
            return (answer.code if isinstance(answer, Answer) else 0), answer
    except click.exceptions.Exit as done:
        return done.exit_code, None


def _print(answer: Any, arguments: Sequence[str], invocation: Invocation, screen: output.Screen) -> None:
    if not isinstance(answer, Answer):
        answer = Answer(answer)
    if invocation.no_color:
        screen = screen.plain()
    again = shlex.join(["minutebook", *_without_after(arguments)])
    try:
        output.show(answer.value, answer.operation, invocation.output, invocation.quiet, again, screen)
        screen.out.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _abandon(screen)
        raise MinutebookError(
            "io_error",
            f"the answer could not be printed: {error.strerror or error}",
            hint="the command itself was carried out",
        ) from error


def _fail(error: MinutebookError, invocation: Invocation, screen: output.Screen) -> int:
    if invocation.no_color:
        screen = screen.plain()
    try:
        output.show_error(error, invocation.output, screen)
    except BrokenPipeError:
        _abandon(screen)
    return error.exit_code


def _usage_error(error: click.UsageError) -> MinutebookError:
    """An error of click in our shape: what is wrong in a sentence, then where to look."""
    place = error.ctx.command_path if error.ctx is not None else "minutebook"
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        message = "a verb is missing"  # click's message is the whole help
    else:
        message = " ".join(error.format_message().rstrip(".").split())  # choices come a line each
    return MinutebookError("invalid_input", message[:1].lower() + message[1:], hint=f"try {place} --help")


def _defect(error: Exception) -> MinutebookError:
    cause = " ".join(f"{type(error).__name__}: {error}".split())
    return MinutebookError("internal", cause[:500], hint="run with MINUTEBOOK_DEBUG=1 for the trace")


def _wanted_output(arguments: Sequence[str]) -> str | None:
    found = None
    for word, following in zip(arguments, [*arguments[1:], ""], strict=False):
        for value in (
            following if word in ("-o", "--output") else "",
            word.removeprefix("--output="),
            word[2:],
        ):
            if value in ("human", "json", "jsonl") and word.startswith(("-o", "--output")):
                found = value
    return found


def _without_after(arguments: Sequence[str]) -> list[str]:
    """The command line without its cursor, so that another can be put there."""
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--after":
            next(words, None)
        elif not word.startswith("--after="):
            kept.append(word)
    return kept


def _abandon(screen: output.Screen) -> None:
    """Let nothing more be written: Python would complain about the dead pipe when it flushes at exit."""
    try:
        descriptor = screen.out.fileno()
    except OSError:  # a stream in memory has none, and needs none
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
