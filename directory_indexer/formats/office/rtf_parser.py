"""Rich text (RTF) as events: Unicode text, destinations, and the control words between, in bounded memory.

Unneeded destinations are skipped at the speed of a search for braces: pictures are megabytes of digits. Each font has a
character set of its own.
"""

from __future__ import annotations

import codecs
import re
from typing import Final, Protocol

from directory_indexer.core.errors import ExtractionError

MAX_DEPTH: Final = 500
"""The deepest nesting of groups that is read; word processors reach 40."""


class RtfHandler(Protocol):
    """A receiver of the events of rich text, in order."""

    def begin(self, destination: str) -> None:
        """Handle the start of a requested destination; what follows until its end lies in it."""

    def end(self, destination: str) -> None:
        """Handle the end of a destination."""

    def text(self, text: str, *, is_superscript: bool) -> None:
        """Handle a run of text that is neither hidden nor deleted."""

    def control(self, word: str, number: int | None) -> None:
        """Handle a control word that is neither a character nor a destination."""


def read_rtf(content: bytes, handler: RtfHandler, destinations: frozenset[str]) -> ExtractionError | None:
    """Pass the events of rich text to a handler, with the requested destinations; return the problem, if any.

    Other destinations are skipped if they hold no text of the document, or are marked as skippable. Hidden and deleted
    text is skipped, too.
    """
    return _RtfParser(content, handler, destinations).run()


class _Group:
    """The state until the end of a group, and the destinations that began in it."""

    __slots__ = ("destinations", "encoding", "hiding_words", "is_superscript", "n_fallbacks")

    def __init__(self, outer: _Group | None = None) -> None:
        self.encoding: str = outer.encoding if outer else ""
        self.n_fallbacks: int = outer.n_fallbacks if outer else 1
        """The number of fallback characters that follow a Unicode one, for programs without Unicode."""

        self.hiding_words: frozenset[str] = outer.hiding_words if outer else frozenset()
        """The control words in force that hide text."""

        self.is_superscript: bool = outer.is_superscript if outer else False
        self.destinations: tuple[str, ...] = ()

    def set_format(self, word: str, number: int | None) -> bool:
        """Apply a control word that may be about the format of characters; whether it is."""
        if word == "uc":
            self.n_fallbacks = min(max(number or 0, 0), _MAX_FALLBACKS)
        elif word == "ud":
            self.hiding_words -= {"upr"}
        elif word == "plain":
            self.hiding_words -= {"v", "deleted"}
            self.encoding = ""
            self.is_superscript = False
        elif word in _VERTICAL:
            self.is_superscript = word in _RAISING and number != 0
        else:
            return False
        return True


