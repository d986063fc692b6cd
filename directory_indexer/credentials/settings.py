"""Kinds of settings files, and settings that are secrets by their names, whatever their values.

In prose and code, where a name is often only mentioned, the strength of a value decides. In code a setting is a
constant, or the password next to a host or a database.
"""

from __future__ import annotations

import re
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.names import Naming, is_unmistakable, naming_of, repeats_name
from directory_indexer.credentials.spans import line_start
from directory_indexer.credentials.strength import is_stand_in

SETTINGS_KINDS: Final = frozenset("dotenv hcl ini json jsonl properties toml xml yaml".split())
"""Kinds of files in which values are literal."""
PROSE_KINDS: Final = frozenset(
    "aiff asciidoc bibtex bmp calendar commit contacts doc docx email emlx epub fictionbook flac gif html jpeg keynote "
    "latex log m4a man markdown mbox mhtml mp3 msg notebook numbers odg odp ods odt ogg org pages pdf png pnm ppt pptx "
    "pst restructuredtext rtf subtitles svg text textile tiff tnef transcript typst vsdx wav webp wiki wma xls xlsb "
    "xlsx hwpx mobi".split()
)
"""Kinds of files that people write, speak, scan or photograph."""
LINE_KINDS: Final = frozenset("batch bash dockerfile dotenv fish ini make properties yaml".split())
"""Kinds of files with one name and value per line."""


def is_translation(text: str, name: str) -> bool:
    """Whether a file contains the texts of a user interface: there `password` is followed by a label."""
    return _TRANSLATION.fullmatch(name) is not None or _TRANSLATED.match(text) is not None


def is_plain_secret(text: str, name_start: int, match: re.Match[str], end: int, kind: str) -> bool:
    """Whether a value, which ends at `end`, is a secret because of the name of its setting."""
    name, start = text[name_start : match.end("name")], match.start(str(match.lastgroup))
    value = text[start : min(end, start + _MAX_JUDGED)]
    if not is_unmistakable(name) or is_stand_in(value) or _BLANK.search(value) or repeats_name(value, name):
        return False
    if name.lower() == "secret" and (len(value) < _MIN_SECRET or _RESOURCE.fullmatch(value)):
        return False
    return _is_setting(text, name_start, match, end, kind) and not _is_user(text, name_start, value)


def is_line_of_settings(text: str, name_start: int, kind: str) -> bool:
    """Whether a name begins a line in a file with one name and value per line."""
    start = line_start(text, name_start, _MAX_LINE)
    return kind in LINE_KINDS and _LINE_START.fullmatch(text, start, name_start) is not None


def _is_setting(text: str, name_start: int, match: re.Match[str], end: int, kind: str) -> bool:
    """Whether a name and a value form a setting, not a sentence, comparison or code."""
    is_quoted, between = match["quote"] is not None, text[match.end("name") : match.start(str(match.lastgroup))]
    if match["call"] is not None or match["said"] is not None or _COMPARISON.search(between):
        return False
    if match["blank"] is not None:
        return kind == "sql" and is_quoted
    if not kind or kind in PROSE_KINDS:
        return between.rstrip("\"'") == "=" and _is_among_lines(text, name_start, end + is_quoted)
    if kind not in SETTINGS_KINDS and kind not in LINE_KINDS:
        return is_quoted and _is_setting_in_code(text, name_start, match, between)
    if not _is_assigned(text, name_start, match, between, kind):
        return False
    is_item = kind == "yaml" and "\n" in between
    return is_quoted or is_item or _is_bare_setting(text, name_start, end, kind, between)


def _is_assigned(text: str, name_start: int, match: re.Match[str], between: str, kind: str) -> bool:
    """Whether the value belongs to the name, and the name is neither a reference nor ambiguous."""
    is_reference = text[name_start - 1 : name_start] in _REFERRING or text.endswith(("${", "#{", "{{"), 0, name_start)
    if is_reference or not _ASSIGNING.search(between):
        return False
    is_vague = kind not in LINE_KINDS and text[name_start : match.end("name")].lower() == "pass"
    return not is_vague or _LOGIN.search(text, max(name_start - _NEAR, 0), match.end() + _NEAR) is not None


