"""`minutebook init`: bind a directory to a project.

It is a command and not an operation, because the file it writes lies with the caller, wherever the ledger is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from minutebook.files.advice import Advised
    from minutebook.files.workspace import Binding
    from minutebook.model.projects import Project
    from minutebook.surfaces.cli.commands import Answer, Caller, Invocation, OpenCaller


@dataclass(frozen=True, slots=True)
class Bound:
    """What init did."""

    project: str
    id: str
    directory: str
    file: str
    #: created, joined (the file travelled here, the project is new to this ledger), or known
    outcome: str
    #: other directories of this machine with the same id
    also_at: tuple[str, ...]
    advice: str
    #: lines for git and a word to agents: what was written, and what would be with your word
    beside: tuple[Advised, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What init is asked for, besides the binding."""

    name: str | None = None
    mirror: bool = True
    #: True and False are somebody's word; None makes what is missing and changes nothing
    git_files: bool | None = None
    agents_files: tuple[str, ...] = ()
    remove_blocks: bool = False


#: A new project's id, and the time.
Stamp = Callable[[], tuple[str, str]]


def init_command(open_caller: OpenCaller, stamp: Stamp) -> click.Command:
    from minutebook.surfaces.cli.commands import Answer, Invocation, global_options

    @click.command(
        "init",
        short_help="Bind this directory to a project",
        help=(
            "Bind a directory to a project.\n\n"
            "Writes .minutebook/workspace.toml with the project's id. Commit that file: clones, worktrees and "
            "moved directories keep their memory. Where the file exists already, its project is taken into "
            "this ledger if it is new here; the file itself is never changed.\n\n"
            "From then on decisions, histories and what waits are mirrored into .squad/ and .agentweaver/; files "
            "that minutebook did not write are left alone (`minutebook files status`). In a git repository, "
            ".gitattributes and .gitignore are made where they are missing; in existing files lines are only "
            "added with --git-files and --agents-file, between two marks, and nothing else is touched.\n\n"
            "Examples:\n\n\b\n"
            "  minutebook init\n"
            '  minutebook init ~/src/checkout --name "Checkout service"\n'
            "  minutebook init --git-files --agents-file AGENTS.md\n"
            "  minutebook init --remove-blocks"
        ),
        context_settings={"help_option_names": ["-h", "--help"]},
        params=[
            click.Argument(["directory"], required=False, default="."),
            click.Option(["--name"], help="What to call the project; the directory's name if not given."),
            click.Option(
                ["--mirror/--no-mirror"], default=True, help="Keep generated files in a new workspace."
            ),
            click.Option(
                ["--git-files/--no-git-files"],
                default=None,
                help="Add our lines to .gitattributes and .gitignore, also where they exist; or do not at all.",
            ),
            click.Option(
                ["--agents-file"],
                multiple=True,
                metavar="FILE",
                help="Add a block that points agents to the boundaries: AGENTS.md, CLAUDE.md; several times.",
            ),
            click.Option(
                ["--remove-blocks"], is_flag=True, help="Take our lines out of all these files again."
            ),
            *global_options(),
        ],
    )
    @click.pass_context
    def init(
        ctx: click.Context,
        directory: str,
        name: str | None,
        mirror: bool,
        git_files: bool | None,
        agents_file: tuple[str, ...],
        remove_blocks: bool,
    ) -> Answer:
        invocation = ctx.find_object(Invocation) or Invocation()
        wanted = Wanted(name, mirror, git_files, agents_file, remove_blocks)
        return Answer(_init(open_caller, stamp, invocation, Path(directory), wanted))

    return init


def _init(
    open_caller: OpenCaller, stamp: Stamp, invocation: Invocation, directory: Path, wanted: Wanted
) -> Bound:
    from minutebook.files import workspace
    from minutebook.model.errors import MinutebookError

    root = directory.expanduser().resolve()
    if not root.is_dir():
        raise MinutebookError("invalid_input", f"{directory} is not a directory.", path=str(root))
    binding = workspace.find(root)
    if binding is not None and wanted.name is not None:
        raise MinutebookError(
            "exists",
            f"{binding.root} is bound already, as {binding.name!r}.",
            hint="minutebook projects edit renames a project",
            path=str(binding.file),
        )
    # The built-in project: the one of this directory may not be in the ledger yet.
    with open_caller(replace(invocation.options, project="global")) as caller:
        return _bind(caller, stamp, root, binding, wanted)


