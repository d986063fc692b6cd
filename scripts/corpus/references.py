"""The words that a file has by its raw parts, for the formats whose parts say so; the others are asked of readers."""

from __future__ import annotations

import email.policy
import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from typing import Final
from urllib.parse import unquote

from corpus.marks import Marks, text_of
from corpus.outlook import OutlookMessage
from directory_indexer.core.paths import FilePath
from directory_indexer.formats.recognition import kind_of

_WORD = re.compile(r"\w+")
_MOST_BYTES = 30_000_000
_WORD_PARTS = re.compile(r"(?i)word/(?:document|footnotes|endnotes|comments|header|footer)\d*\.xml")
_SLIDE_PARTS = re.compile(r"(?i)ppt/(?:slides/slide|comments/comment)\d*\.xml")
_SHEET_PARTS = re.compile(r"(?i)xl/worksheets/\w+\.xml")
_DRAWING_PARTS = re.compile(r"(?i)visio/pages/page\d+\.xml")

_REPEATED = re.compile(
    rb"""<p:sp>(?:(?!</p:sp>|<p:sp>).)*?<p:ph [^>]*type=["'](?:sldNum|dt|ftr|hdr)["'](?:(?!<p:sp>).)*?</p:sp>""",
    re.DOTALL,
)
_WORDML = Marks(
    frozenset(("t",)),
    frozenset(("Fallback", "moveFrom", "rt")),
    frozenset(("p", "tab", "br", "cr", "tc", "ptab", "footnoteReference", "endnoteReference")),
)
_SLIDES = Marks(frozenset(("t", "text")), frozenset(("Fallback", "fld")), frozenset(("p", "br", "tab", "tc", "text")))
_STRINGS = Marks(frozenset(("t",)), frozenset(("rPh",)))
_ODF = Marks(
    frozenset(("p", "h")),
    frozenset(
        "tracked-changes forms note-citation table-of-content-source illustration-index-source table-index-source "
        "alphabetical-index-source bibliography-source user-index-source object-index-source ruby-text math desc title "
        "binary-data covered-table-cell creator date creator-initials".split()
    ),
    frozenset(("p", "h", "s", "tab", "line-break", "note", "annotation", "table-cell")),
)
_HTML = Marks(
    frozenset(("body",)),
    frozenset(("script", "style", "head", "noscript", "template", "rt", "rp")),
    frozenset(
        "p div br td th tr li dt dd h1 h2 h3 h4 h5 h6 pre blockquote section article table caption hr title img a "
        "aside header footer figure figcaption address center option button input".split()
    ),
)
_LOOSE_HTML = _HTML._replace(within=frozenset())
_FICTION = Marks(frozenset(("body",)), frozenset(("binary",)), frozenset("p v title section td th subtitle".split()))
_VISIO = Marks(frozenset(("Text",)), frozenset(), frozenset(("Text", "pp")))


def words(text: str) -> Counter[str]:
    """Count the words of a text, in lower case."""
    return Counter(_WORD.findall(text.lower()))


def reference(kind: str, content: bytes) -> Counter[str] | None:
    """Count the words of the raw parts of a file; None where nothing but a reader knows them, or they are damaged."""
    find = _REFERENCES.get(kind)
    if find is None:
        return None
    try:
        return words(find(content))
    except Exception:  # noqa: BLE001 - zipfile, zlib and email raise whatever they like over damaged files
        return None


