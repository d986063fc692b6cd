"""Passwords in command lines of known programs: in options, and after the name of a user, a file or a network."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from directory_indexer.secrets.rule_engine import (
    PASSWORD,
    SETTINGS_KINDS,
    SHELL_KINDS,
    TOKEN,
    Detector,
    FunctionRule,
    LazyPattern,
    Rule,
    SecretSpan,
    line_start,
)
from directory_indexer.secrets.value_classification import (
    is_certainly_password,
    is_non_secret_value,
    may_be_chosen_password,
    may_be_password,
    may_be_password_argument,
)


def _option_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the values of password options; each line is searched for programs once."""
    named_at: dict[str, int] = {}
    searched = 0
    for match in _OPTION.finditer(text):
        at = match.start()
        start = line_start(text, at, _MAX_COMMAND)
        for program in _PROGRAM.finditer(text, max(searched, start), at):
            named_at[str(program.lastgroup)] = program.start()
        searched = at
        if not named_at:
            continue
        values = (
            value
            for name, (_, letters, value) in _COMMANDS.items()
            if text[at + 1] in letters and named_at.get(name, -1) >= start
        )
        value = next(values, None)
        argument = value and value.match(text, at + 2)
        if argument and (
            may_be_password_argument(argument[1]) or _is_certain(text[start : argument.start(1)], argument[1])
        ):
            yield SecretSpan(*argument.span(1), PASSWORD)


def _login_option_spans(text: str) -> Iterator[SecretSpan]:
    """Yield the password in `--user name:…`, and in Windows commands for shares and accounts."""
    for match in chain(_USER_OPTION.finditer(text), _WINDOWS_SHARE.finditer(text)):
        is_login = "/user:" in match[0] or match[0].startswith("--")
        is_sure = is_login and not is_non_secret_value(match[1].rstrip(_CLOSING)) and not _IDS.search(match[0])
        if may_be_password_argument(match[1]) or is_sure:
            yield SecretSpan(*match.span(1), PASSWORD)


def _is_certain(before: str, value: str) -> bool:
    """Whether an argument is a password, whatever it looks like, because of the program and option before it."""
    return not is_non_secret_value(value.rstrip(_CLOSING)) and _PASSWORD_OPTION.search(before) is not None


