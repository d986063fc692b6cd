"""Messages (RFC 5322, MIME): the headers that people look for and the body are the text; attachments are members."""

from __future__ import annotations

import base64
import email
import email.policy
import mimetypes
import re
from collections.abc import Callable, Iterator
from email.message import Message
from functools import reduce
from typing import BinaryIO, Final, NamedTuple

from directory_indexer.errors import ExtractionError, SkipFileError
from directory_indexer.extractors.budget import Budget
from directory_indexer.extractors.decoding import decode, decode_declared
from directory_indexer.extractors.document import Document, Section
from directory_indexer.extractors.html import extract_html
from directory_indexer.extractors.mail.headers import Headers, decoded
from directory_indexer.extractors.mail.signed import signed_content
from directory_indexer.extractors.members import Contents, Member, read_whole
from directory_indexer.files import SkipReason

MAX_PARTS: Final = 2_000
ENCRYPTED: Final = "This message is encrypted.\n"


def open_message(file: BinaryIO, kind: str, budget: Budget) -> Contents:
    """Read a message.

    Raises:
        ExtractionError: its parts are nested too deep.
    """
    return read_message(read_whole(file), kind, budget)


def open_apple_message(file: BinaryIO, kind: str, budget: Budget) -> Contents:
    """Read a message of Apple Mail: before it stands its length, behind it a property list."""
    content = read_whole(file)
    length, _, rest = content.partition(b"\n")
    return read_message(rest[: int(length)] if length.strip().isdigit() else content, kind, budget)


def read_message(content: bytes, kind: str, budget: Budget) -> Contents:
    """Read the bytes of a message.

    Raises:
        ExtractionError: its parts are nested too deep.
    """
    message = _parsed(content)
    headers = Headers.of(message.raw_items())
    parts = _Parts(budget)
    try:
        body = parts.body_of(message)
    except RecursionError as error:
        raise ExtractionError("its parts are nested too deep") from error
    metadata = headers.metadata
    text = f"{headers.shown()}\n{body}".lstrip("\n")
    return Contents(Document(text, kind, metadata.subject, metadata=metadata), parts.attachments(), is_message=True)


def extract_web_archive(content: bytes, kind: str, budget: Budget) -> Document:
    """Read a page that was saved with all that belongs to it (MHTML).

    Raises:
        SkipFileError: it has no page.
        ExtractionError: its parts are nested too deep.
    """
    message = _parsed(content)
    pages = [
        extract_html(_text_of(part, budget), kind) for part in _walk(message) if part.get_content_type() == "text/html"
    ]
    if not pages:
        raise SkipFileError(SkipReason.NO_TEXT, "it holds no page")
    document = _joined([page for page in pages if page.text.strip()] or pages[:1])
    headers = Headers.of(message.raw_items())
    return document._replace(title=pages[0].title or headers.text("subject"))


def _joined(pages: list[Document]) -> Document:
    """Join a page and the frames in it, one below the other."""
    first, *frames = pages
    for frame in frames:
        start = len(first.text) + 1
        below = [section._replace(start=section.start + start) for section in frame.sections or (Section(0),)]
        sections = (*(first.sections or (Section(0),)), *below)
        first = first._replace(text=f"{first.text}\n{frame.text}", sections=sections)
    return first


