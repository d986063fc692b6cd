"""Visible text of a page, on the lines of its source."""

from __future__ import annotations

import pytest
from growth import require_linear

from directory_indexer.formats.blocks import Paragraph
from directory_indexer.formats.html import extract_html, extract_svg, main_part
from directory_indexer.formats.html_blocks import page_blocks

PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
  <title>The &amp; Title</title>
  <style>p { color: red }</style>
  <script>if (a < b) { document.write("<p>not text</p>") }</script>
</head>
<body>
  <nav><a href="/">Home</a></nav>
  <main>
    <h1>Caf&eacute; <small>menu</small></h1>
    <p>An <b>impor</b>tant
       paragraph&nbsp;with &lt;tags&gt;.</p><p>Next.</p>
    <!-- <h2>commented</h2> -->
    <h2 title="a > b">Prices</h2>
    <table><tr><td>Tea</td><td>2 &euro;</td></tr></table>
    <pre>
def f():
    return  1
    </pre>
    <svg><text>drawn</text></svg>
    <noscript>Turn it on</noscript>
  </main>
  <footer>Imprint</footer>
</body>
</html>
"""

LONG = "The body of the page says much. " * 20


def visible(text: str) -> str:
    return extract_html(text, "html").text.strip()


def test_text_stands_on_the_line_of_its_source() -> None:
    lines = extract_html(PAGE, "html").text.split("\n")
    assert {number: line for number, line in enumerate(lines, 1) if line.strip()} == {
        11: "Café menu",
        12: "An important",
        13: "paragraph with <tags>. Next.",
        15: "Prices",
        16: "Tea 2 €",
        18: "def f():",
        19: "    return  1",
        21: "drawn",
    }
    assert len(lines) == PAGE.count("\n") + 1


def test_a_tag_of_several_lines_keeps_them() -> None:
    assert extract_html('<p\n  class="x"\n>one<!--\n--></p><script>\n\n</script>two', "html").text == "\n\none\n\n\ntwo"


def test_headings_and_title_are_found() -> None:
    document = extract_html(PAGE, "html")
    assert document.title == "The & Title"
    assert [(document.text.count("\n", 0, section.start) + 1, section.headings) for section in document.sections] == [
        (1, ()),
        (11, ("Café menu",)),
        (15, ("Café menu", "Prices")),
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<p>one</p><p>two</p><ul><li>three<li>four</ul>", "one two three four"),
        ("a<br>b<hr/>c", "a b c"),
        ("ex<b>tra</b>ordinary", "extraordinary"),
        ("hy&shy;phen&#10;ated", "hyphen ated"),
        ("1 < 2 and a<b", "1 < 2 and a"),
        ("a <3 b", "a <3 b"),
        ("<p title='x>y' data-a=\"z>\">t", "t"),
        ("<p don't>it isn't</p>", "it isn't"),
        ("<SCRIPT>x</Script>y", "y"),
        ("<script>never closed", ""),
        ("<!-- never closed", ""),
        ("<object>never closed, so it is text", "never closed, so it is text"),
        ("<object><object></object>in</object>out", "out"),
        ("<object><object>in</object>out", "out"),
        ("<svg><defs><text>in</text></defs><text>label</text></svg>out", "label out"),
        ("<textarea>typed &amp; more</textarea>shown", "typed & more shown"),
        ("<frameset><noframes><body>no frames</body></noframes></frameset>", "no frames"),
        ("<p>a<![CDATA[b <c> &amp;]]>d</p>", "a b <c> &amp; d"),
        ("a<img src=x alt='the &quot;hill&quot;'>b<img alt=''>c<img alt=logo.png>", 'a the "hill" bc'),
        ("<iframe>in</iframe><xmp>in</xmp>out", "out"),
        ("<custom-element>kept</custom-element>", "kept"),
        ("&unknown; &amp;amp; &#xD800; &#0;", "&unknown; &amp; \ufffd \ufffd"),
        ("<p>tail", "tail"),
        ("<", "<"),
    ],
)
def test_markup_is_read_as_browsers_read_it(source: str, expected: str) -> None:
    assert visible(source) == expected


def test_without_a_main_part_everything_visible_is_kept() -> None:
    assert visible("<body><nav>Home</nav><div>Text</div></body>") == "Home Text"


@pytest.mark.parametrize(
    "page",
    [
        "<div>menu</div><main>Text</main><div>imprint</div>",
        "<div>menu</div><div class=x role=main><div>Te</div>xt</div><div>imprint</div>",
        "<div>menu</div><article>Text</article>",
        "<main><nav>menu</nav>Text</main>",
    ],
)
def test_the_main_part_alone_is_kept_where_the_page_says_which_it_is(page: str) -> None:
    assert visible(page).replace(" ", "") == "Text"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<div>menu</div><div><p>Caption</p><article>LONG</article><p>Author</p></div>", "Caption LONG Author"),
        ("<div><nav>menu</nav><p>Caption</p><article>LONG</article></div>", "Caption LONG"),
        ("<div><p>LONG</p><article>LONG</article></div>", "LONG"),
        ("<div>menu</div></div><p>Caption</p><article>LONG</article>", "LONG"),
        ("<div><p>Caption</p><article>LONG</div></article><div>menu</div>", "LONG"),
    ],
)
def test_what_stands_beside_an_article_is_kept_if_it_is_little(page: str, expected: str) -> None:
    assert visible(page.replace("LONG", LONG)) == " ".join(expected.replace("LONG", LONG).split())


def test_articles_beside_the_point_do_not_hide_the_page() -> None:
    assert visible("<p>" + "The point. " * 20 + "</p><article>ad</article>").startswith("The point.")


def test_an_empty_main_part_hides_nothing() -> None:
    assert visible("<main></main><div>Text</div>") == "Text"


def test_headings_on_one_long_line_each_head_their_text() -> None:
    document = extract_html("<h1>A</h1>a<h2>B</h2>b<h1>C</h1>c", "html")
    assert [(document.text[section.start :].strip()[:3], section.headings) for section in document.sections] == [
        ("A a", ("A",)),
        ("B b", ("A", "B")),
        ("C c", ("C",)),
    ]


def test_a_drawing_is_its_labels() -> None:
    document = extract_svg(
        '<svg>\n<title>Plan</title><style>x{}</style>\n<path d="M0 0"/><text>Kitchen</text><text>Bath</text>\n</svg>',
        "svg",
    )
    assert document.title == "Plan"
    assert document.text == "\nPlan\nKitchen Bath\n"


@pytest.mark.parametrize(
    "unit",
    [
        "<div>",
        "</div>",
        "<a ",
        '<a b="',
        "<!--",
        "<script>",
        "<svg>",
        "<nav>",
        "<h1>",
        "&amp",
        "<",
        "<main>",
        "<div><article>",
        "<p x=' ",
    ],
)
def test_hostile_pages_take_no_more_than_linear_time_and_no_recursion(unit: str) -> None:
    page = unit * 50_000
    document = extract_html(page, "html")
    assert document.text.count("\n") == page.count("\n")


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<main><h1>Head</h1></main><div>LONG</div>", ["Head", "LONG"]),
        ("<main>LONG</main><div>menu</div><main>LONG again</main>", ["LONG", "LONG again"]),
        ("<main hidden>old</main><div>menu</div><main>LONG</main>", ["LONG"]),
        ("<script>x = '<main>code'</script><div>menu</div><main>LONG</main>", ["LONG"]),
        ("<main>LONG</main><footer>LONG imprint</footer><nav>LONG menu</nav>", ["LONG"]),
        ("<main></main><div>LONG</div>", ["LONG"]),
        (
            "<div role=main>LONG</div><div>menu</div><div role=main>LONG again</div>",
            ["LONG", "LONG again"],
        ),
    ],
)
def test_all_that_is_mainly_said_is_kept_however_many_parts_it_has(page: str, expected: list[str]) -> None:
    text = extract_html("\n".join(page.replace("><", ">\n<").replace("LONG", LONG).split("\n")), "html").text
    assert [" ".join(line.split()) for line in text.split("\n") if line.strip()] == [
        " ".join(line.replace("LONG", LONG).split()) for line in expected
    ]


@pytest.mark.parametrize("unit", ["<main></main>x", "<div role=main></div>x", "<script><main>"])
def test_time_grows_with_the_number_of_main_parts(unit: str) -> None:
    require_linear(lambda n_parts: extract_html(unit * n_parts, "html"), 20_000)


def test_what_a_page_says_of_itself_stands_on_its_line() -> None:
    head = "<head>\n<title>Birds</title>\n<meta name='description'\n content='All about\n owls'>\n</head>"
    for body in ("<body>\ntext</body>", "<body>\n<main>text</main></body>"):
        lines = [line.rstrip() for line in extract_html(f"<html>{head}{body}", "html").text.split("\n")]

        assert [line for line in lines if line] == ["All about owls", "text"]
        assert lines[2] == "All about owls"
        assert lines[6] == "text"


def test_a_page_that_scripts_make_is_read_from_its_data_or_has_its_title() -> None:
    data = (
        '{"@graph": [{"headline": "Owls", "author": {"name": "Ada"}, "url": "http://x", "articleBody": "They\\nfly."}]}'
    )
    page = f"<head><title>App</title></head>\n<div id=root></div>\n<script type='application/ld+json'>{data}</script>"

    assert extract_html(page, "html").text.rstrip() == "\n\nOwls They fly. Ada"
    in_head = f"<head><meta name=description content=About>\n<script type='application/ld+json'>{data}</script></head>"
    assert extract_html(in_head, "html").text.rstrip() == "About\nOwls They fly. Ada"
    assert extract_html(page.replace(data, "{broken"), "html").text.rstrip(" ") == "App\n\n"
    assert extract_html(page.replace(data, "[" * 100_000), "html").text.rstrip(" ") == "App\n\n"
    assert "Owls" not in extract_html(f"{page}<p>{LONG}</p>", "html").text


RAISED = [
    ("the quokka<sup>1</sup> sleeps", "the quokka 1 sleeps"),
    ("the quokka<sup><a href='#n'>1,2</a></sup>.", "the quokka 1,2."),
    ("the QUOKKA<sup>12</sup>", "the QUOKKA 12"),
    ("the quokka<sup>a</sup>", "the quokka a"),
    ("<sup>3</sup>See the report", "3 See the report"),
    ("10<sup>6</sup> km<sup>2</sup>, Km<sup>2</sup> of H<sub>2</sub>O", "106 km2, Km2 of H2O"),
    ("the 1<sup>st</sup> of XIX<sup>e</sup> and <sup>14</sup>C", "the 1st of XIXe and 14C"),
    ("it is <sup>1</sup> alone", "it is 1 alone"),
    ("cos<sup>2</sup> x of the cosmos<sup>2</sup>", "cos2 x of the cosmos 2"),
    ("Rn<sup>2</sup>, V/Hz<sup>2</sup> and Pa<sup>2</sup> by Ng<sup>2</sup>", "Rn2, V/Hz2 and Pa2 by Ng 2"),
    ("the Quokka<sup>TM</sup> of Wu<sup>1,2*</sup>", "the Quokka TM of Wu 1,2*"),
    ("<sup>a</sup>Department of M<sup>c</sup>Donald, M<sup>me</sup> Li", "a Department of McDonald, Mme Li"),
]


@pytest.mark.parametrize(("source", "text"), RAISED)
def test_a_raised_mark_is_no_part_of_a_word(source: str, text: str) -> None:
    assert visible(f"<p>{source}</p>") == text


@pytest.mark.parametrize(
    "page",
    [
        "<p>before</p><object data='a'/><p>after</p><object>hidden</object>",
        "<p>before</p><TEMPLATE>hidden<template>hidden</template>hidden</TEMPLATE><p>after</p>",
        "<p>before</p><object><p>after</p>",
        "<p>before</p></object><p>after</p>",
        "<p>before</p><x-a><template shadowrootmode='open'><p>after</p><template>hidden</template></template></x-a>",
    ],
)
def test_an_invisible_element_hides_what_is_in_it_and_no_more(page: str) -> None:
    assert visible(page).split() == ["before", "after"]
    assert [block.text for block in page_blocks(page) if isinstance(block, Paragraph)] == ["before", "after"]


@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_page_in_a_frame_stands_on_the_lines_of_its_source(quote: str) -> None:
    frame = "<h2>Sales</h2>\n<p>Up &amp;amp; down</p>"
    page = f"<h1>Report</h1>\n<iframe title=a\n srcdoc={quote}{frame}{quote}\n>no frames</iframe>\n<p>after</p>"

    document = extract_html(page, "html")
    assert [line.strip() for line in document.text.split("\n")] == ["Report", "", "Sales", "Up & down", "", "after"]
    assert [section.headings for section in document.sections] == [("Report",), ("Report", "Sales")]


@pytest.mark.parametrize("opened", ["&lt;script>", "<script>", "<!-- ", "<style>", "<b>"])
def test_what_a_frame_leaves_open_ends_with_it(opened: str) -> None:
    assert visible(f'<p>one</p><iframe srcdoc="<p>two</p>{opened}"></iframe><p>three</p>') == "one two three"


def test_frames_within_code_are_none() -> None:
    page = """<script>write('<iframe srcdoc="<b>no</b></script><p>yes</p>"></iframe>')</script>"""
    assert "no" not in visible(page.replace("</script><p>yes</p>", ""))
    assert visible("""<!-- <iframe srcdoc="<p>no</p>"></iframe> -->yes""") == "yes"


@pytest.mark.parametrize(
    "unit", ["<iframe srcdoc=", '<iframe srcdoc="</iframe>', "<iframe a=' srcdoc=x", "<iframe srcdoc='x'></iframe>"]
)
def test_time_grows_with_the_number_of_frames(unit: str) -> None:
    require_linear(lambda n_frames: extract_html(unit * n_frames, "html"), 20_000)


@pytest.mark.parametrize(
    "comments",
    [
        '<section id="comments"><h2>Comments</h2><ol><li>so say readers</li></ol></section>',
        "<div\n class='post-meta comments-area'><p>Comments</p><div class=comment>so say readers</div></div>",
        "<p>Comments</p><div class='comment odd'>so say</div><div class='comment even'>readers</div>",
        "<ol class=commentlist><li>so say readers</ol>",
        "<div id=Kommentare class=kommentare>so say readers</div>",
    ],
)
@pytest.mark.parametrize("element", ["main", "article"])
def test_comments_of_readers_below_an_article_are_kept(element: str, comments: str) -> None:
    page = (
        f"<nav>Menu</nav><{element}><p>{LONG}</p></{element}><div class=related>Other news</div>{comments}"
        "<div class=comment-respond>Leave a reply</div><ul id=recentcomments><li>Elsewhere</ul><footer>Imprint</footer>"
    )
    text = visible(page)
    assert "readers" in text
    assert not any(words in text for words in ("Menu", "Other news", "Leave a reply", "Elsewhere", "Imprint"))
    main = "".join(main_part(page).partition("<p>")[1:])
    assert "readers" in main
    assert "Other news" not in main


@pytest.mark.parametrize("unit", ["<div class=comments>", "class=comments ", "<div id=a id='b comments", "comments"])
def test_time_grows_with_the_number_of_comments(unit: str) -> None:
    require_linear(lambda n_comments: extract_html("<article>a</article>" + unit * n_comments, "html"), 20_000)
