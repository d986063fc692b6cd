"""The files that people ask for in the home that is made up."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from book_files import epub
from odf_files import heading, packed
from odf_files import paragraph as odt_paragraph
from office_files import cells, docx, paragraph, pptx, shape, xlsx

from corpus.papers import invoice_of, message, packed_at
from corpus.phrases import WORDS


class HomeFile(NamedTuple):
    """A file of the home, and when it was written."""

    name: str
    content: bytes
    written: datetime


def asked_files() -> list[HomeFile]:
    """Make the files that people ask for."""
    return [
        HomeFile("Mail/2024-03-12 plumber.eml", _plumber(), _MARCH),
        HomeFile("Mail/2024-05-06 budget.eml", _budget(), _MAY),
        HomeFile("Archive/mails 2024.zip", packed_at({"kraft.eml": _lease()}, _MAY), _MAY),
        *(HomeFile(name, content, _MAY) for name, content in _OTHERS.items()),
    ]


def _plumber() -> bytes:
    bill = docx(invoice_of(WORDS["en"], "plumber Miller and Sons, burst pipe in the bathroom", 4711, 380))
    attached = ("invoice.zip", packed_at({"invoice.docx": bill}, _MARCH))
    return message("Tom Price", "Your invoice", "Attached.\n", _MARCH, attached)


def _budget() -> bytes:
    slides = pptx({"a": shape("Budget 2025", placeholder="title") + shape("Marketing gets 40 percent more")})
    return message("Ada Brown", "Budget slides", "Here they are.\n", _MAY, ("budget.pptx", slides))


def _lease() -> bytes:
    lease = packed("odt", heading(1, "Lease agreement") + odt_paragraph("The flat has a cellar room."))
    attached = ("lease.zip", packed_at({"lease.odt": lease}, _MAY))
    return message("Nina Kraft", "Scans of the contract", "All pages of the lease.\n", _MAY, attached)


_MARCH = datetime(2024, 3, 12, 10, 0, tzinfo=UTC)
_MAY = datetime(2024, 5, 6, 8, 30, tzinfo=UTC)
_REPAIRS = cells(1, A="Month", B="Repair", C="EUR") + cells(2, A="March", B="washing machine motor", C="212")
_WEDDING = b"SUMMARY:Wedding of Carla and Ben\nDTSTART:20240608T130000Z\nLOCATION:Lisbon\n"
_BEEKEEPER = b"BEGIN:VCARD\nVERSION:3.0\nFN:Olga Imker\nTITLE:Beekeeper\nTEL:+49 40 123456\nEND:VCARD\n"
_ROTATE = b'def remove_old_backups(days):\n    """Delete backups that are older than some days."""\n'
_OTHERS = {
    "Documents/Sheets/repairs.xlsx": xlsx({"Repairs": _REPAIRS}),
    "Documents/Letters/Kündigung.docx": docx(paragraph("Hiermit kündige ich den Stromvertrag zum Jahresende.")),
    "Contacts/beekeeper.vcf": _BEEKEEPER,
    "Calendar/wedding.ics": b"BEGIN:VCALENDAR\nBEGIN:VEVENT\n" + _WEDDING + b"END:VEVENT\nEND:VCALENDAR\n",
    "Books/mushrooms.epub": epub(
        {"one.xhtml": "<h1>Chanterelles</h1><p>They grow under spruces in July.</p>"},
        properties="<dc:title>Mushrooms of the North</dc:title><dc:creator>Elsa Holm</dc:creator>",
    ),
    "Projects/backup/rotate.py": _ROTATE,
    "Notes/recette.md": b"# Tarte aux poireaux\n\nFaire revenir les poireaux dans le beurre.\n",
}
