"""Messages (RFC 5322, MIME) and mailboxes of many messages in one file (mbox, RFC 4155).

The main headers and the body of a message are its text; attachments are members. A mailbox is read line by line, and
each message is a member.
"""

from __future__ import annotations

import base64
import email
import email.policy
import mimetypes
import re
from collections.abc import Callable, Iterator
from email.message import Message
from email.parser import BytesHeaderParser
from functools import reduce
from typing import BinaryIO, Final, NamedTuple

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import SkipReason
from directory_indexer.formats.containers import Budget, Contents, Member, read_whole
from directory_indexer.formats.decoding import decode, decode_declared
from directory_indexer.formats.document import Document, Section
from directory_indexer.formats.html import extract_html
from directory_indexer.formats.mail.headers import Headers, decode_header_text
from directory_indexer.formats.mail.signed import signed_content

MAX_PARTS: Final = 2_000
ENCRYPTED: Final = "This message is encrypted.\n"

_MAX_NAME: Final = 80
_NOT_IN_FILE_NAMES: Final = re.compile(r"[\x00-\x1f/\\:*?\"<>|!]")
_BLANK_LINES: Final = re.compile(r"\n(?:[^\S\n]*\n){2,}")
_BODY_TYPES: Final = frozenset({"text/plain", "text/html", "text/enriched"})
_PKCS7_TYPES: Final = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_SIGNED_OR_ENCRYPTED_TYPES: Final = _PKCS7_TYPES | {"multipart/encrypted", "application/pgp-encrypted"}
_REPORT_TYPES: Final = frozenset(
    {
        "message/delivery-status",
        "message/disposition-notification",
        "message/feedback-report",
        "message/global-delivery-status",
        "message/global-disposition-notification",
    }
)
_WORD: Final = re.compile(r"\w+")
_ADDRESS: Final = re.compile(r"\b(?:https?://|mailto:|cid:)\S+", re.IGNORECASE)
_MIN_WORDS: Final = 2
_END_OF_BLOCK: Final = re.compile(r"</(?:p|div|li|h[1-6]|tr|table|blockquote)\s*>|<br\b[^<>]*>", re.IGNORECASE)
"""Ends of lines in the HTML of a message, whose source is often one line."""

_SIGNATURE: Final = "-- "
_UUENCODED: Final = re.compile(
    r"(?m)^begin [0-7]{3,4} ([^\n]{1,255})\n((M(?=[ -`]{60}))?(?:[ -`]{1,90}+(?:\n|\Z))++)(?:end[ \t]*$|(?(3)\Z|(?!)))"
)
"""A file of older programs, up to its end or that of the text if that cuts it off behind a full line."""

_BLANK_LINE: Final = re.compile(rb"\n\r?\n")
# Old programs write blanks before the colon (RFC 5322, 4.5); the standard library takes that for the end of headers.
_NAME_WITH_BLANKS: Final = re.compile(rb"(?m)^([!-9;-~]{1,80})[ \t]+:")

_MAX_LINE: Final = 1 << 20
_MAX_HEAD: Final = 1 << 16
_HEAD_END: Final = re.compile(rb"\n\r?\n")
_QUOTED: Final = re.compile(rb">+From ")
_SEPARATOR: Final = re.compile(rb"From [^\n]{0,400}\d{4}|From - ")
_FULL_SEPARATOR: Final = re.compile(rb"From \S{1,200} +\w{3} +\w{3} +\d{1,2} +\d\d:\d\d(?::\d\d)? [^\n]{0,40}\d{4}")


def open_message(file: BinaryIO, kind: str, budget: Budget) -> Contents:
    """Read a message.

    Raises:
        ExtractionError: its parts are nested too deep.
    """
    return read_message(read_whole(file), kind, budget)


def open_apple_message(file: BinaryIO, kind: str, budget: Budget) -> Contents:
    """Read a message of Apple Mail, which is preceded by its length and followed by a property list."""
    content = read_whole(file)
    length, _, rest = content.partition(b"\n")
    return read_message(rest[: int(length)] if length.strip().isdigit() else content, kind, budget)