_CLOSING: Final = "`.,;:)]"
_MAX_COMMAND: Final = 300
_OPTION: Final = LazyPattern(r"-(?<= -)(?=[upaPUwbk][ '\"=]?[^\s-])")
_ARGUMENT: Final = LazyPattern(r"[ =]?[\"']?([^\s\"'|;&<>]{2,200}+)")
_ATTACHED: Final = LazyPattern(r"[\"']?([^\s\"'|;&<>]{2,200}+)")
_AFTER_USER: Final = LazyPattern(r"[ =]?[\"']?[^\s:%\"']{1,128}+[:%]([^\s\"'|;&<>]{2,200}+)")
_AFTER_COMMA: Final = LazyPattern(r"[ =]?[\"']?[^\s,\"']{1,128}+,([^\s\"'|;&<>]{4,200}+)")
_COMMANDS: Final = {
    "mysql": (r"(?:mysql|mariadb)\w{0,10}", "p", _ATTACHED),
    "curl": ("curl|https?|xh|httpie", "ua", _AFTER_USER),
    "lftp": ("lftp", "u", _AFTER_COMMA),
    "smb": ("smbclient|smbmap|rpcclient|net|mount", "U", _AFTER_USER),
    "docker": (
        (
            r"sshpass|docker|podman|helm|az|mongo\w{0,8}|twine|oc|skopeo|nmcli|7z|zip|unzip|rar|cqlsh|sqlcmd|bcp|osql"
            r"|mosquitto_\w{3}|psexec\w{0,7}|ipmitool|wbadmin|vncviewer|rdesktop|ncftp\w{0,4}|jarsigner"
        ),
        "pPub",
        _ARGUMENT,
    ),
    "openssl": ("openssl", "kp", _ARGUMENT),
    "redis": (r"redis-cli|ldap\w{3,8}|keytool|rabbitmqadmin", "awp", _ARGUMENT),
}
"""Programs, the letters of options that take a password, and the form of the argument."""
_PROGRAM: Final = LazyPattern(
    rf"\b(?:{'|'.join(f'(?P<{name}>{programs})' for name, (programs, _, _) in _COMMANDS.items())})\b"
)
_REST: Final = r"[ ](?:[^|;&\n]{0,200}[ ])?"
_PASSWORD_OPTION: Final = LazyPattern(
    rf"\b(?:sshpass[ ]-p[ ]?|(?:mysql|mariadb|7z|rar)\w{{0,10}}{_REST}-p|(?:mongo\w{{0,8}}|cqlsh){_REST}-p[ ]?"
    rf"|(?:zip|unzip|sqlcmd|bcp|osql|mosquitto_\w{{3}}|ipmitool){_REST}-P[ ]?"
    rf"|ldap\w{{3,8}}{_REST}-w[ ]?|redis-cli{_REST}-a[ ]?|(?:curl|https?|xh){_REST}-[ua][ =]?[\"']?[^\s:\"']{{1,128}}:"
    rf"|(?:docker|podman|nerdctl|helm|az|oc|skopeo|oras){_REST}login{_REST}-p[ ]?)[\"']?\Z"
)
"""Programs and options that only a password follows."""
_IDS: Final = LazyPattern(r"[ =\"']\d{1,9}:\d{1,9}\Z")
_USER_OPTION: Final = LazyPattern(r"--(?:proxy-)?user[ =][\"']?[^\s:\"']{1,128}+:([^\s\"'|;&<>]{2,200}+)")
_WINDOWS_SHARE: Final = LazyPattern(
    r"net (?:use|user)[ ](?:[A-Za-z*]:[ ])?\S{1,128}+[ ](?:/user:\S{1,128}+[ ])?[\"']?([^\s\"'/][^\s\"']{1,128}+)"
)

