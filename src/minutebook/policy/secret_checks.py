"""What tells a credential from an example, a name or a sentence."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from itertools import pairwise

_EXAMPLE_WORDS = re.compile(
    r"example|placeholder|change.?me|your[-_.]?|redacted|dummy|sample|notreal|not-a-real|foobar|replace"
    r"|insert"
    r"|xxxx|\*\*\*|\.\.\.|…|<|>|\$\{|\{\{|1234567890|0123456789|abcdefgh|deadbeef|goes.?here|token.?here"
    r"|key.?here",
    re.IGNORECASE,
)
#: Keys that vendors print in their own manuals, by a part that is theirs alone.
_PUBLISHED = ("Eby8vdM02xNOcqFl", "eyJzdWIiOiIxMjM0NTY3ODkw", "wJalrXUtnFEMI")
#: How an SSH *public* key begins, in base64.
_PUBLIC_KEYS = ("AAAAC3NzaC1", "AAAAB3NzaC1", "AAAAE2VjZHNh")
_COMMON_WORDS = frozenset(
    """
    pass password passwd passw0rd p@ssw0rd pwd pw secret token key user username admin root guest none
    null true false test testing postgres mysql redis mongo minio rabbitmq default required optional
    string str bytes bool hidden empty unset missing invalid valid expired rotated stored encrypted
    hashed random unknown value credentials my-secret my_secret mysecret mypassword my-password
    secretpassword s3cr3t secret123 password1 password123
    """.split()  # noqa: SIM905
)


def entropy(value: str) -> float:
    """Bits per character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())


def kinds(value: str) -> tuple[int, int, int, int]:
    """How many lower-case letters, upper-case letters, digits and other characters there are."""
    lower = sum(c.islower() for c in value)
    upper = sum(c.isupper() for c in value)
    digits = sum(c.isdigit() for c in value)
    return lower, upper, digits, len(value) - lower - upper - digits


def is_example(value: str) -> bool:
    """Whether it stands for a credential without being one: `<your-token>`, `xxxx`, `abcdef`, `${TOKEN}`."""
    if _EXAMPLE_WORDS.search(value) or any(part in value for part in _PUBLISHED + _PUBLIC_KEYS):
        return True
    if value.lower().strip("\"'`.!") in _COMMON_WORDS or len(set(value)) < 4:
        return True
    # Neighbouring characters that repeat or count up are typed by hand, not drawn by a generator.
    steps = sum(-1 <= ord(b) - ord(a) <= 1 for a, b in pairwise(value))
    return len(value) > 8 and steps > len(value) // 2


def is_random(value: str) -> bool:
    """Whether a generator made it: the check on values whose shape already names their kind."""
    lower, upper, digits, _ = kinds(value)
    mixed = digits >= 2 or (upper >= 3 and lower >= 3)
    return mixed and entropy(value) >= 3.0 and not is_example(value)


def is_uneven(value: str) -> bool:
    """The check on capitals alone, which may come without a digit."""
    return entropy(value) >= 3.0 and not is_example(value)


def is_random_with_digits(value: str) -> bool:
    """The check where names of packages and classes have the same shape."""
    return is_random(value) and kinds(value)[2] >= 4


def is_key_body(value: str) -> bool:
    """The first line of a key block: base64 that starts with a long fixed header, so less random."""
    return entropy(value) >= 2.2 and len(set(value)) >= 8 and not is_example(value)


_PLAIN_WORDS = re.compile(r"[A-Za-z]+(?:[-_. /][A-Za-z]+)*")
# Names of algorithms, formats and services bring digits with them, and are no passwords.
_TERMS = re.compile(
    r"(?i)base(?:64|32|58)|sha-?(?:1|2|3|256|384|512)|md5|oauth-?[12]|k8s|i18n|s3|ec2|utf-?8|ipv[46]|x\.?509"
    r"|(?:[rehp]s|aes|p|rsa)-?(?:128|256|384|512|2048|4096)|ed25519|argon2(?:id)?|pbkdf2|http/?[123]"
    r"|v\d+(?:\.\d+)*|[2m]fa\b|rfc-?\d+|(?-i:\b[A-Z]{2,6}-\d+\b)"
)
_NUMBER_AND_UNIT = re.compile(r"\d[\d.,:/TZ+_-]*[A-Za-z%]{0,12}")
_EXPRESSION = re.compile(
    r"[$%~@&*|#]|[./]{1,2}[\w.]*/|/\w|[A-Za-z_][\w.]*[(\[]|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$|--?[a-z]"
    r"|(?:vault|op|arn|env|file|sm|secret|secrets|ref|keyring|projects|aws|gcp|azure|process|os|config"
    r"|settings|self|this)[:./]"
)
_FILE_NAME = re.compile(
    r"[\w\-./]+\.(?:json|ya?ml|py|tsx?|jsx?|md|env|txt|pem|key|toml|go|rs|cs|java|sh|sql|ini|cfg)"
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DIGEST = re.compile(r"(?:sha\d+[:-])?[0-9a-f]{7,128}|(?:sha\d+-)[A-Za-z0-9+/]+=*")
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")


def is_identifier(value: str) -> bool:
    """Whether it is one of the names that ledgers and repositories are full of: UUID, ULID, hash."""
    return any(shape.fullmatch(value) for shape in (_UUID, _DIGEST, _ULID))


def is_written_out(value: str) -> bool:
    """Whether it reads as prose, code, a path or a measure, not as a password."""
    if _EXPRESSION.match(value) or "://" in value or _FILE_NAME.fullmatch(value):
        return True
    if _NUMBER_AND_UNIT.fullmatch(value):
        return True
    rest = _TERMS.sub("", value)
    return not rest or _PLAIN_WORDS.fullmatch(rest.strip("-_./")) is not None or not rest.strip("-_./()*")


def is_password(value: str) -> bool:
    """Whether someone could log in with it: mixed characters, and neither example nor prose."""
    value = value.rstrip(".,;:!?)]}*\\")
    if len(value) < 5 or is_example(value) or is_written_out(value):
        return False
    lower, upper, digits, _ = kinds(value)
    signs = sum(c in "!@#$%^&*+=~?|" for c in value)
    return bool((lower or upper) and (digits or signs))


def is_strong_password(value: str) -> bool:
    lower, upper, digits, other = kinds(value)
    mixed = sum(1 for n in (lower, upper, digits, other) if n)
    return (
        len(value) >= 8
        and mixed >= 2
        and bool(digits or other)
        and entropy(value) >= 2.5
        and is_password(value)
    )


def is_named_password(value: str) -> bool:
    """The check where the syntax itself says that this is a password: a word alone may be one."""
    value = value.rstrip(".,;")
    return len(value) >= 3 and not is_example(value) and not value.startswith(tuple("$%/(-[{"))


def is_basic_pair(value: str) -> bool:
    """Whether it is `user:password` in base64."""
    try:
        pair = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return False
    user, colon, password = pair.partition(":")
    return bool(colon) and user != password and is_named_password(password)


def is_bearer(value: str) -> bool:
    return is_random(value) and kinds(value)[2] >= 2 and not is_written_out(value)


def is_mixed_or_short_hex(value: str) -> bool:
    """A 40-digit hexadecimal value in prose is a commit; other lengths, or mixed letters, are not."""
    return is_random(value) and not (re.fullmatch(r"[0-9a-f]{40}", value) or _PLAIN_WORDS.fullmatch(value))
