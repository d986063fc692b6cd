"""Metadata of a PDF: its information dictionary, and XMP, which newer programs write as well."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from directory_indexer.extractors.document import Metadata
from directory_indexer.extractors.properties import iso_time, listed, one_value, primary_language
from directory_indexer.extractors.xmp import read_xmp


def metadata_of(information: Mapping[str, str], xmp: str, *, language: str, n_pages: int) -> Metadata:
    """Return the merged metadata; the dictionary wins, since more programs keep it up to date."""
    packet = read_xmp(xmp).metadata
    return Metadata(
        authors=listed(information.get("author", "")) or packet.authors,
        created=_parse_date(information.get("creationDate", "")) or packet.created,
        modified=_parse_date(information.get("modDate", "")) or packet.modified,
        language=primary_language(language) or packet.language,
        subject=one_value(information.get("subject", "")) or packet.subject,
        tags=listed(information.get("keywords", "")) or packet.tags,
        n_pages=n_pages or None,
    )


def _parse_date(text: str) -> str:
    """Return a PDF date, `D:20240301120000+01'00'`, of which all but the year may be missing, in ISO 8601."""
    match = _DATE.match(text)
    if not match:
        return iso_time(text)
    year, month, day, hour, minute, second, sign, zone_hour, zone_minute = match.groups()
    date = "-".join(filter(None, (year, month, day)))
    if not hour:
        return iso_time(date)
    zone = "Z" if sign in ("Z", "z") else f"{sign}{zone_hour}:{zone_minute or '00'}" if sign and zone_hour else ""
    return iso_time(f"{date}T{hour}:{minute or '00'}:{second or '00'}{zone}") or iso_time(date)


_DATE: Final = re.compile(
    r"D:(\d{4})(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d))?)?)?)?)?(?:([Zz+-])(?:(\d\d)'?(?:(\d\d)'?)?)?)?"
)
