"""Labels of character sets are meant as browsers mean them, and mail is read although they are wrong."""

from __future__ import annotations

import base64
import io

import pytest

from directory_indexer.formats.containers import Budget
from directory_indexer.formats.decoding import codec_of
from directory_indexer.formats.mail.message import open_message

GERMAN = "Die Größe der Übersicht über Köln ist fürchterlich wichtig.\n"


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("GB2312", "gb18030"),
        ("x-gbk", "gb18030"),
        ("ks_c_5601-1987", "cp949"),
        ("euc-kr", "cp949"),
        ("windows-949", "cp949"),
        ("Shift_JIS", "cp932"),
        ("windows-31j", "cp932"),
        ("big5", "big5hkscs"),
        ("cn-big5", "big5hkscs"),
        ("us-ascii", "cp1252"),
        ("ISO-8859-1", "cp1252"),
        (' "latin1" ', "cp1252"),
        ("iso88592", "iso8859-2"),
        ("iso-8859-9", "cp1254"),
        ("iso-8859-8-i", "iso8859-8"),
        ("x-mac-cyrillic", "mac-cyrillic"),
        ("dos-874", "cp874"),
        ("cp-850", "cp850"),
        ("IBM-437", "cp437"),
        ("unicode-1-1-utf-8", "utf-8"),
        ("rot13", None),
        ("idna", None),
        ("no\0charset", None),
        ("", None),
    ],
)
def test_a_label_means_what_browsers_take_it_for(label: str, codec: str | None) -> None:
    assert codec_of(label) == codec


def mail(body: bytes, charset: str, *, subject: bytes = b"Plan") -> bytes:
    declared = f"Content-Type: text/plain; charset={charset}".encode() if charset else b"X-None: 1"
    return b"From: ann@example.org\r\nSubject: %b\r\n%b\r\n\r\n%b" % (subject, declared, body)


@pytest.mark.parametrize(
    ("charset", "body", "phrase"),
    [
        ("utf-8", GERMAN.encode() * 5 + b"caf\xe9 am Ende\r\n", "Größe der Übersicht über Köln"),
        ("utf-8", GERMAN.encode() + "Schluß".encode()[:-1], "Größe der Übersicht über Köln"),
        ("utf-8", GERMAN.encode("latin-1"), "Größe der Übersicht über Köln"),
        ("us-ascii", GERMAN.encode("latin-1"), "Größe der Übersicht über Köln"),
        ("iso-8859-1", GERMAN.encode(), "Größe der Übersicht über Köln"),
        ("iso-8859-1", "“100 €” \u2013 genug".encode("cp1252"), "“100 €” \u2013 genug"),
        ("gb2312", "会议推迟,朱镕基出席。".encode("gbk"), "会议推迟,朱镕基出席。"),
        ("gb2312", "会议推迟,".encode("gbk") + b"\xff" + "他们出席。".encode("gbk"), "他们出席。"),
        ("ks_c_5601-1987", "회의는 똠방각하 목요일".encode("cp949"), "똠방각하"),
        ("euc-kr", "회의는 똠방각하 목요일".encode("cp949"), "똠방각하"),
        ("Shift_JIS", "会議は木曜日に延期されました①㈱".encode("cp932"), "木曜日に延期されました①㈱"),
        ("euc-jp", "会議は①に延期".encode("euc_jis_2004"), "会議は①に延期"),
        ("big5", "會議延期到下星期四 啫喱".encode("big5hkscs"), "延期到下星期四 啫喱"),
        ("ISO-2022-JP", b"\x1b$B-!-j\x1b(B\x1b$B3t<02q<R$N8+@Q\x1b(B", "①㈱株式会社の見積"),
        ("hz-gb-2312", b"~{;aRiMF3Y~}~~ HZ\n", "会议推迟~ HZ"),
        ("ISO-2022-JP", b"\x1b(I1\x1b(B\x1b$B3t<0\xff2q<R\x1b(B", "株式"),
    ],
)
def test_mail_is_read_in_the_character_set_that_its_label_stands_for(charset: str, body: bytes, phrase: str) -> None:
    document = open_message(io.BytesIO(mail(body, charset)), "email", Budget()).document
    assert document is not None
    assert phrase in document.text


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("发信方已撤回邮件".encode("gbk"), "发信方已撤回邮件"),
        (b"=?gb2312?B?" + base64.b64encode("镕基会议".encode("gbk")) + b"?=", "镕基会议"),
        ("Größe".encode(), "Größe"),
    ],
)
def test_a_subject_is_decoded_as_the_message_declares(subject: bytes, expected: str) -> None:
    message = mail("正文内容在这里,会议推迟。".encode("gbk"), "gbk", subject=subject)
    document = open_message(io.BytesIO(message), "email", Budget()).document
    assert document is not None
    assert document.title == expected
