"""The table of formats: one row is one format.

To add a binary format, write a module that reads it, import that module lazily below and add a row. Each module is
imported for the first file that it reads: all of them take 10 ms, tree-sitter 15 and pymupdf 2 s, and an edited file
needs one. A suffix is also the short name that people type, so `--type py` needs no entry of its own.

Pygments knows more formats, but costs 35 ms to import and takes `*.module` for JSON and `*.load` for fish; identify
lacks a third of these.
"""

from __future__ import annotations

from typing import Final

from directory_indexer.core.lazy import lazily
from directory_indexer.formats.code_table import CODE_FORMATS
from directory_indexer.formats.format import Decoded, Format

with lazily:
    from directory_indexer.formats.archives import (
        is_bzip2,
        is_gzip,
        is_tar,
        is_xz,
        is_zip,
        is_zstandard,
        open_bzip2,
        open_gzip,
        open_tar,
        open_xz,
        open_zip,
        open_zstandard,
    )
    from directory_indexer.formats.books.epub import is_epub, open_epub
    from directory_indexer.formats.books.fiction_book import extract_fiction_book
    from directory_indexer.formats.books.mobi import extract_mobi
    from directory_indexer.formats.bsdtar import is_cabinet, is_rar, open_with_bsdtar
    from directory_indexer.formats.calendars import extract_calendar, extract_contacts, rejoin_split_characters
    from directory_indexer.formats.containers import open_git_file
    from directory_indexer.formats.database import extract_database, is_database
    from directory_indexer.formats.html import extract_html, extract_svg
    from directory_indexer.formats.iwork import extract_iwork, is_iwork
    from directory_indexer.formats.mail.message import (
        extract_web_archive,
        open_apple_message,
        open_mailbox,
        open_message,
    )
    from directory_indexer.formats.mail.outlook import is_outlook_message, open_outlook_message
    from directory_indexer.formats.mail.outlook_store import is_outlook_store, open_outlook_store
    from directory_indexer.formats.mail.signed import is_signed, open_signed
    from directory_indexer.formats.mail.winmail import is_winmail, open_winmail
    from directory_indexer.formats.markup import extract_markdown, extract_markup, extract_restructuredtext
    from directory_indexer.formats.media import extract_image, open_audio
    from directory_indexer.formats.notebook import extract_notebook
    from directory_indexer.formats.office.hwpx import is_hwpx, open_hwpx
    from directory_indexer.formats.office.native import extract_xlsb
    from directory_indexer.formats.office.odf import open_odf
    from directory_indexer.formats.office.ole import extract_ole
    from directory_indexer.formats.office.ooxml import open_ooxml
    from directory_indexer.formats.office.rtf import is_rtf, open_rtf
    from directory_indexer.formats.office.signatures import (
        is_doc,
        is_docx,
        is_odg,
        is_odp,
        is_ods,
        is_odt,
        is_ole,
        is_ppt,
        is_pptx,
        is_vsdx,
        is_xlsb,
        is_xlsx,
    )
    from directory_indexer.formats.pdf.reader import open_pdf
    from directory_indexer.formats.seven_zip import is_seven_zip, open_seven_zip
    from directory_indexer.formats.signatures import (
        is_aiff,
        is_asf,
        is_bmp,
        is_flac,
        is_gif,
        is_heic,
        is_jpeg,
        is_matroska,
        is_mp3,
        is_mp4,
        is_ogg,
        is_opencode_store,
        is_png,
        is_pnm,
        is_tiff,
        is_transcript,
        is_video,
        is_wav,
        is_webp,
    )
    from directory_indexer.formats.structured import (
        extract_escaped,
        extract_json,
        extract_rows,
        extract_tables,
        extract_yaml,
    )
    from directory_indexer.formats.subtitles import extract_subtitles
    from directory_indexer.formats.transcripts.document import open_transcript
    from directory_indexer.formats.transcripts.opencode import open_opencode_store
    from directory_indexer.formats.video import open_matroska, open_mp4


