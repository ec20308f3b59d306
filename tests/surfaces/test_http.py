"""The operations over HTTP, asked from outside: routes, parameters, answers, keys, pages, conditions."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from minutebook.model.actors import Role
from minutebook.model.errors import CODES, HTTP_STATUS
from minutebook.operations import actors, decisions, inbox, memories, projects, sessions
from minutebook.operations.registry import REGISTRY
from minutebook.surfaces import spelling
from tests.houses import House
from tests.surfaces.serving import Reply, Served, exchange


@pytest.fixture
def served(house: House, tmp_path: Path) -> Iterator[Served]:
    with Served(house, tmp_path) as running:
        yield running


def _write(served: Served, content: str, **more: Any) -> Reply:
    return served.ask("POST", "/api/memories", {"type": "learning", "content": content, **more})


# Routes


def test_no_two_operations_share_a_route() -> None:
    routes = [spelling.http(operation) for operation in REGISTRY.all()]
    assert len(set(routes)) == len(routes)
    assert len(routes) > 60


@pytest.mark.parametrize(
    ("name", "route"),
    [
        ("inbox.submit", ("POST", "/api/inbox")),
        ("inbox.list", ("GET", "/api/inbox")),
        ("inbox.digest", ("GET", "/api/inbox/digest")),
        ("inbox.promote", ("POST", "/api/inbox/{ref}/promote")),
        ("memories.edit", ("PATCH", "/api/memories/{ref}")),
        ("search.search", ("GET", "/api/search")),
        ("sessions.current", ("GET", "/api/sessions/current")),
        ("scope.show", ("GET", "/api/scope")),
        ("verdicts.revert_all", ("POST", "/api/verdicts/revert-all")),
        ("projects.show", ("GET", "/api/projects/{ref}")),
        ("projects.see", ("POST", "/api/projects/see")),
        ("projects.add_repo", ("POST", "/api/projects/add-repo")),
        ("tombstones.lift", ("POST", "/api/tombstones/{id}/lift")),
        ("system.export", ("POST", "/api/system/export")),
    ],
)
def test_an_operation_has_its_route_by_rule(name: str, route: tuple[str, str]) -> None:
    assert spelling.http(REGISTRY.get(name)) == route


def test_a_write_and_its_read_go_through_the_socket(served: Served) -> None:
    made = _write(served, "The proxy drops large bodies.", slug="proxy")
    assert made.status == 201
    assert made.headers["location"] == f"/api/memories/{made.json['memory']}"
    shown = served.ask("GET", made.headers["location"])
    assert shown.status == 200
    assert shown.json["memory"]["content"] == "The proxy drops large bodies."
    assert shown.json["memory"]["origin"] == "socket"
    assert served.ask("GET", "/api/memories/proxy").json == shown.json


def test_the_answer_is_that_of_the_operation_itself(served: Served) -> None:
    served.house.mother(memories.write, type="learning", content="Tests run on both databases.")
    page = served.ask("GET", "/api/memories?limit=10").json
    (line,) = served.house.mother(memories.list_).items
    assert page["next"] is None
    assert page["items"][0]["id"] == line.id
    assert page["items"][0]["tags"] == list(line.tags)


def test_a_name_with_a_slash_and_one_of_a_verb_can_be_shown(served: Served) -> None:
    served.house.mother(sessions.start, focus="Look around", session="team/a b ü")
    assert served.ask("GET", f"/api/sessions/{quote('team/a b ü', safe='')}").json["focus"] == "Look around"
    served.house.mother(sessions.start, focus="Odd name", session="current")
    served.house.mother(sessions.start, focus="Open now", session="-")
    assert served.ask("GET", "/api/sessions/current").json["focus"] == "Open now"
    assert served.ask("GET", "/api/sessions/-?session=current").json["focus"] == "Odd name"
    assert served.ask("GET", "/api/sessions/-?session=-").json["focus"] == "Open now"


def test_a_dash_stands_for_a_name_that_is_left_out(served: Served) -> None:
    assert served.ask("GET", "/api/projects/-").json["project"]["slug"] == "nostromo"
    assert served.ask("GET", "/api/projects/-?ref=global").json["project"]["slug"] == "global"
    assert served.ask("GET", "/api/memories/-").code == "invalid_input"


def test_a_name_in_the_path_is_not_said_again(served: Served) -> None:
    twice = served.ask("POST", "/api/inbox/one/reject", {"ref": "two", "reason": "because"})
    assert (twice.status, twice.code) == (400, "invalid_input")


def test_a_path_that_leads_nowhere_is_not_found(served: Served) -> None:
    for path in (
        "/",
        "/api",
        "/api/",
        "/api/nothing",
        "/api/memories/",
        "/api//x",
        "//",
        "/apis",
        "/api/%69nbox",
    ):
        reply = served.ask("GET", path)
        assert (reply.status, reply.code) == (404, "not_found"), path


def test_a_method_that_a_route_does_not_take_hears_which_it_takes(served: Served) -> None:
    wrong = served.ask("DELETE", "/api/memories")
    assert (wrong.status, wrong.code) == (405, "wrong_method")
    assert wrong.headers["allow"] == "GET, HEAD, OPTIONS, POST"
    asked = served.ask("OPTIONS", "/api/memories/x")
    assert (asked.status, asked.headers["allow"], asked.body) == (204, "GET, HEAD, OPTIONS, PATCH", b"")
    assert not [name for name in asked.headers if name.startswith("access-control")]


def test_head_says_what_get_would_without_the_body(served: Served) -> None:
    _write(served, "One of two.", slug="one")
    with_body, without = (served.ask(method, "/api/memories/one") for method in ("GET", "HEAD"))
    assert (without.status, without.body) == (200, b"")
    assert without.headers["content-length"] == str(len(with_body.body))
    assert without.headers["etag"] == with_body.headers["etag"]


# Parameters


WRONG_QUERIES = [
    ("limit=abc", "invalid_input"),
    ("limit=1.5", "invalid_input"),
    ("limit=0", "invalid_input"),
    ("limit=1001", "invalid_input"),
    ("limit=%2B5", "invalid_input"),
    ("limit=", "invalid_input"),
    ("limit=1&limit=2", "invalid_input"),
    ("limit=99999999999999999999", "invalid_input"),
    ("type=nonsense", "unknown_type"),
    ("status=nonsense", "invalid_input"),
    ("colour=red", "invalid_input"),
    ("%FF=1", "invalid_input"),
    ("author=%FF", "invalid_input"),
    ("since=never", "invalid_input"),
    ("&".join(["tag=a"] * 1001), "too_many"),
]


def test_a_query_that_does_not_fit_is_refused(served: Served) -> None:
    for query, code in WRONG_QUERIES:
        reply = served.ask("GET", f"/api/memories?{query}")
        assert reply.code == code, query[:80]
        assert reply.status == HTTP_STATUS[CODES[code][0]]


def test_a_query_repeats_a_name_for_a_list_and_says_true_and_false(served: Served) -> None:
    _write(served, "Tagged twice.", tag=["a", "b"])
    _write(served, "Tagged once.", tag=["a"])
    both = served.ask("GET", "/api/memories?tag=a&tag=b").json["items"]
    assert [line["title"] for line in both] == ["Tagged twice."]
    served.house.mother(projects.create, name="Old")
    served.house.mother(projects.archive, ref="old")
    slugs = [line["slug"] for line in served.ask("GET", "/api/projects?archived=true").json["items"]]
    assert "old" in slugs
    assert served.ask("GET", "/api/projects?archived=false").status == 200
    assert served.ask("GET", "/api/projects?archived=1").code == "invalid_input"


WRONG_BODIES = [
    b"{",
    b"[]",
    b'"text"',
    b"null",
    b"\xff\xfe{}",
    b"\xef\xbb\xbf{}",
    '{"type": "learning", "content": "x"}'.encode("utf-16"),
    b'{"type": "learning", "content": NaN}',
    b'{"type": "learning", "content": "x", "confidence": Infinity}',
    b'{"type": "learning", "content": "x", "confidence": 1e999}',
    b'{"type": "learning", "content": "x", "confidence": "0.5"}',
    b'{"type": "learning", "content": "x", "confidence": true}',
    b'{"type": "learning", "content": "x", "content": "y"}',
    b'{"type": "learning", "content": "\\ud800"}',
    b'{"type": "learning", "content": 5}',
    b'{"type": "learning", "content": null}',
    b'{"type": "learning", "content": ["x"]}',
    b'{"type": "learning", "content": "x", "tag": "one"}',
    b'{"type": "learning", "content": "x", "tag": [1]}',
    b'{"type": "learning", "content": "x", "dry_run": "yes"}',
    b'{"type": "learning", "content": "x", "dry_run": 1}',
    b'{"type": "learning", "content": "x", "colour": "red"}',
    b'{"type": "learning", "content": "x", "colour": ' + b"[" * 600 + b"]" * 600 + b"}",
    b'{"content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"content": ' + b"9" * 10_000 + b"}",
    b'{"type": "learning"}',
]


def test_a_body_that_does_not_fit_is_refused(served: Served) -> None:
    for body in WRONG_BODIES:
        reply = served.ask("POST", "/api/memories", body, headers={"Content-Type": "application/json"})
        assert (reply.status, reply.code) == (400, "invalid_input"), body[:80]
        assert b"Traceback" not in reply.body
    assert served.house.mother(memories.list_).items == ()


def test_a_number_that_no_database_holds_is_refused(served: Served) -> None:
    _write(served, "There it is.", slug="there")
    for number in (2**63, -(2**70), 10**300):
        edit = served.ask("PATCH", "/api/memories/there", {"title": "Other", "revision": number})
        assert edit.code == "invalid_input"


def test_a_body_in_another_form_than_json_is_refused(served: Served) -> None:
    forms = ("", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json")
    for media in (*forms, "application/json; charset=utf-16"):
        headers = {"Content-Type": media} if media else {}
        reply = served.ask("POST", "/api/memories", b'{"type": "learning", "content": "x"}', headers=headers)
        assert (reply.status, reply.code) == (415, "bad_media"), media


def test_json_may_say_its_charset_but_not_be_packed(served: Served) -> None:
    body = b'{"type": "learning", "content": "x y z"}'
    headers = {"Content-Type": 'application/json; charset="UTF-8"'}
    assert served.ask("POST", "/api/memories", body, headers=headers).status == 201
    packed = served.ask("POST", "/api/memories", body, headers={**headers, "Content-Encoding": "gzip"})
    assert packed.code == "bad_media"


def test_parameters_stand_where_the_method_has_them(served: Served) -> None:
    in_query = served.ask("POST", "/api/memories?type=learning", {"content": "x"})
    in_body = served.ask("GET", "/api/memories", {"limit": 5})
    assert (in_query.code, in_body.code) == ("invalid_input", "invalid_input")


def test_no_body_is_an_empty_one(served: Served) -> None:
    served.house.mother(sessions.start, focus="Something")
    assert served.ask("POST", "/api/sessions/close").json["ended_at"] is not None


# Answers


def test_a_held_write_says_where_its_proposal_is(served: Served) -> None:
    body = {"type": "architectural", "title": "Use PostgreSQL", "content": "One database."}
    held = served.ask("POST", "/api/decisions", body, token=served.token("agent", "Ripley"))
    assert (held.status, held.json["op"]) == (201, "hold")
    assert held.headers["location"] == f"/api/inbox/{held.json['proposal']}"


def test_a_dry_run_makes_nothing_and_does_not_say_so(served: Served) -> None:
    reply = _write(served, "Only asked.", dry_run=True)
    assert reply.status == 200
    assert "location" not in reply.headers
    assert served.house.mother(memories.list_).items == ()


def test_a_refusal_is_an_error_of_the_closed_shape(served: Served) -> None:
    key = "AKIA" + "Q3EGRTLZN7VWKXOP"
    reply = _write(served, f"The deploy key is {key}, keep it.")
    assert (reply.status, reply.code) == (422, "secret")
    assert key.encode() not in reply.body


def test_a_listing_says_where_it_goes_on(served: Served) -> None:
    for number in range(5):
        _write(served, f"Fact number {number} of five.", tag=["a b&c"])
    seen: list[str] = []
    path = f"/api/memories?limit=2&tag={quote('a b&c')}"
    while path:
        reply = served.ask("GET", path)
        seen += [line["title"] for line in reply.json["items"]]
        link = reply.headers.get("link", "")
        assert bool(link) == (reply.json["next"] is not None)
        assert not link or link.endswith('>; rel="next"')
        path = link.partition(">")[0].removeprefix("<")
    assert seen == [f"Fact number {number} of five." for number in (4, 3, 2, 1, 0)]


def test_every_answer_names_its_request(served: Served) -> None:
    given = served.ask("GET", "/api/inbox", headers={"X-Request-Id": "trace-42"})
    assert given.headers["x-request-id"] == "trace-42"
    bad = served.ask("GET", "/api/inbox", headers={"X-Request-Id": "a b<script>"})
    other = served.ask("GET", "/api/nothing")
    assert bad.headers["x-request-id"] not in ("a b<script>", other.headers["x-request-id"])


def test_answers_are_not_kept_by_anybody(served: Served) -> None:
    for path in ("/api/inbox", "/api/nothing", "/docs", "/openapi.json", "/metrics"):
        reply = served.ask("GET", path)
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["x-content-type-options"] == "nosniff"


def test_many_requests_share_a_connection(served: Served) -> None:
    made = _write(served, "Kept open.", slug="open")
    connection = served.connect()
    headers = {"Minutebook-Project": served.house.project}
    for number in range(50):
        path = ("/api/memories/open", "/api/memories", "/api/nothing")[number % 3]
        reply = exchange(connection, "GET", path, headers=headers)
        assert reply.status == (404 if path.endswith("nothing") else 200)
    assert (
        exchange(connection, "GET", "/api/memories/open", headers=headers).json["memory"]["id"]
        == made.json["memory"]
    )
    connection.close()


# Keys


def test_a_repeated_key_gives_the_first_answer(served: Served) -> None:
    key = {"Idempotency-Key": "once"}
    body = {"type": "learning", "content": "Said once."}
    first, again = (served.ask("POST", "/api/memories", body, headers=key) for _ in range(2))
    assert (first.status, again.status) == (201, 201)
    assert again.json == {**first.json, "replayed": True}
    assert len(served.house.mother(memories.list_).items) == 1
    other = served.ask("POST", "/api/memories", {**body, "content": "Something else."}, headers=key)
    assert (other.status, other.code) == (409, "key_reused")


def test_a_key_may_be_any_text_percent_encoded(served: Served) -> None:
    body = {"type": "learning", "content": "With a key of our own."}
    for _ in range(2):
        reply = served.ask("POST", "/api/memories", body, headers={"Idempotency-Key": quote("schlüssel 1")})
        assert reply.status == 201
    (row,) = served.house.rows("SELECT key FROM requests")
    assert row["key"] == "schlüssel 1"


# Conditions


def test_what_has_not_changed_is_not_sent_again(served: Served) -> None:
    _write(served, "Stays as it is.", slug="stays")
    tag = served.ask("GET", "/api/memories/stays").headers["etag"]
    same = served.ask("GET", "/api/memories/stays", headers={"If-None-Match": f'"other", {tag}'})
    assert (same.status, same.body) == (304, b"")
    assert same.headers["etag"] == tag
    served.ask("PATCH", "/api/memories/stays", {"content": "Stays, but otherwise."})
    changed = served.ask("GET", "/api/memories/stays", headers={"If-None-Match": tag})
    assert changed.status == 200
    assert changed.headers["etag"] != tag


def test_what_stands_around_a_thing_changes_its_tag_but_not_what_may_be_edited(served: Served) -> None:
    for slug in ("one", "two"):
        _write(served, f"This is number {slug}, all by itself.", slug=slug)
    tag = served.ask("GET", "/api/memories/one").headers["etag"]
    assert (
        served.ask("POST", "/api/memories/one/link", {"relation": "supports", "other": "two"}).status == 200
    )
    again = served.ask("GET", "/api/memories/one", headers={"If-None-Match": tag})
    assert (again.status, len(again.json["links"])) == (200, 1)
    edit = served.ask("PATCH", "/api/memories/one", {"title": "Still mine"}, headers={"If-Match": tag})
    assert edit.status == 200


def test_a_write_on_an_old_state_is_refused_and_changes_nothing(served: Served) -> None:
    _write(served, "First words.", slug="words")
    old = served.ask("GET", "/api/memories/words").headers["etag"]
    assert (
        served.ask(
            "PATCH", "/api/memories/words", {"content": "Second words."}, headers={"If-Match": old}
        ).status
        == 200
    )
    for method, path, body in (
        ("PATCH", "/api/memories/words", {"content": "Third words."}),
        ("POST", "/api/memories/words/retire", {"reason": "because"}),
        ("POST", "/api/memories/words/tag", {"tags": ["x"]}),
        ("PATCH", "/api/memories/-", {"ref": "words", "content": "Third words."}),
    ):
        stale = served.ask(method, path, body, headers={"If-Match": old})
        assert (stale.status, stale.code) == (412, "stale_match"), path
    (line,) = served.house.mother(memories.list_).items
    assert (line.revision, line.status) == (2, "active")
    new = served.ask("GET", "/api/memories/words").headers["etag"]
    weak = served.ask("PATCH", "/api/memories/words", {"title": "T"}, headers={"If-Match": f"W/{new}"})
    assert weak.code == "stale_match"
    for tag in (f"{old}, {new}", "*"):
        edit = served.ask(
            "PATCH", "/api/memories/words", {"title": f"T{len(tag)}"}, headers={"If-Match": tag}
        )
        assert edit.status == 200, tag


def test_another_thing_of_the_same_name_is_not_the_one_that_was_seen(served: Served) -> None:
    first = served.house.mother(
        decisions.write, type="technical", title="Database", content="MySQL.", slug="db"
    )
    seen = served.ask("GET", "/api/decisions/db").headers["etag"]
    served.house.mother(decisions.write, type="technical", title="Database", content="PostgreSQL.", slug="db")
    stale = served.ask("PATCH", "/api/decisions/db", {"title": "Data"}, headers={"If-Match": seen})
    assert (stale.status, stale.code) == (412, "stale_match")
    assert first.memory is not None


def test_every_thing_that_can_be_edited_can_be_guarded(served: Served) -> None:
    house = served.house
    house.ripley(inbox.submit, type="technical", title="Use Rust", content="It is fast.", slug="rust")
    for show, path, body in (
        ("/api/projects/nostromo", "/api/projects/nostromo", {"name": "Sulaco"}),
        ("/api/actors/ripley", "/api/actors/ripley", {"role": "coordinator"}),
        ("/api/inbox/rust", "/api/inbox/rust/promote", {}),
    ):
        tag = served.ask("GET", show).headers["etag"]
        method = "POST" if path.endswith("promote") else "PATCH"
        assert served.ask(method, path, body, headers={"If-Match": '"other.1.2"'}).code == "stale_match"
        assert served.ask(method, path, body, headers={"If-Match": tag}).status == 200, path
        assert served.ask(method, path, body, headers={"If-Match": tag}).code in (
            "stale_match",
            "already_decided",
        )


def test_a_proposal_that_its_author_changed_is_not_promoted_unread(served: Served) -> None:
    house = served.house
    body = {"type": "technical", "title": "Use Rust", "slug": "rust"}
    house.ripley(inbox.submit, content="For the parser.", **body)
    read = served.ask("GET", "/api/inbox/rust").headers["etag"]
    house.ripley(inbox.submit, content="For everything.", **body)
    blind = served.ask("POST", "/api/inbox/rust/promote", {}, headers={"If-Match": read})
    assert blind.code == "stale_match"
    assert house.mother(inbox.show, ref="rust").proposal.status == "pending"


def test_a_condition_that_nobody_understands_is_refused(served: Served) -> None:
    _write(served, "There it is.", slug="there")
    for header in ("1", "abc", '"a', '*, "b"', ",", ""):
        reply = served.ask("PATCH", "/api/memories/there", {"title": "T"}, headers={"If-Match": header})
        assert (reply.status, reply.code) == (400, "invalid_input"), header


def test_a_condition_that_would_not_be_looked_at_is_refused(served: Served) -> None:
    for path in ("/api/memories", "/api/sessions/update", "/api/memories/x/erase"):
        reply = served.ask("POST", path, {}, headers={"If-Match": '"a.1.b"'})
        assert reply.code == "invalid_input", path


def test_of_many_who_edit_the_same_state_one_succeeds(served: Served) -> None:
    _write(served, "Everybody wants to change this.", slug="wanted")
    tag = served.ask("GET", "/api/memories/wanted").headers["etag"]
    replies: list[Reply] = []

    def edit(number: int) -> None:
        body = {"content": f"Changed by number {number}, and by nobody else."}
        replies.append(served.ask("PATCH", "/api/memories/wanted", body, headers={"If-Match": tag}))

    threads = [threading.Thread(target=edit, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(reply.status for reply in replies) == [200, *[412] * 11]
    assert served.house.mother(memories.show, ref="wanted").memory.revision == 2


# Who asks


def test_over_tcp_every_route_takes_a_token(served: Served) -> None:
    for operation in REGISTRY.all():
        method, path = spelling.http(operation)
        path = path.replace("{", "").replace("}", "")
        assert served.ask(method, path, tcp=True).code == "no_token", operation.name
    for path in ("/docs", "/openapi.json", "/metrics", "/api/events/follow", "/nothing", "/"):
        assert served.ask("GET", path, tcp=True).code == "no_token", path
    assert served.ask("OPTIONS", "/api/inbox", tcp=True).code == "no_token"
    assert served.ask("DELETE", "/api/inbox", tcp=True).status == 401


def test_a_wrong_credential_is_refused_alike_on_tcp_and_on_the_socket(served: Served) -> None:
    for header in (
        "Bearer mbk_wrong",
        "Bearer ",
        "Basic eDp5",
        "mbk_x",
        "Bearer",
        "Token x",
        "Bearer a b",
        "",
    ):
        for tcp in (True, False):
            reply = served.ask("GET", "/api/inbox", tcp=tcp, headers={"Authorization": header})
            assert (reply.status, reply.code) == (401, "bad_token"), header
            assert reply.headers["www-authenticate"] == 'Bearer realm="minutebook", error="invalid_token"'


def test_a_token_says_who_asks_and_nothing_else_does(served: Served) -> None:
    token = served.token("agent", "Ripley")
    body = {"type": "technical", "title": "Use Rust", "content": "It is fast."}
    sent = served.ask("POST", "/api/inbox", body, token=token)
    assert served.house.mother(inbox.show, ref=sent.json["id"]).proposal.agent == "ripley"
    for name in ("Minutebook-Agent", "Minutebook-Actor"):
        other = served.ask("GET", "/api/inbox", token=token, headers={name: "mother"})
        assert other.code == "other_agent"
    assert served.ask("POST", f"/api/inbox/{sent.json['id']}/promote", {}, token=token).code == "not_allowed"
    elsewhere = served.house.new_project("Sulaco")
    assert served.ask("GET", "/api/inbox", token=token, project=elsewhere).code == "other_project"


def test_a_revoked_token_is_refused_with_the_next_request(served: Served) -> None:
    token = served.token("viewer", "Jones")
    assert served.ask("GET", "/api/inbox", token=token).status == 200
    (line,) = served.ask("GET", "/api/tokens").json["items"]
    assert served.ask("POST", f"/api/tokens/{line['id']}/revoke", {"reason": "done"}).status == 200
    assert served.ask("GET", "/api/inbox", token=token).code == "bad_token"
    assert served.ask("GET", "/api/memories/x", token=token).code == "bad_token"


def test_on_the_socket_the_user_acts_as_whom_they_name(served: Served) -> None:
    body = {"type": "technical", "title": "Use Rust", "content": "It is fast."}
    sent = served.ask("POST", "/api/inbox", body, headers={"Minutebook-Agent": "Bishop"})
    assert served.house.mother(inbox.show, ref=sent.json["id"]).proposal.agent == "bishop"
    assert served.ask("GET", "/api/inbox", headers={"Minutebook-Actor": "nobody"}).code == "not_found"
    promote = f"/api/inbox/{sent.json['id']}/promote"
    assert served.ask("POST", promote, {}, headers={"Minutebook-Agent": "Bishop"}).code == "not_allowed"
    assert served.ask("POST", promote, {}, headers={"Minutebook-Actor": "Dallas"}).status == 200


def test_the_door_is_what_the_caller_on_the_socket_says_and_nothing_unheard_of(served: Served) -> None:
    for origin, kept in (("cli", "cli"), ("python", "python"), ("socket", "socket")):
        made = served.ask(
            "POST",
            "/api/memories",
            {"type": "learning", "content": f"It came by {origin}."},
            headers={"Minutebook-Origin": origin},
        )
        assert served.house.mother(memories.show, ref=made.json["memory"]).memory.origin == kept
    assert served.ask("GET", "/api/inbox", headers={"Minutebook-Origin": "file"}).code == "invalid_input"
    token = served.token()
    over_tcp = served.ask(
        "POST",
        "/api/memories",
        {"type": "learning", "content": "It came by TCP."},
        token=token,
        headers={"Minutebook-Origin": "cli"},
    )
    assert served.house.mother(memories.show, ref=over_tcp.json["memory"]).memory.origin == "http"


def test_a_name_in_a_header_is_percent_encoded(served: Served) -> None:
    served.house.mother(actors.add, name="Büro", role=Role.AGENT)
    body = {"type": "technical", "title": "T", "content": "C."}
    sent = served.ask("POST", "/api/inbox", body, headers={"Minutebook-Agent": quote("Büro")})
    assert served.house.mother(inbox.show, ref=sent.json["id"]).proposal.agent == "büro"
    connection = served.connect()
    for value in (b"B\xfcro", b"%FF"):
        connection.putrequest("GET", "/api/inbox")
        connection.putheader("Minutebook-Agent", value)
        connection.endheaders()
        answer: http.client.HTTPResponse = connection.getresponse()
        assert (answer.status, b"invalid_input" in answer.read()) == (400, True)
    connection.close()


def test_a_role_that_was_taken_away_is_gone_at_once(served: Served) -> None:
    dallas = {"Minutebook-Actor": "Dallas"}
    served.ask("POST", "/api/inbox", {"type": "technical", "title": "T", "content": "C.", "slug": "t"})
    served.house.mother(actors.edit, name="dallas", role=Role.VIEWER)
    assert served.ask("POST", "/api/inbox/t/reject", {"reason": "no"}, headers=dallas).code == "not_allowed"
    served.house.mother(actors.edit, name="dallas", role=Role.COORDINATOR)
    assert served.ask("POST", "/api/inbox/t/reject", {"reason": "no"}, headers=dallas).status == 200


# Files


def test_over_tcp_only_files_beneath_the_home_can_be_named(served: Served, tmp_path: Path) -> None:
    token = served.token(everywhere=True)
    home = served.house.home
    home.mkdir(exist_ok=True)
    (home / "link").symlink_to(tmp_path)
    outside = [str(tmp_path / "out.zip"), "../out.zip", "link/out.zip", "/etc/passwd", str(home), "."]
    for file in outside:
        for verb in ("export", "import"):
            reply = served.ask("POST", f"/api/system/{verb}", {"file": file}, token=token)
            assert (reply.status, reply.code) == (403, "foreign_path"), file
    assert not (tmp_path / "out.zip").exists()
    for file in ("all.zip", str(home / "again.zip")):
        done = served.ask("POST", "/api/system/export", {"file": file}, token=token)
        assert done.status == 200, done.body
    assert (home / "all.zip").exists()
    assert served.ask("POST", "/api/system/import", {"file": "all.zip"}, token=token).status == 200


def test_on_the_socket_a_path_is_whole(served: Served, tmp_path: Path) -> None:
    assert served.ask("POST", "/api/system/export", {"file": "here.zip"}).code == "invalid_input"
    target = tmp_path / "there.zip"
    assert served.ask("POST", "/api/system/export", {"file": str(target)}).status == 200
    assert target.exists()


def test_nobody_names_the_files_of_the_ledger_or_the_service(served: Served) -> None:
    home = served.house.home
    (home / "run").mkdir(parents=True)
    names = [str(home / "run" / "service.json"), str(home / "run")]
    if served.settings.url.startswith("sqlite"):
        names += [served.settings.url.removeprefix("sqlite://") + end for end in ("", "-wal", "-shm")]
    token = served.token(everywhere=True)
    for name in names:
        for more in ({}, {"token": token}):
            reply = served.ask("POST", "/api/system/export", {"file": name, "force": True}, **more)
            assert reply.code == "foreign_path", name


# Many at once


def test_readers_always_find_what_they_were_told_was_written(served: Served) -> None:
    """Short reads share a snapshot; nobody is shown one from before their own write."""
    lost: list[str] = []

    def write_and_read(number: int) -> None:
        connection = served.connect()
        headers = {"Minutebook-Project": served.house.project, "Content-Type": "application/json"}
        for turn in range(15):
            body = (
                f'{{"type": "learning", "content": "Fact {turn} of writer {number}, all its own."}}'.encode()
            )
            made = exchange(connection, "POST", "/api/memories", body, headers)
            shown = exchange(connection, "GET", made.headers["location"], headers=headers)
            if shown.status != 200:
                lost.append(made.headers["location"])
        connection.close()

    threads = [threading.Thread(target=write_and_read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lost == []
    assert len(served.house.mother(memories.list_, limit=500).items) == 120
