"""Declaring operations, reading their arguments, and results as plain data and back."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Le, MaxLen
from hypothesis import given
from hypothesis import strategies as st

from minutebook.model.errors import MinutebookError
from minutebook.model.paging import Page
from minutebook.operations import parsing
from minutebook.operations.registry import (
    NOUNS,
    Access,
    Check,
    Help,
    Read,
    Registry,
    Text,
    flags,
    from_plain,
    to_plain,
)


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


def parse_colour(text: str) -> Colour:
    known = {"crimson": Colour.RED, **{colour.value: colour for colour in Colour}}
    if text.casefold() not in known:
        raise MinutebookError("unknown_type", f"there is no colour {text!r}", known=sorted(known))
    return known[text.casefold()]


def no_dots(text: str) -> str:
    if "." in text:
        raise MinutebookError("bad_slug", "a slug has no dots")
    if text == "con":
        raise ValueError("is a name that Windows keeps for itself")
    return text.casefold()


Slug = Annotated[str, Check(no_dots), Help("the short name")]


@flags
@dataclass(frozen=True, slots=True)
class Filters:
    status: Annotated[Literal["open", "closed"] | None, Help("only these")] = None
    tag: tuple[str, ...] = ()
    limit: Annotated[int, Ge(1), Le(200), Help("how many")] = 50


@dataclass(frozen=True, slots=True)
class Span:
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Paint:
    name: str
    colour: Colour
    layers: tuple[Span, ...] = ()
    file: Path | None = None
    raw: bytes = b""
    extra: dict[str, int] | None = None


class LongCall:
    """Stands for the call of an operation that runs outside a transaction."""


def promote(call: object, slug: Slug, reason: Text | None = None) -> Paint:
    """Accept a pending proposal as an active memory.

    The memory is created and the proposal marked merged together,
    or neither happens.

    Example:
        minutebook inbox promote use-postgres --reason "measured twice"
        minutebook inbox promote use-postgres --reason @why.md
    """
    return Paint(slug, Colour.RED)


def list_(call: object, filters: Filters) -> Page[Paint]:
    """List what waits."""
    return Page(())


def mix(
    call: LongCall,
    colour: Annotated[Colour, Read(parse_colour)],
    count: int = 1,
    share: float = 0.5,
    dry_run: bool = False,
    others: list[Colour] | None = None,
    names: Annotated[tuple[Annotated[str, MaxLen(5)], ...], MaxLen(3)] = (),
    spans: list[Span] | None = None,
    where: Path | None = None,
) -> None:
    """Mix."""


def search(call: object, copy: str, schema: str = "x") -> None:
    """Find."""


def make() -> Registry:
    registry = Registry({"inbox": "proposals", "search": "find", "system": "house"}, system={"mix": "mixes"})
    registry.add(promote, Access.REVIEW, noun="inbox")
    registry.add(list_, Access.READ, noun="inbox")
    registry.add(mix, Access.OPERATE, noun="system")
    registry.add(search, Access.READ, noun="search")
    return registry


@pytest.fixture
def registry() -> Registry:
    return make()


# Declaring


def test_the_decorator_returns_the_function_itself() -> None:
    registry = Registry({"test_registry": "this module"})
    assert registry.operation(Access.REVIEW)(promote) is promote
    assert registry.of(promote).name == "test_registry.promote"
    assert registry.of(promote).access is Access.REVIEW


def test_an_operation_is_found_by_function_and_by_name(registry: Registry) -> None:
    assert registry.of(promote) is registry.get("inbox.promote")
    assert registry.of(list_) is registry.get("inbox.list")
    assert [found.name for found in registry.noun("inbox")] == ["inbox.promote", "inbox.list"]
    assert [found.name for found in registry.all()] == [
        "inbox.promote",
        "inbox.list",
        "search.search",
        "system.mix",
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [("inbox.promot", "did you mean inbox.promote"), ("inbix.list", "inbox"), ("zzz", "known:")],
)
def test_an_unknown_name_says_what_is_close(registry: Registry, name: str, said: str) -> None:
    with pytest.raises(MinutebookError, match=said) as caught:
        registry.get(name)
    assert caught.value.code == "unknown_operation"


def test_the_docstring_is_taken_apart(registry: Registry) -> None:
    found = registry.of(promote)
    assert found.summary == "Accept a pending proposal as an active memory."
    assert found.description.startswith("The memory is created")
    assert "Example" not in found.description
    assert found.examples == (
        'minutebook inbox promote use-postgres --reason "measured twice"',
        "minutebook inbox promote use-postgres --reason @why.md",
    )


def test_the_command_of_a_noun_of_its_own_and_of_the_system_is_one_word(registry: Registry) -> None:
    assert [found.command for found in registry.all()] == ["inbox promote", "inbox list", "search", "mix"]


def test_a_long_call_marks_an_operation_that_runs_outside(registry: Registry) -> None:
    assert registry.of(mix).outside
    assert not registry.of(promote).outside


def without_call(slug: str) -> None:
    """No call."""


def without_words(call: object) -> None:
    pass


def variadic(call: object, **rest: str) -> None:
    """Anything goes."""


@pytest.mark.parametrize(
    ("function", "noun", "said"),
    [
        (promote, "inbox", "declared twice"),
        (promote, "elsewhere", "closed list"),
        (promote, "system", "system commands"),
        (without_call, "inbox", "first parameter"),
        (without_words, "inbox", "docstring"),
    ],
)
def test_a_wrong_declaration_fails_where_it_stands(
    registry: Registry, function: Any, noun: str, said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        registry.add(function, Access.READ, noun=noun)


def test_a_variadic_operation_is_refused(registry: Registry) -> None:
    with pytest.raises(TypeError, match=r"\*\*kwargs"):
        _ = registry.add(variadic, Access.READ, noun="inbox").parameters


def test_a_module_is_imported_only_when_its_noun_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "lazy_house"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from minutebook.operations.registry import Registry\n"
        "registry = Registry({'inbox': 'i', 'events': 'e'}, package='lazy_house')\n"
    )
    for noun in ("inbox", "events"):
        (package / f"{noun}.py").write_text(
            "from minutebook.operations.registry import Access\n"
            "from lazy_house import registry\n"
            "@registry.operation(Access.READ)\n"
            "def show(call: 'Unimportable', name: str) -> str:\n    'Show.'\n"
        )
    monkeypatch.syspath_prepend(tmp_path)
    import lazy_house  # type: ignore[import-not-found]

    assert [found.name for found in lazy_house.registry.noun("inbox")] == ["inbox.show"]
    assert "lazy_house.events" not in sys.modules
    assert lazy_house.registry.get("inbox.show").parse({"name": "x"}) == {"name": "x"}


def test_the_registry_imports_no_pydantic_and_no_operation() -> None:
    code = (
        "import sys; from minutebook.operations.registry import REGISTRY; "
        "print([m for m in sys.modules if m.startswith(('pydantic', 'rich'))], "
        "[n for n in REGISTRY.nouns if 'minutebook.operations.' + n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[] []"


def test_the_nouns_are_the_closed_list() -> None:
    assert set(NOUNS) == {
        "projects", "actors", "agents", "inbox", "decisions", "memories", "context", "runs", "sessions", "scope",
        "search", "searches", "verdicts", "tombstones", "events", "tokens", "hooks", "system", "captures",
        "sources", "jobs", "consolidation", "audit", "daily", "files", "adopt", "adoptions", "providers",
    }  # fmt: skip


# Parameters


def test_parameters_carry_what_a_surface_must_know(registry: Registry) -> None:
    slug, reason = registry.of(promote).parameters
    assert (slug.name, slug.required, slug.help, slug.text) == ("slug", True, "the short name", False)
    assert (reason.name, reason.required, reason.default, reason.text) == ("reason", False, None, True)
    mixed = {parameter.name: parameter for parameter in registry.of(mix).parameters}
    assert mixed["colour"].choices == ("red", "green")
    assert mixed["dry_run"].switch
    assert mixed["others"].many
    assert mixed["others"].choices == ("red", "green")
    assert mixed["names"].many
    assert mixed["names"].lengths == "at most 3 long, at most 5 long"
    assert mixed["spans"].structured
    assert [mixed[name].spelling for name in ("colour", "others", "names", "spans", "where", "share")] == [
        "red|green", "list[red|green] | null", "list[string]", "list[Span] | null", "path | null", "number",
    ]  # fmt: skip


def test_the_fields_of_flags_are_parameters_and_come_together_again(registry: Registry) -> None:
    found = registry.of(list_)
    assert [parameter.name for parameter in found.parameters] == ["status", "tag", "limit"]
    assert {parameter.part_of for parameter in found.parameters} == {"filters"}
    assert found.parse({}) == {"filters": Filters()}
    assert found.parse({"status": "open", "tag": ["a"], "limit": "7"}) == {
        "filters": Filters("open", ("a",), 7)
    }


def test_flags_needs_a_dataclass() -> None:
    with pytest.raises(TypeError, match="above @dataclass"):
        flags(object)


# Reading arguments


def test_strings_and_json_values_become_typed_values(registry: Registry) -> None:
    values = registry.of(mix).parse(
        {
            "colour": "Crimson",
            "count": "3",
            "share": "0.25",
            "dry_run": "true",
            "others": ["red"],
            "names": ["a", "b"],
            "spans": [{"first": 1, "last": 2}],
            "where": "/tmp/x",
        }
    )
    assert values == {
        "colour": Colour.RED,
        "count": 3,
        "share": 0.25,
        "dry_run": True,
        "others": [Colour.RED],
        "names": ("a", "b"),
        "spans": [Span(1, 2)],
        "where": Path("/tmp/x"),
    }


def test_names_that_pydantic_uses_itself_are_free(registry: Registry) -> None:
    assert registry.of(search).parse({"copy": "a", "schema": "b"}) == {"copy": "a", "schema": "b"}
    with pytest.raises(MinutebookError):
        registry.of(search).parse({"copy": 1})


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ({}, "invalid_input", "colour: is missing"),
        ({"colour": 3}, "invalid_input", "colour: must be one of red or green, not 3"),
        (
            {"colour": "red", "counts": 1},
            "invalid_input",
            "counts: is no parameter of system.mix; did you mean count",
        ),
        ({"colour": "red", "xyz": 1}, "invalid_input", "which takes: colour, count"),
        ({"colour": "red", "count": "many"}, "invalid_input", "count: must be a whole number, not 'many'"),
        ({"colour": "red", "count": None}, "invalid_input", "count: must be a whole number"),
        ({"colour": "red", "share": "nan"}, "invalid_input", "share: "),
        ({"colour": "red", "dry_run": "maybe"}, "invalid_input", "dry_run: must be true or false"),
        ({"colour": "red", "others": ["blue"]}, "invalid_input", r"others\[0\]: must be one of red or green"),
        ({"colour": "red", "names": ["toolong"]}, "too_large", r"names\[0\]: is longer than 5 characters"),
        ({"colour": "red", "names": list("abcd")}, "too_many", "names: .*at most 3"),
        ({"colour": "red", "spans": [{"first": 1}]}, "invalid_input", r"spans\[0\].last: is missing"),
        ({"colour": "blue"}, "unknown_type", "no colour 'blue'"),
    ],
)
def test_a_wrong_argument_is_named_with_what_to_do(
    registry: Registry, arguments: dict[str, Any], code: str, said: str
) -> None:
    with pytest.raises(MinutebookError, match=said) as caught:
        registry.of(mix).parse(arguments)
    assert caught.value.code == code


def test_every_problem_is_in_the_details(registry: Registry) -> None:
    with pytest.raises(MinutebookError, match="and 1 more") as caught:
        registry.of(mix).parse({"colour": "red", "count": "x", "share": "y"})
    assert [problem["field"] for problem in caught.value.details["problems"]] == ["count", "share"]
    assert set(caught.value.details["problems"][0]) == {"field", "problem"}


def test_a_check_may_refuse_with_a_code_of_its_own(registry: Registry) -> None:
    with pytest.raises(MinutebookError) as caught:
        registry.of(promote).parse({"slug": "a.b", "reason": 7})
    assert caught.value.code == "bad_slug"
    with pytest.raises(MinutebookError) as caught:
        registry.of(promote).parse({"slug": "con"})
    assert caught.value.message == "slug: is a name that Windows keeps for itself"
    assert registry.of(promote).parse({"slug": "USE"}) == {"slug": "use", "reason": None}


def test_an_error_never_repeats_a_long_text(registry: Registry) -> None:
    with pytest.raises(MinutebookError) as caught:
        registry.of(mix).parse({"colour": "red", "names": ["secret" * 500]})
    assert "secretsecret" not in str(caught.value.as_dict())
    with pytest.raises(MinutebookError) as caught:
        registry.of(promote).parse({"slug": "a", "reason": 12345})
    assert "12345" not in str(caught.value.as_dict())


def test_ordinary_arguments_are_read_without_pydantic() -> None:
    code = (
        "import sys\n"
        "from typing import Annotated, Literal\n"
        "from annotated_types import Le, MaxLen\n"
        "from minutebook.operations.registry import *\n"
        "def f(call, slug: Annotated[str, Check(str.casefold), MaxLen(9)], limit: Annotated[int, Le(9)] = 3,"
        " tag: tuple[str, ...] = (), kind: Literal['a'] | None = None, yes: bool = False) -> None: 'F.'\n"
        "found = Registry({'n': ''}).add(f, Access.READ, noun='n')\n"
        "print(found.parse({'slug': 'É', 'limit': '7', 'tag': ['x'], 'kind': 'a', 'yes': True}))\n"
        "print([m for m in sys.modules if m.startswith('pydantic')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == [
        "{'slug': 'é', 'limit': 7, 'tag': ('x',), 'kind': 'a', 'yes': True}",
        "[]",
    ]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(alphabet=st.characters(), max_size=8)
    | st.sampled_from(
        ["red", "GREEN", "open", "1", "-7", "+3", "١", " 1", "1_0", "true", "a.b", "con", "0x1", "1e3"]
    )
    | st.sampled_from(list(Colour)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["first", "last"]), inner),
    max_leaves=6,
)
NAMES = st.sampled_from(
    [
        "colour",
        "count",
        "share",
        "dry_run",
        "others",
        "names",
        "spans",
        "where",
        "slug",
        "reason",
        "tag",
        "limit",
    ]
)


@given(st.sampled_from([promote, list_, mix]), st.dictionaries(NAMES, VALUES, max_size=5), st.booleans())
def test_the_quick_reader_never_disagrees_with_pydantic(function: Any, arguments: Any, known: bool) -> None:
    found = SHARED.of(function)
    parser = found._parser
    if known:
        arguments = {name: value for name, value in arguments.items() if name in parser._parameters}
        arguments = {"colour": "red", **arguments} if function is mix else arguments
        arguments = {"slug": "x", **arguments} if function is promote else arguments
    try:
        quick = outcome(parser._read, arguments)
    except parsing.Unsure:
        return
    assert quick == outcome(parser._validate, arguments)


def outcome(read: Any, arguments: Any) -> Any:
    try:
        return repr(read(arguments))
    except MinutebookError as error:
        return error.as_dict()


SHARED = make()


# Schemas


def test_the_schemas_name_every_parameter_and_field(registry: Registry) -> None:
    given_ = registry.of(promote).input_schema()
    assert given_["required"] == ["slug"]
    assert given_["additionalProperties"] is False
    assert given_["properties"]["slug"]["description"] == "the short name"
    assert registry.of(list_).input_schema()["properties"]["limit"]["default"] == 50
    assert registry.of(mix).input_schema()["properties"].keys() >= {"colour", "dry_run", "spans"}
    assert list(registry.of(promote).output_schema()["properties"]) == [
        "name", "colour", "layers", "file", "raw", "extra",
    ]  # fmt: skip
    assert "items" in registry.of(list_).output_schema()["properties"]


# Plain data


def test_a_result_becomes_plain_data_and_nothing_is_left_out() -> None:
    value = Page((Paint("a", Colour.GREEN, (Span(1, 2),), Path("x/y"), b"\x00\xff", {"k": 1}),), "7")
    assert to_plain(value) == {
        "items": [
            {
                "name": "a",
                "colour": "green",
                "layers": [{"first": 1, "last": 2}],
                "file": "x/y",
                "raw": "AP8=",
                "extra": {"k": 1},
            }
        ],
        "next": "7",
    }
    assert type(to_plain(Colour.RED)) is str
    assert to_plain({"b", "a"}) == ["a", "b"]
    assert list(to_plain(Paint("a", Colour.RED))) == ["name", "colour", "layers", "file", "raw", "extra"]


def test_a_result_that_json_cannot_hold_is_a_defect_that_shows() -> None:
    with pytest.raises(TypeError, match="may not hold"):
        to_plain(object())


paints = st.builds(
    Paint,
    name=st.text(),
    colour=st.sampled_from(Colour),
    layers=st.lists(st.builds(Span, st.integers(), st.integers())).map(tuple),
    file=st.none() | st.text(alphabet="abc/", min_size=1).map(Path),
    raw=st.binary(),
    extra=st.none() | st.dictionaries(st.text(), st.integers()),
)


@given(st.builds(Page, items=st.lists(paints, max_size=3).map(tuple), next=st.none() | st.text()))
def test_plain_data_becomes_the_typed_result_again(page: Page[Paint]) -> None:
    again = from_plain(Page[Paint], to_plain(page))
    assert again == page
    assert repr(again) == repr(page)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (Span, {"first": 1}),
        (Span, None),
        (Span, {"first": "1", "last": 2}),
        (Page[Span], {"items": 3, "next": None}),
        (int | None, "x"),
        (Colour, "blue"),
    ],
)
def test_plain_data_that_does_not_fit_is_an_error(kind: Any, data: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        from_plain(kind, data)
