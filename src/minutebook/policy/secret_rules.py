"""The shapes of credentials that are refused: a table of our own, one row for each kind.

Patterns are RE2's (see secrets.py), over UTF-8 bytes. A group is a value, which then has to pass the check:
the manuals of every vendor are full of examples of the right shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from minutebook.policy.secret_checks import (
    is_basic_pair,
    is_bearer,
    is_key_body,
    is_mixed_or_short_hex,
    is_named_password,
    is_random,
    is_random_with_digits,
    is_strong_password,
    is_uneven,
)


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One shape of credential. The pattern runs only where one of the words `near` occurs (in lower case)."""

    name: str
    near: str
    pattern: str
    is_real: Callable[[str], bool] = is_random


_END = r"(?:[^A-Za-z0-9_-]|$)"
_IS = r"[\"'`\]]{0,2}\s{0,3}(?::=|=>|[:=]|\bis\b)\s{0,3}[\"'`]{0,2}"

REFUSING: tuple[SecretRule, ...] = (
    # clouds
    SecretRule(
        "aws_access_key", "akia asia abia acca", r"\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\b", is_uneven
    ),
    SecretRule(
        "aws_secret_key",
        "aws secret",
        rf"(?i)(?:aws.{{0,20}}secret|secret[ _-]?access[ _-]?key)[\w"
        rf" .-]{{0,20}}{_IS}([A-Za-z0-9/+]{{40}})(?:[^A-Za-z0-9/+=]|$)",
    ),
    SecretRule(
        "aws_session_token", "session", rf"(?i)session[ _-]?token{_IS}([A-Za-z0-9/+]{{100,}}={{0,2}})"
    ),
    SecretRule("google_api_key", "aiza", rf"\b(AIza[A-Za-z0-9_-]{{35}}){_END}"),
    SecretRule("google_oauth_token", "ya29.", r"\b(ya29\.[A-Za-z0-9_-]{20,})"),
    SecretRule("google_client_secret", "gocspx-", r"\b(GOCSPX-[A-Za-z0-9_-]{24,})"),
    SecretRule(
        "azure_account_key",
        "key",
        r"(?i)(?:Account|SharedAccess)Key\s{0,2}=\s{0,2}([A-Za-z0-9+/]{43,86}={1,2})",
    ),
    SecretRule("azure_signature", "sig=", r"[?&]sig=([A-Za-z0-9%+/]{40,}(?:%3D|=))"),
    SecretRule("azure_client_secret", "q~", r"\b([A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34})"),
    SecretRule("digitalocean_token", "_v1_", r"\b(do[opr]_v1_[a-f0-9]{64})\b"),
    SecretRule(
        "cloudflare_token",
        "cloudflare cf_api cf-api",
        rf"(?i)(?:cloudflare|cf[_-]api)[^\n]{{0,40}}(?:key|token"
        rf"|secret)[^\n]{{0,12}}?[\"'`\s:=]([A-Za-z0-9_-]{{37,40}}){_END}",
        is_mixed_or_short_hex,
    ),
    SecretRule(
        "heroku_key",
        "heroku hrku-",
        r"(?i)(?:heroku[^\n]{0,20}(?:api[ _-]?key|token|auth)[^\n]{0,16}?\b([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-"
        r"[0-9a-f]{12})\b"
        r"|\b(HRKU-[A-Za-z0-9_-]{36,}))",
    ),
    SecretRule("fly_token", "fo1_ fm1 fm2", r"\b(fo1_[A-Za-z0-9_-]{40,}|fm[12][ar]?_[A-Za-z0-9+/=]{60,})"),
    SecretRule("supabase_key", "sbp_ sb_secret_", r"\b(sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})\b"),
    SecretRule("databricks_token", "dapi", r"\b(dapi[a-f0-9]{32}(?:-\d)?)\b"),
    SecretRule("planetscale_token", "pscale_", r"\b(pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.-]{30,})"),
    SecretRule("terraform_token", ".atlasv1.", r"\b([A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,})"),
    SecretRule("pulumi_token", "pul-", r"\b(pul-[a-f0-9]{40})\b"),
    SecretRule("vault_token", "hvs. hvb. hvr.", r"\b(hv[sbr]\.[A-Za-z0-9_-]{20,})"),
    SecretRule(
        "doppler_token",
        "dp.",
        r"\b(dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44})\b",
    ),
    SecretRule("tailscale_key", "tskey-", r"\b(tskey-[a-z]{2,10}-[A-Za-z0-9]{6,}-[A-Za-z0-9]{20,})\b"),
    # code and packages
    SecretRule("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\b(gh[pousr]_[A-Za-z0-9]{36,255})\b"),
    SecretRule("github_fine_grained_token", "github_pat_", r"\b(github_pat_[A-Za-z0-9_]{60,255})\b"),
    SecretRule(
        "gitlab_token", "gl", rf"\b(gl(?:pat|ptt|dt|rt|cbt|soat|ft|imt|agent|oas)-[A-Za-z0-9_-]{{20,}}){_END}"
    ),
    SecretRule(
        "atlassian_token", "atatt3 atctt3 atbb", r"\b(AT[AC]TT3[A-Za-z0-9_=-]{60,}|ATBB[A-Za-z0-9]{32})"
    ),
    SecretRule("npm_token", "npm_", r"\b(npm_[A-Za-z0-9]{36})\b"),
    SecretRule("pypi_token", "pypi-age", r"\b(pypi-AgE[A-Za-z0-9_-]{50,})"),
    SecretRule("rubygems_key", "rubygems_", r"\b(rubygems_[a-f0-9]{48})\b"),
    SecretRule("docker_token", "dckr_", r"\b(dckr_[po]at_[A-Za-z0-9_-]{27,})"),
    SecretRule("linear_key", "lin_", r"\b(lin_(?:api|oauth)_[A-Za-z0-9]{32,64})\b"),
    SecretRule("postman_key", "pmak-", r"\b(PMAK-[a-f0-9]{24}-[a-f0-9]{34})\b"),
    SecretRule("sentry_token", "sntry", r"\b(sntry[su]_[A-Za-z0-9+/=_-]{40,})"),
    SecretRule("new_relic_key", "nrak- nrii-", r"\b(NR(?:AK|II)-[A-Za-z0-9_-]{27,32})"),
    SecretRule(
        "grafana_token", "glsa_ glc_", r"\b(glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,}={0,2})"
    ),
    SecretRule(
        "datadog_key",
        "datadog dd",
        rf"(?i)(?:datadog|\bdd)[ _-](?:api|app)[ _-]key{_IS}([0-9a-f]{{32}}|[0-9a-f]{{40}})\b",
    ),
    SecretRule("figma_token", "figd_", r"\b(figd_[A-Za-z0-9_-]{40,})"),
    SecretRule("airtable_token", "pat", r"\b(pat[A-Za-z0-9]{14}\.[a-f0-9]{64})\b"),
    SecretRule("notion_token", "ntn_ secret_", r"\b(ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43})\b"),
    # our own
    SecretRule("minutebook_token", "mbk_", rf"\b(mbk_[A-Za-z0-9_-]{{43}}){_END}"),
    # models
    SecretRule("anthropic_key", "sk-ant-", r"\b(sk-ant-[a-z0-9]{3,10}-[A-Za-z0-9_-]{40,})"),
    SecretRule(
        "openai_key", "sk-", r"\b(sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9]{40,64}\b)"
    ),
    SecretRule("openrouter_key", "sk-or-", r"\b(sk-or-v1-[a-f0-9]{64})\b"),
    SecretRule("huggingface_token", "hf_", r"\b(hf_[A-Za-z0-9]{34,40})\b"),
    SecretRule(
        "model_host_key",
        "gsk_ r8_ pplx- xai-",
        r"\b(gsk_[A-Za-z0-9]{48,}|r8_[A-Za-z0-9]{37,40}|pplx-[A-Za-z0-9]{48,}|xai-[A-Za-z0-9]{70,})\b",
    ),
    # messages and money
    SecretRule(
        "slack_token",
        "xox xapp-",
        rf"\b(xox[abeoprs]-[A-Za-z0-9-]{{20,250}}|xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{{20,}}){_END}",
    ),
    SecretRule(
        "slack_webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/]{40,100})",
    ),
    SecretRule(
        "discord_token",
        ".",
        rf"\b([MNO][A-Za-z0-9_-]{{23,27}}\.[A-Za-z0-9_-]{{6}}\.[A-Za-z0-9_-]{{27,38}}){_END}",
        is_random_with_digits,
    ),
    SecretRule(
        "discord_webhook",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/\d{17,20}/([A-Za-z0-9_-]{60,})",
    ),
    SecretRule("telegram_token", ":aa", rf"\b(\d{{8,10}}:AA[A-Za-z0-9_-]{{33}}){_END}"),
    SecretRule(
        "twilio_key",
        "twilio",
        r"(?i:twilio)[^\n]{0,60}?\b((?:SK|AC)[0-9a-f]{32})\b|(?i:twilio[^\n]{0,30}(?:token|secret"
        r"|key))[^\n]{0,12}?\b([0-9a-f]{32})\b",
    ),
    SecretRule("sendgrid_key", "sg.", r"\b(SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64})"),
    SecretRule("mailgun_key", "key-", r"(?:(?i:mailgun)[^\n]{0,80}?\b|\bapi:)(key-[0-9a-f]{32})\b"),
    SecretRule("mailchimp_key", "-us", r"\b([0-9a-f]{32}-us\d{1,2})\b"),
    SecretRule(
        "stripe_key", "k_live_ whsec_", r"\b([sr]k_live_[A-Za-z0-9]{16,247}|whsec_[A-Za-z0-9+/]{24,}=*)"
    ),
    SecretRule(
        "square_token", "eaaa sq0", r"\b(EAAA[A-Za-z0-9_-]{60}|sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43})"
    ),
    SecretRule("shopify_token", "shp", r"\b(shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32})\b"),
    # of any vendor
    SecretRule(
        "private_key",
        "private key",
        r"-----BEGIN[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:\\r|\\n|[\s\"'+>"
        r"|,])*(?:[A-Za-z-]+: [^\n]*\n\s*)*([A-Za-z0-9+/=]{20,})",
        is_key_body,
    ),
    SecretRule("putty_key", "private-lines", r"Private-Lines: \d+\s+([A-Za-z0-9+/=]{40,})", is_key_body),
    SecretRule("age_key", "age-secret-key-", r"\b(AGE-SECRET-KEY-1[0-9A-Z]{58})\b"),
    SecretRule("jwt", "ey", r"\b(ey[A-Za-z0-9_-]{10,}\.ey[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,})"),
    SecretRule(
        "basic_auth",
        "basic",
        r"(?i)authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?basic\s{1,3}([A-Za-z0-9+/]{8,}={0,2})",
        is_basic_pair,
    ),
    SecretRule(
        "bearer_token", "bearer", r"(?i)\bbearer[\s:]{1,3}[\"'`]?([A-Za-z0-9_.~+/-]{24,}=*)", is_bearer
    ),
    SecretRule(
        "netrc",
        "machine",
        r"\bmachine\s{1,8}\S{1,200}\s{1,8}login\s{1,8}\S{1,200}\s{1,8}password\s{1,8}(\S{3,200})",
        is_named_password,
    ),
    SecretRule(
        "curl_user",
        "curl",
        r"\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,100}:([^\s\"']{4,200})",
        is_strong_password,
    ),
)
