"""The API as one page to read: no script, nothing from elsewhere, every text escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from html import escape

import minutebook
from minutebook.model.errors import CODES, HTTP_STATUS
from minutebook.operations.parameters import Parameter
from minutebook.operations.registry import REGISTRY, Operation
from minutebook.surfaces import spelling
from minutebook.surfaces.http import following, samples

_BASE = "$MINUTEBOOK_SERVICE_URL"

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2329; --soft: #5b6670; --line: #d9dee3; --back: #fff; --tint: #f5f7f9;
  --get: #0b6b4f; --post: #8a4b08; --patch: #5a3e99; --link: #0a5a9c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --soft: #9aa5af; --line: #333c45; --back: #14181c;
  --tint: #1c2228; --get: #5cc9a2; --post: #e0a458; --patch: #b79cf0; --link: #6db5f2; } }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; color: var(--ink); background: var(--back); font: 16px/1.55 system-ui, sans-serif;
  display: grid; grid-template-columns: 15rem minmax(0, 1fr); }
a { color: var(--link); text-decoration: none; }
a:hover, a:focus-visible { text-decoration: underline; }
code, pre { font: .86em/1.5 ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.5rem 1rem 2rem 1.5rem;
  border-right: 1px solid var(--line); background: var(--tint); font-size: .9rem; }
nav strong { display: block; font-size: 1.1rem; }
nav ul { list-style: none; margin: .2rem 0 .9rem; padding: 0 0 0 .1rem; }
nav li { line-height: 1.7; }
nav h2 { font-size: .78rem; letter-spacing: .05em; text-transform: uppercase; color: var(--soft); margin: .9rem 0 0; }
main { padding: 2rem clamp(1rem, 4vw, 3.5rem) 5rem; max-width: 64rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; }
main > section > h2 { margin: 3rem 0 .2rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: 1.4rem; }
.about { color: var(--soft); margin: 0 0 1rem; }
article { margin: 1.6rem 0 2.4rem; }
article h3 { font-size: 1.05rem; margin: 0 0 .3rem; }
article h3 a { color: inherit; }
.route { display: flex; flex-wrap: wrap; gap: .6rem; align-items: baseline; margin: .3rem 0 .6rem; }
.route b { font: 700 .78rem ui-monospace, monospace; padding: .1rem .5rem; border-radius: .3rem; border: 1px solid; }
.get { color: var(--get); } .post { color: var(--post); } .patch { color: var(--patch); }
.role { margin-left: auto; color: var(--soft); font-size: .82rem; }
pre { background: var(--tint); border: 1px solid var(--line); border-radius: .4rem; padding: .7rem .9rem;
  overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; margin: .6rem 0; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; font-size: .9rem; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: .8rem; }
th, td { padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td:first-child { white-space: nowrap; }
td code { overflow-wrap: anywhere; }
.must { color: var(--post); font-size: .78rem; }
.wide { overflow-x: auto; }
@media (max-width: 48rem) { body { display: block; } nav { position: static; height: auto; border-right: 0;
  border-bottom: 1px solid var(--line); } nav ul { display: flex; flex-wrap: wrap; gap: 0 .9rem; } }
"""

_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
#: What the page may load: its own style, and nothing else.
POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

_RULES = (
    ("Who asks", "Over TCP every route takes <code>Authorization: Bearer …</code> with a token of "
     "<code>minutebook tokens create</code>. On the unix socket the user who runs the service needs none."),
    ("Where", "<code>Minutebook-Project</code> names the project, by id or slug. A token that is bound to one needs "
     "no header."),
    ("Names in a path", "are ids or slugs, percent-encoded. <code>-</code> in the place of a name says that the name "
     "comes with the other parameters, or is left out where that is allowed."),
    ("Parameters", "of GET are in the query, a list by repeating its name; those of other methods are one JSON object. "
     "Unknown ones are refused."),
    ("Writing once", "With an <code>Idempotency-Key</code> a repeated write gives its first answer."),
    ("Not writing over others", "What <i>show</i> answers has an <code>ETag</code>. Sent back as "
     "<code>If-Match</code>, a write happens only if the thing is still in that state; else the answer is 412."),
    ("Paging", "A listing answers <code>items</code> and <code>next</code>; <code>after=</code> that cursor continues, "
     "and so does the <code>Link</code> header."),
    ("Following", f"<code>GET {following.PATH}?after=SEQ</code> sends events as they happen (server-sent events)."),
    ("Errors", 'are <code>{"code", "message", "details"}</code>, with a code and status of the <a href="#errors">'
     "table below</a>."),
)  # fmt: skip