def _is_setting_in_code(text: str, name_start: int, match: re.Match[str], between: str) -> bool:
    """Whether a string is the value of a constant, or of the password next to a host or a database."""
    name, naming = text[name_start : match.end("name")], naming_of(text[name_start : match.end("name")])
    if "," in between and not _DEFINING.search(text, max(name_start - _NEAR, 0), name_start):
        return False
    if _CONSTANT.fullmatch(name):
        return _OF_CODE.search(name) is None and (naming is Naming.PASSWORD or not _RESOURCE.fullmatch(match["quoted"]))
    if naming is Naming.PASSWORD and _OF_SERVICE.search(name) and ":" not in between:
        return True
    is_beside = _CONNECTION.search(text, max(name_start - _NEAR, 0), match.end() + _NEAR) is not None
    return naming is Naming.PASSWORD and is_beside


def _is_among_lines(text: str, name_start: int, end: int) -> bool:
    """Whether a name and a value form a line next to another such line."""
    start = line_start(text, name_start, _MAX_LINE)
    if not _INDENT.fullmatch(text, start, name_start) or not _LINE_END.match(text, end):
        return False
    above = line_start(text, max(start - 1, 0), _MAX_LINE)
    return _PAIR.match(text, above, start) is not None or _PAIR_BELOW.match(text, end) is not None


def _is_bare_setting(text: str, name_start: int, end: int, kind: str, between: str) -> bool:
    """Whether an unquoted value is all that follows its name."""
    if kind not in LINE_KINDS:
        return kind in _ENDS and _ENDS[kind].match(text, end) is not None
    is_pair = between == "=" and text[name_start - 1 : name_start] in _BEFORE_PAIRS
    is_flow = kind == "yaml" and text[:name_start].rstrip(" ")[-1:] in {"{", ","}
    if not (is_pair or is_flow or is_line_of_settings(text, name_start, kind)):
        return False
    return (_END_OF_WORD if kind in _SHELL_KINDS else _END_OF_LINE).match(text, end) is not None


def _is_user(text: str, name_start: int, value: str) -> bool:
    """Whether a value equals the user name before it, as passwords of many examples do."""
    before = text[max(name_start - _NEAR, 0) : name_start].lower()
    at = before.rfind(value.lower())
    return at >= 0 and _USER_BEFORE.search(before, 0, at) is not None


