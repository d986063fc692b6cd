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

from directory_indexer.secrets.rule_engine import Detector, FunctionRule, LazyPattern, Rule, SecretSpan
from directory_indexer.secrets.value_classification import is_placeholder


def token_spans(text: str) -> Iterator[SecretSpan]:
    """Yield tokens with a published format."""
    for anchor in _ANCHORS:
        yield from _token_spans_at_anchor(text, anchor)


class _Token(NamedTuple):
    prefix: str
    tail: LazyPattern
    kind: str


def _token_spans_at_anchor(text: str, anchor: LazyPattern) -> Iterator[SecretSpan]:
    end = masked_end = n_nested = 0
    for match in anchor.finditer(text):
        at = match.start()
        # A hostile text can nest prefixes in tokens without end.
        n_nested = n_nested + 1 if at < end else 0
        if at < masked_end or n_nested > _MAX_NESTED:
            continue
        for candidate in chain(_prefixed_token_spans(text, at), _dotted_token_spans(text, at)):
            end = max(end, candidate.end)
            if not _is_example(text[at + 1 : candidate.end]):
                masked_end = max(masked_end, candidate.end)
                yield candidate


def _prefixed_token_spans(text: str, at: int) -> Iterator[SecretSpan]:
    for token in _PREFIXES.get(text[max(at - 1, 0) : at + 1], ()):
        start = at + 1 - len(token.prefix)
        if start < 0 or not text.startswith(token.prefix, start):
            continue
        is_whole = start == 0 or not (text[start - 1].isalnum() and text[start - 1].isascii())
        if (is_whole or text[start - 2 : start] in _ESCAPES) and (tail := token.tail.match(text, at + 1)):
            yield SecretSpan(start, tail.end(), token.kind)


def _dotted_token_spans(text: str, at: int) -> Iterator[SecretSpan]:
    for pattern, kind in _DOTTED if text[at] == "." else ():
        if match := pattern.match(text, at):
            yield SecretSpan(*match.span(), kind)


def _is_example(token: str) -> bool:
    return (
        "EXAMPLE" in token
        or is_placeholder(token[:_MAX_CHECKED_CHARS].lstrip("&~:."))
        or any(part in token for part in _WELL_KNOWN)
    )


def _is_real_token(token: str) -> bool:
    return not _is_example(token.lstrip("A"))


def _access_key_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the ids of access keys, and the secret after one: `("AKIA…", "…")`."""
    for match in _ACCESS_KEY.finditer(text):
        if _is_real_token(match[0]):
            yield SecretSpan(*match.span(), "access key")
            if secret := _SECRET_AFTER_ID.match(text, match.end()):
                yield SecretSpan(*secret.span(1), "access key")


_MAX_CHECKED_CHARS: Final = 80
_MAX_NESTED: Final = 2
_WELL_KNOWN: Final = (
    "4eC39HqLyjWDarj",  # the test key of Stripe's documentation
    "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9l",  # "John Doe" of jwt.io
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAs",  # "joe" of RFC 7519
)
"""Parts of tokens in public documentation, which grant no access."""

_ESCAPES: Final = frozenset(("\\n", "\\t", "\\r", "2F", "3D", "3d", "3A", "22"))
_TOKENS: Final = r"""
GitHub token
  ghp_ gho_ ghu_ ghs_ ghr_  [A-Za-z0-9]{36,255}+
  github_pat_  [A-Za-z0-9]{20,22}_\w{40,80}+
GitLab token
  glpat- gldt- glrt- glptt- glft- glsoat- glimt- glffct-  [\w.-]{20,400}+
  glagent- gloas-  [\w-]{40,100}+
  glcbt-  [\w-]{20,120}+
Slack token
  xoxb- xoxa- xoxp- xoxr- xoxs- xoxe- xoxc- xoxd- xapp- xoxo- xoxe.xoxp- xoxe.xoxb-  [A-Za-z0-9-]{20,300}+
payment key
  sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_  [A-Za-z0-9]{16,255}+
  whsec_  [A-Za-z0-9+/]{24,100}+={0,2}
  sq0atp-  [\w-]{20,60}+
  sq0csp-  [\w-]{40,60}+
  shippo_live_ shippo_test_  [0-9a-fA-F]{40}
  live_  (?<!pk_live_)[A-Za-z0-9]{30,64}+
  access_token$production$  [0-9a-z]{16}\$[0-9a-f]{32}
  FLWSECK- FLWSECK_TEST-  [0-9a-f]{32}-X
