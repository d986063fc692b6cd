"""Tokens with a published format: a prefix of the issuer, and a length; and private keys in text formats.

Nearly all tokens have a separator before the random part. A separator followed by 16 such characters is rare, and the
regular expression engine finds it at 400 to 1,000 MB/s; the text before it then selects the rule. Additional tokens
therefore cost nothing, whereas an alternation of all prefixes reads 30 MB/s.

Private keys are in PEM, OpenPGP, OpenSSH, SSH2, PuTTY, OpenVPN, XML or JSON web keys. A key must be complete enough: an
illustration of the format, or a key made of x's, is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

from directory_indexer.secrets.patterns import LazyPattern, SecretSpan
from directory_indexer.secrets.strength import is_placeholder


def token_spans(text: str) -> Iterator[SecretSpan]:
    """Yield tokens with a published format."""
    for anchor in _ANCHORS:
        yield from _anchored(text, anchor)
    for pattern, kind in _OTHER_TOKENS:
        for match in pattern.finditer(text):
            if not _is_example(match[0].lstrip("A")):
                yield SecretSpan(*match.span(), kind)
                if kind == "access key" and (behind := _BEHIND.match(text, match.end())):
                    yield SecretSpan(*behind.span(1), kind)


class _Rule(NamedTuple):
    prefix: str
    tail: LazyPattern
    kind: str


def _anchored(text: str, anchor: LazyPattern) -> Iterator[SecretSpan]:
    end = masked_end = n_nested = 0
    for match in anchor.finditer(text):
        at = match.start()
        # A hostile text can nest prefixes in tokens without end.
        n_nested = n_nested + 1 if at < end else 0
        if at < masked_end or n_nested > _MAX_NESTED:
            continue
        for candidate in chain(_prefixed(text, at), _dotted(text, at)):
            end = max(end, candidate.end)
            if not _is_example(text[at + 1 : candidate.end]):
                masked_end = max(masked_end, candidate.end)
                yield candidate


def _prefixed(text: str, at: int) -> Iterator[SecretSpan]:
    for rule in _RULES.get(text[max(at - 1, 0) : at + 1], ()):
        start = at + 1 - len(rule.prefix)
        if start < 0 or not text.startswith(rule.prefix, start):
            continue
        is_whole = start == 0 or not (text[start - 1].isalnum() and text[start - 1].isascii())
        if (is_whole or text[start - 2 : start] in _ESCAPES) and (tail := rule.tail.match(text, at + 1)):
            yield SecretSpan(start, tail.end(), rule.kind)


def _dotted(text: str, at: int) -> Iterator[SecretSpan]:
    for pattern, kind in _DOTTED if text[at] == "." else ():
        if match := pattern.match(text, at):
            yield SecretSpan(*match.span(), kind)


def _is_example(token: str) -> bool:
    return (
        "EXAMPLE" in token
        or is_placeholder(token[:_MAX_JUDGED].lstrip("&~:."))
        or any(part in token for part in _WELL_KNOWN)
    )


def _rules() -> dict[str, tuple[_Rule, ...]]:
    rules: dict[str, tuple[_Rule, ...]] = {}
    for kind, tokens in _TOKENS.items():
        for prefix, tail in tokens:
            rule = _Rule(prefix, LazyPattern(tail), kind)
            rules[prefix[-2:]] = (*rules.get(prefix[-2:], ()), rule)
    return rules


_MAX_JUDGED: Final = 80
_MAX_NESTED: Final = 2
_WELL_KNOWN: Final = (
    "4eC39HqLyjWDarj",  # the test key of Stripe's documentation
    "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9l",  # "John Doe" of jwt.io
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAs",  # "joe" of RFC 7519
)
"""Parts of tokens in public documentation, which grant no access."""

_ESCAPES: Final = frozenset(("\\n", "\\t", "\\r", "2F", "3D", "3d", "3A", "22"))
_HEX: Final = "[0-9a-fA-F]"
_TOKENS: Final = {
    "GitHub token": (
        *((f"gh{letter}_", "[A-Za-z0-9]{36,255}+") for letter in "pousr"),
        ("github_pat_", r"[A-Za-z0-9]{20,22}_\w{40,80}+"),
    ),
    "GitLab token": (
        *((f"{name}-", r"[\w.-]{20,400}+") for name in "glpat gldt glrt glptt glft glsoat glimt glffct".split()),
        *(("glagent-", r"[\w-]{40,100}+"), ("gloas-", r"[\w-]{40,100}+"), ("glcbt-", r"[\w-]{20,120}+")),
    ),
    "Slack token": tuple(
        (f"{name}-", r"[A-Za-z0-9-]{20,300}+")
        for name in "xoxb xoxa xoxp xoxr xoxs xoxe xoxc xoxd xapp xoxo xoxe.xoxp xoxe.xoxb".split()
    ),
    "payment key": (
        *((f"{name}_{mode}_", "[A-Za-z0-9]{16,255}+") for name in ("sk", "rk") for mode in ("live", "test", "prod")),
        *(("whsec_", "[A-Za-z0-9+/]{24,100}+={0,2}"), ("sq0atp-", r"[\w-]{20,60}+"), ("sq0csp-", r"[\w-]{40,60}+")),
        *(("shippo_live_", f"{_HEX}{{40}}"), ("shippo_test_", f"{_HEX}{{40}}")),
        *(("live_", r"(?<!pk_live_)[A-Za-z0-9]{30,64}+"), ("access_token$production$", r"[0-9a-z]{16}\$[0-9a-f]{32}")),
        *(("FLWSECK-", r"[0-9a-f]{32}-X"), ("FLWSECK_TEST-", r"[0-9a-f]{32}-X")),
    ),
    "shop token": tuple((f"{name}_", f"{_HEX}{{32}}") for name in "shpat shpca shppa shpss shptka".split()),
    "model service key": (
        *(("sk-ant-", r"[\w-]{40,200}+"), ("sk-proj-", r"[\w-]{40,255}+"), ("sk-svcacct-", r"[\w-]{40,255}+")),
        *(
            ("sk-admin-", r"[\w-]{40,255}+"),
            ("sk-or-v1-", f"{_HEX}{{64}}"),
            ("sk-", r"(?=[A-Za-z]*\d)[A-Za-z0-9]{32,100}+"),
        ),
        *(("hf_", "[A-Za-z0-9]{30,60}+"), ("r8_", "[A-Za-z0-9]{37,40}+"), ("gsk_", "[A-Za-z0-9]{48,60}+")),
        *(("pplx-", "[A-Za-z0-9]{40,60}+"), ("xai-", "[A-Za-z0-9]{60,100}+"), ("nvapi-", r"[\w-]{50,80}+")),
        ("api_org_", "[A-Za-z0-9]{30,60}+"),
    ),
    "package registry token": (
        *(("npm_", "[A-Za-z0-9]{36,100}+"), ("pypi-", r"[\w-]{50,1000}+"), ("rubygems_", f"{_HEX}{{48}}")),
        *(("CLOJARS_", "[a-z0-9]{50,70}+"), ("dckr_pat_", r"[\w-]{20,60}+"), ("dckr_oat_", r"[\w-]{20,60}+")),
        *(("oy2", "[a-z0-9]{43}"), ("cio", "[A-Za-z0-9]{32}")),
    ),
    "cloud token": (
        ("SWMTKN-", "1-[a-z0-9]{50}-[a-z0-9]{20,30}"),
        *((f"{name}_v1_", f"{_HEX}{{64}}") for name in ("dop", "doo", "dor")),
        *(
            ("hvs.", r"[\w-]{20,300}+"),
            ("hvb.", r"[\w-]{60,400}+"),
            ("hvr.", r"[\w-]{20,300}+"),
            ("ya29.", r"[\w-]{30,400}+"),
        ),
        *(
            ("GOCSPX-", r"[\w-]{20,60}+"),
            ("HRKU-", r"[\w-]{30,80}+"),
            ("pul-", f"{_HEX}{{40}}"),
            ("dp.pt.", r"\w{40,48}+"),
        ),
        *(
            ("dp.st.", r"[\w.-]{40,80}+"),
            ("atlasv1.", r"[\w-]{50,80}+"),
            ("fo1_", r"[\w-]{40,60}+"),
            ("fm2_", r"[\w+/=]{60,900}+"),
        ),
        *(("pscale_tkn_", r"[\w.-]{30,70}+"), ("pscale_pw_", r"[\w.-]{30,70}+"), ("pscale_oauth_", r"[\w.-]{30,70}+")),
        *(
            ("sbp_", f"{_HEX}{{40}}"),
            ("sb_secret_", r"[\w-]{20,60}+"),
            ("nfp_", "[A-Za-z0-9]{36,50}+"),
            ("tskey-auth-", r"[\w-]{20,80}+"),
        ),
        *(
            ("tskey-api-", r"[\w-]{20,80}+"),
            ("v1.0-", f"{_HEX}{{24}}-{_HEX}{{100,160}}+"),
            ("scw_", "[0-9a-f-]{36}"),
            ("vercel_", "[A-Za-z0-9]{24,60}+"),
        ),
        *(("t1.", r"[\w-]{20,200}+={0,2}\.[\w-]{80,90}+"), ("ops_", r"[\w+/=]{200,1500}+"), ("sha256~", r"[\w-]{43}")),
        *(("dt0c01.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"), ("sl.", r"[\w-]{100,200}+"), ("rnd_", "[A-Za-z0-9]{30,40}+")),
    ),
    "workspace token": (
        *(
            ("lin_api_", "[A-Za-z0-9]{32,64}+"),
            ("lin_oauth_", f"{_HEX}{{64}}"),
            ("ntn_", "[A-Za-z0-9]{40,60}+"),
            ("secret_", "[A-Za-z0-9]{43}"),
        ),
        *(
            ("PMAK-", f"{_HEX}{{24}}-{_HEX}{{34}}"),
            ("figd_", r"[\w-]{36,60}+"),
            ("patat-", r"[\w-]{30,60}+"),
            ("tfp_", r"[\w.-]{40,70}+"),
        ),
        *(
            ("ATCTT3xFfG", r"[\w=-]{100,250}+"),
            ("rdme_", "[a-z0-9]{60,80}+"),
            ("pat-na1-", "[0-9a-f-]{36}"),
            ("pat-eu1-", "[0-9a-f-]{36}"),
        ),
    ),
    "monitoring token": (
        *(
            ("glsa_", f"[A-Za-z0-9]{{32}}_{_HEX}{{8}}"),
            ("glc_", "[A-Za-z0-9+/]{32,400}+={0,2}"),
            ("sntryu_", f"{_HEX}{{64}}"),
        ),
        *(
            ("sntrys_", r"[\w+/=]{60,500}+"),
            ("NRAK-", "[A-Z0-9]{27}"),
            ("NRII-", r"[\w-]{32}"),
            ("phx_", "[A-Za-z0-9]{40,60}+"),
            ("ddp_", "[A-Za-z0-9]{36}"),
            *((f"sq{letter}_", f"{_HEX}{{40}}") for letter in "pua"),
            *((f"hca{letter}k_", "[a-z0-9]{40,64}+") for letter in "ikm"),
            *((f"bk{letter}a_", f"{_HEX}{{40}}") for letter in "uc"),
            *((f"CCI{scope}_", r"[A-Za-z0-9]{20,24}_[0-9a-f]{40}") for scope in ("PAT", "PRJ")),
        ),
    ),
    "mail service key": (
        *(
            ("SG.", r"[\w-]{18,24}\.[\w-]{38,46}"),
            ("key-", f"{_HEX}{{32}}"),
            ("xkeysib-", f"{_HEX}{{64}}-[A-Za-z0-9]{{16}}"),
        ),
        *(
            ("xsmtpsib-", f"{_HEX}{{64}}-[A-Za-z0-9]{{16}}"),
            ("re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
            ("mlsn.", f"{_HEX}{{64}}"),
        ),
    ),
    "password manager key": (
        ("A3-", r"[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}(?:-[A-Z0-9]{5})?"),
    ),
}
"""Prefix including its separator, and the pattern of the rest; by kind."""

_RULES: Final = _rules()
_ANCHORS: Final = (
    LazyPattern(
        r"_(?:(?=[A-Za-z0-9]{16})"
        r"|(?<=[tdnw12p]_)(?=[\w-]{20})(?:(?<=[po]at_)|(?<=secret_)|(?<=figd_)|(?<=_tkn_)|(?<=_pw_)|(?<=fo1_)|(?<=fm2_)|(?<=tfp_)))"
    ),
    LazyPattern(r"-(?=[A-Za-z0-9][\w-]{15})"),
    LazyPattern(r"\.(?=[\w-]{16})"),
)
_BEHIND: Final = LazyPattern(r"(?!\n)[^\w+=\n]{1,12}([A-Za-z0-9+/]{40})(?![\w+/=])")
"""The secret after the id of an access key: `("AKIA…", "…")`."""
_OTHER_TOKENS: Final = (
    (
        LazyPattern(
            r"A(?:(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[A-Z2-7]{16}(?![A-Za-z0-9+/])|BSK[A-Za-z0-9+/]{100,270}+|Iza[\w-]{35}(?![\w-])"
            r"|TATT3[\w=-]{60,250}+|KCp[A-Za-z0-9]{60,80}+|GE-(?:SECRET-KEY|PLUGIN-[A-Z0-9-]{1,20})-1[A-Z0-9]{30,400}+"
            r"|C[0-9a-f]{32}[\"', :]{1,6}[0-9a-f]{32}(?![\w-])"
            r"|A{19}[\w%]{60,300}+|A(?<=EAA)(?<![\w+/=-]EAA)[A-Za-z0-9]{100,400}+(?![\w+/=-]))",
            marks=("AKIA", "ASIA", "ABIA", "ACCA", "A3T", "ABSK", "AIza", "ATATT3", "AKCp", "AGE-", "AC", "EAA", "AAA"),
        ),
        "access key",
    ),
    (LazyPattern(r"dirindex_(?=[\w-]{0,42}[A-Z])[\w-]{43}(?![\w-])", marks=("dirindex_",)), "dirindex key"),
    (LazyPattern(r"dapi[0-9a-f]{32}(?:-\d)?(?![0-9A-Za-z])", marks=("dapi",)), "cloud token"),
    (LazyPattern(r":AA(?<=[0-9]:AA)[\w-]{33}(?![\w-])", marks=(":AA",)), "bot token"),
    (LazyPattern(r"~(?<=[0-9]Q~)[\w.~-]{31,34}", marks=("Q~",)), "cloud token"),
    (
        LazyPattern(
            r"hook(?:s\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]{30,80}+|s/[0-9]{15,22}/[\w-]{50,100}+"
            r"|s/catch/[0-9]{4,12}/[a-z0-9]{5,12}(?![a-z0-9])|s/[a-z0-9]{26}(?![\w-])|s/[A-Za-z0-9]{17}/[A-Za-z0-9]{43}(?![\w-])"
            r"|/[0-9a-f]{32}(?![\w-])(?:/[\w-]{36,80}+)?|/(?<=/v2/hook/)[0-9a-f]{8}-[0-9a-f-]{27}"
            r"|\.[a-z0-9]{2,6}\.(?:make|integromat)\.com/[a-z0-9]{32}(?![\w-]))",
            marks=("hooks", "hook/", "hook."),
        ),
        "webhook",
    ),
    (LazyPattern(r"&sig=[\w%+/-]{40,120}+={0,2}", marks=("&sig=",)), "signed URL"),
)
_DOTTED: Final = (
    (LazyPattern(r"\.eyJ[\w-]{8,8000}+\.[\w-]{20,2000}+"), "JSON web token"),
    (
        LazyPattern(r"\.(?:(?<=[MNO][\w-]{23}\.[\w-]{6}\.)|(?<=[MNO][\w-]{25}\.[\w-]{6}\.))[\w-]{27,40}+(?![\w.-])"),
        "bot token",
    ),
    (LazyPattern(r"\.(?<=pat[A-Za-z0-9]{14}\.)[0-9a-f]{64}(?![\w-])"), "workspace token"),
)


PRIVATE_KEY: Final = "private key"


def key_spans(text: str) -> Iterator[SecretSpan]:
    """Yield private keys without their delimiters."""
    for match in _BEGIN.finditer(text):
        if body := _BODY.match(text, match.end()):
            yield from _block(body)
    if _PUTTY.match(text) and (lines := _PUTTY_LINES.search(text)):
        yield SecretSpan(*lines.span(1), PRIVATE_KEY)
    for pattern in _OTHER_BLOCKS:
        for match in pattern.finditer(text):
            if _is_random(match[1]):
                yield SecretSpan(*match.span(1), PRIVATE_KEY)


def signing_key_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the secret keys of minisign and signify."""
    for match in _SIGNING_KEY.finditer(text):
        yield SecretSpan(*match.span(1), PRIVATE_KEY)


