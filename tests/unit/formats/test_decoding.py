"""Bytes of any encoding become text with LF line ends; bytes that are no text are told apart by what they hold."""

from __future__ import annotations

import zlib
from hashlib import shake_128

import pytest

from directory_indexer.core.errors import SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.decoding import decode

GERMAN = "Größe, Höhe und Länge müssen für jede Prüfung schön übereinstimmen.\nDas heißt: täglich.\n"
FRENCH = "L'été dernier, où étiez-vous ? Le café près du théâtre était fermé, hélas.\n"
POLISH = "Nie można odnaleźć pliku. Sprawdź ścieżkę i spróbuj ponownie, zanim będziesz kontynuować.\n"
PANGRAM = "Zażółć gęślą jaźń. Umowa została podpisana w środę przez dyrektora.\n"
RUSSIAN = "Файл не найден. Проверьте путь и повторите попытку, прежде чем продолжить работу.\n"
GREEK = "Αρχείο δεν βρέθηκε. Ελέγξτε τη διαδρομή και προσπαθήστε ξανά.\n"
JAPANESE = "ファイルが見つかりません。パスを確認して、もう一度やり直してください。\n"
CHINESE = "找不到文件。请检查路径,然后重试。这个程序可以搜索目录中的所有文件。\n"
TAIWANESE = "找不到檔案。請檢查路徑,然後再試一次。這個程式可以搜尋目錄中的所有檔案。\n"
KOREAN = "파일을 찾을 수 없습니다. 경로를 확인하고 다시 시도하십시오. 이 프로그램은 검색합니다.\n"
THAI = "ไม่พบไฟล์ กรุณาตรวจสอบเส้นทางแล้วลองใหม่อีกครั้ง\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "latin-1"),
        (GERMAN, "cp1252"),
        (GERMAN, "cp850"),
        (FRENCH, "cp1252"),
        (POLISH, "cp1250"),
        (POLISH, "iso8859-2"),
        (PANGRAM, "cp1250"),
        (PANGRAM, "iso8859-2"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (RUSSIAN, "cp866"),
        (GREEK, "cp1253"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc-jp"),
        (JAPANESE, "iso2022_jp"),
        (CHINESE, "gbk"),
        (CHINESE, "gb18030"),
        (TAIWANESE, "big5"),
        (KOREAN, "euc-kr"),
        (KOREAN, "cp949"),
        (KOREAN, "iso2022_kr"),
        (THAI, "cp874"),
        *[(text, "utf-8") for text in (GERMAN, RUSSIAN, JAPANESE, THAI)],
        *[(text, "utf-8-sig") for text in (GERMAN, JAPANESE)],
        *[(text, encoding) for text in (GERMAN, KOREAN) for encoding in ("utf-16", "utf-32")],
        *[(GERMAN, encoding) for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")],
        *[(RUSSIAN, encoding) for encoding in ("utf-16-le", "utf-16-be")],
    ],
)
def test_text_is_read_in_the_encoding_it_was_written_in(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("text", "encoding"), [(GERMAN, "latin-1"), (RUSSIAN, "cp1251"), (JAPANESE, "shift_jis"), (CHINESE, "gbk")]
)
def test_one_foreign_comment_in_a_long_ascii_file_is_enough_to_tell_the_encoding(text: str, encoding: str) -> None:
    code = "def f(x):\n    return x + 1\n\n" * 20_000
    source = code + "# " + text + code
    assert decode(source.encode(encoding)) == source


@pytest.mark.parametrize(
    "declaration",
    [
        "# -*- coding: iso-8859-7 -*-\n",
        "#!/usr/bin/python\n# vim: set fileencoding=iso-8859-7 :\n",
        '<?xml version="1.0" encoding="ISO-8859-7"?>\n',
        "<html><head>\n<title>x</title>\n<meta charset=iso-8859-7>\n",
        '<meta http-equiv="Content-Type"\n content="text/html; charset=iso-8859-7">\n',
        '@charset "iso-8859-7";\n',
    ],
)
def test_the_encoding_that_a_file_declares_is_believed(declaration: str) -> None:
    source = declaration + "αβ"
    assert decode(source.encode("iso-8859-7")) == source


@pytest.mark.parametrize(
    ("label", "encoding", "text"),
    [
        ("gb2312", "gb18030", "会议由朱镕基主持"),
        ("x-sjis", "cp932", "①の見積を送ります"),
        ("euc-kr", "cp949", "똠방각하를 읽었습니다"),
        ("big5", "big5hkscs", "會議延期到下星期四"),
        ("iso-8859-1", "cp1252", "“Größe” \u2013 100 €"),
        ("windows-31j", "cp932", "会議のお知らせ"),
    ],
)
def test_a_declared_encoding_is_what_browsers_take_it_for(label: str, encoding: str, text: str) -> None:
    source = f"<meta charset={label}>{text}"
    assert decode(source.encode(encoding)) == source


def test_chinese_in_ascii_is_decoded_where_the_page_declares_it() -> None:
    page = '<meta http-equiv="Content-Type" content="text/html; charset=hz-gb-2312"><p>~{;aRiMF3Y~}</p>'
    assert "<p>会议推迟</p>" in decode(page.encode())
    assert "~{;aRiMF3Y~}" in decode(page.replace("hz-gb-2312", "us-ascii").encode())


def test_a_byte_that_does_not_fit_the_declared_encoding_costs_one_character() -> None:
    source = f"# coding: gbk\n{CHINESE}".encode("gbk")
    assert decode(source + b"\xff\n" + CHINESE.encode("gbk")) == f"# coding: gbk\n{CHINESE}\ufffd\n{CHINESE}"


@pytest.mark.parametrize("older", ["cp1252", "cp1250"])
def test_lines_in_two_encodings_are_each_read_in_their_own(older: str) -> None:
    polish = POLISH if older == "cp1250" else GERMAN
    assert decode(GERMAN.encode() * 5 + polish.encode(older) * 4) == GERMAN * 5 + polish * 4


@pytest.mark.parametrize(
    ("text", "encoding"), [(GERMAN, "mac_roman"), (FRENCH, "mac_roman"), (GREEK, "cp737"), (TAIWANESE, "big5")]
)
def test_an_encoding_that_is_seldom_met_is_tried_before_a_text_is_given_up(text: str, encoding: str) -> None:
    assert decode((text * 3).encode(encoding)) == text * 3


def test_a_declared_multi_byte_encoding_is_believed_even_where_utf8_would_fit() -> None:
    content = "# coding: gbk\n模模".encode("gbk")
    assert content.decode("utf-8") != content.decode("gbk")
    assert decode(content) == "# coding: gbk\n模模"


@pytest.mark.parametrize("name", ["latin-1", "utf-16", "unheard-of", "rot13", "punycode", "hex", "cp037", "utf-7"])
def test_a_declaration_that_cannot_be_true_is_overruled(name: str) -> None:
    source = f"# coding: {name}\nGröße\n"
    assert decode(source.encode()) == source


def test_utf8_with_a_few_damaged_bytes_stays_utf8() -> None:
    content = RUSSIAN.encode() + b"\xff" + RUSSIAN.encode()
    assert decode(content) == RUSSIAN + "\ufffd" + RUSSIAN


def test_utf8_that_ends_in_the_middle_of_a_character_stays_utf8() -> None:
    assert decode(CHINESE.strip().encode()[:-1]) == CHINESE.strip()[:-1] + "\ufffd"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a\nb\n", "a\nb\n"),
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"a\rb\r", "a\nb\n"),
        (b"10%\r20%\rdone\n", "10% 20% done\n"),
        (b"a\r\r\nb\n", "a \nb\n"),
        ("a\x0cb\x0bc\x85d\u2028e\u2029f\x1cg\n".encode(), "a\x0cb\x0bc\x85d\u2028e\u2029f\x1cg\n"),
    ],
)
def test_a_line_ends_where_editors_and_grep_end_it(content: bytes, text: str) -> None:
    assert decode(content) == text


