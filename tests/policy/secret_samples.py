"""A labelled set of texts with and without credentials, made anew from a seed.

Every credential is put together at run time, so that no scanner of this repository finds one. The templates
of the hold-out set are not those by which the rules were tuned.
"""

from __future__ import annotations

import base64
import json
import random
import string
import uuid
from collections.abc import Callable
from dataclasses import dataclass

ALNUM = string.ascii_letters + string.digits
WORDY = ALNUM + "_-"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
B64 = ALNUM + "+/"
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@dataclass(frozen=True, slots=True)
class Sample:
    """One text, and the kind of credential in it, if any."""

    text: str
    kind: str | None


def chars(rng: random.Random, alphabet: str, length: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(length))


def made(*parts: str | tuple[str, int]) -> Callable[[random.Random], str]:
    """A maker of tokens: fixed strings, and (alphabet, length) for the random parts."""
    return lambda rng: "".join(part if isinstance(part, str) else chars(rng, *part) for part in parts)


def segment(content: str) -> str:
    return base64.urlsafe_b64encode(content.encode()).decode().rstrip("=")


def jwt(rng: random.Random) -> str:
    head = segment(f'{{"alg":"RS256","kid":"{chars(rng, HEX, 6)}"}}')
    body = segment(f'{{"sub":"{chars(rng, ALNUM, 9)}","exp":{rng.randrange(10**9, 2 * 10**9)}}}')
    return f"{head}.{body}.{chars(rng, WORDY, 43)}"


def pem(kind: str) -> Callable[[random.Random], str]:
    def make(rng: random.Random) -> str:
        lines = "\n".join(chars(rng, B64, 64) for _ in range(4))
        return f"-----BEGIN {kind}PRIVATE KEY-----\nMIIE{lines}\n-----END {kind}PRIVATE KEY-----"

    return make


def pgp(rng: random.Random) -> str:
    body = "\n".join(chars(rng, B64, 64) for _ in range(4))
    head, foot = (f"-----{edge} PGP PRIVATE KEY BLOCK-----" for edge in ("BEGIN", "END"))
    return f"{head}\nVersion: GnuPG v2\n\nlQdG{body}\n{foot}"


def password(rng: random.Random) -> str:
    word = rng.choice(["Falcon", "winter", "Copper", "tulip", "Bronze", "maple", "Rocket", "velvet"])
    return f"{word}{rng.choice('!#-_.')}{rng.randrange(10, 9999)}{rng.choice(['', 'x', 'Q!'])}"


def url(scheme: str, host: str) -> Callable[[random.Random], str]:
    return lambda rng: f"{scheme}://{rng.choice(['app', 'svc_orders', 'root'])}:{password(rng)}z@{host}"


def basic(rng: random.Random) -> str:
    pair = base64.b64encode(f"deploy:{password(rng)}".encode()).decode()
    return f"Authorization: Basic {pair}"


