"""The script that teaches a shell to complete nouns, verbs, flags and choices."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_MINUTEBOOK_COMPLETE"

_WHERE = {
    "bash": "minutebook completion bash > ~/.local/share/bash-completion/completions/minutebook",
    "zsh": "minutebook completion zsh > ~/.zfunc/_minutebook   (with ~/.zfunc in fpath, before compinit)",
    "fish": "minutebook completion fish > ~/.config/fish/completions/minutebook.fish",
}


def completion_command(program: click.Group) -> click.Command:
    """`minutebook completion SHELL`."""

    @click.command(
        "completion",
        short_help="Print the script that makes a shell complete commands",
        help=(
            "Print the script that makes a shell complete commands.\n\n"
            "Nouns, verbs, flags and choices are completed without opening the ledger. "
            "Install it once:\n\n\b\n" + "\n".join(_WHERE.values())
        ),
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    @click.argument("shell", type=click.Choice(SHELLS))
    def completion(shell: str) -> None:
        from click.shell_completion import ShellComplete, get_completion_class

        found = get_completion_class(shell)
        if found is None:
            raise click.UsageError(f"no completion for {shell}")
        # The template alone: click's own check starts a bash to ask its version, on whatever machine this is.
        click.echo(ShellComplete.source(found(program, {}, "minutebook", VARIABLE)))

    return completion


def complete(program: click.Group, instruction: str) -> int:
    """Answer the question a shell asks through its environment."""
    from click.shell_completion import shell_complete

    return shell_complete(program, {}, "minutebook", VARIABLE, instruction)