def test_colours_and_overstrikes_of_a_terminal_are_dropped() -> None:
    assert decode(b"\x1b[1;31mERROR\x1b[0m \x1b]0;title\x07N\bNA\bAM\bME\bE\n") == "ERROR NAME\n"


def test_a_log_with_a_hole_of_nuls_is_still_text() -> None:
    log = b"2024-01-01 started the server\n" * 1000
    assert decode(log + b"\0" * 100 + log) == log.decode() + " " * 100 + log.decode()


@pytest.mark.parametrize(
    "content",
    [
        b"\0" * 4096 + b"2026-01-05 restarted after crash\n" * 100,
        b"2026-01-05 started\n" * 3000 + b"\0" * 4096 + b"restarted after crash\n" * 3000,
        b"first boot\n" + b"\0" * 60_000 + b"restarted after crash\n" * 30,
        "Größe geprüft\n".encode() * 100 + b"\0" * 2000 + b"restarted after crash\n",
        b"".join(b"./path/to/file-%d.txt\0" % number for number in range(50)) + b"restarted after crash",
        b"".join(b"name%d".ljust(20) % number + b"\0restarted after crash  \0\n" for number in range(30)),
    ],
)
def test_text_that_nuls_fill_up_or_part_is_text(content: bytes) -> None:
    assert "restarted after crash" in decode(content)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
