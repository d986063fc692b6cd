"""Outlook stores (PST, OST), if the extra `pst` is installed; messages are members in folders."""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Any, BinaryIO, Final

from directory_indexer.core.errors import ExtractionError, SkipFileError
from directory_indexer.core.files import MISSING_READER, SkipReason
from directory_indexer.formats.containers import Budget, Contents, Member
from directory_indexer.formats.decoding import decode_declared
from directory_indexer.formats.mail.message import file_name
from directory_indexer.formats.metadata import single_line_value

try:
    import pypff
except ImportError:
    pypff = None


def is_outlook_store(head: bytes, _: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    """Whether a file is an Outlook store."""
    return head.startswith(HEADER)


def open_outlook_store(file: BinaryIO, kind: str, budget: Budget) -> Contents:  # noqa: ARG001 - as `Format.open`
    """Open an Outlook store, whose messages are read one after the other.

    Raises:
        SkipFileError: the extra is not installed.
        ExtractionError: it is damaged.
    """
    if pypff is None:
        raise SkipFileError(
            SkipReason.BINARY, f"store of Outlook{MISSING_READER}run pip install '.[pst]' in a checkout"
        )
    store = pypff.file()
    try:
        store.open_file_object(file)
        return Contents(None, _members(store, budget))
    except _DAMAGE as error:
        raise ExtractionError(f"is damaged ({type(error).__name__})") from error


def _members(store: Any, budget: Budget) -> Iterator[Member]:
    """Yield the messages of all folders, outer folders first."""
    pending: list[tuple[tuple[str, ...], Any]] = [((), store.get_root_folder())]
    while pending:
        path, folder = pending.pop(0)
        for index in range(_count(folder, "number_of_sub_messages")):
            budget.take_member()
            yield _member(path, folder, index, budget)
        if len(path) < _MAX_DEPTH:
            for index in range(_count(folder, "number_of_sub_folders")):
                budget.take_member()
                if inner := _sub_folder(folder, index):
                    name = file_name(_text_attribute(inner, "name"))
                    pending.append(((*path, name) if name else path, inner))


def _member(path: tuple[str, ...], folder: Any, index: int, budget: Budget) -> Member:
    name = f"message {index + 1}"
    try:
        message = folder.get_sub_message(index)
        name = file_name(_text_attribute(message, "subject")) or name
        content = _mime_of(message, depth=0)
    except (*_DAMAGE, LookupError, TypeError, AttributeError) as error:
        problem = ExtractionError(f"is damaged in the store ({type(error).__name__})")
        return Member("/".join((*path, f"{name}.eml")), problem=problem)
    return budget.member("/".join((*path, f"{name}.eml")), content)


def _mime_of(message: Any, *, depth: int) -> bytes:
    """Return a message in MIME, with its attachments."""
    mail = EmailMessage()
    sent = email.message_from_string(_text_attribute(message, "transport_headers"), policy=email.policy.compat32)
    headers = {name: single_line_value(str(sent[name])) for name in _HEADERS if sent[name]}
    headers.setdefault("Subject", single_line_value(_text_attribute(message, "subject")))
    headers.setdefault("From", single_line_value(_text_attribute(message, "sender_name")))
    time = message.client_submit_time or message.delivery_time
    if isinstance(time, datetime) and "Date" not in headers:
        headers["Date"] = time.replace(tzinfo=UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
    plain, page, rich = (message.plain_text_body, message.html_body, message.rtf_body)
    if plain or not page:
        mail.set_content(decode_declared(plain or b"", "utf-8"))
    else:
        mail.set_content(decode_declared(page, _charset_of(page)), subtype="html")
    if rich and not plain and not page:
        mail.add_attachment(rich, "application", "rtf", filename="body.rtf")
    for index in range(_count(message, "number_of_attachments")):
        _attach(mail, message.get_attachment(index), index, depth=depth)
    # Headers are written unchanged: `EmailMessage` rejects many that occur in practice.
    content = b"".join(f"{name}: {value}\n".encode("utf-8", "replace") for name, value in headers.items() if value)
    return content + mail.as_bytes()


def _attach(mail: EmailMessage, attachment: Any, index: int, *, depth: int) -> None:
    name = _text_attribute(attachment, "long_filename") or f"attachment {index + 1}"
    if not attachment.size and _count(attachment, "number_of_sub_items") and depth < _MAX_INNER_MESSAGES:
        inner = attachment.get_sub_item(0)
        mail.add_attachment(
            _mime_of(inner, depth=depth + 1),
            "application",
            "octet-stream",
            filename=f"{file_name(_text_attribute(inner, 'subject')) or name}.eml",
        )
    elif 0 < attachment.size <= _MAX_ATTACHMENT:
        content = attachment.read_buffer(attachment.size)
        mail.add_attachment(content, "application", "octet-stream", filename=single_line_value(name))


def _sub_folder(folder: Any, index: int) -> Any | None:
    try:
        return folder.get_sub_folder(index)
    except _DAMAGE:
        return None


def _count(item: Any, name: str) -> int:
    try:
        return int(getattr(item, name))
    except (*_DAMAGE, AttributeError):
        return 0


def _text_attribute(item: Any, name: str) -> str:
    try:
        return str(getattr(item, name) or "")
    except (*_DAMAGE, AttributeError):
        return ""


def _charset_of(page: bytes) -> str:
    match = _CHARSET.search(page[:4096])
    return match[1].decode("ascii") if match else "utf-8"


HEADER: Final = b"!BDN"
_DAMAGE: Final = (OSError, ValueError, MemoryError, RecursionError)
_MAX_DEPTH: Final = 32
_MAX_INNER_MESSAGES: Final = 4
_MAX_ATTACHMENT: Final = 256_000_000
_HEADERS: Final = ("From", "To", "Cc", "Date", "Subject", "Message-ID", "In-Reply-To", "References")
_CHARSET: Final = re.compile(rb"charset=[\"']?([\w-]{1,40})", re.IGNORECASE)
