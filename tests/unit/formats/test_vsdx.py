"""Text of Visio drawings, and the pages on which it stands."""

from __future__ import annotations

from office_files import package, relations

from directory_indexer.core.paths import file_path
from directory_indexer.formats.document import Document, Section
from directory_indexer.formats.extraction import extract


def drawing(pages: str, **contents: str) -> bytes:
    written = "".join(f"<Page Name='{name}'><Rel r:id='page:{name}'/></Page>" for name in contents)
    return package(
        "visio/document.xml",
        {
            "visio/document.xml": "<VisioDocument/>",
            "visio/_rels/document.xml.rels": relations({"pages": "pages/pages.xml"}),
            "visio/pages/pages.xml": f"<Pages>{written}{pages}</Pages>",
            "visio/pages/_rels/pages.xml.rels": relations({f"page:{name}": f"{name}.xml" for name in contents}),
            **{
                f"visio/pages/{name}.xml": f"<PageContents>{shapes}</PageContents>" for name, shapes in contents.items()
            },
        },
    )


def read(content: bytes) -> Document:
    return extract(content, file_path("/root/plan.vsdx"))


def test_a_page_has_its_name_and_the_text_of_its_shapes() -> None:
    shapes = (
        "<Shape><Cell V='1'/><Text><cp IX='0'/>start <fld IX='0'>here</fld>\n</Text><Shapes><Shape><Text>inner</Text>"
        "</Shape></Shapes></Shape>"
    )
    document = read(drawing("", Flow=shapes, Legend="<Shape><Text>red</Text></Shape>"))
    assert document.text == "Flow\n\nstart here\n\ninner\n\nLegend\n\nred\n"
    assert document.sections == (Section(0, ("Flow",), 1), Section(document.text.index("Legend"), ("Legend",), 2))
    assert (document.kind, document.metadata.n_pages) == ("vsdx", 2)


def test_a_page_that_is_damaged_or_missing_does_not_take_the_others_along() -> None:
    content = drawing("<Page Name='Lost'><Rel r:id='x'/></Page>", A="<Text>one</Text><broken", B="<Text>two</Text>")
    assert read(content).text == "A\n\none\n\nB\n\ntwo\n\nLost\n"