shop token
  shpat_ shpca_ shppa_ shpss_ shptka_  [0-9a-fA-F]{32}
model service key
  sk-ant-  [\w-]{40,200}+
  sk-proj- sk-svcacct- sk-admin-  [\w-]{40,255}+
  sk-or-v1-  [0-9a-fA-F]{64}
  sk-  (?=[A-Za-z]*\d)[A-Za-z0-9]{32,100}+
  hf_ api_org_  [A-Za-z0-9]{30,60}+
  r8_  [A-Za-z0-9]{37,40}+
  gsk_  [A-Za-z0-9]{48,60}+
  pplx-  [A-Za-z0-9]{40,60}+
  xai-  [A-Za-z0-9]{60,100}+
  nvapi-  [\w-]{50,80}+
package registry token
  npm_  [A-Za-z0-9]{36,100}+
  pypi-  [\w-]{50,1000}+
  rubygems_  [0-9a-fA-F]{48}
  CLOJARS_  [a-z0-9]{50,70}+
  dckr_pat_ dckr_oat_  [\w-]{20,60}+
  oy2  [a-z0-9]{43}
  cio  [A-Za-z0-9]{32}
cloud token
  SWMTKN-  1-[a-z0-9]{50}-[a-z0-9]{20,30}
  dop_v1_ doo_v1_ dor_v1_  [0-9a-fA-F]{64}
  hvs. hvr.  [\w-]{20,300}+
  hvb.  [\w-]{60,400}+
  ya29.  [\w-]{30,400}+
  GOCSPX- sb_secret_  [\w-]{20,60}+
  HRKU-  [\w-]{30,80}+
  pul- sbp_  [0-9a-fA-F]{40}
  dp.pt.  \w{40,48}+
  dp.st.  [\w.-]{40,80}+
  atlasv1.  [\w-]{50,80}+
  fo1_  [\w-]{40,60}+
  fm2_  [\w+/=]{60,900}+
  pscale_tkn_ pscale_pw_ pscale_oauth_  [\w.-]{30,70}+
  nfp_  [A-Za-z0-9]{36,50}+
  tskey-auth- tskey-api-  [\w-]{20,80}+
  v1.0-  [0-9a-fA-F]{24}-[0-9a-fA-F]{100,160}+
  scw_  [0-9a-f-]{36}
  vercel_  [A-Za-z0-9]{24,60}+
  t1.  [\w-]{20,200}+={0,2}\.[\w-]{80,90}+
  ops_  [\w+/=]{200,1500}+
  sha256~  [\w-]{43}
  dt0c01.  [A-Z0-9]{24}\.[A-Z0-9]{64}
  sl.  [\w-]{100,200}+
  rnd_  [A-Za-z0-9]{30,40}+
workspace token
  lin_api_  [A-Za-z0-9]{32,64}+
  lin_oauth_  [0-9a-fA-F]{64}
  ntn_  [A-Za-z0-9]{40,60}+
  secret_  [A-Za-z0-9]{43}
  PMAK-  [0-9a-fA-F]{24}-[0-9a-fA-F]{34}
  figd_  [\w-]{36,60}+
  patat-  [\w-]{30,60}+
  tfp_  [\w.-]{40,70}+
  ATCTT3xFfG  [\w=-]{100,250}+
  rdme_  [a-z0-9]{60,80}+
  pat-na1- pat-eu1-  [0-9a-f-]{36}
monitoring token
  glsa_  [A-Za-z0-9]{32}_[0-9a-fA-F]{8}
  glc_  [A-Za-z0-9+/]{32,400}+={0,2}
  sntryu_  [0-9a-fA-F]{64}
  sntrys_  [\w+/=]{60,500}+
  NRAK-  [A-Z0-9]{27}
  NRII-  [\w-]{32}
  phx_  [A-Za-z0-9]{40,60}+
  ddp_  [A-Za-z0-9]{36}
  sqp_ squ_ sqa_ bkua_ bkca_  [0-9a-fA-F]{40}
  hcaik_ hcakk_ hcamk_  [a-z0-9]{40,64}+
  CCIPAT_ CCIPRJ_  [A-Za-z0-9]{20,24}_[0-9a-f]{40}