class _RtfParser:
    def __init__(self, content: bytes, handler: RtfHandler, destinations: frozenset[str]) -> None:
        self._content = content
        self._handler = handler
        self._destinations = destinations
        self._groups: list[_Group] = [_Group()]
        self._fonts = Fonts()
        self._position = self._group_start = int(content.startswith(b"{"))
        self._raw = bytearray()
        """Bytes not decoded yet: a character may be written as two escapes."""

        self._high_surrogate = 0
        self._n_to_skip = 0
        self._is_starred = False

    def run(self) -> ExtractionError | None:
        size = len(self._content)
        problem = None
        while self._position < size and self._groups:
            token = _TOKEN.match(self._content, self._position)
            if not token:
                break
            self._position = token.end()
            if token[3] == b"{" and len(self._groups) > MAX_DEPTH:
                problem = ExtractionError(f"its groups are nested more than {MAX_DEPTH} levels deep")
                break
            self._read_token(token)
        while self._groups:
            self._end_group()
        return problem

    def _read_token(self, token: re.Match[bytes]) -> None:
        kind = token.lastindex
        if kind == _TEXT:
            text = token[_TEXT]
            self._raw += text[self._n_to_skip :]
            self._n_to_skip = max(0, self._n_to_skip - len(text))
        elif kind == _BYTE:
            self._read_byte(int(token[_BYTE], 16))
        elif kind == _BRACE:
            self._n_to_skip = 0
            if token[_BRACE] == b"{":
                self._begin_group()
            else:
                self._end_group()
        elif kind == _SYMBOL:
            self._read_symbol(token[_SYMBOL])
        elif kind:
            number = token[_NUMBER]
            self._read_word(token[_WORD].decode("ascii"), int(number) if number else None)

    def _read_byte(self, byte: int) -> None:
        if self._n_to_skip:
            self._n_to_skip -= 1
        else:
            self._raw.append(byte)

    def _read_symbol(self, symbol: bytes) -> None:
        if symbol == b"*":
            self._is_starred = self._position - len("\\*") == self._group_start
        elif symbol in b"\r\n":
            self._read_word("par", None)
        elif self._n_to_skip:
            self._n_to_skip -= 1
        elif symbol in _SYMBOLS:
            self._raw += _SYMBOLS[symbol]

    def _begin_group(self) -> None:
        self._write_raw()
        self._is_starred = False
        self._group_start = self._position
        self._groups.append(_Group(self._groups[-1]))

    def _end_group(self) -> None:
        self._write_raw()
        for destination in reversed(self._groups.pop().destinations):
            if destination == _FONTS:
                self._fonts.is_open = False
            else:
                self._handler.end(destination)

    def _read_word(self, word: str, number: int | None) -> None:
        if word == "u":
            self._read_unicode(number or 0)
            return
        if self._n_to_skip and word != "bin":
            self._n_to_skip -= 1
            return
        self._write_raw()
        group, is_starred = self._groups[-1], self._is_starred
        self._is_starred = False
        if word in _HIDING:
            hiding = {word} if number != 0 else set()
            group.hiding_words = group.hiding_words - {word} | hiding
        elif word in self._destinations or word == _FONTS:
            self._begin_destination(word)
        elif word in _SKIPPED or (is_starred and word not in _TRANSPARENT):
            self._skip_group()
        elif character := _CHARACTERS.get(word):
            self._write(character)
        else:
            self._set(group, word, number)

    def _set(self, group: _Group, word: str, number: int | None) -> None:
        if group.set_format(word, number):
            return
        if word == "bin":
            self._position += max(number or 0, 0)
        elif self._fonts.is_open:
            self._fonts.define(word, number)
        elif word == "f":
            group.encoding = self._fonts.encoding(number)
        elif not self._fonts.set_default(word, number) and (word not in _BREAKS or not group.hiding_words):
            self._handler.control(word, number)

    def _begin_destination(self, word: str) -> None:
        self._groups[-1].destinations += (word,)
        if word == _FONTS:
            self._fonts.is_open = True
        else:
            self._handler.begin(word)

    def _skip_group(self) -> None:
        """Move to the brace that ends the group."""
        depth = 1
        while depth and (match := _BRACES.search(self._content, self._position)):
            self._position = match.end()
            if match[1]:
                self._position += int(match[1])
            elif match[0] in _DEPTHS:
                depth += _DEPTHS[match[0]]
        if depth:
            self._position = len(self._content)
        else:
            self._end_group()

    def _read_unicode(self, code: int) -> None:
        """Handle a character written as a signed 16-bit number; larger ones are surrogate pairs."""
        self._write_raw()
        code %= _UTF16
        self._n_to_skip = self._groups[-1].n_fallbacks
        if _HIGH <= code < _LOW:
            self._high_surrogate = code
        elif _LOW <= code < _PRIVATE:
            if self._high_surrogate:
                self._write(chr(_UTF16 + (self._high_surrogate - _HIGH) * 1024 + code - _LOW))
            self._high_surrogate = 0
        else:
            self._write(chr(code))

    def _write_raw(self) -> None:
        if self._raw:
            encoding = self._groups[-1].encoding or self._fonts.default_encoding
            self._write(self._raw.decode(encoding, "replace"))
            self._raw.clear()

    def _write(self, text: str) -> None:
        if not self._groups[-1].hiding_words and not self._fonts.is_open:
            self._handler.text(text, is_superscript=self._groups[-1].is_superscript)