def _bind(caller: Caller, stamp: Stamp, root: Path, binding: Binding | None, wanted: Wanted) -> Bound:
    import socket

    from minutebook.files import workspace
    from minutebook.model.text import check_name, one_line
    from minutebook.operations.registry import REGISTRY

    outcome = "known"
    if binding is None:
        # The file comes first: if we die in between, the next init finds it and goes on with the same id.
        # So its name must be one that the ledger will take.
        called = check_name(wanted.name, "project") if wanted.name is not None else _name_from(root.name)
        id, now = stamp()
        binding = workspace.create(root, project=id, name=called, created_at=now, mirror=wanted.mirror)
        outcome = "created"
    project = _find(caller, binding.project)
    if project is None:
        called = one_line(binding.name) or binding.root.name
        project = caller.invoke(
            REGISTRY.get("projects.create"), {"name": called, "id": binding.project}, None
        )
        outcome = "joined" if outcome == "known" else outcome
    host = socket.gethostname()
    seen = caller.invoke(
        REGISTRY.get("projects.see"), {"path": str(binding.root), "host": host, "ref": project.id}, None
    )
    others = tuple(
        place.path
        for place in seen.items
        if place.host == host and place.path != str(binding.root) and _still_bound(place.path, project.id)
    )
    return Bound(
        project=project.slug,
        id=project.id,
        directory=str(binding.root),
        file=str(binding.file),
        outcome=outcome,
        also_at=others,
        advice=_advice(outcome, others, binding),
        beside=_beside(binding, stamp, wanted),
    )


def _beside(binding: Binding, stamp: Stamp, wanted: Wanted) -> tuple[Advised, ...]:
    """Lines for git and a word to agents, in the directory that is bound."""
    from minutebook.files import advice
    from minutebook.files.git_tree import is_in_git
    from minutebook.files.safe import Root

    def new_id() -> str:
        return stamp()[0]

    with Root(binding.root) as root:
        if wanted.remove_blocks:
            named = dict.fromkeys([*advice.GIT_FILES, *advice.AGENT_FILES, *wanted.agents_files])
            return advice.remove(root, list(named), new_id=new_id)
        done: tuple[Advised, ...] = ()
        in_git = is_in_git(root)
        if wanted.git_files or (wanted.git_files is None and in_git and binding.mirror):
            word = bool(wanted.git_files)
            done += advice.settle(root, advice.GIT_FILES, word=word, make=True, new_id=new_id)
        # Where the block stands it is kept current; elsewhere it comes only when the file was named.
        standing = [
            path for path in advice.with_blocks(root, advice.AGENT_FILES) if path not in wanted.agents_files
        ]
        done += advice.settle(root, [*wanted.agents_files, *standing], word=True, make=True, new_id=new_id)
        if not wanted.agents_files and not standing:
            there = [path for path in advice.AGENT_FILES if root.look(path) is not None]
            done += tuple(advice.Advised(path, "advised", advice.block_for(path)) for path in there[:1])
        return done


def _name_from(directory: str) -> str:
    """A name that a project may have, from that of its directory."""
    from minutebook.model.errors import MinutebookError
    from minutebook.model.text import MAX_NAME, check_name

    kept = "".join(char if char.isalnum() or char in "._@+-" else " " for char in directory)
    try:
        return check_name(" ".join(kept.split())[:MAX_NAME], "project")
    except MinutebookError:
        return "project"  # nothing of it can be shown plainly


def _find(caller: Caller, id: str) -> Project | None:
    from minutebook.model.errors import MinutebookError
    from minutebook.operations.registry import REGISTRY

    try:
        return caller.invoke(REGISTRY.get("projects.show"), {"ref": id}, None).project
    except MinutebookError as error:
        if error.code != "not_found":
            raise
        return None


def _still_bound(path: str, project: str) -> bool:
    from minutebook.files import workspace
    from minutebook.model.errors import MinutebookError

    file = Path(path) / workspace.FOLDER / workspace.NAME
    try:
        return file.exists() and workspace.read(file).project == project
    except (MinutebookError, OSError):
        return False  # what cannot be read is no second binding; doctor reports the file itself


def _advice(outcome: str, others: tuple[str, ...], binding: Binding) -> str:
    """What to do next: commands, and below each what it is for."""
    if others:
        return (
            "the same project id was seen at another path too: right for a clone or worktree; "
            "for a copy that is a project of its own, remove its workspace.toml and run init there"
        )
    if outcome != "created":
        return "see what is there: minutebook decisions list, minutebook inbox list"
    lines = ["commit .minutebook/workspace.toml, so that clones keep their memory"]
    there, agents = _at_hand(binding)
    if there:
        lines += ["minutebook adopt", f"  shows what {', '.join(there)} would bring, and writes nothing"]
    if not agents and binding.mirror:
        lines += ["minutebook init --agents-file AGENTS.md", "  tells agents where the boundaries are"]
    lines += [
        "minutebook inbox submit --help",
        "  how an agent proposes; minutebook actors add NAME makes one known",
    ]
    return "\n".join(lines)


def _at_hand(binding: Binding) -> tuple[list[str], list[str]]:
    """What the directory holds that could be adopted, and the files that agents read when they start."""
    from minutebook.files import advice
    from minutebook.files.safe import Root
    from minutebook.model.errors import MinutebookError

    with Root(binding.root) as root:
        try:
            agents = [path for path in advice.AGENT_FILES if root.look(path) is not None]
            return [path for path in advice.ADOPTABLE if root.look(path) is not None], agents
        except MinutebookError:
            return [], []  # advice is no reason to fail: what cannot be looked at, adopt says itself
