"""Help that teaches: what a command does, what it takes, and examples to copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import click

from minutebook.operations.parameters import Parameter, unwrap
from minutebook.operations.registry import Operation

PROMISE = (
    "The shared, governed memory of a team of AI agents: they propose, every write is judged and recorded, "
    "and what is accepted can be found, explained and undone."
)

FIRST_COMMANDS = (
    ("minutebook init", "bind this directory to a project"),
    ("minutebook inbox list", "see what waits for a review"),
    ("minutebook search postgres", "find what was decided and learned"),
)

OUTPUT_NOTE = (
    "-o json prints one document, -o jsonl one line per item of a listing; where more follow, the line "
    '{"next": CURSOR} on stderr says how to go on (--after CURSOR). Errors go to stderr, in words, or with '
    "json and jsonl as one line {code, message, details}. The exit code tells the kind of error: 2 invalid, "
    "3 not found, 4 denied, 5 conflict, 6 refused, 7 limit, 8 unavailable, 1 internal."
)

#: Choices up to this width are shown in place of the value's name.
_INLINE_CHOICES = 28


def of_operation(
    operation: Operation, formatter: click.HelpFormatter, verbs: Sequence[Operation] = ()
) -> None:
    """The help of one operation; `verbs` are the others of a noun that is a command by itself."""
    arguments = [parameter for parameter in operation.parameters if parameter.argument]
    options = [parameter for parameter in operation.parameters if not parameter.argument]
    words = [argument_word(parameter) for parameter in arguments]
    usage = " ".join(["[OPTIONS]", *words])
    formatter.write_usage(f"minutebook {operation.command}", usage)
    _paragraphs(formatter, operation.summary, operation.description)
    _section(formatter, "Arguments", [(argument_name(item), _explained(item)) for item in arguments])
    _section(formatter, "Options", [(option_spelling(item), _explained(item)) for item in options])
    _section(
        formatter, "Verbs", [(verb.command.rpartition(" ")[2], verb.summary.rstrip(".")) for verb in verbs]
    )
    examples(formatter, [*operation.examples, *(verb.examples[0] for verb in verbs if verb.examples)])
    _paragraphs(
        formatter,
        "Every command also takes -o/--output, --project, --as, --key, --home, --database, -q/--quiet and "
        "--no-color: see minutebook --help.",
    )


def of_noun(noun: str, summary: str, operations: Sequence[Operation], formatter: click.HelpFormatter) -> None:
    """The help of one noun: its verbs, and an example of each of the first few."""
    formatter.write_usage(f"minutebook {noun}", "VERB [ARGUMENTS]…")
    _paragraphs(formatter, f"{summary}.")
    _section(
        formatter,
        "Verbs",
        [(operation.command.rpartition(" ")[2], operation.summary.rstrip(".")) for operation in operations],
    )
    examples(formatter, [operation.examples[0] for operation in operations if operation.examples][:4])
    _paragraphs(formatter, f"minutebook {noun} VERB --help explains one of them.")


def of_program(
    nouns: Mapping[str, str],
    commands: Mapping[str, str],
    options: Sequence[click.Parameter],
    formatter: click.HelpFormatter,
) -> None:
    """The first screen."""
    formatter.write_usage("minutebook", "NOUN VERB [ARGUMENTS]…")
    _paragraphs(formatter, PROMISE)
    _section(formatter, "First commands", list(FIRST_COMMANDS))
    _section(formatter, "What it keeps", list(nouns.items()))
    _section(formatter, "The house", list(commands.items()))
    ctx = click.get_current_context()
    rows = [row for row in (option.get_help_record(ctx) for option in options) if row]
    _section(formatter, "Options, before or after the verb", rows)
    _paragraphs(formatter, OUTPUT_NOTE)


def examples(formatter: click.HelpFormatter, lines: Sequence[str]) -> None:
    """Command lines, never wrapped: they are there to be copied."""
    if lines:
        with formatter.section(_heading("Examples")):
            for line in lines:
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def _section(formatter: click.HelpFormatter, title: str, rows: Sequence[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(_heading(title)):
            formatter.write_dl(list(rows), col_max=38)


def _heading(title: str) -> str:
    return click.style(title, bold=True)


def _paragraphs(formatter: click.HelpFormatter, *texts: str) -> None:
    for text in texts:
        if text:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(text)


# The words for one parameter


def argument_word(parameter: Parameter) -> str:
    word = argument_name(parameter) + ("…" if parameter.many else "")
    return word if parameter.required else f"[{word}]"


def argument_name(parameter: Parameter) -> str:
    return parameter.name.upper().replace("_", "-")


def flag_name(parameter: Parameter) -> str:
    return "--" + parameter.name.replace("_", "-")


def metavar(parameter: Parameter) -> str:
    """What stands for the value in the help: its choices when they are few, else its kind."""
    choices = "|".join(parameter.choices)
    if choices and len(choices) <= _INLINE_CHOICES:
        return choices
    core = unwrap(parameter.type)[0]
    kinds: dict[Any, str] = {int: "N", float: "NUMBER"}
    if parameter.text:
        return "TEXT"
    return "JSON" if parameter.structured else kinds.get(core, argument_name(parameter))


def option_spelling(parameter: Parameter) -> str:
    flag = flag_name(parameter)
    if parameter.switch:
        return flag if parameter.default is False else f"{flag} / --no-{flag[2:]}"
    if parameter.can_be_emptied:
        return f"{flag} {metavar(parameter)} / --no-{flag[2:]}"
    return f"{flag} {metavar(parameter)}"


def _explained(parameter: Parameter) -> str:
    """Help, then in brackets what else there is to know."""
    notes = []
    if parameter.choices and (parameter.required or len("|".join(parameter.choices)) > _INLINE_CHOICES):
        notes.append("one of " + ", ".join(parameter.choices))
    if parameter.text:
        notes.append("- reads stdin, @FILE a file")
    if parameter.many:
        notes.append("may be repeated")
    if parameter.limits:
        notes.append(parameter.limits)
    default = parameter.default
    if not parameter.required and default not in (None, False, "", (), []) and not parameter.many:
        notes.append(f"default: {_default(default)}")
    said = parameter.help[:1].upper() + parameter.help[1:]
    return f"{said}  [{'; '.join(notes)}]".strip() if notes else said


def _default(value: Any) -> str:
    if value is True:
        return "on"
    return str(value.value if isinstance(value, Enum) else value)