def published_key_spans(text: str) -> Iterator[SecretSpan]:
    """Yield keys with a distinctive prefix that rarely occurs in source code."""
    for match in chain.from_iterable(pattern.finditer(text) for pattern in _PUBLISHED):
        yield SecretSpan(*match.span(1), PRIVATE_KEY)


def _block(body: re.Match[str]) -> Iterator[SecretSpan]:
    if len(body["key"]) >= _MIN_BLOCK and _is_random(body["key"]):
        yield SecretSpan(*body.span("key"), PRIVATE_KEY)


def _is_random(key: str) -> bool:
    return len(key) >= _MIN_LENGTH and len(set(key[:200])) >= _MIN_CHARACTERS


_MIN_LENGTH: Final = 20
_MIN_BLOCK: Final = 40
_MIN_CHARACTERS: Final = 6
_GAP: Final = r"(?:[\s\"'+,|>#*;&/.-]|\\{1,4}[nrt]|<br ?/?>|\\$)"
_BEGIN: Final = LazyPattern(
    r"BEGIN (?:[A-Za-z0-9]{1,12} ){0,3}(?:PRIVATE KEY(?: BLOCK)?|Static key V1) ?-{4,5}",
    marks=("PRIVATE KEY", "Static key"),
)
_BODY: Final = LazyPattern(
    rf"""
    {_GAP}{{0,80}}+
    (?:[A-Za-z0-9-]{{1,20}}:[ ][^\n\\]{{0,200}}+{_GAP}{{1,80}}+){{0,8}}+  # headers of encrypted keys and of OpenPGP
    (?P<key>
        [A-Za-z0-9+/=]{{16,20000}}+
        (?:{_GAP}{{1,60}}+[A-Za-z0-9+/=]{{24,20000}}+){{0,2000}}+
        (?:{_GAP}{{1,60}}+(?!END)[A-Za-z0-9+/=]{{1,80}}+(?=[\s"'\\<-]|\Z)){{0,2}}+
    )""",
    re.VERBOSE,
)
_OTHER_BLOCKS: Final = (
    LazyPattern(
        r"<(?:D|P|Q|DP|DQ|InverseQ)>\s{0,20}([A-Za-z0-9+/=\s]{20,1600}+)</",
        marks=("<D>", "<P>", "<Q>", "<DP>", "<DQ>", "<InverseQ>"),
    ),
    LazyPattern(
        r"\"(?:d|p|q|dp|dq|qi|k)\\{0,2}\"\s{0,8}:\s{0,8}\\{0,2}\"([\w+/=-]{40,1400}+)\\{0,2}\"",
        marks=('"d', '"p', '"q', '"k'),
    ),
)
_PUBLISHED: Final = (
    LazyPattern(r"ED25519-V3:([A-Za-z0-9+/]{86}==)"),  # Tor
    LazyPattern(r"prv(?<=[xyztuv]prv)([0-9A-Za-z]{80,112}+)(?!\w)"),  # wallets (BIP 32)
    LazyPattern(r"nsec1([02-9ac-hj-np-z]{58})(?!\w)"),  # Nostr
    LazyPattern(r"1/[0-9]{16}:([0-9a-f]{32})(?![0-9a-f])"),  # Asana
)
_SIGNING_KEY: Final = LazyPattern(
    r"untrusted comment: [^\n]{0,80}secret key[^\n]{0,80}\n([A-Za-z0-9+/]{40,400}+={0,2})"
)
_PUTTY: Final = LazyPattern(r"\s{0,20}PuTTY-User-Key-File-\d", marks=("PuTTY-User-Key-File-",))
_PUTTY_LINES: Final = LazyPattern(r"Private-Lines: [0-9]{1,3}\s{1,4}((?:[A-Za-z0-9+/=]{4,80}+\s{1,4}){1,100}+)")