def render() -> str:
    """The page. The same code gives the same bytes, which is what its style's hash stands on."""
    nouns = [(noun, about, REGISTRY.noun(noun)) for noun, about in REGISTRY.nouns.items()]
    return "".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>minutebook API</title><style>{_STYLE}</style></head><body>",
            *_contents(nouns),
            "<main>",
            f"<h1>minutebook API</h1><p class=about>Version {escape(minutebook.__version__)}. For programs: ",
            '<a href="/openapi.json">openapi.json</a>. Every operation has the same name on the command line, in MCP ',
            "and in Python.</p>",
            "<table>",
            *[f"<tr><td><b>{title}</b></td><td>{said}</td></tr>" for title, said in _RULES],
            "</table>",
            *[part for noun, about, operations in nouns for part in _noun(noun, about, operations)],
            *_errors(),
            "</main></body></html>",
        ]
    )


def _contents(nouns: list[tuple[str, str, tuple[Operation, ...]]]) -> Iterator[str]:
    yield "<nav><strong>minutebook</strong>"
    for noun, _, operations in nouns:
        yield f'<h2><a href="#{escape(noun)}">{escape(noun)}</a></h2><ul>'
        for operation in operations:
            verb = escape(operation.verb.replace("_", "-"))
            yield f'<li><a href="#{escape(operation.name)}">{verb}</a></li>'
        yield "</ul>"
    yield '<h2><a href="#errors">errors</a></h2></nav>'


def _noun(noun: str, about: str, operations: Iterable[Operation]) -> Iterator[str]:
    yield f'<section><h2 id="{escape(noun)}">{escape(noun)}</h2><p class=about>{escape(about)}.</p>'
    for operation in operations:
        yield from _operation(operation)
    yield "</section>"


def _operation(operation: Operation) -> Iterator[str]:
    method, path = spelling.http(operation)
    name = escape(operation.name)
    yield f'<article id="{name}"><h3><a href="#{name}">{escape(operation.summary)}</a></h3>'
    yield f'<div class=route><b class="{method.lower()}">{method}</b><code>{escape(path)}</code>'
    yield f"<span class=role>{samples.ROLES[operation.access]} · {name}</span></div>"
    for paragraph in filter(None, spelling.prose(operation.description).split("\n\n")):
        yield f"<p>{escape(paragraph)}</p>"
    if operation.parameters:
        yield "<div class=wide><table><tr><th>parameter</th><th>type</th><th>meaning</th></tr>"
        yield from (_parameter(parameter, path) for parameter in operation.parameters)
        yield "</table></div>"
    yield f"<pre>{escape(samples.curl(operation, _BASE))}</pre></article>"


def _parameter(parameter: Parameter, path: str) -> str:
    place = "in the path" if f"{{{parameter.name}}}" in path else "required" if parameter.required else ""
    limits = ", ".join(filter(None, (parameter.limits, parameter.lengths)))
    default = "" if parameter.default in (None, (), False) else f"; {parameter.default} if not given"
    meaning = f"{parameter.help}{f' ({limits})' if limits else ''}{default}"
    return (
        f"<tr><td><code>{escape(parameter.name)}</code> <span class=must>{place}</span></td>"
        f"<td><code>{escape(parameter.spelling.replace('|', ' | '))}</code></td><td>{escape(meaning)}</td></tr>"
    )


def _errors() -> Iterator[str]:
    yield '<section><h2 id="errors">errors</h2><div class=wide><table><tr><th>code</th><th>status</th><th>meaning</th></tr>'
    for code, (kind, meaning) in CODES.items():
        yield f"<tr><td><code>{code}</code></td><td>{HTTP_STATUS[kind]}</td><td>{escape(meaning)}</td></tr>"
    yield "</table></div></section>"
