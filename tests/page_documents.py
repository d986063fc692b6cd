"""Documents of each kind as people have them, to look at on the page: the papers of a lighthouse."""

from __future__ import annotations

from email.message import EmailMessage
from typing import TYPE_CHECKING

import pymupdf
from office_files import cells, pptx, shape, xlsx, zipped
from page_samples import titled_png

if TYPE_CHECKING:
    from pathlib import Path

_HANDBOOK = """# Keeper's handbook

The lantern is lit **at sunset** and put out at sunrise. What follows is what every keeper does, every day.

## Lighting the lantern

1. Wipe the lens, from the top downwards.
2. Wind the clockwork until the weight is at the upper mark.
3. Light the lantern, and note the time in `log/{year}.txt`.

> A lantern that flickers is worse than none: it passes for another light.

| | Lantern | Horn |
| --- | --- | --- |
| clear | every 10 seconds | silent |
| mist | every 5 seconds | every minute |
| fog | steady | every 30 seconds |

```python
def period(visibility_miles: float) -> int:
    return 10 if visibility_miles > 5 else 5  # seconds from flash to flash, as the almanac of the harbour has it
```

See [the code of the tower](tower.py), [the almanac](https://example.org/almanac) and ![a drawing](lens.png).
"""
_CODE = '''"""When the lantern is lit, and in which rhythm it shows."""

from datetime import datetime, timedelta

RHYTHMS = {"clear": 10, "mist": 5, "fog": 0}  # seconds between two flashes


class Lantern:
    """The lantern of one tower."""

    def __init__(self, tower: str, weather: str = "clear") -> None:
        self.tower = tower
        self.period = timedelta(seconds=RHYTHMS[weather])

    def is_lit(self, now: datetime, sunset: datetime, sunrise: datetime) -> bool:
        """Tell whether the lantern burns."""
        return not sunrise <= now < sunset


def describe(lantern: Lantern) -> str:
    return f"the lantern of {lantern.tower} shows every {lantern.period.seconds} s"
'''
_TITLE = "The inspection of the lantern"
_REPORT = """\
The lantern was inspected on the fourth of May, after the storm of the week before. Its
lens is whole, and its frame has no crack. Two of the eight vents are blocked by salt.

The clockwork loses forty seconds an hour, which is more than the rules of the service
allow. A new weight has been ordered. Until it is there, the keeper winds the clockwork
every three hours in place of four, and notes when the lantern was seen to be late.
\f
The glass of the gallery was cleaned on both sides. Gulls nest below the lantern again;
the nests are left until August.

Costs: lens paste 18, lamp oil 240, a weight of lead 96, and the work of two days.
"""
_LETTER = (
    "Harbour office, 12 March",
    "To the keeper of the northern tower:",
    "the old lantern will be taken down on Monday.",
    "Please have the spare lantern ready before then,",
    "and keep the horn going while the tower is dark.",
)
_TASKS = (
    *(("Clean the lens", "Omar", 2), ("Fill the lamp oil", "Anna", 1), ("Wind the clockwork", "Omar", 1)),
    *(("Paint the gallery", "Ines", 14), ("Light the lantern", "Anna", 1), ("Oil the hinges", "Ines", 3)),
)


def write_documents(directory: Path) -> None:
    """Write them; each has something to say about a lantern."""
    log = [f"{day:02}.05. {hour:02}:00  visibility {9 - day % 4} miles" for day in range(1, 25) for hour in (6, 14, 22)]
    log[40] += "; the lantern flickered, wick trimmed"
    log[58] += "; the lantern was lit twelve minutes late"
    for name, text in {"handbook.md": _HANDBOOK, "tower.py": _CODE, "watch.txt": "\n".join(log)}.items():
        (directory / name).write_text(text)
    (directory / "inspection.pdf").write_bytes(_report())
    (directory / "letter.pdf").write_bytes(_scanned_letter())
    (directory / "tasks.xlsx").write_bytes(_workbook())
    (directory / "evening.pptx").write_bytes(_slides())
    (directory / "inspection.eml").write_bytes(_message())
    (directory / "dusk.png").write_bytes(titled_png(photo(), "The lantern at dusk"))
    papers = {"notes/oil.md": "# Oil\n\nThe lantern burns a litre an hour.\n", "readings.csv": "hour,litres\n20,1\n"}
    (directory / "papers.zip").write_bytes(zipped(papers))


