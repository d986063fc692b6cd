"""Values of variables, keys and options whose name indicates a secret: `password = "…"`, `"apiKey": "…"`, `--token …`.

The value must also look like a secret. How much so depends on the context: in settings a value is literal; in source
code an expression is no value, and in prose most words after "password" are ordinary words.

A value that is random beyond doubt is a secret after any name: `erlangCookie: …`, `claim = "…"`. But some names
indicate random values that are no secrets: an id, a digest, a picture. A name with many different values in one text is
an identifier.

Keys in source code are recognised by the call that uses them or by a comment, whatever they are called:
`hmac.new(b"…")`, `new SecretKeySpec(decode("…"))`; `# the signing key` above a line, `// secret key` behind it.
"""

from __future__ import annotations

import base64
import binascii
import re
import string
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import Final

from directory_indexer.secrets.rule_engine import (
    LINE_BASED_KINDS,
    PROSE_KINDS,
    PROSE_OR_UNKNOWN_KINDS,
    SETTINGS_KINDS,
    SHELL_KINDS,
    TOKEN,
    LazyPattern,
    NameKind,
    SecretSpan,
    line_start,
)
from directory_indexer.secrets.secret_names import (
    is_generic_data_name,
    is_harmless_name,
    is_secret_by_setting_name,
    is_settings_line,
    is_translation,
    secret_kind_of_name,
)
from directory_indexer.secrets.value_classification import (
    is_pass_phrase,
    is_password,
    is_placeholder,
    is_random,
    looks_generated,
)


def named_value_spans(
    text: str, lowered: str, literals: frozenset[str], kind: str, file_name: str = ""
) -> Iterator[SecretSpan]:
    """Yield the values of names that indicate a secret; `lowered` is the text in lower case."""
    is_translated = is_translation(text, file_name)
    if kind == "text" and _XML.match(text):
        kind = "xml"  # configuration files of .NET
    for stem in _stems(literals, kind):
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


def _stems(literals: frozenset[str], kind: str) -> Iterator[LazyPattern]:
    """Yield the name patterns whose literals are in a text, including other languages; code is mostly in English."""
    yield from (stem for words, stem in _STEMS.items() if not literals.isdisjoint(words))
    if kind in PROSE_OR_UNKNOWN_KINDS or kind in SETTINGS_KINDS:
        yield from (stem for word, stem in _FOREIGN_STEMS.items() if word in literals)


def _span(text: str, match: re.Match[str], kind: str, *, is_translated: bool) -> SecretSpan | None:
    name_start = _name_start(text, match.start())
    naming = secret_kind_of_name(text[name_start : match.end("name")])
    is_path = text[name_start - 1 : name_start] == "/" and kind != "ini"
    if naming is None or is_path or not _is_name_alone(text, name_start, match, kind):
        return None
    group = str(match.lastgroup)
    start, end = match.span(group)
    if group == "odd" and not is_settings_line(text, name_start, kind):
        return None
    if group == "bare":
        end = _end_of_unquoted_value(text, name_start, match, kind)
        end -= 2 if text.startswith("]]>", end - 2) else 0
    value = text[start : min(end, start + _MAX_EXAMINED_CHARS)]
    if not (
        _is_basic_credentials(text[max(start - 7, 0) : start], value)
        or _is_secret(match, naming, value, kind)
        or (not is_translated and is_secret_by_setting_name(text, name_start, match, end, kind))
    ):
        return None
    if end - start >= _MAX_UNQUOTED_CHARS and (rest := _LONG_REST.match(text, end)):
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


def _end_of_unquoted_value(text: str, name_start: int, match: re.Match[str], kind: str) -> int:
    """Return the end of the line if the line is a name and its value, else the end of the word."""
    start, end = match.span("bare")
    if kind in PROSE_KINDS or not is_settings_line(text, name_start, kind):
        return end
    line = _REST_OF_LINE.match(text, start)
    return line.end() if line and line.end() > end else end


