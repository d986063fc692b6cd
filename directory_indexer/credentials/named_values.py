"""Values of variables, keys and options whose name indicates a secret: `password = "…"`, `"apiKey": "…"`, `--token …`.

The value must also look like a secret. How much so depends on the context: in settings a value is literal; in source
code an expression is no value, and in prose most words after "password" are ordinary words.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.names import Naming, naming_of
from directory_indexer.credentials.settings import (
    LINE_KINDS,
    PROSE_KINDS,
    SETTINGS_KINDS,
    is_line_of_settings,
    is_plain_secret,
    is_translation,
)
from directory_indexer.credentials.spans import SecretSpan, line_start
from directory_indexer.credentials.strength import is_password, is_phrase, is_placeholder, is_strong


def named_spans(text: str, lowered: str, marks: frozenset[str], kind: str, name: str = "") -> Iterator[SecretSpan]:
    """Yield the values after names of secrets; `lowered` is the text in lower case, `name` that of its file."""
    is_translated = is_translation(text, name)
    if kind == "text" and _XML.match(text):
        kind = "xml"  # configuration files of .NET
    for stem in _stems(marks, kind):
        end = masked_end = n_nested = 0
        for at in stem.finditer(lowered):
            # A hostile text can nest names in values without end.
            n_nested = n_nested + 1 if at.start() < end else 0
            if at.start() < masked_end or n_nested > _MAX_NESTED or not (match := _VALUE.match(text, at.start())):
                continue
            end = max(end, match.end())
            if span := _span(text, match, kind, is_translated=is_translated):
                masked_end = span.end
                yield span


def _stems(marks: frozenset[str], kind: str) -> Iterator[LazyPattern]:
    """Yield the name patterns whose marks are in a text, including other languages; code is mostly in English."""
    yield from (stem for words, stem in _STEMS.items() if not marks.isdisjoint(words))
    if not kind or kind in PROSE_KINDS or kind in SETTINGS_KINDS:
        yield from (stem for word, stem in _FOREIGN_STEMS.items() if word in marks)


def _span(text: str, match: re.Match[str], kind: str, *, is_translated: bool) -> SecretSpan | None:
    name_start = _name_start(text, match.start())
    naming = naming_of(text[name_start : match.end("name")])
    is_path = text[name_start - 1 : name_start] == "/" and kind != "ini"
    if naming is None or is_path or not _is_name_alone(text, name_start, match, kind):
        return None
    group = str(match.lastgroup)
    start, end = match.span(group)
    if group == "odd" and not is_line_of_settings(text, name_start, kind):
        return None
    if group == "bare":
        end = _end_of_bare(text, name_start, match, kind)
        end -= 2 if text.startswith("]]>", end - 2) else 0
    value = text[start : min(end, start + _MAX_JUDGED)]
    if not (
        _is_basic(text[max(start - 7, 0) : start], value)
        or _is_secret(match, naming, value, kind)
        or (not is_translated and is_plain_secret(text, name_start, match, end, kind))
    ):
        return None
    if end - start >= _MAX_BARE and (rest := _LONG_REST.match(text, end)):
        end = rest.end()
    return SecretSpan(start, end, naming.value)


def _name_start(text: str, at: int) -> int:
    before = text[max(at - 2, 0) : at]
    if before.isspace() or before[-1:] in _DELIMITERS:  # most names start here, and the search is slow
        return at
    match = _NAME_BEFORE.search(text, max(at - _MAX_BEFORE, 0), at)
    return match.start() if match else at


def _is_name_alone(text: str, name_start: int, match: re.Match[str], kind: str) -> bool:
    """Whether a name separated from its value by blanks only is an option or directive, not a word."""
    if _LOOKUP.search(text, max(name_start - _MAX_LOOKUP, 0), name_start):
        return False
    if match["blank"] is None:
        if match["tag"] is not None and not _TAG_END.match(text, match.end() - 2):
            return False
        return match["said"] is None or kind in PROSE_KINDS or "|" not in match["said"]
    before = text[line_start(text, name_start, _MAX_LINE) : name_start]
    if _DIRECTIVE.search(before):
        return True
    is_verb = match["name"].lower() == "pass"
    return not is_verb and match.lastgroup != "bare" and _BEFORE_QUOTED.fullmatch(match["name"]) is not None


def _end_of_bare(text: str, name_start: int, match: re.Match[str], kind: str) -> int:
    """Return the end of the line if the line is a name and its value, else the end of the word."""
    start, end = match.span("bare")
    if kind in PROSE_KINDS or not is_line_of_settings(text, name_start, kind):
        return end
    line = _REST.match(text, start)
    return line.end() if line and line.end() > end else end


def _is_secret(match: re.Match[str], naming: Naming, value: str, kind: str) -> bool:
    """Whether a value is a secret, given its kind of name and its context."""
    is_prose, is_settings = kind in PROSE_KINDS, kind in SETTINGS_KINDS or kind in LINE_KINDS
    is_loose = match["call"] is not None or match["said"] is not None or (match["blank"] is not None and is_prose)
    is_bare = match.lastgroup == "bare" and not is_settings
    if is_bare and not is_prose and not is_loose and not _is_in_connection_string(match):
        return is_strong(value) and _EXPRESSION.search(value) is None
    if (is_bare and not _is_in_connection_string(match)) or is_loose:
        value = value.rstrip(".,;:!?)")
    if naming == Naming.KEY:
        return _GENERATED_KEY.fullmatch(value) is not None and is_strong(value)
    if is_strong(value) or (len(value) >= _MIN_BASE32 and _BASE32.fullmatch(value)):
        return True
    if naming == Naming.TOKEN:
        return not is_loose and _is_mixed(value)
    if _is_words_or_digits(value, is_certain=is_settings or not is_bare) or (is_settings and is_phrase(value)):
        return True
    return is_password(value) and (not is_loose or _HARD_PASSWORD.match(value) is not None)


def _is_words_or_digits(value: str, *, is_certain: bool) -> bool:
    """Whether a value is a numeric network key or a generated pass phrase."""
    pattern = _WORDS_OR_DIGITS if is_certain else _HYPHENATED
    return pattern.fullmatch(value) is not None and not is_placeholder(value)


def _is_in_connection_string(match: re.Match[str]) -> bool:
    """Whether a value is surrounded by other settings: `Server=…;Password=…;Timeout=…`."""
    return match.string[match.end() : match.end() + 1] in _SEPARATORS and match.string[match.start() - 1] == ";"


def _is_mixed(value: str) -> bool:
    """Whether a hand-made key mixes letters, digits and signs."""
    return (
        len(value) >= _MIN_MIXED
        and " " not in value
        and _HAS_DIGIT_AND_LETTER.match(value) is not None
        and _MIXED.search(value) is not None
        and not is_placeholder(value)
        and _PATH.match(value) is None
    )


def _is_basic(before: str, value: str) -> bool:
    """Whether a value is a base64 user and password, as in HTTP basic authentication and container registries."""
    if _OTHER_SCHEME.search(before) or not _BASE64.fullmatch(value):
        return False
    try:
        text = base64.b64decode(value, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return False
    user, _, password = text.partition(":")
    return bool(user) and text.isprintable() and bool(password) and not is_placeholder(password)


_XML: Final = LazyPattern(r"\ufeff?\s{0,8}<(?:\?xml\b|[\w:]{1,40}[ >])")
_SEPARATORS: Final = frozenset(";\"'")
_HYPHENATED: Final = LazyPattern(r"[a-z]{3,10}(?:-[a-z]{3,10}){3,7}")
_WORDS_OR_DIGITS: Final = LazyPattern(rf"\d{{8,63}}|[a-z]{{4}}(?: [a-z]{{4}}){{3}}|{_HYPHENATED.pattern}")
_MIN_BASE32: Final = 16
_BASE32: Final = LazyPattern(r"(?=.{0,40}[B-DF-HJ-NP-TV-Z]{3})[A-Z2-7]{16,128}={0,6}")
_GENERATED_KEY: Final = LazyPattern(r"(?!AAAA)(?:[0-9a-z]{32,128}|[0-9A-Za-z+/]{42,128}={1,2})")
_MAX_BEFORE: Final = 48
_MAX_LINE: Final = 200
_MAX_NESTED: Final = 2
_MAX_JUDGED: Final = 256
_MAX_BARE: Final = 512
_LONG_REST: Final = LazyPattern(r"[\w+/=.-]{1,65536}+")
_MIN_MIXED: Final = 10

_DELIMITERS: Final = frozenset("\"'`([{<>$@,;:=/\\\n\t&|!*+?#%")
_NAME_BEFORE: Final = LazyPattern(
    r"(?:(?:api|access|secret|auth|private|account|master|encryption|signing|client|app|licen[cs]e|unseal) ){0,2}"
    r"(?:[\w.][\w.-]*)?\Z",  # the dashes of an option are not part of its name
    re.IGNORECASE,
)
_DIRECTIVE: Final = LazyPattern(
    r"(?:^|[\s\"'`;&|(])(?:--?|(?:env|arg|#[ \t]{0,4}define|setenv|setx|export|set(?:[ \t]+-[a-zA-Z]{1,3})?|"
    r"(?:configure|config)(?:[ \t]+(?:set|--global))?|"
    r"(?:proxy_set|add|set|request)_?header(?:[ \t]+set)?|login[ \t]+\S{1,64}|"
    r"(?:user(?:name)?|neighbor)[ \t]+\S{1,64}|privilege[ \t]+\d{1,2}|account)[ \t]+)$|"
    r"^[ \t]*(?:(?:#|//|;)[ \t]{1,4}|\$\{)?$",
    re.IGNORECASE,
)
_MAX_LOOKUP: Final = 40
_LOOKUP: Final = LazyPattern(r"(?:lookup|query|\bq)\([ ]?[\"'](?:[\w.]{1,20}\.)?\Z")
"""Calls of Ansible plugins by name."""
_TAG_END: Final = LazyPattern(r"..?(?:</|]]>)|]]>", re.DOTALL)
_BEFORE_QUOTED: Final = LazyPattern(r"(?i)pass(?:word|wort|phrase)?|kennwort|contraseña")
_EXPRESSION: Final = LazyPattern(r"[(\[{]|\w\.[A-Za-z_]|->|::|^\$|^[A-Za-z_]+\d?$")
_HARD_PASSWORD: Final = LazyPattern(
    r"(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])(?!\d{1,4}[a-z]{1,5}$)(?![a-z]{1,12}-?\d{1,4}$)|.{0,40}[!@#$%^&*?]."
)
_HAS_DIGIT_AND_LETTER: Final = LazyPattern(r"(?=\D*\d)(?=[^a-zA-Z]*[a-zA-Z])")
_MIXED: Final = LazyPattern(r"\A(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])|[!@#$%^&*+=?~]|\d[a-z]{1,8}\d")
_PATH: Final = LazyPattern(
    r"(?:[\w-]+\.){2,}|\.{0,2}/|[A-Za-z]:\\|\w+:/|[\w.-]+/[\w.-]+/|[a-z]+(?:[-_.][a-z]+)*[-_.]?v?\d{1,2}$|\w+\(|\w+\["
)
_BASE64: Final = LazyPattern(r"[A-Za-z0-9+/]{8,2000}={0,2}")
_OTHER_SCHEME: Final = LazyPattern(r"(?i)bearer |token |bot ")
_REST: Final = LazyPattern(r"[^\s\"'][^\s]{0,1024}+(?=[ \t]*(?:$|[ \t][#;]))", re.MULTILINE)
_VALUE_MAY_FOLLOW: Final = r"""(?=
    [\w.-]{0,48}+ (?:[ ](?:key|token|value|secret|password|\d{1,2})(?![\w])){0,2}+
    (?:
        \\{0,3}["'`\])*]{0,4}+ (?:\[\d{0,6}\])?
        (?:[ \t]?:?[ \t]{0,2}[a-z_&'][\w.<>\[\]|?' ]{0,40}?(?=[ \t]{0,4}=))? [ \t]{0,40}+ [=:,|!?+{]
      | ["']?>
      | </
      | " [ ]{1,4} \{
      | \([ \t]{0,8}["'`]
      | [ ]is[ ]
      | \t
      | \\{0,3}["']? \s{1,40} -?[ ]? \\{0,3}["']? (?:value|defaultvalue|content)
      | \\{0,3}["'], \s{0,40} \\{0,3}["'] value
      | [ ][\w:]{1,20}="
      | \}? [ \t]{1,40} (?:--plaintext[ ])? (?:["'`]|\S{0,64}?\d)
    ))"""
_STEMS: Final = {
    marks: LazyPattern(stem + _VALUE_MAY_FOLLOW, re.VERBOSE)
    for marks, stem in (
        (("token", "key", "psk"), r"k(?:(?<=tok)en|ey|(?<=psk))"),
        (("pass",), "pass"),
        (("pw",), "pw"),
        (("secret", "cred"), "cre(?:t|d)(?:(?<=secret)|(?<=cred))"),
        (("auth",), "auth"),
        (("salt",), "salt"),
        (("totp",), "totp"),
        (("pepper",), "pepper"),
        (("erlang",), "cookie(?<=erlangcookie)|cookie(?<=erlang.cookie)"),
        (("_pat",), r"_pat(?![a-z0-9_])"),
    )
}
"""Lower-case stems of names; the engine searches for the letters before the first bracket."""
_FOREIGN_STEMS: Final = {
    word: LazyPattern(word + _VALUE_MAY_FOLLOW, re.VERBOSE)
    for word in (
        "kennwort contrase пароль pin psw mdp clave senha parol şifre sifre heslo geslo hasło haslo wachtwoord "
        "lösenord adgangskode kodeord salasana jelszó lozinka paßwort slaptažod"
    ).split()
}
NAME_MARKS: Final = (*chain.from_iterable(_STEMS), *_FOREIGN_STEMS)

_VALUE: Final = LazyPattern(
    r"""
    (?P<name>[\w.-]{1,48}+)
    (?:
        (?:[ ](?:key|token|value|secret|password|\d{1,2})(?![\w])){0,2}+ \*{0,2}  # API key: …, **Password**: …
        (?:\\{0,3}["'`])?+ [\])]{0,2}+ (?:\[\d{0,6}\])?+
        # password: str = …, but not <password type="text">…
        (?!(?:[ ][\w:]{1,20}="[^"<>]{0,60}+"){1,3}+>)
        (?:[ \t]?:?[ \t]{0,2}(?:[A-Za-z_]|&'?)(?:[\w.<>\[\]|? ]|&'?){0,40}?(?=[ \t]{1,4}=[^=]|=["'`]))?+
        [ \t]{0,40}+ (?:=>|:=|\?=|\+=|[!=]==?|=|::?) \*{0,2}+
        (?:\s{0,2}[|>][+-]?\d?(?=[ \t]{0,4}\n))?+                                   # block of YAML
        (?:[ \t]*+\\?\n(?![ \t]{0,40}[\w.-]{1,60}[ \t]?[=:][^\s=]))?+ [ \t]{0,40}+
      | (?P<call>\([ \t]{0,8}+(?=["'`]))                                           # withPassword("…")
      | \\{0,3}["']?\s{0,20}+,?\s{0,40}+-?[ ]?\\{0,3}["']?(?i:value|defaultvalue|content)   # name: PASSWORD, value: …
        \\{0,3}["']?\s{0,8}+[=:]\s{0,8}+
      | (?:\\{0,3}["'`])[ \t]{0,8}+,\s{0,40}+                                         # define('PASSWORD', '…')
        (?:(?:\w{1,20}=[^\s,()"']{1,40}+,\s{0,40}+){0,4}+default=)?+(?=\\{0,3}["'`]) # option("--password", default="…")
      | ["']\)[ ]?\{[ ]{0,4}(?=["'])                                               # ENV.fetch("PASSWORD") { "…" }
      | "[ ]{1,4}\{(?:\s{0,40}(?:type|description|sensitive)[ \t]{0,20}=[^\n{}]{0,200}+\n){0,4}+  # variable "x" {
        \s{0,40}default[ \t]{0,20}=[ \t]{0,8}                                        # default = …
      | (?:["']?+>(?=\s{0,40}<)|</(?i:key|name|td|th|dt|code|strong|b|span)>\s{0,40}+){0,8}+
        (?:\s{0,40}<(?i:string|value|td|dd|code|span)\b[^<>]{0,80}+>){1,4}
      | (?P<tag>["']?+(?:[ ][\w:]{1,20}="[^"<>]{0,60}+"){0,3}+>)\s{0,40}+(?:<!\[CDATA\[)?+          # <password>…
      | (?P<said>[ ]is[ ]|[ ]?\|[ ]?|\t)
      | (?P<blank>\}?+[ \t]{1,40}+(?:--plaintext[ \t]{1,8}+)?+)
    )
    (?:
        [A-Za-z]{0,2}@?(?P<quote>\"{3}|'{3}|\\{1,3}["']|["'`])
        (?:(?i:bearer|basic|token|bot|apikey|sso-key|ssws|splunk|genie-?key)[ ]{1,4}+)?+
        (?P<quoted>(?:(?!(?P=quote))(?:\\[^\n]|[^\\\n])){1,4096}+)(?P=quote)
      | \[\[(?P<long>[^\]\n]{4,512}+)\]\]                                          # a string of Lua
      | (?:(?i:bearer|basic|token|bot|apikey|sso-key|ssws|splunk|genie-?key)[ ]{1,4}+)?+
        (?:(?P<odd>(?!\d)[^\s"'`<>|\\,;&]{1,3}(?!</|]]>)[<>|\\,;&][^\s"'`]{4,512}+)|(?P<bare>[^\s"'`<>|\\,;&]{1,512}+))
    )
    """,
    re.VERBOSE,
)
