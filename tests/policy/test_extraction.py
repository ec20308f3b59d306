"""Reading sources: every form of transcript, what is passed over, where things stand, and how long it takes."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from minutebook.model.memories import Type
from minutebook.policy.extraction.extract import Extraction, Finding, extract
from minutebook.policy.extraction.naming import name_in
from minutebook.policy.extraction.rules import slot_of
from minutebook.policy.extraction.turns import Form

DECIDED = "We decided to use PostgreSQL instead of MySQL for the billing service."


def one(text: str) -> Finding:
    findings = extract(text).findings
    assert len(findings) == 1, findings
    return findings[0]


def claude(*messages: tuple[str, Any], **more: Any) -> str:
    return "\n".join(
        json.dumps({"type": role, "message": {"role": role, "content": content}, "sessionId": "s", **more})
        for role, content in messages
    )


def codex(*items: dict[str, Any]) -> str:
    lines = [
        {"timestamp": "2026-11-16T10:00:00Z", "type": "session_meta", "payload": {"id": "x", "cwd": "/srv"}}
    ]
    lines += [
        {"timestamp": "2026-11-16T10:00:01Z", "type": "response_item", "payload": item} for item in items
    ]
    return "\n".join(map(json.dumps, lines))


def said(role: str, text: str, kind: str = "input_text") -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


# --- forms ---------------------------------------------------------------------------------------------------


def test_claude_codes_transcript_is_read_and_its_tools_side_chains_and_reminders_are_not() -> None:
    text = "\n".join(
        [
            claude(("user", "hello")),
            claude(("user", [{"type": "tool_result", "content": [{"type": "text", "text": DECIDED}]}])),
            claude(("assistant", [{"type": "tool_use", "name": "Bash", "input": {"command": DECIDED}}])),
            claude(("assistant", [{"type": "thinking", "thinking": DECIDED}])),
            claude(("assistant", f"A subagent says: {DECIDED}"), isSidechain=True),
            claude(("user", f"<system-reminder>{DECIDED}</system-reminder>")),
            claude(("user", f"<command-name>/x</command-name> {DECIDED}")),
            claude(("user", DECIDED), isMeta=True),
            "this line is no JSON at all",
            '{"type": "summary", "summary": "' + DECIDED + '"}',
            claude(("user", "Never push directly to main."), timestamp="2026-11-16T10:00:00.000Z"),
        ]
    )
    extraction = extract(text)
    assert extraction.form is Form.CLAUDE_CODE
    assert [(f.content, f.first, f.last, f.type) for f in extraction.findings] == [
        ("Never push directly to main.", 11, 11, Type.PROCESS)
    ]
    assert extraction.findings[0].at == "2026-11-16T10:00:00.000Z"


def test_codexs_transcript_is_read_and_its_calls_and_surroundings_are_not() -> None:
    text = codex(
        said("developer", DECIDED),
        said("user", f"<environment_context>{DECIDED}</environment_context>"),
        {"type": "function_call", "name": "shell", "arguments": DECIDED},
        {"type": "function_call_output", "output": DECIDED},
        {"type": "reasoning", "summary": [{"text": DECIDED}]},
        said("user", "I prefer short commit messages in the imperative mood."),
        said("assistant", "Turns out the sandbox resets every night at two o'clock.", "output_text"),
    )
    extraction = extract(text)
    assert extraction.form is Form.CODEX
    assert [(f.type, f.first) for f in extraction.findings] == [(Type.PROFILE, 7), (Type.LEARNING, 8)]


def test_codexs_events_are_read_where_there_is_nothing_else() -> None:
    events = [
        {"type": "event_msg", "payload": {"type": "user_message", "message": DECIDED}},
        {"type": "event_msg", "payload": {"type": "token_count", "message": DECIDED + " Again."}},
    ]
    assert one("\n".join(map(json.dumps, events))).content == DECIDED


HOSTS = [
    f"<bash-stdout>{DECIDED}</bash-stdout><bash-stderr></bash-stderr>",
    f"<local-command-stdout>{DECIDED}</local-command-stdout>",
    f"<task-notification>\n<summary>{DECIDED}</summary>\n</task-notification>",
    f'<teammate-message teammate_id="kane">{DECIDED}</teammate-message>',
    f"<user_shell_command>\n<result>{DECIDED}</result>\n</user_shell_command>",
    f"<turn_aborted>\n{DECIDED}\n</turn_aborted>",
    f"<skill>\n<name>x</name>\n{DECIDED}\n</skill>",
    f"<system-reminder>that is cut off {DECIDED}",
    f"<command-message>x</command-message> {DECIDED}",
    f"This session is being continued from a previous conversation. {DECIDED}",
    f"Stop hook feedback:\n{DECIDED}",
    f"# AGENTS.md instructions for /srv\n\n{DECIDED}",
]


@pytest.mark.parametrize("words", HOSTS)
def test_what_a_host_writes_in_a_persons_name_is_nobodys_word(words: str) -> None:
    for text in (claude(("user", words)), codex(said("user", words))):
        assert extract(text + "\n" + text).findings == ()


def test_a_person_may_write_of_tags_and_of_what_stands_between_them() -> None:
    said_so = "We decided that <my-button> stays and never holds a link."
    assert one(claude(("user", "hello")) + "\n" + claude(("user", said_so))).content == said_so


def test_what_was_typed_counts_where_codex_tells_it_and_not_what_was_added() -> None:
    typed = {
        "type": "event_msg",
        "payload": {"type": "user_message", "message": "Never push to main, please."},
    }
    added = said("user", f"Some instructions that look like words of a person. {DECIDED}")
    items = codex(added, said("user", "Never push to main, please."))
    finding = one(items + "\n" + json.dumps(typed))
    assert (finding.content, finding.first) == ("Never push to main, please.", 4)
    newer = {
        "type": "event_msg",
        "payload": {
            "type": "item_completed",
            "item": {
                "type": "UserMessage",
                "content": [{"type": "text", "text": "Never push to main, please."}],
            },
        },
    }
    assert one(items + "\n" + json.dumps(newer)).content == "Never push to main, please."


def test_of_what_an_editor_adds_only_the_request_is_read() -> None:
    words = (
        f"# Context from my IDE setup:\n\n## Active selection of the file:\n{DECIDED}\n\n"
        "## My request for Codex:\nNever push to main, please."
    )
    assert one(codex(said("user", words))).content == "Never push to main, please."


@pytest.mark.parametrize("heads", [("## User", "## Assistant"), ("_**User**_", "_**Assistant (large)**_")])
def test_a_conversation_that_was_exported_as_markdown_is_read_by_its_headings(heads: tuple[str, str]) -> None:
    text = f"# A session\n\n{heads[0]}\n\n{DECIDED}\n\n{heads[1]}\n\nNever push to main, I'd say.\n"
    extraction = extract(text)
    assert (extraction.form, extraction.turns) == (Form.CHAT, 2)
    assert [(f.content, f.first) for f in extraction.findings] == [(DECIDED, 5)]


def test_a_letter_that_was_pasted_is_its_writers_word() -> None:
    letter = f"what do you make of this:\nFrom: kane@example.com\nSubject: databases\n\nHi,\n{DECIDED}"
    assert extract(claude(("user", "hello")) + "\n" + claude(("user", letter))).findings == ()


def test_a_manual_teaches_and_decides_nothing() -> None:
    text = (
        "---\ntitle: install\nsection: 1\ndescription: how to\n---\n\n"
        "If the port is taken, stop the other process and start it again.\n\n"
        "Options are passed to the command, not to the shell.\n\n## Rules\n\n- [A page](page.md)\n"
    )
    extraction = extract(text)
    assert (extraction.form, extraction.findings) == (Form.TEXT, ())


@pytest.mark.parametrize("whole", [True, False])
def test_messages_with_a_role_are_read_as_lines_and_as_one_list(whole: bool) -> None:
    messages = [{"role": "system", "content": DECIDED + " No."}, {"role": "user", "content": DECIDED}]
    text = json.dumps(messages) if whole else "\n".join(map(json.dumps, messages))
    extraction = extract(text)
    assert extraction.form is Form.MESSAGES
    assert [finding.content for finding in extraction.findings] == [DECIDED]


def test_a_chat_is_read_by_the_names_of_who_speaks() -> None:
    text = f"Ana: which one?\nSebas: hm,\nlet me think.\n{DECIDED}\n[10:02] Ana: fine\nAssistant: I decided to read it."
    extraction = extract(text)
    assert extraction.form is Form.CHAT
    assert [(f.content, f.first, f.last) for f in extraction.findings] == [(DECIDED, 4, 4)]


def test_a_document_is_read_by_its_sections_and_sentences() -> None:
    text = """# Post-mortem

