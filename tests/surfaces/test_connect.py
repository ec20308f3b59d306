"""`minutebook connect`: the exact configuration of each host, and how it gets into the host's files."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.model.errors import MinutebookError
from minutebook.surfaces.cli.connect import _told
from minutebook.surfaces.hosts import merging
from minutebook.surfaces.hosts.known import HOSTS, Wanted, is_our_hook
from minutebook.surfaces.hosts.setting_up import Plan, Setup, set_up
from tests.scenarios.program import Program

GOLDENS = Path(__file__).parent / "host_goldens"
PLAIN = Wanted(
    command="/usr/local/bin/minutebook",
    hook_command="/usr/local/bin/minutebook-hook",
    url="http://127.0.0.1:8646/mcp",
    environment={},
)
ENTRY = {"command": "minutebook", "args": ["mcp"]}


def plan(home: Path, **more: Any) -> Plan:
    given: dict[str, Any] = {
        "act": "show",
        "dry": False,
        "hooks": True,
        "wanted": PLAIN,
        "home": home,
        "root": home / "project",
        "stamp": "20261116T093000Z",
    }
    return Plan(**{**given, **more})


# --- what each host should read ----------------------------------------------------------------------


def shown(host: str) -> str:
    """Everything that is printed for a host: each scope, each transport, bound and not."""
    home = Path("/home/kim")
    bound = replace(
        PLAIN, agent="ripley", project="nostromo", environment={"MINUTEBOOK_HOME": "/srv/minute book"}
    )
    project = replace(PLAIN, scope="project", command="minutebook", hook_command="minutebook-hook")
    cases = {
        "stdio, for all projects": plan(home),
        "stdio, in this project": plan(home, wanted=project),
        "http, for all projects": plan(home, hooks=False, wanted=replace(PLAIN, transport="http")),
        "stdio, bound to an agent, a project and a home": plan(home, wanted=bound),
        "http, bound, in this project": plan(
            home, hooks=False, wanted=replace(bound, transport="http", scope="project")
        ),
        "http, with the token itself": plan(
            home, hooks=False, wanted=replace(PLAIN, transport="http", token="mbt_secret")
        ),
    }
    parts = [f"## {title}\n\n{_told(list(set_up(HOSTS[host], case)))}\n" for title, case in cases.items()]
    return "\n".join(parts)


@pytest.mark.parametrize("host", HOSTS)
def test_what_is_shown_for_a_host_is_the_golden_text(host: str) -> None:
    file = GOLDENS / f"{host}.txt"
    found = shown(host)
    if os.environ.get("MINUTEBOOK_TEST_GOLDENS") == "write":
        file.write_text(found, "utf-8")
    assert found == file.read_text("utf-8"), (
        "a host's configuration changed: look at it, then run this test with MINUTEBOOK_TEST_GOLDENS=write"
    )


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_no_host_is_ever_configured_to_act_as_the_person(host: str, transport: Any) -> None:
    setups = list(set_up(HOSTS[host], plan(Path("/home/kim"), wanted=replace(PLAIN, transport=transport))))
    for setup in setups:
        said = json.dumps(setup.text) + " ".join(setup.steps)
        if setup.outcome == "shown":
            assert re.search(rf"--agent\W+n?\W*{host}\b", said), said


@pytest.mark.parametrize("host", HOSTS)
def test_a_token_stands_in_a_file_only_when_it_was_asked_for(host: str) -> None:
    wanted = replace(PLAIN, transport="http")
    (setup,) = set_up(HOSTS[host], plan(Path("/home/kim"), hooks=False, wanted=wanted))
    assert "Bearer" in setup.text or "MINUTEBOOK_TOKEN" in setup.text
    (setup,) = set_up(HOSTS[host], plan(Path("/h"), hooks=False, wanted=replace(wanted, token="mbt_secret")))
    assert "mbt_secret" in setup.text
    assert "MINUTEBOOK_TOKEN" not in setup.text


@pytest.mark.parametrize("host", HOSTS)
def test_the_hosts_own_command_is_one_that_a_shell_can_run(host: str) -> None:
    odd = replace(PLAIN, command="/srv/my apps/minutebook", agent="o'brien", environment={"A": "x y"})
    for transport in ("stdio", "http"):
        line = HOSTS[host].line(replace(odd, transport=transport))
        words = shlex.split(line)
        if words and transport == "stdio" and host != "vscode":
            assert words[-4:] == ["/srv/my apps/minutebook", "mcp", "--agent", "o'brien"]


# --- merging -----------------------------------------------------------------------------------------

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
_DOCUMENTS = st.dictionaries(st.text(), _JSON, max_size=4)
_STYLES = st.sampled_from([None, 1, 2, 4, "\t"])


@given(document=_DOCUMENTS, style=_STYLES, ascii_only=st.booleans(), line_end=st.sampled_from(["\n", "\r\n"]))
def test_an_entry_goes_in_and_out_and_every_other_byte_stays(
    document: dict[str, Any], style: Any, ascii_only: bool, line_end: str
) -> None:
    document = {**document, "mcpServers": {"other": {"command": "x", "n": 1e3}}}
    text = json.dumps(document, indent=style, ensure_ascii=ascii_only).replace("\n", line_end) + line_end
    path = ("mcpServers", "minutebook")
    written = merging.set_member(text, path, ENTRY)
    assert json.loads(written) == {
        **document,
        "mcpServers": {**document["mcpServers"], "minutebook": ENTRY},
    }
    assert merging.set_member(written, path, ENTRY) == written
    assert merging.remove_member(written, path) == text
    assert merging.remove_member(text, path) == text
    # another entry in its place, and back
    other = merging.set_member(written, path, {"url": "x"})
    assert merging.set_member(other, path, ENTRY) == merging.set_member(text, path, ENTRY)
    assert line_end in written
    assert ("\r\n" in written) == (line_end == "\r\n")


@given(document=_DOCUMENTS, style=_STYLES)
def test_what_is_missing_on_the_way_is_made(document: dict[str, Any], style: Any) -> None:
    document = {key: value for key, value in document.items() if key not in ("a", "hooks")}
    text = json.dumps(document, indent=style)
    written = merging.set_member(text, ("a", "b", "c"), 1)
    assert json.loads(written) == {**document, "a": {"b": {"c": 1}}}
    written = merging.put_in_list(text, ("hooks", "X"), {"m": 1}, lambda item: "m" in item)
    assert json.loads(written) == {**document, "hooks": {"X": [{"m": 1}]}}
    assert merging.put_in_list(written, ("hooks", "X"), {"m": 1}, lambda item: "m" in item) == written


@given(
    items=st.lists(st.fixed_dictionaries({"n": st.integers()}) | st.just({"m": 0}), max_size=5), style=_STYLES
)
def test_in_a_list_only_what_is_ours_is_replaced_or_taken(items: list[dict[str, int]], style: Any) -> None:
    text = json.dumps({"l": items, "z": 1}, indent=style)
    others = [item for item in items if "m" not in item]
    written = merging.put_in_list(text, ("l",), {"m": 2}, lambda item: "m" in item)
    found = json.loads(written)["l"]
    assert [item for item in found if "m" not in item] == others
    assert found.count({"m": 2}) == 1
    assert len(found) == len(others) + 1
    taken = merging.take_from_list(written, ("l",), lambda item: "m" in item)
    assert json.loads(taken) == {"l": others, "z": 1}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{\n  // mine\n  "a": 1\n}', "remarks"),
        ('{"a": 1, /* x */ "b": 2}', "remarks"),
        ('{"a": 1,}', "not valid JSON"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": NaN}', "NaN"),
        ("", "not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[1]", "not an object"),
        ('{"mcpServers": []}', "not an object"),
        ('{"mcpServers": 7}', "not an object"),
    ],
)
def test_json_that_could_lose_something_is_refused(text: str, why: str) -> None:
    with pytest.raises(MinutebookError, match=why):
        merging.set_member(text, ("mcpServers", "minutebook"), ENTRY)


def test_slashes_in_a_text_are_no_remarks() -> None:
    text = '{"a": "http://x /* y */", "mcpServers": {}}'
    assert '"minutebook"' in merging.set_member(text, ("mcpServers", "minutebook"), ENTRY)


TOML = 'model = "x" # mine\n\n[mcp_servers.other]\ncommand = "y"\n# a remark\n\n[profiles.deep]\nn = 1_000\n'


@pytest.mark.parametrize(
    "text",
    [
        "",
        TOML,
        TOML.rstrip("\n"),
        TOML.replace("\n", "\r\n"),
        "[mcp_servers]\n",
        "[[list]]\na = 1\n\n[[list]]\na = 2\n",
        's = """\nnot a\n[table]\n"""\n',
    ],
)
def test_a_table_goes_into_toml_and_out_again(text: str) -> None:
    path = ("mcp_servers", "minutebook")
    entry = {"command": "m", "args": ["mcp"], "env": {"A": 'x"y\\z'}}
    before = tomllib.loads(text)
    written = merging.set_table(text, path, entry)
    assert tomllib.loads(written)["mcp_servers"]["minutebook"] == entry
    assert written.startswith(text.rstrip())
    assert merging.set_table(written, path, entry) == written
    other = merging.set_table(written, path, {"url": "u"})
    assert merging.set_table(other, path, entry) == written
    removed = merging.remove_table(written, path)
    assert tomllib.loads(removed) == before
    assert removed.rstrip() == text.rstrip()
    assert merging.remove_table(text, path) == text


def test_a_table_between_others_is_replaced_where_it_stands() -> None:
    text = '[mcp_servers.minutebook]\ncommand = "old"\n\n[mcp_servers.minutebook.env]\nA = "1"\n\n# of z\n[z]\nn = 1\n'
    written = merging.set_table(text, ("mcp_servers", "minutebook"), {"command": "new"})
    assert written == '[mcp_servers.minutebook]\ncommand = "new"\n\n# of z\n[z]\nn = 1\n'
    assert merging.remove_table(written, ("mcp_servers", "minutebook")).lstrip() == "# of z\n[z]\nn = 1\n"


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { minutebook = { command = "x" } }\n',
        'mcp_servers.minutebook.command = "x"\n',
        "[mcp_servers.minutebook\n",
        '[a]\ns = """\n[mcp_servers.minutebook]\n"""\n[mcp_servers.minutebook]\ncommand = "x"\n',
    ],
)
def test_toml_that_cannot_be_edited_safely_is_refused(text: str) -> None:
    with pytest.raises(MinutebookError):
        merging.set_table(text, ("mcp_servers", "minutebook"), {"command": "y"})


# --- writing -----------------------------------------------------------------------------------------


def done(setups: list[Setup]) -> list[tuple[str, str]]:
    return [(setup.part, setup.outcome) for setup in setups]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("scope", ["user", "project"])
def test_writing_is_idempotent_and_removing_takes_all_of_ours_out(
    host: str, scope: Any, tmp_path: Path
) -> None:
    (tmp_path / "project").mkdir()
    base = plan(tmp_path, wanted=replace(PLAIN, scope=scope))
    write, remove = replace(base, act="write"), replace(base, act="remove")
    hooks_here = scope in HOSTS[host].hooks.files
    first = list(set_up(HOSTS[host], write))
    assert done(first) == [("server", "written"), ("hooks", "written" if hooks_here else "refused")]
    again = list(set_up(HOSTS[host], write))
    assert done(again) == [("server", "unchanged"), ("hooks", "unchanged" if hooks_here else "refused")]
    changed = replace(write, wanted=replace(write.wanted, agent="ash"))
    assert done(list(set_up(HOSTS[host], changed)))[0] == ("server", "written")
    assert "ash" in Path(first[0].file).read_text()
    out = list(set_up(HOSTS[host], remove))
    assert done(out) == [("server", "removed"), ("hooks", "removed" if hooks_here else "absent")]
    assert done(list(set_up(HOSTS[host], remove))) == [("server", "absent"), ("hooks", "absent")]
    for setup in first:
        file = Path(setup.file)
        if setup.file and file.exists():
            assert "minutebook" not in file.read_text()


def test_what_others_have_in_the_file_stays_and_a_backup_is_kept(tmp_path: Path) -> None:
    file = tmp_path / ".claude.json"
    text = '{"numStartups": 1e2,\n "mcpServers": {"x": {"command": "y"}},\n "z": "\\u00e9"}'
    file.write_text(text)
    file.chmod(0o640)
    (setup,) = set_up(HOSTS["claude-code"], plan(tmp_path, act="write", hooks=False))
    assert setup.outcome == "written"
    written = file.read_text()
    assert written.startswith('{"numStartups": 1e2,\n "mcpServers": {"x": {"command": "y"}, "minutebook": {')
    assert written.endswith(',\n "z": "\\u00e9"}')
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert Path(setup.backup).read_text() == text
    assert stat.S_IMODE(Path(setup.backup).stat().st_mode) == 0o640
    assert sorted(found.name for found in tmp_path.iterdir()) == [".claude.json", Path(setup.backup).name]
    # and the other hooks of an event stay beside ours
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    theirs = {
        "hooks": {"SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "x"}]}]}
    }
    settings.write_text(json.dumps(theirs, indent=2))
    assert list(set_up(HOSTS["claude-code"], plan(tmp_path, act="write")))[1].outcome == "written"
    found = json.loads(settings.read_text())["hooks"]
    assert found["SessionStart"][0] == theirs["hooks"]["SessionStart"][0]
    assert is_our_hook(found["SessionStart"][1])
    list(set_up(HOSTS["claude-code"], plan(tmp_path, act="remove")))
    assert json.loads(settings.read_text())["hooks"]["SessionStart"] == theirs["hooks"]["SessionStart"]


@pytest.mark.parametrize("data", [b'{"a": 1, // x\n}', b"{", b"\xff\xfe", b"[]", b'{"mcpServers": 1}'])
def test_a_file_that_cannot_be_edited_is_left_as_it_is_with_the_reason(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_bytes(data)
    for act in ("write", "remove"):
        (setup, *_) = set_up(HOSTS["cursor"], plan(tmp_path, act=act))
        if data != b'{"mcpServers": 1}' or act == "write":
            assert setup.outcome == "refused"
            assert setup.problem
    assert file.read_bytes() == data
    assert [found.name for found in file.parent.iterdir() if "mcp" in found.name] == ["mcp.json"]


def test_a_dry_run_shows_the_difference_and_touches_nothing(tmp_path: Path) -> None:
    setups = list(set_up(HOSTS["gemini-cli"], plan(tmp_path, act="write", dry=True)))
    assert {setup.outcome for setup in setups} == {"would change"}
    assert '+    "minutebook": {' in setups[0].diff
    assert list(tmp_path.iterdir()) == []


def test_a_link_to_collected_settings_stays_one(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text("{}")
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").symlink_to(real)
    (setup,) = set_up(HOSTS["cursor"], plan(tmp_path, act="write", hooks=False))
    assert setup.outcome == "written"
    assert (tmp_path / ".cursor" / "mcp.json").is_symlink()
    assert "minutebook" in real.read_text()


def test_a_file_of_the_same_name_that_is_not_ours_is_neither_overwritten_nor_removed(tmp_path: Path) -> None:
    file = tmp_path / ".config" / "opencode" / "plugins" / "minutebook.js"
    file.parent.mkdir(parents=True)
    file.write_text("export const Mine = 1\n")
    for act in ("write", "remove"):
        assert list(set_up(HOSTS["opencode"], plan(tmp_path, act=act)))[1].outcome == "refused"
    assert file.read_text() == "export const Mine = 1\n"


def test_opencode_reads_one_of_two_names(tmp_path: Path) -> None:
    file = tmp_path / ".config" / "opencode" / "opencode.jsonc"
    file.parent.mkdir(parents=True)
    file.write_text('{"theme": "x"}')
    (setup,) = set_up(HOSTS["opencode"], plan(tmp_path, act="write", hooks=False))
    assert (setup.file, setup.outcome) == (str(file), "written")


# --- the command -------------------------------------------------------------------------------------


@pytest.fixture
def program(tmp_path: Path) -> Program:
    place = tmp_path / "kim"
    place.mkdir()
    return Program(home=tmp_path / "home", cwd=place)


def test_the_command_shows_writes_and_removes(program: Program) -> None:
    said = program("connect", "claude", "--agent", "ripley")
    assert said.code == 0
    assert "claude mcp add" in said.out
    assert not program.home.exists()
    written = program.ok("connect", "codex", "cursor", "--write", "--hooks", "--project", "nostromo")
    assert [(one["host"], one["part"], one["outcome"]) for one in written] == [
        ("codex", "server", "written"), ("codex", "hooks", "written"),
        ("cursor", "server", "written"), ("cursor", "hooks", "written"),
    ]  # fmt: skip
    entry = tomllib.loads((program.cwd / ".codex" / "config.toml").read_text())["mcp_servers"]["minutebook"]
    assert entry["args"] == ["mcp", "--agent", "codex", "--project", "nostromo"]
    assert os.access(entry["command"], os.X_OK)
    assert entry["env"] == {"MINUTEBOOK_HOME": str(program.home)}
    assert "says so already" in program("connect", "codex", "--write", "--project", "nostromo").out
    assert "+++" in program("connect", "codex", "--dry-run").out
    assert {one["outcome"] for one in program.ok("connect", "codex", "cursor", "--remove")} == {"removed"}
    assert program("connect", "-q").out.split() == ["codex", "cursor"]  # they are found by their folders


def test_in_a_project_the_files_name_no_path_of_this_machine(program: Program) -> None:
    program.ok("connect", "vscode", "gemini", "claude-code", "--scope", "project", "--hooks", "--write")
    for name in (".vscode/mcp.json", ".gemini/settings.json", ".mcp.json", ".github/hooks/minutebook.json"):
        text = (program.cwd / name).read_text()
        assert "minutebook" in text
        assert "/" not in text.replace("http://", "").replace(str(program.cwd), "!!")


def test_over_http_the_address_is_that_of_the_service_and_the_token_stays_out(program: Program) -> None:
    (one,) = program.ok("connect", "codex", "--transport", "http", MINUTEBOOK_PORT="8700")
    assert 'url = "http://127.0.0.1:8700/mcp"' in one["text"]
    (one,) = program.ok(
        "connect", "codex", "--transport", "http", MINUTEBOOK_SERVICE_URL="https://x.example/mb/"
    )
    assert 'url = "https://x.example/mb/mcp"' in one["text"]
    run = program.home / "run"
    run.mkdir(parents=True, mode=0o700)
    (run / "service.json").write_text('{"url": "http://127.0.0.1:9999"}')
    secret = "mbt_" + "s" * 30
    (one,) = program.ok("connect", "cursor", "--transport", "http", "--write", MINUTEBOOK_TOKEN=secret)
    file = program.cwd / ".cursor" / "mcp.json"
    assert "127.0.0.1:9999" in file.read_text()
    assert secret not in file.read_text()
    program.ok("connect", "cursor", "--transport", "http", "--write", "--show-token", MINUTEBOOK_TOKEN=secret)
    assert secret in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_password_of_the_ledger_is_written_nowhere(program: Program) -> None:
    url = "postgresql://mb:hunter2@db.example/mb"
    done = program("connect", "codex", "--write", MINUTEBOOK_DATABASE_URL=url)
    assert done.code == 0
    assert "holds a password" in done.out
    assert "hunter2" not in (program.cwd / ".codex" / "config.toml").read_text()
    plain = "postgresql://db.example/mb"
    program.ok("connect", "codex", "--write", MINUTEBOOK_DATABASE_URL=plain)
    assert plain in (program.cwd / ".codex" / "config.toml").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("emacs",), "no host"),
        (("--write",), "Name the hosts"),
        (("codex", "--write", "--remove"), "not both"),
        (("codex", "--transport", "http", "--show-token"), "no token"),
        (("codex", "--transport", "carrier-pigeon"), "carrier-pigeon"),
    ],
)
def test_what_is_asked_wrongly_is_refused(words: tuple[str, ...], said: str, program: Program) -> None:
    done = program("connect", *words)
    assert done.code == 2
    assert said in done.err


def test_one_file_that_is_refused_does_not_keep_the_others_from_being_written(program: Program) -> None:
    (program.cwd / ".cursor").mkdir()
    (program.cwd / ".cursor" / "mcp.json").write_text("{ // mine\n}")
    done = program("connect", "cursor", "codex", "--write", "-o", "json")
    assert done.code == 2
    assert [one["outcome"] for one in json.loads(done.out)] == ["refused", "written"]
    assert "remarks" in program("connect", "cursor", "--write").out