_TEXT, _BYTE, _BRACE, _SYMBOL, _WORD, _NUMBER = range(1, 7)
_TOKEN: Final = re.compile(
    rb"([^\\{}\r\n]+)|\\'([0-9a-fA-F]{2})|([{}])|\\([^a-zA-Z'])|\\([a-zA-Z]{1,40})(-?\d{1,9})? ?|[\r\n]+|\\'?",
    re.DOTALL,
)
_BRACES: Final = re.compile(rb"[{}]|\\bin(\d{1,9}) ?|\\[\\{}]")
_DEPTHS: Final = {b"{": 1, b"}": -1}
_UTF16: Final = 0x1_0000
_HIGH: Final = 0xD800
_LOW: Final = 0xDC00
_PRIVATE: Final = 0xE000
_MAX_FALLBACKS: Final = 16
_FONTS: Final = "fonttbl"
_HIDING: Final = frozenset({"v", "deleted", "upr"})
"""Hidden or deleted text, and fallbacks for programs without Unicode."""

_BREAKS: Final = frozenset({"par", "sect", "page", "column"})
_RAISING: Final = frozenset({"super", "up"})
_VERTICAL: Final = _RAISING | {"sub", "dn", "nosupersub"}
_TRANSPARENT: Final = frozenset({"shpinst", "do", "ud"})
_SKIPPED: Final = frozenset(
    "annotation atnauthor atndate atnicn atnid atnparent atnref atrfend atrfstart author buptim category colortbl "
    "comment company creatim doccomm dptxbxtext filetbl fldinst footer footerf footerl footerr footnote ftncn "
    "ftnsep ftnsepc aftncn aftnsep aftnsepc header headerf headerl headerr info keywords leveltext levelnumbers "
    "listname listtable listoverridetable listtext manager nesttableprops nonesttables nonshppict objdata objname "
    "objclass operator panose pict pntext pntxta pntxtb printim revtbl revtim rxe shprslt shptxt shppict sn sp "
    "stylesheet subject sv tc tcn title txe xe".split()
)
_SYMBOLS: Final = {b"\\": b"\\", b"{": b"{", b"}": b"}", b"~": b" ", b"_": b"-", b"\t": b"\t"}
_CHARACTERS: Final = {
    "tab": "\t",
    "line": "\n",
    "lbr": "\n",
    "emdash": "\u2014",
    "endash": "\u2013",
    "bullet": "\u2022",
    "lquote": "\u2018",
    "rquote": "\u2019",
    "ldblquote": "\u201c",
    "rdblquote": "\u201d",
    "emspace": " ",
    "enspace": " ",
    "qmspace": " ",
}


class Fonts:
    """The fonts of a document, and its default encoding."""

    def __init__(self) -> None:
        self.is_open = False
        """Whether the font table is being read."""

        self._document_encoding = "cp1252"
        self._default_font: int | None = None
        self._encodings: dict[int | None, str] = {}
        self._font: int | None = None

    def set_default(self, word: str, number: int | None) -> bool:
        """Apply a control word that may set the default encoding or font; whether it does."""
        if word == "deff":
            self._default_font = number
            return True
        encoding = _codec_of_code_page(number) if word == "ansicpg" else _DEFAULTS.get(word)
        self._document_encoding = encoding or self._document_encoding
        return encoding is not None

    def define(self, word: str, number: int | None) -> None:
        """Apply a control word of the font table."""
        if word == "f":
            self._font = number
        elif word == "fcharset" and number in _CHARSETS:
            self._encodings[self._font] = f"cp{_CHARSETS[number]}" if number != _MAC else "mac_roman"
        elif word == "cpg" and (encoding := _codec_of_code_page(number)):
            self._encodings[self._font] = encoding

    def encoding(self, font: int | None) -> str:
        """Return the encoding of a font."""
        return self._encodings.get(font, self._document_encoding)

    @property
    def default_encoding(self) -> str:
        """The encoding of text without a font."""
        return self.encoding(self._default_font)


def _codec_of_code_page(number: int | None) -> str | None:
    name = _CODE_PAGES.get(number, f"cp{number}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None


_MAC: Final = 77
_DEFAULTS: Final = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_CODE_PAGES: Final[dict[int | None, str]] = {0: "cp1252", 10_000: "mac_roman", 10_007: "mac_cyrillic", 65_001: "utf-8"}
_CHARSETS: Final[dict[int | None, int]] = {
    _MAC: 10_000,
    128: 932,
    129: 949,
    130: 1361,
    134: 936,
    136: 950,
    161: 1253,
    162: 1254,
    163: 1258,
    177: 1255,
    178: 1256,
    186: 1257,
    204: 1251,
    222: 874,
    238: 1250,
    254: 437,
    255: 850,
}