The service was down for an hour. Everyone was calm.

## Decisions

- Deploys happen between 9 and 15 UTC.
- Who tells the customers?

## Lessons learned

1. The health check must cover the queue as well.

## Appendix

It turns out that the old nginx strips the header, which
nobody had noticed before.
"""
    extraction = extract(text)
    assert extraction.form is Form.TEXT
    assert [(f.type, f.first, f.last, f.rule) for f in extraction.findings] == [
        (Type.TECHNICAL, 7, 7, "section"),
        (Type.LEARNING, 12, 12, "section"),
        (Type.LEARNING, 16, 17, "learning.turns_out"),
    ]


def test_sem_blocks_and_front_matter_are_taken_as_they_say() -> None:
    text = """Some words before.

### 2026-02-14T10:00:00Z: decision: Ship on Fridays

**author:** ripley
**tags:** release, rhythm
**details:**
We ship every Friday.
**rationale:**
Support is there on Saturdays.

---

---
type: learning
title: The sandbox resets
---
Every night at 02:00 UTC.
"""
    sem, matter = extract(text).findings
    assert (sem.type, sem.title, sem.content, sem.rationale) == (
        Type.TECHNICAL, "Ship on Fridays", "We ship every Friday.", "Support is there on Saturdays.",
    )  # fmt: skip
    assert (sem.tags, sem.first, sem.at) == (("release", "rhythm"), 3, "2026-02-14T10:00:00Z")
    assert (matter.type, matter.title, matter.content) == (
        Type.LEARNING,
        "The sandbox resets",
        "Every night at 02:00 UTC.",
    )


def test_a_dated_block_that_says_what_was_decided_and_why_is_a_decision() -> None:
    """As teams of agents keep them; without what was decided it is a heading with a date."""
    block = "### 2026-05-04: Cap the queue\n**By:** Ripley\n**What:** 10,000 messages at most.\n**Why:** Memory ran out.\n"
    found = one(block)
    assert (found.type, found.title, found.content, found.rationale, found.first, found.last) == (
        Type.TECHNICAL, "Cap the queue", "10,000 messages at most.", "Memory ran out.", 1, 4,
    )  # fmt: skip
    assert extract(block.replace("What", "Where")).findings == ()


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("---\ntitle: 'The outage of May'\ndate: 2026-05-03\n---\n# Post-mortem\n", "The outage of May"),
        ("---\ndate: 2026-05-03\n---\n\n# Post-mortem\n", "# Post-mortem\n"),
        ("---\nno end", "---\nno end"),
        ("Minutes of Monday\n", "Minutes of Monday\n"),
        (claude(("assistant", "Ready."), ("user", "Fix the flaky test.")), "Fix the flaky test."),
        (codex(said("user", "Why is it slow?")), "Why is it slow?"),
        ('{"no": "turn"}', '{"no": "turn"}'),
        ("", ""),
    ],
)
def test_a_source_without_a_title_is_called_what_it_calls_itself_or_what_was_asked_first(
    content: str, name: str
) -> None:
    assert name_in(content) == name


# --- what is passed over ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{DECIDED}\n```",
        f"~~~text\n{DECIDED}\n~~~",
        f"> {DECIDED}",
        f"    {DECIDED}",
        f"$ echo {DECIDED}",
        # a compiled context, quoted back: every line of stored text begins with |
        f"## Boundaries and Decisions\n\n> What stands under this heading binds everyone.\n\n| {DECIDED}",
        # a file that this program wrote
        f"<!-- minutebook decisions: do not edit -->\n\n{DECIDED}",
        f'He wrote "{DECIDED}" and left.',
        DECIDED.replace(".", "?"),
        "Never.",
        "",
        "\n\n",
    ],
)
def test_code_quotations_and_what_we_wrote_ourselves_are_passed_over(text: str) -> None:
    assert extract(text).findings == ()


def test_the_same_thing_said_twice_is_found_once() -> None:
    assert len(extract(f"{DECIDED}\n\nAnd later:\n\n{DECIDED.upper()}\n\n{DECIDED}").findings) == 1


def test_an_agents_word_on_a_decision_counts_for_less_than_a_persons() -> None:
    person = one(f"Ana: hi there you\nSebas: {DECIDED}\nAna: ok then")
    agent = one(f"Ana: hi there you\nClaude: {DECIDED}\nAna: ok then")
    assert agent.confidence < person.confidence


# --- what it is about ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "slot"),
    [
        (DECIDED, ("MySQL", "used instead")),
        ("Use pnpm instead of npm in this repository.", ("npm", "used instead")),
        ("The staging database is called orders_stage, not orders_dev.", ("staging database", "name")),
        ("Actually the retention period is 90 days, not 30.", ("retention period", "value")),
        ("The minimum supported Node version is now 20.", ("minimum supported Node version", "value")),
        ("Never push directly to main.", None),
        ("That is fine, not great.", None),
    ],
)
def test_an_entity_and_an_attribute_are_told_where_they_are_plain(
    sentence: str, slot: tuple[str, str] | None
) -> None:
    assert slot_of(sentence) == slot


# --- how long it takes ------------------------------------------------------------------------------------------------

HOSTILE = {
    "one long line": lambda n: "we decided to " * n,
    "commas": lambda n: ", not " * n,
    "conditions": lambda n: "if it is so, then " * n,
    "names": lambda n: "a: b c d\n" * n,
    "headings": lambda n: "### 2026-01-01: decision: x\n" * n,
    "front matter": lambda n: "---\ntype: learning\n" * n,
    "sentences": lambda n: "It is so. " * n,
    "quotes": lambda n: '"' * n,
    "fences": lambda n: "```\n~~~\n" * n,
    "braces": lambda n: "{" * n,
    "arrays": lambda n: "[" * n,
    "nested": lambda n: '{"a":' * n,
    "tags": lambda n: claude(
        ("user", "hello"), ("user", "<a-b>" * n + "".join(f"<c-{'x' * (i % 300)}>" for i in range(n // 8)))
    ),
    "titles": lambda n: "## User\n## Assistant\n**" * n,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_takes_time_in_proportion_to_its_length(name: str) -> None:
    def seconds(n: int) -> float:
        began = time.process_time()
        extract(HOSTILE[name](n))
        return time.process_time() - began

    extract("warm up")
    small, large = seconds(2_000), seconds(16_000)
    # Eight times as much: linear is 8, quadratic would be 64.
    assert large < max(0.25, 28 * small)


@pytest.mark.parametrize(
    "text",
    [
        claude(*[("user", DECIDED)] * 300),
        "\n".join(f"Sebas: {DECIDED}" for _ in range(300)),
        " ".join(f"{DECIDED} And that of {number} is another one." for number in range(300)),
    ],
    ids=["log", "chat", "one long paragraph"],
)
def test_reading_looks_up_now_and_then_and_can_be_told_to_stop(text: str) -> None:
    class Enough(Exception):
        pass

    looked = 0

    def look() -> None:
        nonlocal looked
        looked += 1
        if looked == 3:
            raise Enough

    with pytest.raises(Enough):
        extract(text, look=look)


def test_nothing_found_is_an_answer_too() -> None:
    assert extract("hello") == Extraction(Form.TEXT, 1, ())