def read_message(content: bytes, kind: str, budget: Budget) -> Contents:
    """Read the bytes of a message.

    Raises:
        ExtractionError: its parts are nested too deep.
    """
    message = _parse_message(content)
    headers = Headers.of(message.raw_items())
    parts = _Parts(budget)
    try:
        body = parts.body_of(message)
    except RecursionError as error:
        raise ExtractionError("its parts are nested too deep") from error
    metadata = headers.metadata
    text = f"{headers.to_text()}\n{body}".lstrip("\n")
    return Contents(Document(text, kind, metadata.subject, metadata=metadata), parts.attachments(), is_message=True)


def extract_web_archive(content: bytes, kind: str, budget: Budget) -> Document:
    """Read a web page that was saved with its resources (MHTML).

    Raises:
        SkipFileError: it has no page.
        ExtractionError: its parts are nested too deep.
    """
    message = _parse_message(content)
    pages = [extract_html(page, kind) for page in _pages(message, budget)]
    if not pages:
        raise SkipFileError(SkipReason.NO_TEXT, "it holds no page")
    document = _join_pages([page for page in pages if page.text.strip()] or pages[:1])
    headers = Headers.of(message.raw_items())
    return document._replace(title=pages[0].title or headers.text("subject"))


def web_pages(content: bytes, budget: Budget) -> list[str]:
    """Return the sources of a saved web page and of its frames.

    Raises:
        SkipFileError: they are more than is read.
        ExtractionError: its parts are nested too deep.
    """
    return list(_pages(_parse_message(content), budget))


def fuller_text(plain: str, rich: str) -> str:
    """Return the plain form of a text, or the rich one if that has clearly more words, and what the other adds.

    The other may be a stub, or another text in some of its lines: those follow.
    """
    only_plain, only_rich = _distinct_words(plain), _distinct_words(rich)
    only_plain, only_rich = only_plain - only_rich, only_rich - only_plain
    if len(only_rich) > max(_MIN_WORDS, len(only_plain)):
        return "\n".join((rich, *_lines_with(only_plain, plain)))
    return "\n".join((plain, *_lines_with(only_rich, rich)))


def file_name(subject: str) -> str:
    """Return a file name made from a subject."""
    return " ".join(_NOT_IN_FILE_NAMES.sub(" ", subject).split())[:_MAX_NAME].strip(" .") or "message"