def _parsed(content: bytes) -> Message:
    end = _BLANK_LINE.search(content)
    head = content[: end.start()] if end else content
    if _SPACED_NAME.search(head):
        content = _SPACED_NAME.sub(rb"\1:", head) + content[len(head) :]
    try:
        return email.message_from_bytes(content, policy=email.policy.compat32)
    except (RecursionError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ExtractionError(f"is no message ({type(error).__name__})") from error


def _walk(message: Message) -> Iterator[Message]:
    waiting = [message]
    for _ in range(MAX_PARTS):
        if not waiting:
            return
        part = waiting.pop()
        yield part
        if part.is_multipart():
            waiting += reversed(part.get_payload())  # type: ignore[arg-type]


class _Attachment(NamedTuple):
    name: str
    part: Message


class _Parts:
    """The parts of a message: what is its body, and what is attached."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._attachments: list[_Attachment] = []
        self._n_parts = 0

    def body_of(self, part: Message) -> str:
        """Give the text of a part as it is read, and put aside what is attached to it."""
        self._n_parts += 1
        if self._n_parts > MAX_PARTS:
            return ""
        kind = part.get_content_type()
        if kind in _SEALED_TYPES:
            return self._unsealed(part, kind)
        if kind in _REPORTS:
            return _report(part)
        if kind == "message/rfc822" or _is_attached(part, kind):
            self._attachments.append(_Attachment(_name_of(part, kind, self._n_parts), part))
            return ""
        if part.is_multipart():
            return self._body_of_parts(part, is_choice=kind == "multipart/alternative")
        return self._body_of_text(part, kind)

    def attachments(self) -> Iterator[Member]:
        """Give what is attached, one after the other.

        Raises:
            SkipFileError: it is more than is read.
        """
        for name, part in self._attachments:
            self._budget.take_member()
            yield _member(name, part, self._budget)
        if self._n_parts > MAX_PARTS:
            raise SkipFileError(SkipReason.TOO_LARGE, f"it has more than {MAX_PARTS} parts")

    def _body_of_text(self, part: Message, kind: str) -> str:
        text = _text_of(part, self._budget)
        if kind == "text/html":
            return _squeezed(extract_html(text, "html").text)
        return _unflowed(text) if _is_flowed(part) else text

    def _unsealed(self, part: Message, kind: str) -> str:
        """Return what is signed, with what is attached to it; only of what is encrypted nothing can be read."""
        content = part.get_payload(decode=True) if kind in _SEALS else None
        try:
            signed = signed_content(content) if isinstance(content, bytes) else None
        except ExtractionError:
            return ""
        return ENCRYPTED if signed is None else self.body_of(_parsed(signed)) if signed else ""

    def _body_of_parts(self, part: Message, *, is_choice: bool) -> str:
        children = [child for child in part.get_payload() if isinstance(child, Message)]
        if is_choice:
            # Plain text is what the sender wrote for those who read no HTML; some programs leave it empty.
            children.sort(key=lambda child: child.get_content_type() != "text/plain")
        bodies = [body for body in map(self.body_of, children) if body.strip()]
        return reduce(fuller, bodies) if is_choice and bodies else "\n".join(bodies)


def fuller(plain: str, rich: str) -> str:
    """Return the plain form of a text, or the rich one where that has clearly more words."""
    of_plain, of_rich = _words(_ADDRESS.sub(" ", plain)), _words(rich)
    return rich if len(of_rich - of_plain) > max(_FEW_WORDS, len(of_plain - of_rich)) else plain


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _is_flowed(part: Message) -> bool:
    """Whether lines of a text go on behind a blank that is none of the text (RFC 3676); other blanks do no harm."""
    return _parameter(lambda: str(part.get_param("delsp", ""))).lower() == "yes"


def _unflowed(text: str) -> str:
    lines: list[str] = []
    quoted_above = None
    for line in text.split("\n"):
        quotes = line[: len(line) - len(line.lstrip(">"))]
        written = line[len(quotes) :].removeprefix(" ")
        if quoted_above == quotes:
            lines[-1] = lines[-1][:-1] + written
        else:
            lines.append(f"{quotes} {written}" if quotes else written)
        quoted_above = quotes if written.endswith(" ") and written != _SIGNATURE else None
    return "\n".join(lines)


def _report(part: Message) -> str:
    """Write what became of a message, as the mail server tells programs: lines of names and values, in blocks."""
    blocks = part.get_payload()
    return "\n".join(
        "".join(f"{name}: {decoded(str(value))}\n" for name, value in block.raw_items())
        for block in (blocks if isinstance(blocks, list) else ())
        if isinstance(block, Message)
    )


def _is_attached(part: Message, kind: str) -> bool:
    if part.is_multipart():
        return False
    return part.get_content_disposition() == "attachment" or bool(_parameter(part.get_filename)) or kind not in _BODIES


def _parameter(ask: Callable[[], str | None]) -> str:
    """Give what a header says beside its value; "" where it breaks the rules for that (RFC 2231)."""
    try:
        return ask() or ""
    except (ValueError, TypeError, LookupError):
        return ""


def _name_of(part: Message, kind: str, number: int) -> str:
    name = decoded(_parameter(part.get_filename))
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
    try:
        return Member(name, b"".join(budget.counted([content], packed_bytes=len(content))))
    except SkipFileError as error:
        if budget.is_spent:
            raise
        return Member(name, problem=error)


def _content_of(part: Message) -> bytes:
    if part.get_content_type() == "message/rfc822":
        inner = part.get_payload(0)
        content = inner.as_bytes() if isinstance(inner, Message) else str(inner).encode("utf-8", "replace")
        # The standard forbids it, but there are programs that encode an attached message like any other file.
        is_encoded = str(part.get("content-transfer-encoding", "")).strip().lower() == "base64"
        return base64.b64decode(content) if is_encoded else content
    decoded_content = part.get_payload(decode=True)
    return decoded_content if isinstance(decoded_content, bytes) else b""


def _text_of(part: Message, budget: Budget) -> str:
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


def file_name(subject: str) -> str:
    """Make a file name of a subject."""
    return " ".join(_NO_NAME.sub(" ", subject).split())[:_MAX_NAME].strip(" .") or "message"


def _squeezed(text: str) -> str:
    return _BLANK_LINES.sub("\n\n", text).strip("\n") + "\n"


_MAX_NAME: Final = 80
_NO_NAME: Final = re.compile(r"[\x00-\x1f/\\:*?\"<>|!]")
_BLANK_LINES: Final = re.compile(r"\n(?:[^\S\n]*\n){2,}")
_BODIES: Final = frozenset({"text/plain", "text/html", "text/enriched"})
_SEALS: Final = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_SEALED_TYPES: Final = _SEALS | {"multipart/encrypted", "application/pgp-encrypted"}
_REPORTS: Final = frozenset(
    {
        "message/delivery-status",
        "message/disposition-notification",
        "message/feedback-report",
        "message/global-delivery-status",
        "message/global-disposition-notification",
    }
)
_WORD: Final = re.compile(r"\w+")
_ADDRESS: Final = re.compile(r"\bhttps?://\S+", re.IGNORECASE)
_FEW_WORDS: Final = 2
_SIGNATURE: Final = "-- "
_BLANK_LINE: Final = re.compile(rb"\n\r?\n")
# Old programs leave blanks before the colon (RFC 5322, 4.5), where the standard library sees the end of the headers.
_SPACED_NAME: Final = re.compile(rb"(?m)^([!-9;-~]{1,80})[ \t]+:")
