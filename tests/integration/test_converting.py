"""Documents become Markdown: files, members of containers, and what lies on the web."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pymupdf
import pytest
from archives import zipped
from indexes import Index
from office_files import cells, docx, paragraph, xlsx

from directory_indexer.core.errors import UnavailableError, UsageError
from directory_indexer.core.paths import FilePath, file_path
from directory_indexer.formats.document import Document, Metadata, Section
from directory_indexer.integrations.converting import fetching
from directory_indexer.integrations.converting.converter import Converter, to_markdown
from directory_indexer.integrations.converting.destinations import Destinations, Lookup
from directory_indexer.integrations.converting.fetching import FetchedContent, fetch

ANYWHERE = Destinations(allow_private=True)
TABLE = (
    "<html lang=en><head><title>Sales</title><meta name=author content='Ada Byron'></head><body><nav>Menu</nav><main>"
    "<h1>Sales</h1><table><tr><th rowspan=2>Region<th colspan=2>Year<tr><th>2023<th>2024<tr><td>North<td>1<td>2"
    "</table></main></body></html>"
)


@pytest.fixture
def converter(index: Index) -> Converter:
    return Converter(lambda: index.parse_policy._replace(extract=None), destinations=index.app.policies.destinations)


def leading_to(*addresses: str) -> Lookup:
    return lambda *_: list(addresses)


def convert(converter: Converter, place: Path, content: bytes, inner: str = "") -> str:
    place.write_bytes(content)
    return converter.convert_file(FilePath(file_path(place) + inner))


def test_a_document_has_front_matter_headings_and_tables() -> None:
    text = "Report\n\nOverview\n\n| a | b |\n| 1 | 2 |\n\nEnd"
    sections = (
        Section(0, ("Report",), 1),
        Section(8, ("Report", "Overview"), 1),
        Section(text.index("End"), ("Report",), 2),
    )
    document = Document(text, "docx", 'A "title"', sections, metadata=Metadata(authors=("Ada",), created="2024-05-01"))
    assert to_markdown(document) == (
        '---\ntitle: "A \\"title\\""\nkind: "docx"\nauthors: ["Ada"]\ncreated: "2024-05-01"\n---\n\n'
        "<!-- page 1 -->\n# Report\n\n## Overview\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n"
        "<!-- page 2 -->\n# Report\n\nEnd\n"
    )


def test_source_code_is_fenced_by_more_than_it_holds() -> None:
    written = to_markdown(Document("s = '''\n````\n'''\n", "python"))
    assert written.endswith("`````python\ns = '''\n````\n'''\n`````\n")


def test_office_documents_are_converted(converter: Converter, tmp_path: Path) -> None:
    text = convert(converter, tmp_path / "a.docx", docx(paragraph("Roof and walls")))
    assert text == '---\nkind: "docx"\n---\n\nRoof and walls\n'


def test_a_sheet_is_a_table(converter: Converter, tmp_path: Path) -> None:
    text = convert(
        converter, tmp_path / "a.xlsx", xlsx({"Stock": cells(1, A="Nail", B="Count") + cells(2, A="Long", B="4")})
    )
    assert "# Stock" in text
    assert "| Nail | Count |\n| --- | --- |\n| Long | 4 |" in text


def test_the_names_of_the_columns_of_a_long_table_part_it_by_no_heading() -> None:
    rows = "| Item | Shop |\n| Nails | 4 |\n| Bolts | 7 |\n"
    document = Document(rows, "docx", sections=(Section(0), Section(16, ("Item, Shop",))))

    assert to_markdown(document).endswith("---\n\n| Item | Shop |\n| --- | --- |\n| Nails | 4 |\n| Bolts | 7 |\n")


def test_a_table_with_lines_in_a_pdf_is_a_table(converter: Converter, tmp_path: Path) -> None:
    pdf = pymupdf.open()
    page = pdf.new_page()
    for row, texts in enumerate((("Item", "Shop", "Store"), ("Nails", "4", "9"), ("Bolts", "7", "2"))):
        for column, text in enumerate(texts):
            page.draw_rect((50 + 90 * column, 100 + 20 * row, 140 + 90 * column, 120 + 20 * row))
            page.insert_text((55 + 90 * column, 114 + 20 * row), text)
    pdf.save(tmp_path / "stock.pdf")

    text = converter.convert_file(file_path(tmp_path / "stock.pdf"))

    assert "| Item | Shop | Store |\n| --- | --- | --- |\n| Nails | 4 | 9 |\n| Bolts | 7 | 2 |\n" in text


def test_spans_of_a_page_are_resolved_and_its_menu_is_left_out(converter: Converter, tmp_path: Path) -> None:
    text = convert(converter, tmp_path / "a.html", TABLE.encode())
    assert 'title: "Sales"\nkind: "html"\nauthors: ["Ada Byron"]\nlanguage: "en"' in text
    assert "| Region | Year | Year |\n| --- | --- | --- |\n| Region | 2023 | 2024 |\n| North | 1 | 2 |" in text
    assert "Menu" not in text


_MENU = "<div class=menu><a href=/>Home</a> <a href=/imprint>Imprint</a></div>"
_BANNER = "<div class=cookies>We value your privacy and use cookies. Accept all</div>"
_RECIPE = (
    "<h1>Carrot soup</h1><p>Peel the carrots and boil them in salted water for twenty minutes, until they are soft.</p>"
    "<h2>Spices</h2><p>Ginger and cumin are roasted in butter before anything else goes into the pot.</p>"
    "<table><tr><th>What<th>How much<tr><td>Carrots<td>500 g</table>"
)


@pytest.mark.parametrize(
    "main", ["<main>{}</main>", "<article>{}</article>", "<div role=main>{}</div>", "<div class=content>{}</div>"]
)
def test_what_surrounds_the_text_of_a_page_is_left_out_whether_it_says_so_or_not(
    converter: Converter, tmp_path: Path, main: str
) -> None:
    page = f"<html><head><title>Soup</title></head><body>{_MENU}{_BANNER}{main.format(_RECIPE)}</body></html>"
    text = convert(converter, tmp_path / "a.html", page.encode())
    assert "# Carrot soup" in text
    assert "## Spices" in text
    assert "| Carrots | 500 g |" in text
    assert "Imprint" not in text
    assert "privacy" not in text


def test_a_page_of_which_little_would_be_left_is_kept_whole(converter: Converter, tmp_path: Path) -> None:
    links = "".join(f"<div><a href=/{n}>Chapter {n} of the long book of soups</a></div>" for n in range(200))
    text = convert(converter, tmp_path / "a.html", f"<html><body><p>Contents</p>{links}</body></html>".encode())
    assert "Chapter 7 of" in text
    assert "Chapter 199 of" in text


def test_what_makes_pages_readable_is_imported_by_workers_alone(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(f"<html><body>{_MENU}{_RECIPE}</body></html>")
    program = (
        "import sys; from directory_indexer.cli import main\n"
        "try: main()\nexcept SystemExit: pass\nassert 'trafilatura' not in sys.modules"
    )
    command = [sys.executable, "-c", program, "convert", str(tmp_path / "a.html"), "--data-dir", str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    assert "Peel the carrots" in done.stdout
    assert "Imprint" not in done.stdout


def test_a_member_is_converted_by_its_path(converter: Converter, tmp_path: Path) -> None:
    inner = zipped({"note.docx": docx(paragraph("Chimneys are swept in May"))})
    text = convert(converter, tmp_path / "a.zip", zipped({"deep/b.zip": inner}), "!/deep/b.zip!/note.docx")
    assert "Chimneys are swept in May" in text


@pytest.mark.parametrize(
    ("name", "content", "inner", "told"),
    [
        ("a.zip", zipped({"a.txt": "x"}), "", "it is a container: name a file in it"),
        ("a.zip", zipped({"a.txt": "x"}), "!/b.txt", "has no such file"),
        ("a.txt", b"text", "!/b.txt", "holds no files"),
        ("a.docx", b"PK\3\4 nothing", "", "damaged"),
        ("a.txt", b"", "", "empty"),
        ("a.bin", b"\x7fELF\0\0\0\1\2\3" * 40, "", "ELF executable"),
    ],
)
def test_what_cannot_be_converted_says_why(
    converter: Converter, tmp_path: Path, name: str, content: bytes, inner: str, told: str
) -> None:
    with pytest.raises(UsageError, match="cannot be converted") as raised:
        convert(converter, tmp_path / name, content, inner)
    assert told in raised.value.message


def test_secrets_are_masked(converter: Converter, tmp_path: Path) -> None:
    text = convert(converter, tmp_path / "a.md", b"The key is AKIAQ3EGRXV7HZ2KJW5M for the bucket.\n")
    assert "AKIAQ3EGRXV7HZ2KJW5M" not in text


@pytest.mark.parametrize("inner", ["", "!/api_token"])
def test_what_is_a_secret_as_a_whole_is_not_converted(converter: Converter, tmp_path: Path, inner: str) -> None:
    alone = b"q7Zk2Wm9Xc4Vb8Nl1Pj6"
    name, content = ("a.zip", zipped({"api_token": alone})) if inner else ("api_token", alone)
    with pytest.raises(UsageError, match="cannot be converted: secret, token or key"):
        convert(converter, tmp_path / name, content, inner)


def test_a_link_is_followed_only_where_that_is_asked_for(converter: Converter, tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("Behind the link\n", encoding="utf-8")
    (tmp_path / "link.md").symlink_to(tmp_path / "real.md")
    link = file_path(tmp_path / "link.md")
    assert "Behind the link" in converter.convert_file(link)
    with pytest.raises(UsageError, match="cannot be converted"):
        converter.convert_file(link, follow_links=False)


class _Site(BaseHTTPRequestHandler):
    """Answers as the path says."""

    def do_GET(self) -> None:
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.end_headers()
            return
        self.send_response(404 if self.path == "/missing" else 200)
        kind = "text/html; charset=utf-8" if self.path.startswith("/page") else "application/octet-stream"
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(b"x" * 3000 if self.path == "/large" else TABLE.encode() + self.headers["Host"].encode())

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def site() -> Iterator[str]:
    with serving(_Site) as address:
        yield address


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_a_page_is_fetched_and_converted(converter: Converter, site: str) -> None:
    text = converter.convert_url(f"http://{site}/page", allow_private=True)
    assert "| North | 1 | 2 |" in text


def test_redirections_are_followed_and_named_after_what_is_there(site: str) -> None:
    found = fetch(f"http://{site}/to//to//page", destinations=ANYWHERE)
    assert found.name == "page.html"
    assert found.url.endswith("/page")


@pytest.mark.parametrize(
    ("path", "told"),
    [("missing", "answers 404"), ("large", "more than"), ("to/" + "/to/" * 6 + "/page", "redirections")],
)
def test_servers_that_do_not_answer_as_they_should(
    site: str, path: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "MAX_BYTES", 2000)
    with pytest.raises(UnavailableError, match=told):
        fetch(f"http://{site}/{path}", destinations=ANYWHERE)


def test_an_address_that_does_not_answer_leaves_the_next_one(site: str) -> None:
    port = site.partition(":")[2]
    found = fetch(f"http://both.invalid:{port}/page", destinations=ANYWHERE, look_up=leading_to("::1", "127.0.0.1"))
    assert found.name == "page.html"


@pytest.mark.parametrize(
    "sent", ["HTTP/1.1 100 Continue\r\n\r\n", "", "Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x10" + 6 * "\0"]
)
def test_a_server_that_never_ends_is_left(sent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It sends a little again and again: answers before the answer, a header, or what unpacks to nothing."""

    class Endless(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            never = threading.Event()
            with suppress(OSError):
                self.wfile.write(b"" if sent.startswith("HTTP") else b"HTTP/1.1 200 OK\r\n" + sent.encode("latin-1"))
                for _ in range(2_000):
                    self.wfile.write(sent.encode() if sent.startswith("HTTP") else b"a")
                    never.wait(0.005)

        def log_message(self, *_: object) -> None: ...

    monkeypatch.setattr(fetching, "MAX_SECONDS", 0.2)
    with serving(Endless) as address, pytest.raises(UnavailableError, match="takes too long"):
        fetch(f"http://{address}/", destinations=ANYWHERE)


@pytest.mark.parametrize(
    ("encoding", "packed", "told"),
    [
        ("gzip", gzip.compress(bytes(60_000_000)), "more than 50 MB"),
        ("gzip", b"no gzip", "error"),
        (
            "gzip, gzip",
            gzip.compress(gzip.compress(b"text", mtime=0), mtime=0),
            "compresses its response with 'gzip, gzip'",
        ),
        ("br", b"text", "compresses its response with 'br'"),
    ],
    ids=["too much", "no gzip", "packed twice", "another packing"],
)
def test_what_a_server_packs_is_unpacked_within_limits(encoding: str, packed: bytes, told: str) -> None:
    class Packed(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Encoding", encoding)
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(packed)

        def log_message(self, *_: object) -> None: ...

    with serving(Packed) as address, pytest.raises(UnavailableError, match=told):
        fetch(f"http://{address}/", destinations=ANYWHERE)


def test_a_redirection_to_a_file_is_refused(site: str) -> None:
    with pytest.raises(UsageError, match="is not an http or https URL"):
        fetch(f"http://{site}/to/file:///etc/passwd", destinations=ANYWHERE)


def test_environment_proxies_are_not_asked(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert isinstance(fetch(f"http://{site}/page", destinations=ANYWHERE), FetchedContent)
