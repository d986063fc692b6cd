"""What members of a message inherit from it: who sent them to whom, when and about what.

So slides that came by mail are found by that mail. This holds at any depth, for what lies in an attached archive came
by mail, too. What a document says itself stays, and a message that is attached to another says all of it itself.
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
    """The message that members came by, or none; `is_known` tells whether the index holds it as it is now."""

    def __init__(self, message: Document | None, *, masks_secrets: bool, is_known: bool) -> None:
        self._message = message
        self._masks_secrets = masks_secrets
        self.is_known = is_known

    def said_of(self, member: Member) -> Metadata:
        """Tell what the message says of a member; not its date, where the member has one of its own."""
        return self._said._replace(created="") if member.modified_ns else self._said

    @cached_property
    def _said(self) -> Metadata:
        if self._message is None:
            return Metadata()
        # It may be the text of the message that gives a secret in its subject away.
        message = redact_document(self._message).document if self._masks_secrets else self._message
        return Metadata(
            created=message.metadata.created, **{name: getattr(message.metadata, name) for name in _HANDED_ON}
        )


def described(document: Document, description: Description | None) -> Document:
    """Let what the sender says of a document stand in the place of what it says itself."""
    if description is None:
        return document
    said = {name: value for name, value in description.metadata._asdict().items() if value}
    title = description.title or document.title
    return document._replace(title=title, metadata=document.metadata._replace(**said))


def completed(document: Document, inherited: Metadata) -> Document:
    """Add what a document inherits to what it says itself."""
    own = document.metadata
    added = {name: value for name in _HANDED_ON if not getattr(own, name) and (value := getattr(inherited, name))}
    if inherited.created and not (own.created or own.modified):
        added["created"] = inherited.created
    return document._replace(metadata=own._replace(**added)) if added else document


_HANDED_ON: Final = ("sender", "recipients", "copied", "subject")

NO_MAIL: Final = Mail(None, masks_secrets=False, is_known=True)
"""Members that did not come by mail inherit nothing that could change."""