def _is_pdf(head: bytes, has_extension: bool) -> bool:  # noqa: FBT001 - the signature of `Format.sniff`
    # It is here because the module that reads PDF takes 2 s to import, and a note may have the suffix.
    # The header may stand anywhere in the first 1024 bytes; without the suffix only the very start is trusted.
    return head.startswith(_PDF_HEADER) or (has_extension and _PDF_HEADER in head[:1024])


def _is_mobi(head: bytes, _: bool) -> bool:  # noqa: FBT001 - as above, for what reads it is MuPDF, too
    return head.startswith(_MOBI_HEADER, 60)


_PDF_HEADER: Final = b"%PDF-"
_MOBI_HEADER: Final = b"BOOKMOBI"
_ZIP_HEADER: Final = b"PK\3\4"
_OFFICE_HEADER: Final = (_ZIP_HEADER, b"<?xml", b"\xef\xbb\xbf<?xml", b"\xff\xfe<\0?\0", b"\xfe\xff\0<\0?")
"""Packages, and single XML files in which some programs save documents of the same formats."""

_OLE_HEADER: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_MESSAGE: Final = (
    rb"(?i)(?:(?:return-path|received|delivered-to|envelope-to|from|to|cc|subject|date|message-id|mime-version|sender"
    rb"|reply-to|in-reply-to|references|content-type|content-transfer-encoding|user-agent|dkim-signature"
    rb"|authentication-results|(?:x|arc|list)-[\w-]{1,60}):[^\n]*+\n(?:[ \t][^\n]*+\n)*+){3}"
)
_WEB_ARCHIVE: Final = (
    rb"(?i)(?:(?!(?:to|cc|received|delivered-to|return-path|content-type):)"
    rb"[!-9;-~]{1,80}:[^\n]*+\n(?:[ \t][^\n]*+\n)*+)*+content-type:\s*multipart/related\b"
)
_MAILBOX: Final = rb"From [^\n]{1,400}\n(?:>?From [^\n]*\n)?[!-9;-~]{1,80}:[^\n]*\n"
_HTML: Final = rb"(?i)\s*(?:<\?xml[^>]*>\s*)?(?:<!doctype html|<html)\b"
_SVG: Final = rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*)?(?:<!DOCTYPE svg[^>]*>\s*)?<svg\b"
_FICTION_BOOK: Final = rb"\s*(?:<\?xml[^>]*>\s*)?<FictionBook\b"
_SUBTITLES: Final = rb"WEBVTT\b|\[Script Info\]|1\n\d\d:\d\d:\d\d,\d{3} --> "
_XML: Final = rb"\s*<\?xml\b"
_MAN: Final = rb"(?:[.']\\\"[^\n]*+\n|[ \t]*+\n)*+\.(?:TH|Dd|SH)\s"
_DIFF: Final = rb"diff --git |Index: |--- [^\n]+\n\+\+\+ "
_JSON: Final = rb"\s*[{\[]\s*(?:\{\s*)?\"(?:[^\"\\\n]|\\.)*\"\s*:"