@pytest.mark.parametrize("line", ["the server started\r\n", "сервер запущен заново\r\n"])
@pytest.mark.parametrize(("mark", "n_before"), [("", 0), ("", 3), ("\ufeff", 0), ("\ufeff", 3), ("", 2000)])
def test_a_log_of_wide_characters_may_have_a_hole_of_nuls(encoding: str, line: str, mark: str, n_before: int) -> None:
    log = (mark + line * n_before).encode(encoding) + b"\0" * 4096 + (line * 400).encode(encoding)
    assert decode(log).split() == (line * (n_before + 400)).split()


@pytest.mark.parametrize("n_nuls", [1, 2, 3])
def test_a_short_text_with_nuls_is_never_taken_for_utf16(n_nuls: int) -> None:
    text = "a line of thirty characters ..\n" * 10
    assert decode(text.encode() + b"\0" * n_nuls) == text + " " * n_nuls


def test_fields_that_are_separated_by_control_characters_are_text() -> None:
    message = "8=FIX.4.2\x019=178\x0135=8\x0149=PHLX\x0156=PERS\x01\n" * 10
    assert decode(message.encode()) == message


@pytest.mark.parametrize(
    "text", ["BM25 ranks documents\n", "PK is a key\n", "MZ\n", "GIF89a was a format\n", "RIFF, riff\n"]
)
def test_a_text_may_begin_like_an_image_or_an_archive(text: str) -> None:
    assert decode(text.encode()) == text


def noise(n_bytes: int) -> bytes:
    return shake_128(b"noise").digest(n_bytes)


