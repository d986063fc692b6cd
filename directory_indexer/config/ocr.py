"""OCR of scanned pages: the keys of `ocr`."""

from pathlib import Path
from typing import NamedTuple

from directory_indexer.config.keys import ENDPOINT, key, section
from directory_indexer.config.kinds import Location, OneOf, Secret, SecretText, Several, Text, WholeNumber

_PAGES_AT_A_TIME = WholeNumber(at_least=1, at_most=128)
_MODEL_NAME = Text(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}", otherwise="must be the name of a model")


class GeminiConfig(NamedTuple):
    """How pages are read by a model of Google's Gemini API."""

    endpoint: str | None = key(ENDPOINT, "URL of the service", default="https://generativelanguage.googleapis.com")
    model: str = key(_MODEL_NAME, "a model that takes pictures", default="gemini-3.5-flash-lite")
    api_key: SecretText | None = key(Secret(or_null=True), "key of the service")
    api_key_file: Path | None = key(Location(or_null=True), "file that holds the key, instead of api_key")
    concurrency: int = key(_PAGES_AT_A_TIME, "how many pages are sent at a time", default=4)
    timeout_seconds: int = key(WholeNumber(at_least=1, at_most=3600), "longest wait for one answer", default=120)


class AzureConfig(NamedTuple):
    """How pages are read by Azure Document Intelligence."""

    endpoint: str | None = key(ENDPOINT, "URL of your resource")
    model: str = key(_MODEL_NAME, "prebuilt-layout, or prebuilt-read without tables", default="prebuilt-layout")
    api_key: SecretText | None = key(Secret(or_null=True), "key of the resource")
    api_key_file: Path | None = key(Location(or_null=True), "file that holds the key, instead of api_key")
    concurrency: int = key(_PAGES_AT_A_TIME, "how many pages are sent at a time", default=4)
    timeout_seconds: int = key(WholeNumber(at_least=1, at_most=3600), "longest wait for one answer", default=120)


READING_SERVICES = frozenset({"gemini", "azure"})
"""Engines that are network services."""


class OcrConfig(NamedTuple):
    """What reads pages that are pictures of text."""

    engine: str = key(
        OneOf("auto", "tesseract", "rapidocr", "gemini", "azure", "off"),
        "auto (what is installed), tesseract, rapidocr, gemini or azure (services on the network), or off",
        default="auto",
    )
    languages: tuple[str, ...] = key(
        Several(
            Text(r"[A-Za-z_/-]{2,40}", otherwise="must be a language as Tesseract names it, such as deu"), of="names"
        ),
        "languages of the pages, as Tesseract names them; none: each page in the one that it turns out to be in",
        default=(),
    )
    tesseract: str = key(
        Text(".+", otherwise="must not be empty"), "command of Tesseract: its name or its path", default="tesseract"
    )
    max_pages_per_run: int | None = key(
        WholeNumber(at_least=0, or_null=True), "so many pages are read in one run; null: all that wait"
    )
    cache_size: int = key(WholeNumber(at_least=0), "room for what was read on pages, in bytes", default=1_073_741_824)
    gemini: GeminiConfig = section(GeminiConfig)
    azure: AzureConfig = section(AzureConfig)
