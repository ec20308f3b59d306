"""How an operation is asked for over HTTP, by example: the command lines of its help, said with curl."""

from __future__ import annotations

import json
import shlex
from typing import Any
from urllib.parse import quote, urlencode

from minutebook.operations.parameters import Parameter
from minutebook.operations.registry import Access, Operation
from minutebook.surfaces import spelling
from minutebook.surfaces.http import reading

#: The least role that each access level takes, in words.
ROLES = {
    Access.READ: "viewer",
    Access.PROPOSE: "agent",
    Access.REVIEW: "coordinator",
    Access.OPERATE: "operator",
}


def arguments(operation: Operation) -> dict[str, Any]:
    """The arguments that the first example of the help gives, as JSON has them."""
    if not operation.examples:
        return {}
    words = shlex.split(operation.examples[0])[1 + len(operation.command.split()) :]
    by_flag = {f"--{parameter.name.replace('_', '-')}": parameter for parameter in operation.parameters}
    places = [parameter for parameter in operation.parameters if parameter.required]
    found: dict[str, Any] = {}
    waiting = iter(words)
    for word in waiting:
        parameter = by_flag.get(word)
        if parameter is None and word.startswith("-"):
            next(waiting, None)  # an option of the command line alone
            continue
        if parameter is not None and parameter.switch:
            found[parameter.name] = True
            continue
        if parameter is None:
            parameter = places[0]
            places = places if parameter.many else places[1:]
            text = word
        else:
            text = next(waiting)
        value = reading.value_of_text(operation, parameter.name, _spoken(text))
        if parameter.many:
            found.setdefault(parameter.name, []).append(value)
        else:
            found[parameter.name] = value
    return found


def _spoken(text: str) -> str:
    """What a file would hold, where the command line names one."""
    return "The text itself." if text == "-" or text.startswith("@") else text


def name_of(parameter: Parameter) -> str:
    """An example of what a path may name."""
    return parameter.choices[0] if parameter.choices else f"the-{parameter.name}"


def curl(operation: Operation, base: str) -> str:
    """The first example of the help as a line for a shell."""
    method, path = spelling.http(operation)
    rest = arguments(operation)
    item = spelling.item_of(operation)
    if item is not None and "{" in path:
        named = rest.pop(item.name, spelling.UNNAMED)
        path = path.replace(f"{{{item.name}}}", quote(str(named), safe=""))
    words = ["curl", "-H", "Authorization: Bearer $MINUTEBOOK_TOKEN"]
    if method == "GET":
        query = urlencode({name: _query(value) for name, value in rest.items()}, doseq=True, quote_via=quote)
        words.append(f"{base}{path}" + (f"?{query}" if query else ""))
    else:
        words += [] if method == "POST" else ["-X", method]
        words += ["--json", json.dumps(rest, ensure_ascii=False), f"{base}{path}"]
    return " ".join(_quoted(word) for word in words)


def _query(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, bool) else value


def _quoted(word: str) -> str:
    """As a shell takes it; a variable must stay one."""
    return f'"{word}"' if "$MINUTEBOOK" in word else shlex.quote(word)
