"""Metadata that authors write above a text: front matter in YAML or TOML, keywords of Org, fields of reStructuredText.

Only the YAML that people write there is read: values, quoted or not, lists on one line or several, folded text. A full
parser takes a hundred times as long, and one alias may stand for gigabytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from directory_indexer.extractors.document import Metadata
from directory_indexer.extractors.outline import one_line
from directory_indexer.extractors.properties import iso_time, listed, one_value, primary_language, values
from directory_indexer.lazy import lazily

with lazily:
    import tomllib


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
    title, metadata = understood(fields)
    return FrontMatter(match.end(), title, metadata)


def read_keywords(text: str, kind: str) -> Metadata:
    """Read the keywords of an Org, reStructuredText, AsciiDoc or LaTeX text."""
    matches = _KEYWORDS[kind].finditer(text[:_WITHIN])
    return understood((match["name"], [match["value"]]) for match in matches)[1]


def understood(fields: Iterable[tuple[str, list[str]]]) -> tuple[str, Metadata]:
    """Return the title and the metadata in fields, by the names that people give them."""
    values_by_meaning: dict[str, list[str]] = {}
    for name, texts in fields:
        if meaning := _MEANINGS.get(name.strip().lower().replace("-", "_").replace(" ", "_").removeprefix("dc.")):
            values_by_meaning.setdefault(meaning, []).extend(texts)
    return one_line(_first_text(values_by_meaning, "title")), Metadata(
        authors=_listed_values(values_by_meaning, "authors"),
        created=_find_time(_first_text(values_by_meaning, "created")),
        modified=_find_time(_first_text(values_by_meaning, "modified")),
        language=primary_language(_first_text(values_by_meaning, "language")),
        subject=one_value(_first_text(values_by_meaning, "subject")),
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
    value = _COMMENT.sub("", value).strip()
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
    return listed(texts[0]) if len(texts) == 1 else values(texts)


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
_COMMENT: Final = re.compile(r"(?:^|\s)#[^\"']*$")
_DATE_AND_TIME: Final = re.compile(
    r"(?P<date>\b\d{4}(?:[-/]\d\d(?:[-/]\d\d)?)?)(?P<time>[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?)?"
)
_KEYWORDS: Final = {
    "asciidoc": re.compile(r"^:(?P<name>[A-Za-z-]{1,40}):[ \t]+(?P<value>\S[^\n]*)", re.MULTILINE),
    "latex": re.compile(r"^\s*\\(?P<name>author|date|keywords)\s*\{(?P<value>[^{}\\]{1,400})\}", re.MULTILINE),
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