def write_what_is_left_out(directory: Path) -> None:
    """Write files that do not get into an index, each for a reason of its own."""
    (directory / "node_modules/lens").mkdir(parents=True)
    (directory / "node_modules/lens/index.js").write_text("export const lens = 1;\n")
    (directory / ".gitignore").write_text("*.log\n")
    (directory / "gondola-run.log").write_text("started\n")
    (directory / "broken-gondola.pdf").write_bytes(b"%PDF-1.7 broken")
    (directory / "empty.md").write_text("")
    (directory / "id_rsa").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    (directory / "sound.dat").write_bytes(bytes(range(256)) * 8)


def photo() -> bytes:
    """Return a picture of the tower as a PNG, without text and metadata."""
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=480, height=320)
        shades = ((0.10, 0.14, 0.30), (0.25, 0.24, 0.42), (0.62, 0.38, 0.42), (0.93, 0.62, 0.38))
        for number, shade in enumerate(shades):
            page.draw_rect((0, 60 * number, 480, 60 * number + 62), color=shade, fill=shade)
        page.draw_rect((0, 240, 480, 320), color=(0.07, 0.12, 0.2), fill=(0.07, 0.12, 0.2))
        page.draw_quad(
            pymupdf.Quad((322, 90), (346, 90), (312, 260), (356, 260)), color=(1, 1, 1), fill=(0.92, 0.9, 0.86)
        )
        page.draw_circle((334, 78), 12, color=(1, 0.9, 0.5), fill=(1, 0.9, 0.5))
        return bytes(page.get_pixmap(dpi=144).tobytes("png"))


def _report() -> bytes:
    with pymupdf.open() as pdf:
        for number, part in enumerate(_REPORT.split("\f\n"), 1):
            page = pdf.new_page()
            page.insert_text((72, 90), _TITLE if number == 1 else f"{_TITLE}, page {number}", fontsize=20)
            page.insert_text((72, 130), part.split("\n"), fontsize=11, lineheight=1.5)
        return bytes(pdf.tobytes())


def _scanned_letter() -> bytes:
    with pymupdf.open() as typed, pymupdf.open() as scanned:
        typed.new_page().insert_text((72, 110), list(_LETTER), fontsize=16, fontname="tiro", lineheight=1.8)
        picture = typed[0].get_pixmap(dpi=150, colorspace=pymupdf.csGRAY)
        picture.gamma_with(0.8)
        page = scanned.new_page()
        page.insert_image(page.rect, stream=picture.tobytes("jpeg", jpg_quality=60))
        return bytes(scanned.tobytes())


def _workbook() -> bytes:
    rows = [cells(1, A="Task", B="Who", C="Hours")]
    rows += [cells(n, A=task, B=who, C=str(hours)) for n, (task, who, hours) in enumerate(_TASKS, 2)]
    oil = cells(1, A="Month", B="Litres") + cells(2, A="May", B="310") + cells(3, A="June", B="268")
    return xlsx({"Plan": "".join(rows), "Oil": oil})


def _slides() -> bytes:
    return pptx(
        {
            "1": shape("An evening at the tower", placeholder="title") + shape("For visitors, in May"),
            "2": shape("What you will see", placeholder="title")
            + shape("The lantern, from within", "The clockwork and its weight", "The gallery at sunset"),
            "3": shape("Who holds the lantern?", placeholder="title") + shape("Anna, until the new keeper comes"),
        }
    )


def _message() -> bytes:
    message = EmailMessage()
    message["From"], message["To"] = "Anna Berg <anna@example.org>", "Omar Haddad <omar@example.org>"
    message["Cc"] = "Harbour office <office@example.org>"
    message["Subject"], message["Date"] = "The lantern after the storm", "Mon, 04 May 2026 09:12:00 +0200"
    message["Message-ID"] = "<storm@example.org>"
    message.set_content(
        "Hello Omar,\n\nthe lantern came through the storm well. Two vents are blocked by salt,\n"
        "and the clockwork is slow: please see the report.\n\nThe spare lantern is in the cellar.\n\nAnna\n"
    )
    message.add_attachment(_report(), maintype="application", subtype="pdf", filename="inspection.pdf")
    message.add_attachment(
        b"vent,state\nnorth,blocked\nsouth,free\n", maintype="text", subtype="csv", filename="vents.csv"
    )
    return bytes(message)