_WORD: Final = r"(?:\"[^\"\n]{1,80}+\"|'[^'\n]{1,80}+'|[^\s\"'-][^\s\"']{0,80}+)"
_OPTIONS: Final = r"(?:[ ]-{1,2}[\w=./-]{1,40}+){0,6}?"
_COMMAND_LITERALS: Final = (
    *"htpasswd mosquitto_passwd rabbitmqctl wpa_passphrase mysqladmin setairportnetwork obscure".split(),
    *("reset-admin-password", "wifi connect", "net user"),
)
COMMAND_RULES: Final[tuple[Detector, ...]] = (
    FunctionRule((" -u", " -p", " -a", " -w", " -b", " -k"), _option_spans, kinds=None),
    FunctionRule(("-user", "net use"), _login_option_spans),
    Rule(  # plain text that PowerShell converts to a secure string
        ("convertto-",),
        r"ConvertTo-[Ss]ecure[Ss]tring\s{1,8}(?:-String\s{1,8})?[\"']([^\"'\n]{1,200}+)[\"']",
        may_be_chosen_password,
    ),
    Rule(  # passwords piped to a program's standard input
        ("-stdin", "sudo -s"),
        r"echo[ ](?:-n[ ])?[\"']?([^\s\"'|$]{2,200}+)[\"']?[ ]?\|[^|\n]{0,200}(?:-stdin|sudo[ ]-S|passwd)",
        may_be_chosen_password,
    ),
    Rule(  # passwords set for accounts: `echo user:… | chpasswd`, `chpasswd <<< user:…`, also in code of any language
        ("chpasswd",),
        r"(?m)(?:^|(?<=[\s\"']))[\w.-]{1,40}+:([^\s\"'|:]{4,128}+)[\"']?"
        r"\s{0,4}\|\s{0,4}(?:sudo\s{1,4})?(?:/usr)?(?:/sbin/)?chpasswd",
        may_be_password,
        kinds=None,
    ),
    Rule(
        ("chpasswd",),
        r"chpasswd[ ]{0,2}<<<[ ]{0,2}[\"']?[\w.-]{1,40}+:([^\s\"'|:]{4,128}+)",
        may_be_password,
        kinds=None,
    ),
    Rule(
        ("chpasswd",),
        r"(?m)^[ \t]{0,20}[\w.-]{1,40}+:([^\s\"'|:]{4,128}+)",
        may_be_password,
        kinds=None,
        within=r"chpasswd[ ]{0,2}<<-?[ ]?[\"']?(\w{1,20})[\"']?\r?\n((?:(?!\s{0,20}\1)[^\n]{0,200}+\n){1,50})",
    ),
    Rule(  # .netrc
        ("machine ",),
        r"(?:machine[ \t]{1,8}\S{1,200}|default)\s{1,20}login[ \t]{1,8}\S{1,128}\s{1,20}"
        r"(?:account[ \t]\S{1,80}\s{1,20})?password[ \t]{1,8}[\"']?(\S{1,200})",
        may_be_chosen_password,
    ),
    Rule(  # .pgpass
        (":54", ":6432:", ":*:"),
        r":(?:54\d\d|6432|\*):[^:\s]{1,64}+:[^:\s]{1,64}+:([^\s:/]{1,200}+)(?=\s|\Z)",
        may_be_chosen_password,
    ),
    Rule(  # a directive or long option: `requirepass …`, `--password …`
        ("requirepass ", "masterauth ", "password ", "passwd ", "pass ", "passphrase "),
        r"(?:(?<![^\n])[ \t]{0,8}"
        r"(?:requirepass|masterauth|(?:ENV|setx|setenv|set[ ]-[gUx]{1,3})[ ]\w{0,40}(?:PASSWORD|PASSWD))"
        r"|[ ]--?(?:password|passwd|pass|passphrase|storepass|keypass|srcstorepass|deststorepass))"
        r"[ ]{1,4}[\"']?((?![-$])[^\s\"'|;&<>]{2,128}+)[\"']?"
        r"(?=[ \t]{0,4}(?:[\n\r\\|;&)\"'`]|\Z|-|[^\s]{0,80}[:/.=@$_-]))",
        may_be_chosen_password,
        kinds=SHELL_KINDS | SETTINGS_KINDS,
    ),
    Rule(  # `htpasswd -b FILE USER PASSWORD`
        _COMMAND_LITERALS,
        r"(?:"
        rf"(?:htpasswd|mosquitto_passwd){_OPTIONS}[ ]-\w{{0,4}}b\w{{0,4}}(?:[ ]{_WORD}){{2}}"
        rf"|htpasswd{_OPTIONS}[ ]-\w{{0,4}}n\w{{0,4}}[ ]{_WORD}"
        rf"|rabbitmqctl[ ](?:add_user|change_password|authenticate_user)[ ]{_WORD}"
        rf"|wpa_passphrase[ ]{_WORD}|mysqladmin(?:[ ]\S{{1,60}}+){{0,8}}?[ ]password|net[ ]user[ ]{_WORD}"
        rf"|-setairportnetwork[ ]\w{{2,8}}[ ]{_WORD}|wifi[ ]connect[ ]{_WORD}[ ]password"
        rf"|rclone[ ]obscure|reset-admin-password"
        r")[ ]{1,4}[\"']?([^\s\"'|;&<>$-][^\s\"'|;&<>]{1,128}+)",
        may_be_chosen_password,
    ),
    Rule(
        (" /pass", " /rp ", " /pwd"),
        r"[ ]/(?:pass(?:word)?[: ]|pwd[: ]|rp[ ])[\"']?([^\s\"'|;&<>$/][^\s\"'|;&<>]{3,128}+)",
        may_be_password_argument,
    ),
    Rule(  # secret stores: `secret set name=…`
        ("secret set", "secrets set", "config:set", "kv put"),
        r"(?:secrets?[ ]set|config:set|kv[ ]put)(?:[ ][^\s=]{1,80}+){0,4}[ ][\w.-]{1,60}=[\"']?([^\s\"'|;&<>]{6,200}+)",
        is_certainly_password,
        TOKEN,
    ),
    Rule(("freerdp",), r"/p:[\"']?([^\s\"']{4,128}+)", may_be_password),
)
