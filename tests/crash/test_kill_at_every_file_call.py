"""kill -9 at every call that changes a file, and in the middle of every write.

Finer than statements: one commit is many writes to the log and a sync. `make test` takes a sample,
`make crash` every call, plain and torn.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.runs import Launcher, check_after_kill, fresh, undisturbed


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that counts the calls, built here."""
    built = tmp_path_factory.mktemp("shim") / "file_calls.so"
    source = Path(__file__).with_name("file_calls.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", built, source, "-ldl"], check=True)
    return built


@pytest.fixture
def launcher(tmp_path: Path, shim: Path) -> Iterator[Launcher]:
    started = Launcher(tmp_path / "launcher", preload=shim)
    yield started
    started.close()


def kill(launcher: Launcher, tmp_path: Path, choose: Callable[[int], list[tuple[int, bool]]]) -> int:
    home = fresh(tmp_path / "whole")
    whole = undisturbed(launcher, f"sqlite://{home}/ledger.db", home, root=str(home), kill_at_call=0)
    # The acknowledgements lie elsewhere, and are not counted.
    assert whole.calls > 200
    chosen = choose(whole.calls)
    kills = 0
    for number, torn in chosen:
        home = fresh(tmp_path / "run")
        url, acks = f"sqlite://{home}/ledger.db", tmp_path / "acks"
        acks.unlink(missing_ok=True)
        told = launcher.order(
            "tell", url=url, home=str(home), acks=str(acks), root=str(home), kill_at_call=number, torn=torn
        )
        if told is None:
            kills += 1
            where = f"call {number} of {whole.calls}{', torn' if torn else ''}"
            check_after_kill(launcher, whole, url, home, acks, where)
    return kills


def test_a_sample_of_file_calls(launcher: Launcher, tmp_path: Path) -> None:
    assert (
        kill(launcher, tmp_path, lambda calls: [(n, n % 2 == 0) for n in range(1, calls, calls // 24)]) > 20
    )


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_file_call_plain_and_torn(
    launcher: Launcher, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kills = kill(
        launcher, tmp_path, lambda calls: [(n, torn) for n in range(1, calls + 1) for torn in (False, True)]
    )
    with capsys.disabled():
        print(f"\n{kills} kills, each restarted, compared and told to its end")
    assert kills > 400
