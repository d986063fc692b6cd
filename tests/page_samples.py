"""Files of each kind that the page shows in a form of its own, some of which try to be more than a text."""

from __future__ import annotations

import struct
import zlib
from email.message import EmailMessage
from typing import TYPE_CHECKING

import pymupdf
from office_files import cells, docx, paragraph, pptx, shape, xlsx

if TYPE_CHECKING:
    from pathlib import Path

_ROWS = (("Meter", "Number"), ("Oil of the lantern", "4711"))
_CELLS = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in _ROWS)
_TABLE = f"<w:tbl>{''.join(f'<w:tr>{cells_of_row}</w:tr>' for cells_of_row in _CELLS)}</w:tbl>"
_LETTER = paragraph("Oil", '<w:outlineLvl w:val="0"/>') + paragraph("A lantern in a letter.") + _TABLE
_MARKDOWN = """---
author: Anna Berg
---
# The lantern

See [the code](lantern.rb), [below](letter.md#a-second-part),
[its page](https://example.org/lantern), [a trap](javascript:alert(1)) and [another](data:text/html,x),
and [the system](../../../../../../../etc/passwd).

| Lantern | Place |
| --- | --- |
| small | attic |

<b onclick=alert(1)>bold</b> ![a picture](http://evil.example/x.png)
"""
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script>'
    "<text>lantern in a drawing</text></svg>"
)
_RUNS_SCRIPT = "<</S/JavaScript/JS(app.alert\\(1\\))>>"


def write_samples(directory: Path) -> None:
    """Write them; each is about a lantern."""
    texts = {
        "lantern.md": _MARKDOWN,
        "letter.md": "# A letter\n\nHello.\n\n## A second part\n\nThe meeting is on Monday.\n",
        "lantern.rb": "def lantern\nend\n\nlantern\nlantern\n",
        "lantern.csv": "what,number\nlantern,10\nlanterns,20\n",
        "lantern.svg": _SVG,
    }
    for name, text in texts.items():
        (directory / name).write_text(text)
    sheet = cells(1, A="Task", B="Who") + cells(2, A="Light the lantern", B="Omar")
    (directory / "lantern.xlsx").write_bytes(xlsx({"Plan": sheet}))
    slides = {"1": shape("The lantern", placeholder="title"), "2": shape("Who holds the lantern?")}
    (directory / "lantern.pptx").write_bytes(pptx(slides))
    (directory / "lantern.docx").write_bytes(docx(_LETTER))
    (directory / "lantern.eml").write_bytes(_message())
    (directory / "lantern.pdf").write_bytes(_pdf())
    (directory / "lantern.png").write_bytes(_picture())


def _message() -> bytes:
    message = EmailMessage()
    message["From"], message["To"] = "Anna Berg <anna@example.org>", "Omar <omar@example.org>"
    message["Subject"], message["Date"] = "The lantern of the cellar", "Mon, 04 May 2026 09:12:00 +0200"
    message["Message-ID"] = "<lantern@example.org>"
    message.set_content("Hello Omar,\n\nthe lantern is in the drawer.\n")
    message.add_attachment(b"lantern,7\n", maintype="text", subtype="csv", filename="<i>list.csv")
    return bytes(message)


def _pdf() -> bytes:
    document = pymupdf.open()
    for number in (1, 2):
        document.new_page().insert_text((72, 90), f"The lantern, part {number}", fontsize=20)
    script = document.get_new_xref()
    document.update_object(script, _RUNS_SCRIPT)
    document.xref_set_key(document.pdf_catalog(), "OpenAction", f"{script} 0 R")
    return bytes(document.tobytes())


def _picture() -> bytes:
    pixels = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 160, 100))
    pixels.set_rect(pixels.irect, (40, 90, 160))
    return titled_png(bytes(pixels.tobytes("png")), "A lantern")


def titled_png(content: bytes, title: str) -> bytes:
    """Put a title into a picture."""
    text = b"tEXtTitle\0" + title.encode("latin-1")
    chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    return content[:33] + chunk + content[33:]