#: Credentials whose shape names their kind: these are to be refused.
SHAPED: dict[str, Callable[[random.Random], str]] = {
    "aws_access_key": made("AK", "IA", (string.ascii_uppercase + "234567", 16)),
    "aws_secret_key": made("aws_secret_access_key = ", (B64, 40)),
    "aws_secret_json": made('"SecretAccess', 'Key": "', (B64, 40), '"'),
    "google_api_key": made("AI", "za", (WORDY, 35)),
    "google_oauth": made("ya", "29.", (WORDY, 60)),
    "google_client_secret": made("GOC", "SPX-", (WORDY, 28)),
    "gcp_service_account": lambda rng: json.dumps({"type": "service_account", "private_key": pem("")(rng)}),
    "azure_storage": made("AccountName=logs;Account", "Key=", (B64, 86), "=="),
    "azure_client_secret": made((ALNUM, 3), "8", "Q~", (ALNUM + "_~.-", 34)),
    "digitalocean": made("dop", "_v1_", (HEX, 64)),
    "cloudflare": made("CLOUDFLARE_API_", "TOKEN=", (ALNUM, 40)),
    "heroku": lambda rng: "HEROKU_API_" + f"KEY={uuid.UUID(int=rng.getrandbits(128), version=4)}",
    "fly": made("fo", "1_", (WORDY, 43)),
    "supabase": made("sb", "p_", (HEX, 40)),
    "databricks": made("da", "pi", (HEX, 32)),
    "terraform": made((ALNUM, 14), ".atlas", "v1.", (ALNUM, 67)),
    "vault": made("hv", "s.", (WORDY, 90)),
    "doppler": made("dp", ".st.prd.", (ALNUM, 43)),
    "tailscale": made("ts", "key-auth-", (ALNUM, 12), "-", (ALNUM, 32)),
    "github_classic": made("gh", "p_", (ALNUM, 36)),
    "github_server": made("gh", "s_", (ALNUM, 36)),
    "github_fine": made("github", "_pat_", (ALNUM, 22), "_", (ALNUM, 59)),
    "gitlab": made("gl", "pat-", (WORDY[:-2], 20)),
    "atlassian": made("ATA", "TT3", (WORDY, 180), "=", (UPPER, 8)),
    "npm": made("np", "m_", (ALNUM, 36)),
    "minutebook": made("mb", "k_", (WORDY, 43)),
    "pypi": made("pypi-", "AgEIcHlwaS5vcmc", (WORDY, 140)),
    "docker": made("dckr", "_pat_", (WORDY, 27)),
    "linear": made("lin", "_api_", (ALNUM, 40)),
    "postman": made("PM", "AK-", (HEX, 24), "-", (HEX, 34)),
    "sentry": made("sntry", "u_", (HEX, 64)),
    "new_relic": made("NR", "AK-", (UPPER, 27)),
    "grafana": made("gl", "sa_", (ALNUM, 32), "_", (HEX, 8)),
    "notion": made("nt", "n_", (ALNUM, 46)),
    "notion_old": made("sec", "ret_", (ALNUM, 43)),
    "anthropic": made("sk-", "ant-", "api03-", (WORDY, 93), "AA"),
    "openai_project": made("sk-", "proj-", (WORDY, 120)),
    "openai_legacy": made("sk", "-", (ALNUM, 20), "T3Blbk", "FJ", (ALNUM, 20)),
    "huggingface": made("h", "f_", (ALNUM, 34)),
    "slack_bot": made("xo", "xb-", (string.digits, 12), "-", (string.digits, 13), "-", (ALNUM, 24)),
    "slack_webhook": made(
        "https://hooks.slack", ".com/services/T", (UPPER, 8), "/B", (UPPER, 10), "/", (ALNUM, 24)
    ),
    "discord_bot": made("M", (ALNUM, 23), ".", (ALNUM, 6), ".", (WORDY, 38)),
    "telegram": made((string.digits[1:], 10), ":A", "A", (WORDY, 33)),
    "twilio": made("twilio api key S", "K", (HEX, 32)),
    "sendgrid": made("S", "G.", (WORDY, 22), ".", (WORDY, 43)),
    "mailgun": made("MAILGUN_API_KEY=key", "-", (HEX, 32)),
    "mailchimp": made((HEX, 32), "-us", "14"),
    "stripe_live": made("sk", "_live_", (ALNUM, 24)),
    "stripe_restricted": made("rk", "_live_", (ALNUM, 40)),
    "square": made("sq0", "csp-", (WORDY, 43)),
    "shopify": made("shp", "at_", (HEX, 32)),
    "pem_rsa": pem("RSA "),
    "pem_openssh": pem("OPENSSH "),
    "pgp": pgp,
    "age": made("AGE-SECRET-", "KEY-1", ("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
    "jwt": jwt,
    "url_postgres": url("postgresql", "db.internal:5432/orders"),
    "url_https": url("https", "git.corp.net/team/repo.git"),
    "basic_header": basic,
    "bearer_header": made("Authorization: Bea", "rer ", (WORDY[:-1], 48)),
    "netrc": lambda rng: f"machine ftp.corp.net login build password {password(rng)}",
}

#: Credentials without a shape of their own: these are to be at least flagged.
SHAPELESS_TUNING: dict[str, Callable[[random.Random], str]] = {
    "prose_password": lambda rng: f"the staging password is {password(rng)}",
    "env_password": lambda rng: f"DB_PASSWORD={password(rng)}",
    "env_word": lambda rng: "REDIS_PASSWORD=" + rng.choice(["correcthorse", "sunflowers", "tigerlily"]),
    "yaml_api_key": lambda rng: f"api_key: {chars(rng, ALNUM, 32)}",
    "hex_api_key": lambda rng: f"API_KEY = '{chars(rng, HEX, 32)}'",
    "json_secret": lambda rng: f'"client_secret": "{chars(rng, ALNUM, 28)}"',
    "spaced_out": lambda rng: " ".join("gh" + "p_" + chars(rng, ALNUM, 36)),
    "split_token": lambda rng: "gh" + "p_" + " ".join(chars(rng, ALNUM, 9) for _ in range(4)),
    "login_pair": lambda rng: f"log in with admin / {password(rng)}",
}
SHAPELESS_HOLDOUT: dict[str, Callable[[random.Random], str]] = {
    "prose_set_to": lambda rng: f"I set the root password to {password(rng)} for now",
    "prose_german": lambda rng: f"Das Passwort für die Testdatenbank ist {password(rng)}",
    "prose_spanish": lambda rng: f"la contraseña del servidor es {password(rng)}",
    "compose_env": lambda rng: f"      - MYSQL_ROOT_PASSWORD={password(rng)}",
    "properties": lambda rng: f"spring.datasource.password={password(rng)}",
    "camel_case": lambda rng: f'const dbPassword = "{password(rng)}";',
    "signing_key": lambda rng: f"signing key: {chars(rng, B64, 43)}=",
    "token_in_url": lambda rng: f"https://api.corp.net/v1/feed?access_token={chars(rng, ALNUM, 40)}",
    "flag_on_command": lambda rng: f"mysql -u root --password={password(rng)} orders",
    "spaced_key": lambda rng: " ".join("AK" + "IA" + chars(rng, UPPER, 16)),
    "broken_line": lambda rng: "sk-" + "proj-" + "\n".join(chars(rng, ALNUM, 20) for _ in range(4)),
    "credentials_are": lambda rng: f"Staging credentials: qa-bot / {password(rng)}",
}

CARRIERS_TUNING = (
    "{}",
    "We rotated the deploy credential; the new one is {} and it goes into CI.",
    "Decision: use the shared account.\n\n```\n{}\n```\n",
    "2024-05-11T09:12:44Z ERROR upstream rejected request with {} (401)",
    "config:\n  value: {}\n",
    'export X="{}"',
    "Learning: it works with `{}` only.",
    "| name | value |\n|---|---|\n| prod | {} |",
)
CARRIERS_HOLDOUT = (
    "fyi {}",
    "Pattern that unblocked the build:\n> {}\nThanks to Dallas for finding it.",
    "- step 1: clone\n- step 2: paste {}\n- step 3: run make",
    '{{"level":"debug","msg":"outgoing","extra":"{}"}}',
    "# notes\nAsk Lambert before changing this.\n{}\nLast checked in May.",
    "$ run-it --with {}\nok",
    "(see {})",
)


def _uuid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def _ulid(rng: random.Random) -> str:
    return "01" + chars(rng, CROCKFORD, 24)


BENIGN_TUNING: tuple[Callable[[random.Random], str], ...] = (
    lambda rng: f"idempotency_key: {_uuid(rng)}",
    lambda rng: f"idempotency-key={chars(rng, HEX, 64)}",
    lambda rng: f"Fixed in commit {chars(rng, HEX, 40)}, see the token bucket test.",
    lambda rng: f"sha256:{chars(rng, HEX, 64)}  dist/app.tar.gz",
    lambda rng: f"memory {_ulid(rng)} supersedes {_ulid(rng)}",
    lambda rng: f"request id {_uuid(rng)} took {rng.randrange(900)} ms",
    lambda rng: f"![logo](data:image/png;base64,iVBORw0KGgo{chars(rng, B64, 300)})",
    lambda rng: f'"integrity": "sha512-{chars(rng, B64, 86)}=="',
    lambda rng: "export GITHUB_TOKEN=gh" + "p_" + rng.choice("x0A") * 36,
    lambda rng: "Set `OPENAI_API_KEY=sk-" + "your-key-here` before the first run.",
    lambda rng: "aws_access_key_id = AKIA" + "IOSFODNN7EXAMPLE",
    lambda rng: f"password: ${{DB_PASSWORD}}  # from {rng.choice(['vault', 'the environment'])}",
    lambda rng: "password: changeme",
    lambda rng: 'api_key = os.environ["SERVICE_API_KEY"]',
    lambda rng: "const token = await getToken(user.id)",
    lambda rng: f"max_tokens: {rng.randrange(100, 9000)}, temperature: 0.2",
    lambda rng: "The token is required and expires after 15 minutes.",
    lambda rng: "Passwords are stored as argon2id hashes; the password is never logged.",
    lambda rng: "postgres://postgres:postgres@localhost:5432/test",
    lambda rng: "DATABASE_URL=postgresql://user:password@host:5432/dbname",
    lambda rng: "Use `Authorization: Bearer <token>` on every route.",
    lambda rng: "GitHub tokens begin with gh" + "p_, GitLab ones with glpat-, Slack ones with xoxb-.",
    lambda rng: f"cache key {chars(rng, HEX, 32)} was evicted",
    lambda rng: (
        f"Secret name is db-{rng.choice(['prod', 'qa'])}; see arn:aws:secretsmanager:eu-west-1:1:secret:x"
    ),
    lambda rng: f"token_count={rng.randrange(99999)} budget={rng.randrange(9999)}",
    lambda rng: "-----BEGIN PUBLIC KEY-----\n" + chars(rng, B64, 64) + "\n-----END PUBLIC KEY-----",
    lambda rng: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + chars(rng, B64, 43) + " ripley@nostromo",
    lambda rng: "A PEM file starts with -----BEGIN RSA PRIVATE KEY----- and must never be committed.",
    lambda rng: "Never deploy on Fridays; always run the tests before merging.",
    lambda rng: (
        f"version 3.{rng.randrange(20)}.{rng.randrange(20)} of the auth service reads API keys from the vault"
    ),
    lambda rng: "def verify(token: str, secret: bytes) -> bool: ...",
    lambda rng: "The secret is base64-encoded, the key is sha256-hashed, tokens are RS256-signed.",
)

BENIGN_HOLDOUT: tuple[Callable[[random.Random], str], ...] = (
    lambda rng: f'{{"idempotency_key":"{_ulid(rng)}","slug":"use-postgres--ripley"}}',
    lambda rng: f"git show {chars(rng, HEX, 12)} explains why the password form moved",
    lambda rng: f"docker pull registry.corp.net/api@sha256:{chars(rng, HEX, 64)}",
    lambda rng: f'ETag: "{chars(rng, HEX, 32)}"',
    lambda rng: f"trace {chars(rng, HEX, 32)} span {chars(rng, HEX, 16)}: token endpoint slow",
    lambda rng: f"session {_uuid(rng)} closed by ripley",
    lambda rng: f"<img src='data:image/jpeg;base64,/9j/4AAQSkZJRg{chars(rng, B64, 240)}'>",
    lambda rng: f"hashes = ['sha384-{chars(rng, B64, 64)}']",
    lambda rng: "curl -H 'Authorization: Bearer $TOKEN' https://api.corp.net/v1/me",
    lambda rng: "curl -u user:pass https://host/path shows the shape",
    lambda rng: "git clone https://oauth2:${GITLAB_TOKEN}@gitlab.com/team/repo.git",
    lambda rng: "redis://default:<password>@cache:6379/0",
    lambda rng: "amqp://guest:guest@rabbit:5672/",
    lambda rng: "STRIPE_KEY=sk" + "_live_" + "XXXXXXXXXXXXXXXXXXXXXXXX",
    lambda rng: "ANTHROPIC_API_KEY=sk-" + "ant-api03-REPLACE-WITH-YOUR-OWN-KEY-FROM-THE-CONSOLE-PAGE",
    lambda rng: "SLACK_WEBHOOK=https://hooks.slack.com/services/" + "T00000000/B00000000/" + "X" * 24,
    lambda rng: (
        "jwt.io shows eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
        + "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0"
        + ".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
    ),
    lambda rng: "secrets:\n  db_password:\n    file: ./db_password.txt",
    lambda rng: "password: {{ vault_db_password }}",
    lambda rng: "client_secret: !Ref OAuthClientSecret",
    lambda rng: "if (!apiKey) throw new Error('API key is missing');",
    lambda rng: "self.token = request.headers.get('X-Auth-Token')",
    lambda rng: "Password reset tokens are valid for 24h and single-use.",
    lambda rng: "The API key is scoped per project; the operator rotates it every 90 days.",
    lambda rng: "Access tokens are opaque, refresh tokens are JWTs signed with ES256.",
    lambda rng: f"prompt tokens: {rng.randrange(9999)}, completion tokens: {rng.randrange(999)}",
    lambda rng: f"primary key (tenant_id, created_at); partition key: {_uuid(rng)}",
    lambda rng: f"public key: {chars(rng, HEX, 64)}",
    lambda rng: f"next page token: {_uuid(rng)}",
    lambda rng: "com.acme.NotificationServiceFactory.config.AbstractNotificationServiceBuilder",
    lambda rng: "MinutebookLedgerProjection.writer.GroupCommitSavepointTransactionScope",
    lambda rng: "We chose Argon2id over bcrypt because the passphrase length is unbounded.",
    lambda rng: "Login: the user enters an email and password, then a 6-digit code.",
    lambda rng: (
        "basic authentication is off; bearer authentication-with-rotation-of-signing-keys-every-quarter is on"
    ),
    lambda rng: f"arn:aws:kms:eu-central-1:{chars(rng, string.digits, 12)}:key/{_uuid(rng)}",
    lambda rng: "Do not put API keys, tokens or passwords in memories; name the vault entry instead.",
    lambda rng: "Die Passwortrichtlinie verlangt 12 Zeichen; das Passwort ist nie im Log.",
    lambda rng: "machine learning jobs need a login node; password auth is disabled there",
    lambda rng: f"vector [{', '.join(f'{rng.random():.6f}' for _ in range(12))}]",
    lambda rng: f"{chars(rng, HEX, 8)}..{chars(rng, HEX, 8)} 100644 src/secrets/token_store.py",
    lambda rng: "export SECRET_KEY_BASE=$(openssl rand -hex 64)",
    lambda rng: "kubectl create secret generic db --from-file=password=./password.txt",
    lambda rng: "x = {'token': token, 'secret': secret, 'password': None}",
    lambda rng: "The OAuth2 token endpoint is https://login.corp.net/oauth2/v2.0/token",
    lambda rng: "tokens: a b c d e f g h i j k l m n o p q r s t u v w x y z",
)


def _set(
    rng: random.Random,
    size: int,
    kinds: dict[str, Callable[[random.Random], str]],
    carriers: tuple[str, ...],
    benign: tuple[Callable[[random.Random], str], ...],
) -> list[Sample]:
    names = sorted(kinds)
    samples = []
    for i in range(size):
        kind = names[i % len(names)]
        samples.append(Sample(rng.choice(carriers).format(kinds[kind](rng)), kind))
        samples.append(Sample(rng.choice(carriers).format(benign[i % len(benign)](rng)), None))
    return samples


def tuning_set(seed: int = 7, size: int = 1_200) -> list[Sample]:
    """The set by which the rules were tuned: `size` with a credential, as many without."""
    return _set(random.Random(seed), size, {**SHAPED, **SHAPELESS_TUNING}, CARRIERS_TUNING, BENIGN_TUNING)


def holdout_set(seed: int = 11, size: int = 1_200) -> list[Sample]:
    """The set by which they are measured: other carriers, other benign texts, other shapeless kinds."""
    return _set(random.Random(seed), size, {**SHAPED, **SHAPELESS_HOLDOUT}, CARRIERS_HOLDOUT, BENIGN_HOLDOUT)