def _is_secret(match: re.Match[str], naming: NameKind, value: str, kind: str) -> bool:
    """Whether a value is a secret, given its kind of name and its context."""
    is_prose, is_settings = kind in PROSE_KINDS, kind in SETTINGS_KINDS or kind in LINE_BASED_KINDS
    is_loose = match["call"] is not None or match["said"] is not None or (match["blank"] is not None and is_prose)
    is_bare = match.lastgroup == "bare" and not is_settings
    if is_bare and not is_prose and not is_loose and not _is_in_connection_string(match):
        return looks_generated(value) and _EXPRESSION.search(value) is None
    if (is_bare and not _is_in_connection_string(match)) or is_loose:
        value = value.rstrip(".,;:!?)")
    if naming == NameKind.KEY:
        return _GENERATED_KEY.fullmatch(value) is not None and looks_generated(value)
    if looks_generated(value) or (len(value) >= _MIN_BASE32 and _BASE32.fullmatch(value)):
        return True
    if naming == NameKind.TOKEN:
        return not is_loose and _is_mixed(value)
    if _is_words_or_digits(value, is_certain=is_settings or not is_bare) or (is_settings and is_pass_phrase(value)):
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


def _is_basic_credentials(before: str, value: str) -> bool:
    """Whether a value is a base64 user and password, as in HTTP basic authentication and container registries."""
    if _AUTHENTICATION_SCHEME.search(before) or not _BASE64.fullmatch(value):
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
_MAX_EXAMINED_CHARS: Final = 256
_MAX_UNQUOTED_CHARS: Final = 512
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
_AUTHENTICATION_SCHEME: Final = LazyPattern(r"(?i)bearer |token |bot ")
_REST_OF_LINE: Final = LazyPattern(r"[^\s\"'][^\s]{0,1024}+(?=[ \t]*(?:$|[ \t][#;]))", re.MULTILINE)
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
    literals: LazyPattern(stem + _VALUE_MAY_FOLLOW, re.VERBOSE)
    for literals, stem in (
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
NAME_LITERALS: Final = (*chain.from_iterable(_STEMS), *_FOREIGN_STEMS)

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


_UNREAD_KINDS: Final = frozenset("bibtex css csv diff log sql subtitles svg tsv xls xlsb xlsx ods numbers".split())
"""Kinds of files that consist of random values: rows of data, records of events."""


def random_value_spans(text: str, kind: str) -> Iterator[SecretSpan]:
    """Yield random values after any name, whether or not the name indicates a secret."""
    if kind in _UNREAD_KINDS:
        return
    values: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for candidate in _unnamed_values(text, kind):
        name = _name_of(text, candidate, kind)
        if name and not is_harmless_name(name) and is_random(candidate[1]):
            values[name][candidate[1]].append(candidate.start(1))
        elif (
            is_generic_data_name(name)
            and kind not in PROSE_KINDS
            and is_key_in_code(text, candidate)
            and is_random(candidate[1])
        ):
            yield SecretSpan(*candidate.span(1), TOKEN)
    for places in values.values():
        if len(places) <= _MAX_VALUES:
            yield from (SecretSpan(at, at + len(value), TOKEN) for value, starts in places.items() for at in starts)


def _unnamed_values(text: str, kind: str) -> Iterator[re.Match[str]]:
    yield from _DOUBLE_QUOTED.finditer(text)
    if kind not in _CHARACTER_KINDS:
        yield from _SINGLE_QUOTED.finditer(text)
    if kind in PROSE_OR_UNKNOWN_KINDS or kind in _BARE_KINDS:
        yield from _unquoted_values(text)


def _unquoted_values(text: str) -> Iterator[re.Match[str]]:
    """Yield values without quotes. The search starts at a digit before a letter, which is rarer than a blank."""
    end = 0
    for digit in _DIGIT_BEFORE_LETTER.finditer(text):
        at = digit.start()
        if at < end:
            continue
        lowest = max(at - _MAX_VALUE - 1, end)
        start = lowest + len(text[lowest:at].rstrip(_CHARACTERS))
        match = _BARE.match(text, start - 1) if start > lowest else None
        end = match.end() if match else digit.end()
        if match:
            yield match


def _name_of(text: str, match: re.Match[str], kind: str) -> str:
    """Return the name before a value, on its line or the one above."""
    start = line_start(text, match.start(1), _MAX_LINE_BEFORE)
    before = text[start : match.start(1)]
    name = _NAME.search(before) or _ELEMENT.search(before)
    if name is None and (kind in PROSE_OR_UNKNOWN_KINDS or kind in SETTINGS_KINDS):
        name = _DIRECTIVE_NAME.fullmatch(before)
    if name is None and kind in PROSE_KINDS and not before.strip():
        name = _HEADING.search(text, max(start - _MAX_LINE_BEFORE, 0), start)
    return name[1] if name else ""


_BARE_KINDS: Final = (SETTINGS_KINDS | SHELL_KINDS) - frozenset("hcl json jsonl toml".split())
"""Kinds of files, besides prose, in which values need no quotes."""
_CHARACTER_KINDS: Final = frozenset("c cpp csharp go java json jsonl kotlin rust scala swift zig".split())
"""Kinds of files in which single quotes enclose a character at most."""
_MAX_VALUES: Final = 3
_MAX_LINE_BEFORE: Final = 100
_MAX_VALUE: Final = 128
_CHARACTERS: Final = f"{string.ascii_letters}{string.digits}_+/~-"
_DIGIT_BEFORE_LETTER: Final = LazyPattern(r"[0-9][A-Za-z+/]")
_UNNAMED_VALUE: Final = (
    r"(?=(?:[A-Za-z_+/~-]{0,127}+\d++[_~-]){0,4}+[A-Za-z_+/~-]{0,127}+\d++[A-Za-z+/])(?![\da-f-]{16,128}+\b)"
    r"([A-Za-z\d_+/~-]{16,128}+={0,2})"
)
"""A value with a digit before a letter; digests are excluded at once."""
_DOUBLE_QUOTED: Final = LazyPattern(rf'"{_UNNAMED_VALUE}"', re.ASCII)
_SINGLE_QUOTED: Final = LazyPattern(rf"'{_UNNAMED_VALUE}'", re.ASCII)
_BARE: Final = LazyPattern(rf"[\s=:>`]{_UNNAMED_VALUE}(?=[\s,;`]|</|\Z)", re.ASCII)
_NAME: Final = LazyPattern(
    r"(?<![\w$.-])-{0,2}([\w$.-][\w $.-]{1,60}+)[\"'`\])*]{0,4}(?:: ?[\w.<>\[\]?*&| ]{1,30}(?= ?=))?[ \t]{0,8}"
    r"(?:(?<![=!<>~+*])=|:(?=[ \t\"'`])|=>|:=)[ \t]{0,8}(?:[A-Za-z@]{1,2}|[\w.]{1,40}\(|\*\*)?[\"'`]?\Z"
)
_ELEMENT: Final = LazyPattern(r"<(?:string name=\"|add key=\")?([\w:.-]{2,60})(?:[ ][^<>]{0,60})?>\Z")
_DIRECTIVE_NAME: Final = LazyPattern(
    r"[ \t]{0,20}(?:(?:set|export|add|proxy_set_header|request_header|more_set_headers|option|config)[ \t]{1,4})?"
    r"([\w.-]{3,40})[ \t]{1,20}[\"'`]?"
)
_HEADING: Final = LazyPattern(r"(?:\A|\n)[ \t]{0,8}([^\W\d_][\w -]{1,40}):[ \t\r]{0,4}\n\Z")


def is_key_in_code(text: str, value: re.Match[str]) -> bool:
    """Whether a value is an argument of a signing or encryption function, or a comment beside it mentions a key."""
    start = line_start(text, value.start(), _MAX_STATEMENT)
    if _CALL.search(text, start, value.start(1)) or _COMMENT_BEHIND.match(text, value.end()):
        return True
    above = line_start(text, start - 1, _MAX_STATEMENT) if start else 0
    return _COMMENT_ABOVE.match(text, above, start) is not None


_MAX_STATEMENT: Final = 160
_KEY_WORDS: Final = (
    r"(?i:(?:secret|api|access|private|sign(?:ing)?|(?:en|de)cryption|master|licen[cs]e|hmac|aes|shared)[ _-]?key|"
    r"password|passphrase|credentials?\b|secret\b|token\b)"
)
_COMMENT_BEHIND: Final = LazyPattern(rf"[ \t\"'),;\]}}]{{0,8}}(?:#|//|--|/\*)[^\n]{{0,80}}?{_KEY_WORDS}")
_COMMENT_ABOVE: Final = LazyPattern(rf"[ \t]{{0,40}}(?:#|//|--|/?\*)[^\n]{{0,80}}?{_KEY_WORDS}[^\n]{{0,80}}\n\Z")
_CALL: Final = LazyPattern(
    r"(?i)(?:fernet|secretbox|secretkeyspec|symmetricsecuritykey|hmac\w{0,16}(?:\.new)?|"
    r"create(?:de)?cipheriv|(?:aes|des3?|blowfish|chacha20)\w{0,12}(?:\.new)?|jwt\.(?:en|de)code|jwt\.(?:sign|verify)|"
    r"(?:en|de)crypt|openssl_(?:en|de)crypt|createsecretkey|importkey|signingkey|setsigningkey)\([^;\n]{0,120}\Z"
)
