"""One operation as one command: its arguments and flags, and how texts come in."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from minutebook.model.errors import MinutebookError
from minutebook.operations.parameters import Parameter, unwrap
from minutebook.operations.registry import Operation
from minutebook.surfaces.cli import help as teaching

#: The most that is read from a file or stdin for one text; the operations have smaller limits of their own.
LARGEST_TEXT = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CallerOptions:
    """What the command line said about where and as whom to act; None where it said nothing."""

    project: str | None = None
    actor: str | None = None
    home: str | None = None
    database: str | None = None


class Caller(Protocol):
    """Whoever can carry out an operation: the service in this process, or a client of another."""

    def invoke(self, operation: Operation, arguments: dict[str, Any], key: str | None) -> Any: ...


OpenCaller = Callable[[CallerOptions], AbstractContextManager[Caller]]


@dataclass(slots=True)
class Invocation:
    """The global options of one command line, gathered from wherever they stood in it."""

    output: str = "human"
    project: str | None = None
    actor: str | None = None
    key: str | None = None
    home: str | None = None
    database: str | None = None
    quiet: bool = False
    no_color: bool = False

    @property
    def options(self) -> CallerOptions:
        return CallerOptions(self.project, self.actor, self.home, self.database)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has to say; printing it is left to the end, when the ledger is closed again."""

    value: Any
    operation: Operation | None = None
    #: the exit code: an answer may be bad news
    code: int = 0


@dataclass(frozen=True, slots=True)
class GlobalOption:
    name: str
    flags: tuple[str, ...]
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()


GLOBAL_OPTIONS = (
    GlobalOption(
        "output", ("-o", "--output"), "How to print the answer.", choices=("human", "json", "jsonl")
    ),
    GlobalOption("project", ("--project",), "The project to act in, when not that of the directory.", "NAME"),
    GlobalOption("actor", ("--as",), "Act as a registered actor.", "ACTOR"),
    GlobalOption("key", ("--key",), "Idempotency key: a repeated write gives its first answer.", "KEY"),
    GlobalOption("home", ("--home",), "The directory of the ledger and its settings.", "DIR"),
    GlobalOption("database", ("--database",), "The ledger's address, such as postgresql://…", "URL"),
    GlobalOption("quiet", ("-q", "--quiet"), "Print names only, one a line."),
    GlobalOption("no_color", ("--no-color",), "No colour, also on a terminal."),
)


def global_options(taken: Sequence[str] = ()) -> list[click.Parameter]:
    """The options that may stand before or after the verb, but for names an operation uses itself."""
    return [_global_option(option) for option in GLOBAL_OPTIONS if not set(option.flags) & set(taken)]


