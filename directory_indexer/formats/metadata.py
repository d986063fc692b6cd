"""Metadata of documents: values validated and cut to what an index keeps, and front matter above a text.

Front matter is YAML or TOML, keywords of Org, or fields of reStructuredText. Only the YAML that people write there is
read: values, quoted or not, lists on one line or several, folded text. A full parser takes a hundred times as long, and
one alias may stand for gigabytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from directory_indexer.core.lazy import lazily
from directory_indexer.formats.document import Metadata, single_line

with lazily:
    import tomllib


MAX_VALUES: Final = 32
MAX_CHARACTERS: Final = 500


def single_line_value(written: str) -> str:
    """Return a value on one line of bounded length."""
    return " ".join(written[: 4 * MAX_CHARACTERS].split())[:MAX_CHARACTERS]


def distinct_values(written: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct non-empty values, in order."""
    return tuple(dict.fromkeys(filter(None, map(single_line_value, written))))[:MAX_VALUES]


def split_list(written: str) -> tuple[str, ...]:
    """Split a list of names or keywords in one field: at semicolons if there are any, else at commas."""
    return distinct_values(written.split(";" if ";" in written else ","))


def iso_time(written: str) -> str:
    """Return a time in ISO 8601 with the precision that it has; "" if it is invalid, or implausibly early."""
    match = _TIME.fullmatch(written.strip())
    if not match or not _FIRST_YEAR <= int(match["year"]) <= _LAST_YEAR:
        return ""
    try:
        datetime.fromisoformat(f"{match['year']}-{match['month'] or '01'}-{match['day'] or '01'}{match['time'] or ''}")
    except ValueError:
        return ""
    return re.sub(_FRACTION, "", match[0])


def primary_language(tag: str) -> str:
    """Return the first part of a language tag, `en` for `en-US`; "" if it is invalid."""
    match = _LANGUAGE.match(tag.strip())
    return match[1].lower() if match and match[1].lower() not in _NO_LANGUAGES else ""


def meaningful_title(title: str) -> str:
    """Return a title; "" if it is a default that programs write: a file name, `Document1`."""
    title = single_line_value(title)
    return "" if _NO_TITLE.fullmatch(title) else title


_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 2100
_TIME: Final = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)(?P<time>T\d\d:\d\d(?::\d\d(?:\.\d+)?)?"
    r"(?:Z|[+-]\d\d:\d\d)?)?)?)?"
)
_FRACTION: Final = r"\.\d+"
_LANGUAGE: Final = re.compile(r"([A-Za-z]{2,3})(?:[-_].*)?$", re.DOTALL)
_NO_LANGUAGES: Final = frozenset({"und", "zxx", "mul", "mis"})
_NO_TITLE: Final = re.compile(
    r"\S+\.\w{1,5}|microsoft (?:word|powerpoint|excel) - .*|untitled.*|(?:no )?title|unknown|none|document\d*|"
    r"powerpoint(?:-| )?pr[aäe]sentation|presentation\d*|folie \d+|slide \d+|workbook\d*|book\d*",
    re.IGNORECASE,
)


class FrontMatter(NamedTuple):
    """The front matter of a text, which begins at character `end`."""

    end: int
    title: str
    metadata: Metadata


def read_front_matter(text: str) -> FrontMatter | None:
    """Return the front matter of a Markdown text, between lines of `---` (YAML) or `+++` (TOML); None if none."""
    match = _FRONT_MATTER.match(text[:_WITHIN])
    if not match:
        return None
    fields = _toml_fields(match["fields"]) if match["fence"] == "+++" else _yaml_fields(match["fields"])
    title, metadata = interpret_fields(fields)
    return FrontMatter(match.end(), title, metadata)


def read_keywords(text: str, kind: str) -> Metadata:
    """Read the keywords of an Org, reStructuredText, AsciiDoc or LaTeX text."""
    matches = _KEYWORDS[kind].finditer(text[:_WITHIN])
    return interpret_fields((match["name"], [match["value"]]) for match in matches)[1]


def interpret_fields(fields: Iterable[tuple[str, list[str]]]) -> tuple[str, Metadata]:
    """Return the title and the metadata in fields, by the names that people give them."""
    values_by_meaning: dict[str, list[str]] = {}
    for name, texts in fields:
        if meaning := _MEANINGS.get(name.strip().lower().replace("-", "_").replace(" ", "_").removeprefix("dc.")):
            values_by_meaning.setdefault(meaning, []).extend(texts)
    return single_line(_first_text(values_by_meaning, "title")), Metadata(
        authors=_listed_values(values_by_meaning, "authors"),
        created=_find_time(_first_text(values_by_meaning, "created")),
        modified=_find_time(_first_text(values_by_meaning, "modified")),
        language=primary_language(_first_text(values_by_meaning, "language")),
        subject=single_line_value(_first_text(values_by_meaning, "subject")),
        tags=_listed_values(values_by_meaning, "tags"),
    )