FORMATS: Final[dict[str, Format]] = {
    **CODE_FORMATS,
    "asciidoc": Format("docs", "adoc asciidoc", Decoded(extract_markup)),
    "calendar": Format(
        "docs",
        "ics ical ifb",
        Decoded(extract_calendar, rejoin_split_characters),
        opening=rb"BEGIN:VCALENDAR\b",
        version=2,
    ),
    # Commits of a repository, made by `histories`: they are no files and have no bytes to recognise them by.
    "commit": Format("data", "", aliases="commits"),
    "contacts": Format(
        "docs", "vcf vcard", Decoded(extract_contacts, rejoin_split_characters), opening=rb"BEGIN:VCARD\b", version=2
    ),
    "bibtex": Format("docs", "bib", Decoded(extract_escaped), version=2),
    "msg": Format("docs", "msg", open=open_outlook_message, sniff=is_outlook_message, header=_OLE_HEADER, version=6),
    "doc": Format("docs", "doc dot", extract_ole, is_isolated=True, sniff=is_doc, header=_OLE_HEADER, version=4),
    "docx": Format("docs", "docx docm dotx dotm", open=open_ooxml, sniff=is_docx, header=_OFFICE_HEADER, version=9),
    # It has the headers of a message, so it comes before that.
    "mhtml": Format("docs", "mhtml mht", extract_web_archive, opening=_WEB_ARCHIVE, version=8),
    "email": Format("docs", "eml", open=open_message, opening=_MESSAGE, aliases="mail message", version=9),
    "emlx": Format("docs", "emlx", open=open_apple_message, version=9),
    "epub": Format("docs", "epub", open=open_epub, sniff=is_epub, header=_ZIP_HEADER, version=6),
    "fictionbook": Format("docs", "fb2", Decoded(extract_fiction_book), opening=_FICTION_BOOK, version=3),
    "html": Format("docs", "html htm xhtml shtml", Decoded(extract_html), aliases="xhtml", opening=_HTML, version=9),
    "hwpx": Format("docs", "hwpx", open=open_hwpx, sniff=is_hwpx, header=_ZIP_HEADER),
    "keynote": Format("docs", "key", extract_iwork, is_isolated=True, sniff=is_iwork, header=_ZIP_HEADER),
    "latex": Format("docs", "tex ltx sty dtx", Decoded(extract_markup), aliases="plaintex", version=2),
    "man": Format("docs", "man mdoc roff", Decoded(extract_markup), aliases="troff nroff groff", opening=_MAN),
    "markdown": Format("docs", "md markdown mdown mkd mkdn mdx rmd qmd livemd mdc", Decoded(extract_markdown)),
    "mbox": Format("docs", "mbox mbx", open=open_mailbox, opening=_MAILBOX, aliases="mailbox", version=3),
    "mobi": Format(
        "docs",
        "mobi prc azw",
        extract_mobi,
        is_isolated=True,
        sniff=_is_mobi,
        header=_MOBI_HEADER,
        header_at=60,
        version=3,
    ),
    "notebook": Format("docs", "ipynb", Decoded(extract_notebook), aliases="jupyter"),
    "numbers": Format("data", "numbers", extract_iwork, is_isolated=True, sniff=is_iwork, header=_ZIP_HEADER),
    "odg": Format("docs", "odg otg fodg sxd std", open=open_odf, sniff=is_odg, header=_OFFICE_HEADER, version=5),
    "odp": Format("docs", "odp otp fodp sxi sti", open=open_odf, sniff=is_odp, header=_OFFICE_HEADER, version=5),
    "odt": Format(
        "docs", "odt ott odm oth fodt sxw stw sxg", open=open_odf, sniff=is_odt, header=_OFFICE_HEADER, version=6
    ),
    "org": Format("docs", "org", Decoded(extract_markup)),
    "pages": Format("docs", "pages", extract_iwork, is_isolated=True, sniff=is_iwork, header=_ZIP_HEADER),
    "pdf": Format("docs", "pdf", open=open_pdf, sniff=_is_pdf, header=_PDF_HEADER, version=11),
    "ppt": Format("docs", "ppt pps", extract_ole, is_isolated=True, sniff=is_ppt, header=_OLE_HEADER, version=2),
    "pptx": Format(
        "docs", "pptx pptm ppsx ppsm potx potm", open=open_ooxml, sniff=is_pptx, header=_OFFICE_HEADER, version=7
    ),
    "pst": Format("docs", "pst ost", open=open_outlook_store, sniff=is_outlook_store, header=b"!BDN", version=2),
    "restructuredtext": Format("docs", "rst rest", Decoded(extract_restructuredtext)),
    "rtf": Format("docs", "rtf", open=open_rtf, sniff=is_rtf, header=b"{\\rtf", version=5),
    "subtitles": Format(
        "docs", "srt vtt sbv ass ssa lrc", Decoded(extract_subtitles), opening=_SUBTITLES, aliases="lyrics", version=2
    ),
    "svg": Format("docs", "svg", Decoded(extract_svg), opening=_SVG, version=2),
    "text": Format(
        "docs",
        "txt text",
        names="license licence copying copyright notice readme authors contributors changelog changes news "
        "todo install maintainers codeowners version go.sum gemfile.lock yarn.lock podfile.lock "
        "requirements.txt",
        aliases="plain plaintext",
        version=2,
    ),
    "textile": Format("docs", "textile"),
    "tnef": Format(
        "docs",
        "tnef",
        open=open_winmail,
        sniff=is_winmail,
        header=b"\x78\x9f\x3e\x22",
        aliases="winmail",
        version=3,
    ),
    # Data of many kinds has their suffixes, so content alone tells what they are.
    "transcript": Format(
        "docs", "", open=open_transcript, sniff=is_transcript, header=(b"{", b"["), aliases="session transcripts"
    ),
    "typst": Format("docs", "typ", Decoded(extract_markup)),
    "vsdx": Format("docs", "vsdx vsdm vstx vstm vssx vssm", open=open_ooxml, sniff=is_vsdx, header=_ZIP_HEADER),
    "wiki": Format("docs", "wiki mediawiki", Decoded(extract_markup)),
    "csv": Format("data", "csv", Decoded(extract_rows), version=2),
    "diff": Format("data", "diff patch rej", opening=_DIFF),
    "dotenv": Format("data", "env", names=".env"),
    "gettext": Format("data", "po pot", Decoded(extract_escaped), version=2),
    "gomod": Format("data", "", names="go.mod go.work", aliases="go.mod"),
    "ini": Format(
        "data",
        "ini cfg conf cnf desktop service socket timer mount target editorconfig gitconfig",
        Decoded(extract_tables),
        names=".editorconfig .gitconfig .gitmodules .npmrc .pypirc .flake8 .pylintrc .coveragerc .hgrc .my.cnf "
        "pylintrc",
        aliases="config dosini systemd",
    ),
    "json": Format(
        "data",
        "json jsonc json5 geojson webmanifest har jsonld topojson avsc code-workspace",
        Decoded(extract_json),
        names=".babelrc .jshintrc .bowerrc pipfile.lock composer.lock flake.lock bun.lock .swcrc .eslintrc "
        ".prettierrc .stylelintrc",
        opening=_JSON,
        version=2,
    ),
    "jsonl": Format("data", "jsonl ndjson", Decoded(extract_escaped), version=2),
    "log": Format("data", "log", version=2),
    "ods": Format("data", "ods ots fods sxc stc", open=open_odf, sniff=is_ods, header=_OFFICE_HEADER, version=6),
    "properties": Format("data", "properties", Decoded(extract_escaped), version=2),
    "toml": Format(
        "data", "toml", Decoded(extract_tables), names="cargo.lock poetry.lock uv.lock pdm.lock pipfile", version=3
    ),
    "tsv": Format("data", "tsv tab", Decoded(extract_rows)),
    # Any other OLE file is taken for a workbook until it is read: its name is missing or may be wrong.
    "xls": Format("data", "xls xlt xlw", extract_ole, is_isolated=True, sniff=is_ole, header=_OLE_HEADER, version=2),
    "xlsb": Format("data", "xlsb", extract_xlsb, is_isolated=True, sniff=is_xlsb, header=_ZIP_HEADER, version=2),
    "xlsx": Format(
        "data", "xlsx xlsm xltx xltm xlam", open=open_ooxml, sniff=is_xlsx, header=_OFFICE_HEADER, version=6
    ),
    "xml": Format(
        "data",
        "xml xsd xsl xslt rss atom plist csproj fsproj vbproj vcxproj props targets resx xaml wsdl pom "
        "kml gpx storyboard xib iml xlf xliff opml dtd nuspec tmx ui",
        Decoded(extract_escaped),
        opening=_XML,
        version=3,
    ),
    "yaml": Format(
        "data",
        "yaml yml clang-format clang-tidy cff",
        Decoded(extract_yaml),
        names=".clang-format .clang-tidy .clangd .yamllint .ansible-lint",
        version=2,
    ),
    "bmp": Format("media", "bmp dib", extract_image, sniff=is_bmp, header=b"BM"),
    "gif": Format("media", "gif", extract_image, sniff=is_gif, header=b"GIF8", version=2),
    "heic": Format("media", "heic heif avif", extract_image, sniff=is_heic, header=b"ftyp", header_at=4),
    "jpeg": Format("media", "jpg jpeg jpe jfif", extract_image, sniff=is_jpeg, header=b"\xff\xd8\xff", version=3),
    "png": Format("media", "png", extract_image, sniff=is_png, header=b"\x89PNG\r\n", version=3),
    "pnm": Format("media", "pnm pbm pgm ppm", extract_image, sniff=is_pnm, header=(b"P4", b"P5", b"P6")),
    "tiff": Format("media", "tif tiff", extract_image, sniff=is_tiff, header=(b"II*\0", b"MM\0*"), version=3),
    "webp": Format("media", "webp", extract_image, sniff=is_webp, header=b"RIFF", version=3),
    "aiff": Format("media", "aif aiff aifc", open=open_audio, sniff=is_aiff, header=b"FORM"),
    "flac": Format("media", "flac", open=open_audio, sniff=is_flac, header=b"fLaC"),
    "m4a": Format("media", "m4a m4b m4r", open=open_audio, sniff=is_mp4, header=b"ftypM4", header_at=4),
    "mp3": Format("media", "mp3 mp2", open=open_audio, sniff=is_mp3, header=b"ID3"),
    "ogg": Format("media", "ogg oga opus spx", open=open_audio, sniff=is_ogg, header=b"OggS"),
    "matroska": Format(
        "media", "mkv webm mks mka", open=open_matroska, sniff=is_matroska, header=b"\x1aE\xdf\xa3", is_sampled=True
    ),
    "mp4": Format(
        "media", "mp4 m4v mov 3gp", open=open_mp4, sniff=is_video, header=b"ftyp", header_at=4, is_sampled=True
    ),
    "wav": Format("media", "wav", open=open_audio, sniff=is_wav, header=b"RIFF"),
    "wma": Format("media", "wma", open=open_audio, sniff=is_asf, header=b"\x30\x26\xb2\x75"),
    # Documents that are packed, too, have their rows above.
    "zip": Format("archives", "zip", open=open_zip, sniff=is_zip, header=b"PK\3\4", version=2),
    "tar": Format("archives", "tar", open=open_tar, sniff=is_tar, header=b"ustar", header_at=257),
    "gzip": Format("archives", "gz tgz taz", open=open_gzip, sniff=is_gzip, header=b"\x1f\x8b", version=2),
    "bzip2": Format("archives", "bz2 tbz tbz2", open=open_bzip2, sniff=is_bzip2, header=b"BZh", version=2),
    "xz": Format("archives", "xz txz", open=open_xz, sniff=is_xz, header=b"\xfd7zXZ", version=2),
    "zstandard": Format(
        "archives",
        "zst tzst",
        open=open_zstandard,
        sniff=is_zstandard,
        header=b"\x28\xb5\x2f\xfd",
        aliases="zstd",
        version=2,
    ),
    "p7m": Format(
        "archives",
        "p7m",
        open=open_signed,
        sniff=is_signed,
        header=(b"0\x80", b"0\x82", b"0\x83", b"0\x84"),
        aliases="smime",
    ),
    "git": Format("archives", "", open=open_git_file, names=".git"),
    "opencode": Format(
        "archives",
        "",
        open=open_opencode_store,
        sniff=is_opencode_store,
        header=b"SQLite format 3\0",
        names="opencode.db opencode-dev.db opencode-local.db opencode-beta.db",
    ),
    # It comes behind the databases that have names of their own.
    "sqlite": Format(
        "data",
        "sqlite sqlite3 db db3 s3db gpkg",
        extract_database,
        is_isolated=True,
        sniff=is_database,
        header=b"SQLite format 3\0",
        version=2,
    ),
    "rar": Format("archives", "rar", open=open_with_bsdtar, sniff=is_rar, header=b"Rar!", needs="bsdtar"),
    "cab": Format("archives", "cab", open=open_with_bsdtar, sniff=is_cabinet, header=b"MSCF", needs="bsdtar"),
    "7z": Format("archives", "7z", open=open_seven_zip, sniff=is_seven_zip, header=b"7z\xbc\xaf"),
}

KINDS_WITH_PICTURES: Final = frozenset("bmp docx gif jpeg odg odp ods odt png pnm pptx tiff vsdx webp xlsx".split())
"""Kinds with pictures to recognise: pictures themselves, and documents that have pictures as members."""