def _global_option(option: GlobalOption) -> click.Option:
    def remember(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        invocation = ctx.find_object(Invocation)
        if invocation is not None and value not in (None, False):
            setattr(invocation, option.name, value)

    switch = option.metavar is None and not option.choices
    return click.Option(
        [*option.flags, f"global_{option.name}"],
        expose_value=False,
        is_eager=True,  # so that an error in the rest is already printed as asked for
        is_flag=switch,
        type=click.Choice(option.choices) if option.choices else None,
        metavar=option.metavar or ("|".join(option.choices) or None),
        help=option.help,
        callback=remember,
    )


class Act(click.Command):
    """The command of one operation."""

    def __init__(self, operation: Operation, open_caller: OpenCaller) -> None:
        self.operation = operation
        self._open_caller = open_caller
        self.parameters = {parameter.name: parameter for parameter in operation.parameters}
        variadic = _variadic(operation.parameters)
        own = [_click_parameter(parameter, variadic) for parameter in operation.parameters]
        own += [_empty_option(parameter) for parameter in operation.parameters if parameter.can_be_emptied]
        taken = [flag for parameter in own for flag in (*parameter.opts, *parameter.secondary_opts)]
        super().__init__(
            operation.command.rpartition(" ")[2],
            params=[*own, *global_options(taken)],
            help=operation.summary,
            context_settings={"help_option_names": ["-h", "--help"]},
        )

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        teaching.of_operation(self.operation, formatter)

    def invoke(self, ctx: click.Context) -> Answer:
        arguments = self._arguments(ctx)
        invocation = ctx.find_object(Invocation) or Invocation()
        with self._open_caller(invocation.options) as caller:
            value = caller.invoke(self.operation, arguments, invocation.key)
        return Answer(value, self.operation)

    def _arguments(self, ctx: click.Context) -> dict[str, Any]:
        """What was given on the command line, raw; what was not is left to the operation's defaults."""
        given: dict[str, Any] = {}
        texts = Texts()
        for name, parameter in self.parameters.items():
            if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                value = ctx.params[name]
                read = _reading(parameter, texts)
                given[name] = [read(item) for item in value] if parameter.many else read(value)
            if parameter.can_be_emptied and ctx.params[_emptied(name)]:
                if name in given:
                    flag = teaching.flag_name(parameter)
                    raise MinutebookError("invalid_input", f"give {flag} or --no-{flag[2:]}, not both")
                given[name] = []
        return given


def _variadic(parameters: Sequence[Parameter]) -> str | None:
    """The required list that takes the rest of the arguments: the last required parameter, if it is one."""
    required = [parameter for parameter in parameters if parameter.required]
    return required[-1].name if required and required[-1].many else None


def _click_parameter(parameter: Parameter, variadic: str | None) -> click.Parameter:
    kind = Choices(parameter.choices) if parameter.choices else click.STRING
    if parameter.argument and (not parameter.many or parameter.name == variadic):
        return click.Argument(
            [parameter.name],
            metavar=teaching.argument_name(parameter),
            nargs=-1 if parameter.many else 1,
            required=parameter.required,
            type=kind,
        )
    flag = teaching.flag_name(parameter)
    if parameter.switch:
        if parameter.default is False:
            return click.Option([flag, parameter.name], is_flag=True, help=parameter.help)
        return click.Option([f"{flag}/--no-{flag[2:]}", parameter.name], default=None, help=parameter.help)
    return click.Option(
        [flag, parameter.name],
        multiple=parameter.many,
        required=parameter.required,
        metavar=teaching.metavar(parameter),
        type=kind,
        help=parameter.help,
    )


def _empty_option(parameter: Parameter) -> click.Option:
    """`--no-issue`: a list that is left alone when it is not given has to be emptied by a word of its own."""
    return click.Option([f"--no-{teaching.flag_name(parameter)[2:]}", _emptied(parameter.name)], is_flag=True)


def _emptied(name: str) -> str:
    return f"no_{name}"


class Choices(click.ParamType):
    """Completes a closed list, and leaves judging it to the operation: one error on every surface."""

    name = "choice"

    def __init__(self, values: Sequence[str]) -> None:
        self.values = values

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(value) for value in self.values if value.startswith(incomplete)]


# How values come in


class Texts:
    """Reads texts from where the command line points: `-` is stdin, `@path` a file, `@@…` a plain @."""

    def __init__(self) -> None:
        self._stdin_used = False

    def read(self, value: str, field: str) -> str:
        if value == "-":
            return self._stdin(field)
        if value.startswith("@@"):
            return value[1:]
        if value.startswith("@"):
            return self._file(value[1:], field)
        return value

    def _stdin(self, field: str) -> str:
        if self._stdin_used:
            raise _unreadable(field, "stdin can be read only once", "give the other text as @file")
        self._stdin_used = True
        return _decoded(sys.stdin.buffer.read(LARGEST_TEXT + 1), field, "stdin")

    def _file(self, path: str, field: str) -> str:
        try:
            with open(Path(path).expanduser(), "rb") as file:
                data = file.read(LARGEST_TEXT + 1)
        except (OSError, ValueError, RuntimeError) as error:
            cause = getattr(error, "strerror", None) or str(error)
            raise _unreadable(
                field, f"cannot read {path!r}: {cause}", "write @@ for a text that begins with @"
            ) from error
        return _decoded(data, field, repr(path))


def _decoded(data: bytes, field: str, place: str) -> str:
    if len(data) > LARGEST_TEXT:
        raise MinutebookError(
            "too_large", f"{field}: {place} holds more than {LARGEST_TEXT:,} bytes", limit=LARGEST_TEXT
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unreadable(field, f"{place} is not UTF-8 text", f"see byte {error.start:,}") from error


def _unreadable(field: str, problem: str, hint: str) -> MinutebookError:
    return MinutebookError("invalid_input", f"{field}: {problem}", hint=hint)


def _reading(parameter: Parameter, texts: Texts) -> Callable[[Any], Any]:
    if parameter.text:
        return lambda value: texts.read(value, parameter.name)
    if parameter.structured:
        return lambda value: _json(value, parameter.name)
    if unwrap(parameter.type)[0] is Path:
        # Whoever carries out the call may have another working directory.
        return lambda value: os.path.abspath(os.path.expanduser(value))
    return lambda value: value


def _json(value: str, field: str) -> Any:
    try:
        return json.loads(value)
    except ValueError as error:
        raise _unreadable(field, f"is not JSON: {error}", 'write it like \'{"name": "value"}\'') from error