def _yaml_fields(lines: str) -> Iterator[tuple[str, list[str]]]:
    name, text, items = "", list[str](), list[str]()
    for line in lines.split("\n"):
        if match := _FIELD.match(line):
            yield name, items or _yaml_values(" ".join(text))
            name, text, items = match["name"], [_FOLDING.sub("", match["value"].strip())], []
        elif item := _ITEM.match(line):
            items += _yaml_values(item["value"])
        elif line.startswith((" ", "\t")) and not items:
            text.append(line.strip())
    yield name, items or _yaml_values(" ".join(text))


def _yaml_values(value: str) -> list[str]:
    comment = _COMMENT.search(value, max(map(value.rfind, "\"'")) + 1)
    value = (value[: comment.start()] if comment else value).strip()
    if value.startswith("[") and value.endswith("]"):
        return [_unquote(item) for item in value[1:-1].split(",")]
    return [_unquote(value)]


def _unquote(value: str) -> str:
    value = value.strip()
    if value[:1] in ("'", '"') and value.endswith(value[0]) and len(value) > 1:
        return value[1:-1].replace(f"\\{value[0]}", value[0])
    return value


def _toml_fields(lines: str) -> Iterator[tuple[str, list[str]]]:
    try:
        table = tomllib.loads(lines)
    except (RecursionError, ValueError):
        return
    taxonomies = table.get("taxonomies")
    for name, value in (*table.items(), *(taxonomies.items() if isinstance(taxonomies, dict) else ())):
        yield name, list(_flatten(value))


def _flatten(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _flatten(item.get("name", "") if isinstance(item, dict) else str(item))
    elif not isinstance(value, dict):
        yield str(value)


def _first_text(values_by_meaning: dict[str, list[str]], meaning: str) -> str:
    return next((text.strip() for text in values_by_meaning.get(meaning, ()) if text.strip()), "")


def _listed_values(values_by_meaning: dict[str, list[str]], meaning: str) -> tuple[str, ...]:
    texts = values_by_meaning.get(meaning, [])
    return split_list(texts[0]) if len(texts) == 1 else distinct_values(texts)


def _find_time(text: str) -> str:
    match = _DATE_AND_TIME.search(text)
    if not match:
        return ""
    date, time = match["date"].replace("/", "-"), match["time"] or ""
    return iso_time(f"{date}T{time[1:]}") or iso_time(date)


_WITHIN: Final = 65_536
_FRONT_MATTER: Final = re.compile(
    r"(?P<fence>---|\+\+\+)[ \t]*\n(?P<fields>.*?)^(?:(?P=fence)|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE
)
_FIELD: Final = re.compile(r"(?P<name>[A-Za-z][\w. -]{0,40}?)[ \t]*:(?=[ \t]|$)(?P<value>.*)")
_ITEM: Final = re.compile(r"[ \t]*-[ \t]+(?:name:[ \t]*)?(?P<value>.*)")
_FOLDING: Final = re.compile(r"^[|>][+-]?\d?$")
_COMMENT: Final = re.compile(r"(?:^|\s)#")
_DATE_AND_TIME: Final = re.compile(
    r"(?P<date>\b\d{4}(?:[-/]\d\d(?:[-/]\d\d)?)?)(?P<time>[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?)?"
)
_KEYWORDS: Final = {
    "asciidoc": re.compile(r"^:(?P<name>[A-Za-z-]{1,40}):[ \t]+(?P<value>\S[^\n]*)", re.MULTILINE),
    "latex": re.compile(r"^[^\S\n]*\\(?P<name>author|date|keywords)\s*\{(?P<value>[^{}\\]{1,400})\}", re.MULTILINE),
    "org": re.compile(r"^#\+(?P<name>[A-Za-z_]{1,40}):[ \t]*(?P<value>\S[^\n]*)", re.MULTILINE),
    "restructuredtext": re.compile(r"^:(?P<name>[A-Za-z ]{1,40}):[ \t]+(?P<value>\S[^\n]*)", re.MULTILINE),
}
KINDS_WITH_KEYWORDS: Final = frozenset(_KEYWORDS)

_MEANINGS: Final = {
    name: meaning
    for meaning, names in {
        "title": "title",
        "authors": "author authors creator by writer",
        "created": "date created created_at date_created published publish_date pubdate date_published issued",
        "modified": "modified updated updated_at lastmod last_modified last_updated date_modified revised",
        "language": "lang language locale",
        "subject": "description summary subject subtitle abstract excerpt",
        "tags": "tags tag keywords keyword categories category topics filetags",
    }.items()
    for name in names.split()
}
