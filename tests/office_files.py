"""Small files as office programs write them, part by part."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = {
    "word/document.xml": "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
    "ppt/presentation.xml": "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml",
    "xl/workbook.xml": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml",
    "visio/document.xml": "application/vnd.ms-visio.drawing.main+xml",
}


def zipped(parts: Mapping[str, str | bytes], *, level: int = 6) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as package:
        for name, content in parts.items():
            package.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else None)
    return target.getvalue()


def relations(targets: Mapping[str, str]) -> str:
    """Write the relations of a part: ids are `role` or `role:anything`."""
    written = (
        f'<Relationship Id="{key}" Type="{_OFFICE}/{key.partition(":")[0]}" Target="{target}"/>'
        for key, target in targets.items()
    )
    return f"<Relationships>{''.join(written)}</Relationships>"


def package(main: str, parts: Mapping[str, str | bytes]) -> bytes:
    types = f'<Types><Override PartName="/{main}" ContentType="{_TYPES[main]}"/></Types>'
    return zipped({"[Content_Types].xml": types, "_rels/.rels": relations({"officeDocument": main}), **parts})


def docx(
    body: str, parts: Mapping[str, str | bytes] | None = None, *, related: Mapping[str, str] | None = None
) -> bytes:
    """Write a document; `related` has the contents of `word/ROLE.xml` by role, `parts` those of other parts."""
    related = related or {}
    names = {role: f"{role.replace(':', '')}.xml" for role in related}
    return package(
        "word/document.xml",
        {
            "word/document.xml": f"<w:document xmlns:w='w'><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": relations(names),
            **{f"word/{names[role]}": content for role, content in related.items()},
            **(parts or {}),
        },
    )


def paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{run(text)}</w:p>"


def run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def pptx(slides: Mapping[str, str], parts: Mapping[str, str | bytes] | None = None) -> bytes:
    """Write a presentation; `slides` are contents of `spTree` by their names, in the order of the presentation."""
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="slide:{name}"/>' for n, name in enumerate(slides))
    return package(
        "ppt/presentation.xml",
        {
            "ppt/presentation.xml": f"<p:presentation><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": relations(
                {f"slide:{name}": f"slides/{name}.xml" for name in slides} | {"commentAuthors": "authors.xml"}
            ),
            **{
                f"ppt/slides/{name}.xml": f"<p:sld><p:cSld><p:spTree>{content}</p:spTree></p:cSld></p:sld>"
                for name, content in sorted(slides.items())
            },
            **(parts or {}),
        },
    )


def shape(*paragraphs: str, placeholder: str = "") -> str:
    kind = f"<p:nvPr><p:ph type='{placeholder}'/></p:nvPr>" if placeholder else ""
    written = "".join(f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>" for text in paragraphs)
    return f"<p:sp><p:nvSpPr>{kind}</p:nvSpPr><p:txBody>{written}</p:txBody></p:sp>"


def xlsx(sheets: Mapping[str, str], parts: Mapping[str, str | bytes] | None = None, *, properties: str = "") -> bytes:
    """Write a workbook; `sheets` are contents of `sheetData` by the names of the sheets."""
    numbered = list(enumerate(sheets.items(), 1))
    listed = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="worksheet:{n}"/>' for n, (name, _) in numbered)
    return package(
        "xl/workbook.xml",
        {
            "xl/workbook.xml": f"<workbook>{properties}<sheets>{listed}</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": relations(
                {f"worksheet:{n}": f"worksheets/sheet{n}.xml" for n, _ in numbered}
            ),
            **{
                f"xl/worksheets/sheet{n}.xml": f"<worksheet><sheetData>{rows}</sheetData></worksheet>"
                for n, (_, rows) in numbered
            },
            **(parts or {}),
        },
    )


def cells(row: int, **texts: str) -> str:
    """Write a row of texts by the letters of their columns."""
    written = "".join(f'<c r="{column}{row}" t="str"><v>{text}</v></c>' for column, text in texts.items())
    return f'<row r="{row}">{written}</row>'