mail service key
  SG.  [\w-]{18,24}\.[\w-]{38,46}
  key-  [0-9a-fA-F]{32}
  xkeysib- xsmtpsib-  [0-9a-fA-F]{64}-[A-Za-z0-9]{16}
  re_  [A-Za-z0-9]{8}_[A-Za-z0-9]{24}
  mlsn.  [0-9a-fA-F]{64}
password manager key
  A3-  [A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}(?:-[A-Z0-9]{5})?
"""
"""Kinds; and below each the prefixes, including their separator, and the pattern of the rest."""


def _prefix_table() -> dict[str, tuple[_Token, ...]]:
    """Return the prefixes by their last two characters."""
    table: dict[str, tuple[_Token, ...]] = {}
    kind = ""
    for line in _TOKENS.strip().splitlines():
        if line.startswith(" "):
            *prefixes, pattern = line.split()
            tail = LazyPattern(pattern)
            for prefix in prefixes:
                table[prefix[-2:]] = (*table.get(prefix[-2:], ()), _Token(prefix, tail, kind))
        else:
            kind = line
    return table


_PREFIXES: Final = _prefix_table()
_ANCHORS: Final = (
    LazyPattern(
        r"_(?:(?=[A-Za-z0-9]{16})"
        r"|(?<=[tdnw12p]_)(?=[\w-]{20})(?:(?<=[po]at_)|(?<=secret_)|(?<=figd_)|(?<=_tkn_)|(?<=_pw_)|(?<=fo1_)|(?<=fm2_)|(?<=tfp_)))"
    ),
    LazyPattern(r"-(?=[A-Za-z0-9][\w-]{15})"),
    LazyPattern(r"\.(?=[\w-]{16})"),
)
_SECRET_AFTER_ID: Final = LazyPattern(r"(?!\n)[^\w+=\n]{1,12}([A-Za-z0-9+/]{40})(?![\w+/=])")
_ACCESS_KEY: Final = LazyPattern(
    r"A(?:(?:KIA|SIA|BIA|CCA|3T[A-Z0-9])[A-Z2-7]{16}(?![A-Za-z0-9+/])|BSK[A-Za-z0-9+/]{100,270}+|Iza[\w-]{35}(?![\w-])"
    r"|TATT3[\w=-]{60,250}+|KCp[A-Za-z0-9]{60,80}+|GE-(?:SECRET-KEY|PLUGIN-[A-Z0-9-]{1,20})-1[A-Z0-9]{30,400}+"
    r"|C[0-9a-f]{32}[\"', :]{1,6}[0-9a-f]{32}(?![\w-])"
    r"|A{19}[\w%]{60,300}+|A(?<=EAA)(?<![\w+/=-]EAA)[A-Za-z0-9]{100,400}+(?![\w+/=-]))"
)
_ACCESS_KEY_LITERALS: Final = (
    *"akia asia abia acca a3t absk aiza atatt3 akcp age- eaa aaaaaaaa".split(),
    *(f"ac{digit}" for digit in "0123456789abcdef"),
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


def _key_spans(text: str) -> Iterator[SecretSpan]:
    """Yield private keys without their delimiters."""
    for match in _BEGIN.finditer(text):
        body = _BODY.match(text, match.end())
        if body and len(body["key"]) >= _MIN_BLOCK and _is_random(body["key"]):
            yield SecretSpan(*body.span("key"), PRIVATE_KEY)


def _is_random(key: str) -> bool:
    return len(key) >= _MIN_LENGTH and len(set(key[:200])) >= _MIN_CHARACTERS


_MIN_LENGTH: Final = 20
_MIN_BLOCK: Final = 40
_MIN_CHARACTERS: Final = 6
_KEY_GAP: Final = r"(?:[\s\"'+,|>#*;&/.-]|\\{1,4}[nrt]|<br ?/?>|\\$)"
_BEGIN: Final = LazyPattern(r"BEGIN (?:[A-Za-z0-9]{1,12} ){0,3}(?:PRIVATE KEY(?: BLOCK)?|Static key V1) ?-{4,5}")
_BODY: Final = LazyPattern(
    rf"""
    {_KEY_GAP}{{0,80}}+
    (?:[A-Za-z0-9-]{{1,20}}:[ ][^\n\\]{{0,200}}+{_KEY_GAP}{{1,80}}+){{0,8}}+  # headers of encrypted keys and of OpenPGP
    (?P<key>
        [A-Za-z0-9+/=]{{16,20000}}+
        (?:{_KEY_GAP}{{1,60}}+[A-Za-z0-9+/=]{{24,20000}}+){{0,2000}}+
        (?:{_KEY_GAP}{{1,60}}+(?!END)[A-Za-z0-9+/=]{{1,80}}+(?=[\s"'\\<-]|\Z)){{0,2}}+
    )""",
    re.VERBOSE,
)
KEY_RULES: Final[tuple[Detector, ...]] = (
    FunctionRule((), token_spans, None),
    FunctionRule(_ACCESS_KEY_LITERALS, _access_key_spans, None),
    *(
        Rule((literal,), pattern, _is_real_token, kind, None, group=0)
        for literal, pattern, kind in (
            ("dirindex_", r"dirindex_(?=[\w-]{0,42}[A-Z])[\w-]{43}(?![\w-])", "dirindex key"),
            ("dapi", r"dapi[0-9a-f]{32}(?:-\d)?(?![0-9A-Za-z])", "cloud token"),
            (":aa", r":AA(?<=[0-9]:AA)[\w-]{33}(?![\w-])", "bot token"),
            ("q~", r"~(?<=[0-9]Q~)[\w.~-]{31,34}", "cloud token"),
            ("&sig=", r"&sig=[\w%+/-]{40,120}+={0,2}", "signed URL"),
        )
    ),
    Rule(
        ("hooks", "hook/", "hook."),
        r"hook(?:s\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]{30,80}+|s/[0-9]{15,22}/[\w-]{50,100}+"
        r"|s/catch/[0-9]{4,12}/[a-z0-9]{5,12}(?![a-z0-9])|s/[a-z0-9]{26}(?![\w-])|s/[A-Za-z0-9]{17}/[A-Za-z0-9]{43}(?![\w-])"
        r"|/[0-9a-f]{32}(?![\w-])(?:/[\w-]{36,80}+)?|/(?<=/v2/hook/)[0-9a-f]{8}-[0-9a-f-]{27}"
        r"|\.[a-z0-9]{2,6}\.(?:make|integromat)\.com/[a-z0-9]{32}(?![\w-]))",
        _is_real_token,
        "webhook",
        None,
        group=0,
    ),
    FunctionRule(("private key", "static key"), _key_spans, None),
    Rule(
        ("putty-user-key-file-",),
        r"\A\s{0,20}PuTTY-User-Key-File-\d(?s:.*?)Private-Lines: [0-9]{1,3}\s{1,4}"
        r"((?:[A-Za-z0-9+/=]{4,80}+\s{1,4}){1,100}+)",
        kind=PRIVATE_KEY,
        kinds=None,
    ),
    Rule(
        ("<d>", "<p>", "<q>", "<dp>", "<dq>", "<inverseq>"),
        r"<(?:D|P|Q|DP|DQ|InverseQ)>\s{0,20}([A-Za-z0-9+/=\s]{20,1600}+)</",
        _is_random,
        PRIVATE_KEY,
        None,
    ),
    Rule(
        ('"d', '"p', '"q', '"k'),
        r"\"(?:d|p|q|dp|dq|qi|k)\\{0,2}\"\s{0,8}:\s{0,8}\\{0,2}\"([\w+/=-]{40,1400}+)\\{0,2}\"",
        _is_random,
        PRIVATE_KEY,
        None,
    ),
    Rule(  # minisign and signify
        ("untrusted comment",),
        r"untrusted comment: [^\n]{0,80}secret key[^\n]{0,80}\n([A-Za-z0-9+/]{40,400}+={0,2})",
        kind=PRIVATE_KEY,
    ),
    *(  # prefixes that rarely occur in source code: Tor, wallets (BIP 32), Nostr, Asana
        Rule(("prv", "nsec1", "ed25519-v3:", "asana"), pattern, kind=PRIVATE_KEY)
        for pattern in (
            r"ED25519-V3:([A-Za-z0-9+/]{86}==)",
            r"prv(?<=[xyztuv]prv)([0-9A-Za-z]{80,112}+)(?!\w)",
            r"nsec1([02-9ac-hj-np-z]{58})(?!\w)",
            r"1/[0-9]{16}:([0-9a-f]{32})(?![0-9a-f])",
        )
    ),
)
