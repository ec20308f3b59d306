"""ULIDs: unique, and in the order in which they were made."""

from __future__ import annotations

import threading

import pytest

from minutebook.model.ids import Ids, encode, is_ulid


def ids_at(*milliseconds: int) -> Ids:
    """Ids from a clock that reads these times, the last one for ever."""
    times = list(milliseconds)
    return Ids(lambda: times.pop(0) if len(times) > 1 else times[0], lambda bits: (1 << bits) - 1)


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", True),
        ("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", True),
        ("8ZZZZZZZZZZZZZZZZZZZZZZZZZ", False),  # more than 128 bits
        ("01arz3ndektsv4rrffq69g5fav", False),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAI", False),  # I, L, O and U are no digits
        ("01ARZ3NDEKTSV4RRFFQ69G5FA", False),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV\n", False),
        ("", False),
    ],
)
def test_a_ulid_is_26_digits_of_crockfords_alphabet(text: str, valid: bool) -> None:
    assert is_ulid(text) is valid


def test_the_known_example_of_the_specification_is_encoded_as_it_says() -> None:
    assert encode(1469918176385, 0).startswith("01ARYZ6S41")
    assert is_ulid(encode((1 << 48) - 1, (1 << 80) - 1))


def test_ids_of_one_millisecond_grow_also_from_the_largest_random_start() -> None:
    made = [made_by.new() for made_by in [ids_at(1_700_000_000_000)] for _ in range(1000)]
    assert made == sorted(set(made))
    assert all(is_ulid(id) for id in made)


def test_ids_grow_when_the_clock_goes_back() -> None:
    source = ids_at(2_000, 1_000, 1_500, 2_001)
    made = [source.new() for _ in range(4)]
    assert made == sorted(set(made))
    assert made[3][:10] > made[2][:10]


def test_threads_never_share_an_id() -> None:
    source = ids_at(1_700_000_000_000)
    made: list[str] = []
    threads = [
        threading.Thread(target=lambda: made.extend(source.new() for _ in range(500))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 2000


def test_two_processes_with_clocks_behind_the_newest_id_go_on_above_it_and_never_share_one() -> None:
    newest = encode(5_000, 1)
    starts = iter((7, 1 << 40))
    sources = [Ids(lambda: 1_000, lambda _: next(starts)) for _ in range(2)]
    for source in sources:
        source.after(newest)
    made = [source.new() for source in sources for _ in range(100)]
    assert len(set(made)) == 200
    assert min(made) > newest
