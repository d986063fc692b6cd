"""The words of a message of Outlook by its properties (MS-OXPROPS), read apart from the reader that is measured.

They are the subject, the names of the sender and of all recipients, the body (the plain one, else the text of the HTML,
else that of the rich text), and the names and words of what is attached. Addresses of X.500 (`/O=…/CN=…`) stand for
people in directories and are no words of a message; nor are headers, or properties that no program shows. Where a
message does not note the code page of its texts, their words of other letters than ASCII are left out.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import olefile

_Path = tuple[str, ...]


class Attached(NamedTuple):
    """A file that is attached to a message."""

    name: str
    content: bytes


class OutlookMessage:
    """A message in an OLE file: the outermost, or one that is attached."""

    def __init__(self, ole: olefile.OleFileIO, path: _Path = ()) -> None:
        self._ole = ole
        self._path = path
        entries = ole.listdir(streams=True, storages=True)
        here = [
            entry[len(path)] for entry in entries if len(entry) == len(path) + 1 and tuple(entry[: len(path)]) == path
        ]
        self._attachments = [name for name in here if name.startswith("__attach_version1.0_")]
        self._recipients = [name for name in here if name.startswith("__recip_version1.0_")]
        self._charset = self._charset_of_strings()

    @classmethod
    def of(cls, content: bytes) -> OutlookMessage:
        return cls(olefile.OleFileIO(io.BytesIO(content)))

    def text(self, words_of_page: Callable[[bytes], str]) -> str:
        """Write what people read of it."""
        people = [self._string((), "0C1A"), *(self._string((name,), "3001") for name in self._recipients)]
        addresses = dict.fromkeys(address for address in people if not address.upper().startswith(("/O=", "/CN=")))
        return "\n".join((self._string((), "0037"), *addresses, self._body(words_of_page)))

    def attached(self) -> Iterator[Attached | OutlookMessage]:
        """Yield the attachments, with names and as they are."""
        for folder in self._attachments:
            inner = (*self._path, folder, "__substg1.0_3701000D")
            if self._ole.exists(list(inner)):
                yield OutlookMessage(self._ole, inner)
            else:
                name = self._string((folder,), "3707") or self._string((folder,), "3704")
                yield Attached(name, self._stream((folder,), "37010102"))

    def _body(self, words_of_page: Callable[[bytes], str]) -> str:
        if plain := self._string((), "1000"):
            return plain
        if page := self._stream((), "10130102"):
            declared = re.search(rb"charset=[\"']?([\w-]+)", page)
            charset = declared[1].decode() if declared else self._charset
            return words_of_page(_known(page.decode(charset, "replace")).encode())
        if written := self._string((), "1013"):
            return words_of_page(written.encode("utf-8", "replace"))
        packed = self._stream((), "10090102")
        return _words_of_rtf(_unpacked(packed)) if packed else ""

    def _string(self, folder: _Path, tag: str) -> str:
        if wide := self._stream(folder, f"{tag}001F"):
            return wide.decode("utf-16-le", "replace").strip("\0")
        return _known(self._stream(folder, f"{tag}001E").decode(self._charset, "replace")).strip("\0")

    def _stream(self, folder: _Path, tag: str) -> bytes:
        name = [*self._path, *folder, f"__substg1.0_{tag}"]
        if not self._ole.exists(name):
            return b""
        content: bytes = self._ole.openstream(name).read()
        return content

    def _charset_of_strings(self) -> str:
        name = [*self._path, "__properties_version1.0"]
        content = self._ole.openstream(name).read() if self._ole.exists(name) else b""
        # Behind a header of 32 or 24 bytes, properties take 16 each: what it is, flags, and its value.
        for at in range(24 if self._path else 32, len(content) - 15, 16):
            tag, _, value = struct.unpack_from("<III", content, at)
            if tag == _CODE_PAGE:
                return {65001: "utf-8", 20127: "ascii"}.get(value, f"cp{value}")
        return "ascii"


def _known(text: str) -> str:
    """Leave out words of which not all letters are known."""
    return re.sub(r"\w*\ufffd[\w\ufffd]*", " ", text)


def _unpacked(packed: bytes) -> bytes:
    """Unpack rich text (MS-OXRTFCP): runs of what was written to a ring of 4096 bytes before."""
    _, n_bytes, kind, _ = struct.unpack_from("<I I 4s I", packed)
    if kind == b"MELA":
        return packed[16 : 16 + n_bytes]
    ring, write, at, text = bytearray(_RING.ljust(4096, b"\0")), len(_RING), 16, bytearray()
    while at < len(packed):
        flags, at = packed[at], at + 1
        for bit in range(8):
            if at + (flags >> bit & 1) >= len(packed):
                return bytes(text)
            if flags >> bit & 1:
                reference = int.from_bytes(packed[at : at + 2], "big")
                start, length, at = reference >> 4, (reference & 15) + 2, at + 2
                if start == write % 4096:
                    return bytes(text)
            else:
                ring[write % 4096] = packed[at]
                text.append(packed[at])
                write, at = write + 1, at + 1
                continue
            for step in range(length):
                byte = ring[(start + step) % 4096]
                ring[write % 4096] = byte
                text.append(byte)
                write += 1
    return bytes(text)


def _words_of_rtf(source: bytes) -> str:
    """Take the text out of rich text, without its tables of fonts, colours, styles and what programs may ignore."""
    texts: list[str] = []
    hidden, depth = 0, 0
    for piece in _RTF.finditer(source.decode("latin-1")):
        depth += bool(piece["opens"]) - bool(piece["closes"])
        if depth < hidden:
            hidden = 0
        if piece["control"] in _NO_TEXT:
            hidden = hidden or depth
        if not hidden:
            texts.append(_readable(piece))
    return "".join(texts)


def _readable(piece: re.Match[str]) -> str:
    if piece["code"]:
        return bytes([int(piece["code"], 16)]).decode("cp1252", "replace")
    if piece["control"] == "u":
        return chr(int(piece["number"] or 0) % 65536)
    return "\n" if piece["control"] in _BREAKS else piece["text"] or ""


_CODE_PAGE: Final = 0x3FFD0003
_RING: Final = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_RTF: Final = re.compile(
    r"(?P<opens>\{)|(?P<closes>\})|\\(?:(?P<control>[a-z]{1,32}|\*)(?P<number>-?\d{1,10})? ?|'(?P<code>[0-9a-fA-F]{2}))"
    r"|(?P<text>[^\\{}\r\n]+)|\\?.",
    re.DOTALL,
)
_NO_TEXT: Final = frozenset(("*", "fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "fldinst"))
_BREAKS: Final = frozenset(("par", "line", "tab", "cell", "row"))