_NEAR: Final = 200
_MIN_SECRET: Final = 4
_MAX_LINE: Final = 200
_MAX_JUDGED: Final = 256
_REFERRING: Final = frozenset("$@")
_BEFORE_PAIRS: Final = frozenset(" \t\"'-=,{")
_SHELL_KINDS: Final = frozenset("bash batch dockerfile fish make".split())
_INDENT: Final = LazyPattern(r"[ \t]{0,20}[\w.-]{0,60}")
_LINE_END: Final = LazyPattern(r"[ \t\r]{0,8}(?:\n|\Z)")
_PAIR: Final = LazyPattern(r"[ \t]{0,20}[A-Za-z][\w.-]{1,60}=[^\s=]")
_PAIR_BELOW: Final = LazyPattern(rf"[ \t\r]{{0,8}}\n{_PAIR.pattern}")
_BLANK: Final = LazyPattern(r"\s")
_RESOURCE: Final = LazyPattern(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+")
"""Names of objects in a cluster."""
_COMPARISON: Final = LazyPattern(r"[=!]=")
_ASSIGNING: Final = LazyPattern(r"\A[^\w\n]*[:=][^\w\n]*\Z|(?i:value|content|default)\W*\Z|>")
"""Characters between a name and its value, as opposed to those between two names."""
_LINE_START: Final = LazyPattern(
    r"[ \t]{0,40}(?:[#;%][ \t]{0,4})?"
    r"(?:(?:export|set|setx|env|arg|-|- |-e|\"|'|local|readonly|set -[gUx]{1,3})[ \t]{0,4}[\"']?)?"
    r"[\w.-]{0,60}",
    re.IGNORECASE,
)
_END_OF_LINE: Final = LazyPattern(r"[ \t\r]{0,8}(?:\n|\Z|[ \t][#;])|[\"'&,}\])]|[ \t]{1,8}[\w.-]{1,60}=")
_END_OF_WORD: Final = LazyPattern(r"[\s;|&)\"']|\Z")
_ENDS: Final = {
    "xml": LazyPattern(r"\s{0,80}(?:</|\]\]>)"),
    **dict.fromkeys(("toml", "hcl"), LazyPattern(r"(?<=\d\d)[ \t\r]{0,8}(?:\n|\Z|#|,|\})")),
}
"""Text that ends a value without quotes, by kind of file."""
_DEFINING: Final = LazyPattern(r"(?:define|getenv|environ\.get|env|ENV\.fetch|config)\(\s{0,8}[\"']\Z")
_CONSTANT: Final = LazyPattern(r"(?!PASS(?:ES)?$)[A-Z][A-Z\d_]{1,60}")
_OF_SERVICE: Final = LazyPattern(
    r"(?i)(?:^|[._])(?:smtp|ssh|db|database|mysql|postgres|redis|mail|ldap|s?ftp|mongo|rabbitmq|amqp|mqtt)[._]?pass"
)
_OF_CODE: Final = LazyPattern(
    r"(?:^|_)(?:TEST|FAKE|DUMMY|EXAMPLE|SAMPLE|MOCK|KEY|PARAM|ARG|ATTR|CONF|CFG|OPT|OPTION|PROP|TK|TOK|STATE|KIND|CMD)_"
)
"""Prefixes of constants that name or test something."""
_CONNECTION: Final = LazyPattern(
    r"(?i)(?<![^\W_])(?:db_?)?(?:host(?:name|addr)?|server|database|db(?:name)?|adapter|dialect|smtp\w{0,8})"
    r"[\"'\])]{0,3}[ \t]{0,8}(?:=>|[:=](?!=))"
)
_LOGIN: Final = LazyPattern(
    r"(?i)(?<![^\W_])(?:user\w{0,8}|login|e?mail|host(?:name)?|server)[\"'\])]{0,3}[ \t]{0,8}(?:=>|[:=])|<user"
)
_USER_BEFORE: Final = LazyPattern(
    r"(?:user|login|name|uid)\w{0,12}[\"'\])]{0,3}(?:[ \t]{0,8}(?:=>|[:=])|>)[ \t]{0,8}[\"']?\Z"
)
_LANGUAGES: Final = (
    "ar|bg|bn|ca|cs|cy|da|de|el|en|es|et|eu|fa|fi|fil|fr|gl|he|hi|hr|hu|id|is|it|ja|ka|kk|km|ko|lt|lv|mk|mn|ms|nb|nl|nn|"
    "no|pl|pt|ro|ru|sk|sl|sq|sr|sv|ta|te|th|tr|uk|ur|uz|vi|zh"
)
_TRANSLATION: Final = LazyPattern(
    rf"(?i)(?:[\w.-]{{1,40}}[._-])?(?:{_LANGUAGES})(?:[-_][a-z]{{2,4}}){{0,2}}\.(?:json|ya?ml|properties|toml|xml)|"
    r"(?:messages?|strings|locales?|translations?|labels|i18n|errors?)\.(?:json|ya?ml|properties|toml|xml)|"
    r"[\w.-]{1,60}\.(?:arb|resx|xliff?|xlf)(?:\.\w{1,4})?"
)
_TRANSLATED: Final = LazyPattern(
    rf"[\s\ufeff-]{{0,8}}(?:\{{\s{{0,8}})?[\"']?(?:{_LANGUAGES})(?:[-_][A-Z]{{2}})?[\"']?:[ \t\r]{{0,8}}[\n{{]"
)
"""Names of files of translations, and the beginning of those that hold one language."""
