"""Metadata that members of a message inherit from it: sender, recipients, date and subject.

Slides that came by mail are therefore found by that mail, at any depth, even in an attached archive. A document's own
metadata takes precedence, and an attached message has all of its own.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

from directory_indexer.extractors.document import Description, Document, Metadata
from directory_indexer.extractors.members import Member
from directory_indexer.lazy import lazily

with lazily:
    from directory_indexer.credentials.redaction import redact_document


class Mail:
    """The message that contains members, or none; `is_known` if the index has its current state."""

    def __init__(self, message: Document | None, *, masks_secrets: bool, is_known: bool) -> None:
        self._message = message
        self._masks_secrets = masks_secrets
        self.is_known = is_known

    def said_of(self, member: Member) -> Metadata:
        """Return the metadata that a member inherits; without the date if the member has one of its own."""
        return self._metadata._replace(created="") if member.modified_ns else self._metadata

    @cached_property
    def _metadata(self) -> Metadata:
        if self._message is None:
            return Metadata()
        # A secret in the subject may only be recognised by the text of the message.
        message = redact_document(self._message).document if self._masks_secrets else self._message
        return Metadata(
            created=message.metadata.created, **{name: getattr(message.metadata, name) for name in _INHERITED}
        )


def described(document: Document, description: Description | None) -> Document:
    """Replace the metadata of a document by that of the sender's description."""
    if description is None:
        return document
    fields = {name: value for name, value in description.metadata._asdict().items() if value}
    title = description.title or document.title
    return document._replace(title=title, metadata=document.metadata._replace(**fields))


def completed(document: Document, inherited: Metadata) -> Document:
    """Add inherited metadata to a document's own."""
    own = document.metadata
    added = {name: value for name in _INHERITED if not getattr(own, name) and (value := getattr(inherited, name))}
    if inherited.created and not (own.created or own.modified):
        added["created"] = inherited.created
    return document._replace(metadata=own._replace(**added)) if added else document


_INHERITED: Final = ("sender", "recipients", "copied", "subject")

NO_MAIL: Final = Mail(None, masks_secrets=False, is_known=True)
"""Members outside messages inherit nothing that could change."""