def binary_samples() -> list[tuple[bytes, str]]:
    return [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + noise(50), "PNG image"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF" + noise(500), "JPEG image"),
        (b"GIF89a\x01\0\x01\0" + noise(200), "GIF image"),
        (b"BM" + noise(500), "BMP image"),
        (b"RIFF\x10\0\0\0WEBPVP8 " + noise(100), "WebP image"),
        (b"\0\0\0\x1cftypavif" + noise(100), "AVIF image"),
        (b"PK\3\4\x14\0\0\0" + noise(500), "ZIP archive"),
        (b"\x1f\x8b\x08\0" + zlib.compress(noise(300)), "gzip archive"),
        (b"\x7fELF\2\1\1" + b"\0" * 9 + noise(300), "ELF executable or library"),
        (b"MZ\x90\0\3\0" + noise(300), "Windows executable or library"),
        (b"\xca\xfe\xba\xbe\0\0\0\x34" + noise(300), "Java class"),
        (b"\xa7\r\r\n\0\0\0\0" + noise(300), "compiled Python"),
        (b"SQLite format 3\0\x10\0" + noise(300), "SQLite database"),
        (b"wOF2\0\1\0\0" + noise(300), "web font"),
        (b"\x93NUMPY\1\0v\0{'descr': '<f4'}" + noise(300), "NumPy array"),
        (b"\x80\4\x95\x0c\0\0\0" + noise(300), "Python pickle"),
        (b"\x40\0\0\0\0\0\0\0" + b'{"w":{"dtype":"F32"}}' + noise(900), "model weights (safetensors)"),
        (b"GGUF\3\0\0\0" + noise(300), "model weights (GGUF)"),
        (b"\0" * 257 + b"ustar" + b"\0" * 250, "tar archive"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + noise(500), "Microsoft Office document or other OLE file"),
        (noise(5000), "unknown binary format"),
        (b"\0\1\2\3" * 1000, "unknown binary format"),
        (b"\0" * 4096, "unknown binary format"),
        (b"\xff\xfe" + b"\0" * 4096, "unknown binary format"),
        (b"\1field\0" * 100, "unknown binary format"),
        (b"#!/bin/sh\n" + b"echo installing\n" * 100 + noise(500_000), "unknown binary format"),
    ]


@pytest.mark.parametrize(("content", "name"), binary_samples())
def test_binary_content_is_recognised_and_named(content: bytes, name: str) -> None:
    with pytest.raises(SkipFileError) as caught:
        decode(content)
    assert (caught.value.reason, caught.value.message) == (SkipReason.BINARY, name)


def test_numbers_are_not_taken_for_utf16() -> None:
    volumes = (loud % 600 - 300 for loud in memoryview(noise(20_000)).cast("H"))
    samples = b"".join(volume.to_bytes(2, "little", signed=True) for volume in volumes)
    with pytest.raises(SkipFileError):
        decode(samples)


def smooth(low: int, high: int) -> bytes:
    """Return bytes like those of a photograph or of a sound, each near to the one before."""
    level, levels = (low + high) // 2, bytearray()
    for step in noise(40_000):
        level = min(max(level + step % 7 - 3, low), high)
        levels.append(level)
    return bytes(levels)


def between(low: int, high: int) -> bytes:
    return bytes(low + byte % (high - low + 1) for byte in noise(40_000))


@pytest.mark.parametrize(
    "content",
    [
        b"\xff" * 20_000,
        b"P6\n400 400\n255\n" + b"\xff" * 9000 + b"\x10\x20\x7f" * 60 + b"\xff" * 9000,
        b"\0\0\2" + b"\0" * 9 + b"\x40\1\x40\1\x08\0" + b"A" * 20_000,
        b"".join(bytes([255 - byte % 5]) * (byte % 9) for byte in noise(9000)),
        *[between(*bounds) for bounds in ((33, 255), (128, 255), (160, 255), (192, 255), (176, 223), (129, 254))],
        *[smooth(*bounds) for bounds in ((32, 255), (128, 255), (192, 255), (0x40, 0xFF))],
        ("THE QUICK BROWN FOX. Inspection of the facility was on Monday.\n" * 30).encode("cp037"),
        ("THE REPORT OF THE YEAR IS HERE AND IT IS LONG " * 40).encode("cp500"),
        zlib.compress(noise(30_000)).translate(None, bytes(range(32))),
    ],
)
def test_bytes_that_no_language_has_are_no_text_though_no_nul_is_among_them(content: bytes) -> None:
    with pytest.raises(SkipFileError) as caught:
        decode(content)
    assert caught.value.reason == SkipReason.BINARY