def open_mailbox(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - the signature of `Format.open`
    """Open a mailbox, whose messages are members."""
    return Contents(None, _messages(file, budget))


def _pages(message: Message, budget: Budget) -> Iterator[str]:
    return (_decoded_text(part, budget) for part in _walk(message) if part.get_content_type() == "text/html")


def _join_pages(pages: list[Document]) -> Document:
    """Return a page with its frames below it."""
    first, *frames = pages
    for frame in frames:
        start = len(first.text) + 1
        below = [section._replace(start=section.start + start) for section in frame.sections or (Section(0),)]
        sections = (*(first.sections or (Section(0),)), *below)
        first = first._replace(text=f"{first.text}\n{frame.text}", sections=sections)
    return first


def _parse_message(content: bytes) -> Message:
    end = _BLANK_LINE.search(content)
    head = content[: end.start()] if end else content
    if _NAME_WITH_BLANKS.search(head):
        content = _NAME_WITH_BLANKS.sub(rb"\1:", head) + content[len(head) :]
    try:
        return email.message_from_bytes(content, policy=email.policy.compat32)
    except (RecursionError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ExtractionError(f"is not a message ({type(error).__name__})") from error


def _walk(message: Message) -> Iterator[Message]:
    pending = [message]
    for _ in range(MAX_PARTS):
        if not pending:
            return
        part = pending.pop()
        yield part
        if part.is_multipart():
            pending += reversed(part.get_payload())  # type: ignore[arg-type]


class _Attachment(NamedTuple):
    name: str
    part: Message


class _Parts:
    """The parts of a message: its body and its attachments."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._attachments: list[_Attachment] = []
        self._n_parts = 0

    def body_of(self, part: Message) -> str:
        """Return the text of a part, and collect its attachments."""
        self._n_parts += 1
        if self._n_parts > MAX_PARTS:
            return ""
        kind = part.get_content_type()
        if kind in _SIGNED_OR_ENCRYPTED_TYPES:
            return self._signed_body(part, kind)
        if kind in _REPORT_TYPES:
            return _format_report(part)
        if kind == "message/rfc822" or _is_attached(part, kind):
            self._attachments.append(_Attachment(_attachment_name(part, kind, self._n_parts), part))
            return ""
        if part.is_multipart():
            return self._multipart_body(part, is_alternative=kind == "multipart/alternative")
        return self._text_body(part, kind)

    def attachments(self) -> Iterator[Member]:
        """Yield the attachments in order.

        Raises:
            SkipFileError: it is more than is read.
        """
        for name, part in self._attachments:
            self._budget.take_member()
            yield _member(name, part, self._budget)
        if self._n_parts > MAX_PARTS:
            raise SkipFileError(SkipReason.TOO_LARGE, f"it has more than {MAX_PARTS} parts")

    def _text_body(self, part: Message, kind: str) -> str:
        text = _decoded_text(part, self._budget)
        if kind == "text/html":
            return _squeeze_blank_lines(extract_html(_END_OF_BLOCK.sub(r"\g<0>\n", text), "html").text)
        text = _UUENCODED.sub(self._attach_uuencoded, text) if "begin " in text else text
        return _join_flowed_lines(text) if _is_flowed(part) else text

    def _attach_uuencoded(self, block: re.Match[str]) -> str:
        part = Message()
        part["Content-Transfer-Encoding"] = "x-uuencode"
        part.set_payload(f"begin 644 file\n{block[2].rstrip()}\nend\n")
        self._attachments.append(_Attachment(block[1].strip() or "file", part))
        return ""

    def _signed_body(self, part: Message, kind: str) -> str:
        """Return the text of a signed part and collect its attachments; an encrypted part is unreadable."""
        content = part.get_payload(decode=True) if kind in _PKCS7_TYPES else None
        try:
            signed = signed_content(content) if isinstance(content, bytes) else None
        except ExtractionError:
            return ""
        return ENCRYPTED if signed is None else self.body_of(_parse_message(signed)) if signed else ""

    def _multipart_body(self, part: Message, *, is_alternative: bool) -> str:
        children = [child for child in part.get_payload() if isinstance(child, Message)]
        if is_alternative:
            # The plain text is preferred; some programs leave it empty.
            children.sort(key=lambda child: child.get_content_type() != "text/plain")
        bodies = [body for body in map(self.body_of, children) if body.strip()]
        return reduce(fuller_text, bodies) if is_alternative and bodies else "\n".join(bodies)


def _lines_with(words: set[str], text: str) -> list[str]:
    """Return the lines of a text that have any of its own words."""
    return [line for line in text.split("\n") if not words.isdisjoint(_distinct_words(line))] if words else []


def _distinct_words(text: str) -> set[str]:
    text = text.lower()
    has_addresses = any(sign in text for sign in ("://", "mailto:", "cid:"))
    return set(_WORD.findall(_ADDRESS.sub(" ", text) if has_addresses else text))


def _is_flowed(part: Message) -> bool:
    """Whether lines are joined without the blank at their end (RFC 3676, DelSp); elsewhere that blank does no harm."""
    may_be = "delsp" in str(part.get("content-type", "")).lower()
    return may_be and _parameter(lambda: str(part.get_param("delsp", ""))).lower() == "yes"


def _join_flowed_lines(text: str) -> str:
    lines: list[str] = []
    open_quotation = None
    for line in text.split("\n"):
        quotes = line[: len(line) - len(line.lstrip(">"))]
        unquoted = line[len(quotes) :].removeprefix(" ")
        if open_quotation == quotes:
            lines[-1] = lines[-1][:-1] + unquoted
        else:
            lines.append(f"{quotes} {unquoted}" if quotes else unquoted)
        open_quotation = quotes if unquoted.endswith(" ") and unquoted != _SIGNATURE else None
    return "\n".join(lines)


def _format_report(part: Message) -> str:
    """Format a delivery report: lines of names and values, in blocks."""
    blocks = part.get_payload()
    return "\n".join(
        "".join(f"{name}: {decode_header_text(str(value))}\n" for name, value in block.raw_items())
        for block in (blocks if isinstance(blocks, list) else ())
        if isinstance(block, Message)
    )


def _is_attached(part: Message, kind: str) -> bool:
    if part.is_multipart():
        return False
    if kind not in _BODY_TYPES:
        return True
    headers = f"{part.get('content-disposition', '')} {part.get('content-type', '')}".lower()
    has_extension = "name" in headers and bool(_parameter(part.get_filename))
    return has_extension or ("attachment" in headers and part.get_content_disposition() == "attachment")


def _parameter(read: Callable[[], str | None]) -> str:
    """Return a header parameter; "" if it is malformed (RFC 2231)."""
    try:
        return read() or ""
    except (ValueError, TypeError, LookupError):
        return ""


def _attachment_name(part: Message, kind: str, number: int) -> str:
    name = decode_header_text(_parameter(part.get_filename))
    if name.strip():
        return name
    if kind == "message/rfc822":
        inner = part.get_payload()
        inner = inner[0] if isinstance(inner, list) and inner else None
        subject = Headers.of(inner.raw_items()).text("subject") if isinstance(inner, Message) else ""
        return file_name(subject or f"message {number}") + ".eml"
    return f"part {number}{mimetypes.guess_extension(kind) or ''}"


def _member(name: str, part: Message, budget: Budget) -> Member:
    try:
        content = _content_of(part)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        return Member(name, problem=ExtractionError(f"cannot be decoded ({type(error).__name__})"))
    return budget.member(name, content)


def _content_of(part: Message) -> bytes:
    if part.get_content_type() == "message/rfc822":
        inner = part.get_payload(0)
        content = inner.as_bytes() if isinstance(inner, Message) else str(inner).encode("utf-8", "replace")
        # The standard forbids it, but some programs encode an attached message like any other file.
        is_encoded = str(part.get("content-transfer-encoding", "")).strip().lower() == "base64"
        return base64.b64decode(content) if is_encoded else content
    decoded_content = part.get_payload(decode=True)
    return decoded_content if isinstance(decoded_content, bytes) else b""


def _decoded_text(part: Message, budget: Budget) -> str:
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes) or not content:
        return ""
    budget.take(len(content))
    if charset := _parameter(part.get_content_charset):
        return decode_declared(content, charset).replace("\r\n", "\n")
    try:
        return decode(content).replace("\r\n", "\n")
    except ExtractionError:
        return content.decode("latin-1")


def _squeeze_blank_lines(text: str) -> str:
    return _BLANK_LINES.sub("\n\n", text).strip("\n") + "\n"


def _messages(file: BinaryIO, budget: Budget) -> Iterator[Member]:
    lines: list[bytes] = []
    n_bytes = number = 0
    is_after_blank = True
    while line := file.readline(_MAX_LINE):
        if line.startswith(b"From ") and (is_after_blank or _FULL_SEPARATOR.match(line)) and _SEPARATOR.match(line):
            if number:
                yield _message_member(number, lines, n_bytes, budget)
            number, lines, n_bytes = number + 1, [], 0
        elif number:
            n_bytes += len(line)
            if n_bytes <= budget.member_bytes:
                lines.append(line[1:] if _QUOTED.match(line) else line)
        is_after_blank = not line.strip()
    if number:
        yield _message_member(number, lines, n_bytes, budget)


def _message_member(number: int, lines: list[bytes], n_bytes: int, budget: Budget) -> Member:
    budget.take_member()
    # The blank line before the next message is appended with that message, and must not change this one.
    content = b"".join(lines).rstrip(b"\r\n") + b"\n"
    headers = Headers.of(BytesHeaderParser().parsebytes(_head_of(content)).raw_items())
    sent = headers.sent
    name = f"{number:04} {file_name(headers.text('subject'))}.eml"
    modified_ns = int(sent.timestamp() * 1e9) if sent else 0
    if n_bytes > budget.member_bytes:
        problem = SkipFileError(SkipReason.TOO_LARGE, f"a message of {n_bytes} bytes")
        return Member(name, modified_ns=modified_ns, problem=problem)
    budget.take(len(content))
    return Member(name, content, modified_ns)


def _head_of(content: bytes) -> bytes:
    head = content[:_MAX_HEAD]
    match = _HEAD_END.search(head)
    return head[: match.start()] if match else head
