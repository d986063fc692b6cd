"""Metadata of OpenDocument files."""

from __future__ import annotations

from directory_indexer.extractors.document import Metadata
from directory_indexer.extractors.office.odf_styles import number_in
from directory_indexer.extractors.properties import iso_time, listed, one_value, primary_language, values
from directory_indexer.extractors.xml_values import XmlValues


class OdfProperties(XmlValues):
    """Collects the properties of a document, and the number of pages when it was saved."""

    def __init__(self) -> None:
        super().__init__()
        self._n_pages = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        super().start(name, attributes)
        if name == "document-statistic":
            self._n_pages = number_in(attributes.get("page-count", ""), 0)

    @property
    def title(self) -> str:
        """The title."""
        return self.first("title")

    @property
    def metadata(self) -> Metadata:
        """The metadata beside the title."""
        return Metadata(
            authors=listed(self.first("initial-creator") or self.first("creator")),
            created=iso_time(self.first("creation-date")),
            modified=iso_time(self.first("date")),
            language=primary_language(self.first("language")),
            subject=one_value(self.first("subject")),
            tags=values(tag for keyword in self.all("keyword") for tag in listed(keyword)),
            n_pages=self._n_pages or None,
        )