def _parts(content: bytes, pattern: re.Pattern[str]) -> Iterator[bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        for member in package.infolist():
            if pattern.fullmatch(member.filename.replace("\\", "/")):
                yield _part(package, member.filename)


def _part(package: zipfile.ZipFile, name: str) -> bytes:
    """Unpack a part; no more comes out than the package declares."""
    if package.getinfo(name).file_size > _MOST_BYTES:
        raise ValueError("a part is too large to be compared")
    return package.read(name)


def _of_parts(pattern: re.Pattern[str], marks: Marks) -> Callable[[bytes], str]:
    return lambda content: " ".join(text_of(part, marks) for part in _parts(content, pattern))


def _of_slides(content: bytes) -> str:
    """Read the slides without their numbers, dates and footers, which are the same on each of them."""
    parts = (_REPEATED.sub(b"", part) for part in _parts(content, _SLIDE_PARTS))
    return " ".join(text_of(part, _SLIDES) for part in parts)


def _of_cells(content: bytes) -> str:
    """Read the cells that are texts: numbers are shown in a form that only a reader works out."""
    shared: list[str] = []
    for part in _parts(content, re.compile(r"(?i)xl/sharedStrings\.xml")):
        items = re.split(rb"<(?:\w+:)?si\b", part)[1:]
        shared = [text_of(b"<si" + item, _STRINGS) for item in items]
    texts = []
    for part in _parts(content, _SHEET_PARTS):
        cells = re.findall(rb"<(?:\w+:)?c\s([^>]*?)(?:/>|>(.*?)</(?:\w+:)?c>)", part, re.DOTALL)
        for attributes, inner in cells:
            value = re.search(rb"<(?:\w+:)?v[^>]*>(\d+)</", inner)
            if re.search(rb"""\bt=["']s["']""", attributes) and value and int(value[1]) < len(shared):
                texts.append(shared[int(value[1])])
            elif re.search(rb"""\bt=["']inlineStr["']""", attributes):
                texts.append(text_of(inner, _STRINGS))
    return "\n".join(texts)


def _of_odf(content: bytes) -> str:
    if content.startswith(b"PK"):
        [content] = _parts(content, re.compile(r"content\.xml"))
    body = content.find(b"<office:body")
    return text_of(content[max(body, 0) :], _ODF)


def _of_book(content: bytes) -> str:
    """Read the pages that the spine of a book names."""
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        container = _part(package, "META-INF/container.xml").decode("utf-8", "replace")
        opf = unquote(re.findall(r"""full-path=["']([^"']+)""", container)[0])
        listed = _part(package, opf).decode("utf-8", "replace")
        items = {
            _attribute(item, "id"): _attribute(item, "href") for item in re.findall(r"<(?:\w+:)?item\s[^>]*>", listed)
        }
        spine = re.findall(r"<(?:\w+:)?itemref\s[^>]*>", listed)
        pages = [items.get(_attribute(item, "idref"), "") for item in spine if _attribute(item, "linear") != "no"]
        folder = opf.rpartition("/")[0]
        names = [f"{folder}/{unquote(page)}".lstrip("/") for page in pages if page]
        return " ".join(text_of(_part(package, name), _HTML) for name in names if name in package.namelist())


def _attribute(tag: str, name: str) -> str:
    match = re.search(rf"""\b{name}=["']([^"']*)""", tag)
    return match[1] if match else ""


def _of_message(content: bytes) -> str:
    message = email.message_from_bytes(content, policy=email.policy.default)
    return f"{message['subject'] or ''}\n{_body(message)}"


def _body(message: EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    text = str(part.get_content())
    return text_of(text.encode("utf-8", "replace"), _LOOSE_HTML) if part.get_content_subtype() == "html" else text


def _of_outlook(content: bytes) -> str:
    return "\n".join(_texts_of(OutlookMessage.of(content)))


def _texts_of(message: OutlookMessage) -> Iterator[str]:
    """Yield the text of a message, and of its attachments as far as its raw parts have it."""
    yield message.text(lambda page: text_of(page, _LOOSE_HTML))
    for attachment in message.attached():
        if isinstance(attachment, OutlookMessage):
            yield from _texts_of(attachment)
        else:
            yield attachment.name
            find = _REFERENCES.get(kind_of(FilePath(attachment.name), attachment.content))
            yield find(attachment.content) if find and find is not _of_slides else ""


_REFERENCES: Final[dict[str, Callable[[bytes], str]]] = {
    "docx": _of_parts(_WORD_PARTS, _WORDML),
    "pptx": _of_slides,
    "xlsx": _of_cells,
    "vsdx": _of_parts(_DRAWING_PARTS, _VISIO),
    **dict.fromkeys(("odt", "ods", "odp", "odg"), _of_odf),
    "epub": _of_book,
    "fictionbook": lambda content: text_of(content, _FICTION),
    "email": _of_message,
    "msg": _of_outlook,
    "mhtml": _of_message,
}
