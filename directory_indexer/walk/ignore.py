"""Rules that exclude files from the index, and files that are secrets by their names.

The rules in force in a directory, by precedence. The first source with a matching rule decides; within a source the
last matching line does, and of ignore files in nested directories the innermost comes first:

1. secrets by name, unless they are requested; nothing re-includes them
2. `.git`, always
3. `.dirindexignore`: its `!` re-includes what any rule below excludes
4. `ignore_patterns` of the configuration; `!` likewise
5. hidden names, which start with a dot, unless they are requested
6. `.gitignore`
7. `.git/info/exclude`
8. the user's own ignore file for all repositories

An excluded directory is not entered, so nothing in it can be re-included. Rules 6 and 7 end at the border of a nested
git repository, as they do for git. Outside any repository, `.gitignore` applies from the indexed directory on. Whether
git tracks a file is not considered.

Matching is case-sensitive, except for secrets, and for the ignore files of a repository that has `core.ignoreCase` set,
as those on Windows and macOS have.

A secret that cannot be harmless, such as a key store, is never read unless that is requested. If a note may have the
same name, or the name is shared, such as that of a public certificate, the content decides when the file is parsed.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cache, cached_property
from typing import Final, NamedTuple

from directory_indexer.walk import WalkPolicy
from directory_indexer.walk.gitignore import byte_text, make_name_finder, parse_patterns, union_of_hints
from directory_indexer.walk.rule_layer import Layer, layer_of

_COPY_SUFFIXES: Final = r"(?i)(?:[-~]|[-._](?:bak|backup|old|orig)[0-9]*|\.saved?|\.swp|[-.][0-9][0-9._T-]*)\Z"
_TEXT_SUFFIXES: Final = (
    "md rst adoc txt html c h cc cpp py pyi js mjs ts tsx d.ts go rs java rb php cs kt swift lua pl ex".split()
)
_ENCRYPTED_SUFFIXES: Final = "sops enc encrypted".split()
"""Suffixes of files with encrypted values; their other values are masked."""
_SAMPLE_SUFFIXES: Final = "example sample template tmpl tpl dist default defaults schema spec".split()

SECRET_NAMES: Final = {
    "private key": (
        *(
            f"id_{algorithm}{rest}"
            for algorithm in "rsa dsa ecdsa ed25519 ecdsa_sk ed25519_sk".split()
            for rest in ("", "_*", "-*")
        ),
        *("!id_*.*", "!id_*_[Hh][Oo][Ww][Tt][Oo]", "!id_*[-_]pub"),
        *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"),
        *("id_rsa.key", "id_rsa.pem", "id_rsa.ppk", "id_ed25519.key", "id_ed25519.ppk"),
        *("ssh_host_*_key", "*.ppk", "*.pk8", "*.pvk"),
        *("secring.gpg", "secring.pgp", "secring.skr", "secring.gpg.*", "secring.bak"),
    ),
    "key directory": (".ssh/", ".gnupg/", ".password-store/", "**/share/keyrings/", "**/Library/Keychains/"),
    "key store": ("*.p12", "*.pfx", "*.pkcs12", "*.jks", "*.jceks", "*.bcfks", "*.keystore", "*.bks", "*.uber"),
    "keyring": ("*.keyring", "*.keychain", "*.keychain-db", "*.kwl", "*.kwallet"),
    "password database": (
        *("*.kdbx", "*.psafe3", "*.1pux", "*.1pif", "*.enpassdb", "*.agilekeychain/", "*.opvault/"),
        *("Login Data", "Login Data For Account", "key3.db", "key4.db", "signons.sqlite"),
        *("**/etc/shadow", "**/etc/gshadow", "**/etc/security/opasswd"),
    ),
    "cloud credentials": (
        *("**/.aws/cli/cache/", "**/.aws/sso/cache/", "**/.azure/", "**/.oci/sessions/"),
        *("**/gcloud/credentials.db", "**/gcloud/access_tokens.db", "**/gcloud/legacy_credentials/"),
    ),
    "credential file": ("**/.subversion/auth/", "**/.config/op/", "**/.heroku/", "cookies.sqlite"),
}
"""Patterns in the language of gitignore, by kind. Those that end with a slash are for directories, the others for
files.
"""


class Precedence(IntEnum):
    """Sources of rules; the lowest number with a matching rule decides."""

    SECRET = 1
    GIT_DIRECTORY = 2
    DIRINDEXIGNORE = 3
    CONFIGURED = 4
    HIDDEN = 5
    GITIGNORE = 6
    GIT_EXCLUDE = 7
    USER_IGNORE = 8


class Decision(NamedTuple):
    """Whether an entry is ignored, and the rule that decided."""

    is_ignored: bool
    rule: str
    precedence: Precedence


class Rules:
    """The rules in force in one directory."""

    def __init__(self, sources: Sequence[tuple[Precedence, Layer]], *, ignore_case: bool = False) -> None:
        self.ignore_case = ignore_case
        self._sources = sources

    def adding(self, precedence: Precedence, layer: Layer) -> Rules:
        """Return rules with a source that starts in this directory, before outer ones of the same precedence."""
        sources = sorted([(precedence, layer), *self._sources], key=lambda source: source[0])
        return Rules(sources, ignore_case=self.ignore_case)

    def at_repository(self, *, ignore_case: bool) -> Rules:
        """Return rules without those that git takes from outside a repository, which starts in this directory."""
        sources = [source for source in self._sources if source[0] < Precedence.GITIGNORE]
        return Rules(sources, ignore_case=ignore_case)

    def enter(self, directory_name: str) -> Rules:
        """Return the rules in a sub-directory, before its own are added."""
        [rules] = self.enter_each([directory_name])
        return rules

    def enter_each(self, directory_names: Sequence[str]) -> list[Rules]:
        """Return the rules in each of some sub-directories; most share them."""
        leading_on = self._leads_to_rule_below(directory_names)
        return [self._entered(name) if name in leading_on else self._outside_of_anchors for name in directory_names]

    def decide(self, entry_name: str, *, is_directory: bool) -> Decision | None:
        """Return the decision about an entry, or None if no rule matches."""
        name = byte_text(entry_name)
        for precedence, layer in self._sources:
            rule = layer.deciding_rule(name, is_directory=is_directory)
            if precedence == Precedence.SECRET and (rule is None or rule.is_negated):
                rule = layer.deciding_rule(byte_text(strip_copy_suffixes(entry_name)), is_directory=is_directory)
            if rule is None:
                continue
            if precedence != Precedence.SECRET:
                return Decision(not rule.is_negated, rule.label, precedence)
            if not rule.is_negated and rule.only_directories == is_directory:
                return Decision(is_ignored=True, rule=rule.label, precedence=precedence)
        return None

    def decide_path(self, names: Sequence[str], *, is_directory: bool) -> Decision | None:
        """Return the decision that excludes a nested entry, given the names on the way, or a directory around it."""
        rules = self
        for name in names[:-1]:
            decision = rules.decide(name, is_directory=True)
            if decision and decision.is_ignored:
                return decision
            rules = rules.enter(name)
        return rules.decide(names[-1], is_directory=is_directory) if names else None

    @cached_property
    def concerned(self) -> Callable[[Sequence[str]], set[str]]:
        """A fast search for entries that a rule may exclude; all others are included."""
        find = make_name_finder(union_of_hints(layer.hints for _, layer in self._sources))
        if not self._sources or self._sources[0][0] != Precedence.SECRET:
            return find

        def find_with_copies(names: Sequence[str]) -> set[str]:
            if not _copy_at_line_end().search("\n".join(names)):
                return find(names)
            originals = {name: original for name in names if (original := strip_copy_suffixes(name)) != name}
            matches = find([*originals.values()]) if originals else set()
            return find(names) | {name for name, original in originals.items() if original in matches}

        return find_with_copies

    @cached_property
    def _leads_to_rule_below(self) -> Callable[[Sequence[str]], set[str]]:
        return make_name_finder(union_of_hints(layer.descent_hints for _, layer in self._sources))

    def _entered(self, directory_name: str) -> Rules:
        name = byte_text(directory_name)
        return self._with(layer.enter(name) for _, layer in self._sources)

    @cached_property
    def _outside_of_anchors(self) -> Rules:
        return self._with(layer.elsewhere for _, layer in self._sources)

    def _with(self, layers: Iterable[Layer]) -> Rules:
        sources = [(precedence, layer) for (precedence, _), layer in zip(self._sources, layers, strict=True)]
        return self if sources == self._sources else Rules(sources, ignore_case=self.ignore_case)


@cache
def built_in_rules(*, include_secrets: bool, include_hidden: bool) -> Rules:
    """Return the rules that need no file, at the root of the file system."""
    layers = [(Precedence.GIT_DIRECTORY, _layer((".git",), source="git"))]
    if not include_secrets:
        layers.append((Precedence.SECRET, _secret_layer(SECRET_NAMES)))
    if not include_hidden:
        layers.append((Precedence.HIDDEN, _layer((".*",), source="hidden")))
    return Rules(sorted(layers, key=lambda source: source[0]))


def secret_kind_of_path(path: str) -> str | None:
    """Return the kind of secret that a path suggests, whatever the file holds."""
    names = [name for name in path.split(os.sep) if name]
    decision = built_in_rules(include_secrets=False, include_hidden=True).decide_path(names, is_directory=False)
    return secret_kind_of_decision(decision) or likely_secret_kind(path)


def likely_secret_kind(path: str) -> str | None:
    """Return the kind of secret that a path suggests, unless the content is harmless."""
    name = os.path.basename(path).lower()
    if not any(map(_likely_name().match, (name, strip_copy_suffixes(name)))):
        return None
    names = [name for name in path.split(os.sep) if name]
    decision = _likely_rules().decide_path(names, is_directory=False)
    return secret_kind_of_decision(decision)


def secret_kind_of_decision(decision: Decision | None) -> str | None:
    """Return the kind of secret by whose name a file is excluded; None if no rule of secrets does."""
    if decision is None or not decision.is_ignored or decision.precedence != Precedence.SECRET:
        return None
    return decision.rule.removeprefix("secret: ")


def rules_for_members(policy: WalkPolicy) -> Rules:
    """Return the rules for members of a container: those that need no file of a directory."""
    rules = built_in_rules(include_secrets=policy.include_secrets, include_hidden=policy.include_hidden)
    if not policy.ignore_patterns:
        return rules
    return rules.adding(Precedence.CONFIGURED, _layer(policy.ignore_patterns, source="ignore_patterns"))


def strip_copy_suffixes(name: str) -> str:
    """Return the name of a file without the suffixes of copies: bak, old, save, a date."""
    return re.sub(_COPY_SUFFIXES, "", name)


@cache
def _copy_at_line_end() -> re.Pattern[str]:
    """Return a pattern of the suffixes of copies, for many names in one pass: most directories have none."""
    return re.compile(_COPY_SUFFIXES.replace(r"\Z", "$"), re.MULTILINE)


@cache
def _likely_name() -> re.Pattern[str]:
    """Return a pattern of all such names without directories: evaluating the rules takes a thousand times as long."""
    names = {pattern.rpartition("/")[2].lower() for patterns in LIKELY_NAMES.values() for pattern in patterns}
    return re.compile("|".join(fnmatch.translate(name) for name in sorted(names) if not name.startswith("!")))


@cache
def _likely_rules() -> Rules:
    return Rules([(Precedence.SECRET, _secret_layer(LIKELY_NAMES))])


def _layer(patterns: Iterable[str], *, source: str) -> Layer:
    return layer_of(parse_patterns(patterns, source=source).rules)


def _secret_layer(names: Mapping[str, Sequence[str]]) -> Layer:
    rules = [
        rule._replace(label=f"secret: {kind}")
        for kind, patterns in names.items()
        for rule in parse_patterns(patterns, source=kind).rules
    ]
    return layer_of(rules, ignore_case=True)


def _with_and_without_dot(*names: str) -> tuple[str, ...]:
    """Return names that begin with a dot at home, and without one in a backup or a dotfiles repository."""
    return (*names, *(f".{name}" for name in names))


LIKELY_NAMES: Final = {
    "environment file": (
        *".env .env.* .env-* .env_* .env~ .envrc .envrc.* *.env *.env.bak *.env.old *.env~".split(),
        *(
            f"env.{stage}"
            for stage in "production prod staging stage development dev local live secret secrets".split()
        ),
        *(f"!.env*.{kind}" for kind in (*_SAMPLE_SUFFIXES, *_TEXT_SUFFIXES)),
        *(f"!.env*.{kind}.*" for kind in _SAMPLE_SUFFIXES),
        *(name for kind in _ENCRYPTED_SUFFIXES for name in (f"!.env*.{kind}", f"!*.{kind}.env")),
        *(f"!.env{mark}{kind}*" for kind in _SAMPLE_SUFFIXES for mark in "-_."),
        *(f"!*{kind}.env" for kind in _SAMPLE_SUFFIXES),
    ),
    "password database": (
        *("logins.json", "logins-backup.json", ".htpasswd", "htpasswd", ".htdigest", "htdigest"),
        *("shadow-", "gshadow-", "shadow.bak", "gshadow.bak", "master.passwd"),
    ),
    "cluster credentials": (
        *("kubeconfig", "kubeconfig.yaml", "kubeconfig.yml", "**/.kube/config", "**/kube/config"),
        *("*.kubeconfig", "*-kubeconfig.yaml", "*-kubeconfig.yml", "*kubeconfig*.conf"),
    ),
    "cloud credentials": (
        *("**/.aws/credentials", "**/aws/credentials"),
        "**/.oci/config",
        *("application_default_credentials.json", "client_secret_*.json", "client_secret.json", "client_secrets.json"),
        *"*firebase-adminsdk*.json *accessKeys.csv rootkey.csv *_credentials.csv credentials.csv".split(),
        *"new_user_credentials.csv".split(),
        *"**/doctl/config.yaml **/hcloud/cli.toml **/linode-cli **/.fly/config.yml **/scw/config.yaml".split(),
        *"**/bluemix/config.json".split(),
        *_with_and_without_dot("boto", "s3cfg", "passwd-s3fs", "databrickscfg", "terraformrc"),
        *"rclone.conf *.tfstate *.tfstate.backup *.tfstate.*.backup *.tfstate.bak credentials.tfrc.json".split(),
        *"terraform.rc".split(),
    ),
    "credential file": (
        *_with_and_without_dot(
            "netrc", "pgpass", "smbcredentials", "mylogin.cnf", "git-credentials", "vault-token", "pypirc"
        ),
        *"_netrc pgpass.conf chap-secrets sasl_passwd erlang.cookie .erlang.cookie pap-secrets ipsec.secrets".split(),
        *".my.cnf .npmrc .credentials .credentials.json".split(),
        *("**/.cargo/credentials", "**/.cargo/credentials.toml", "**/.gem/credentials", "**/.bundle/config"),
        *("**/.m2/settings.xml", "**/.m2/settings-security.xml", "**/.gradle/gradle.properties"),
        *"**/.composer/auth.json **/.config/composer/auth.json **/.config/gh/hosts.yml **/gh/hosts.yml".split(),
        *"**/.config/hub".split(),
        *("**/.codex/auth.json", "**/.claude/.credentials.json", "**/glab-cli/config.yml"),
        *(".dockercfg", ".dockerconfigjson", "**/.docker/config.json", "**/huggingface/token", "kaggle.json"),
        *"**/.netlify/config.json **/.config/ngrok/ngrok.yml **/.ngrok2/ngrok.yml".split(),
        *(".vault_pass*", ".vault-pass*", "vault_pass", "vault_pass.txt", "vault-password.txt", ".vault_password"),
        *("*.remmina", "*.rdp.enc", "*.ovpn", "**/etc/wireguard/*.conf", "*.nmconnection", "wpa_supplicant.conf"),
        *("Cookies", "keepass.ini"),
    ),
    "command history": (
        *(
            f".{shell}_history"
            for shell in (
                "bash zsh sh ash ksh python node_repl psql mysql sqlite rediscli redis irb pry mongo mongosh dbshell "
                "php scala julia R"
            ).split()
        ),
        *(
            f"{shell}_history{rest}"
            for shell in "bash zsh fish psql mysql".split()
            for rest in ("", ".txt", ".bak", ".old")
        ),
        *".*_history.bak .history .zhistory .histfile .zsh_history* .bash_history* .lesshst .viminfo _viminfo".split(),
        *".rediscli_history .python_history .node_repl_history .dbshell ConsoleHost_history.txt .mycli-history".split(),
    ),
}
"""Patterns of files with secrets, unless their content is harmless."""
