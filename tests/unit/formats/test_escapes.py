from __future__ import annotations

import pytest

from directory_indexer.formats.calendars import rejoin_split_characters
from directory_indexer.formats.structured import unescape
from directory_indexer.secrets.redaction import redact


@pytest.mark.parametrize(
    ("kind", "written", "expected"),
    [
        ("json", r'{"a": "\u00dcber \ud83d\ude42 \ud83d!"}', '{"a": "Über 🙂 \ufffd!"}'),
        ("json", r'{"a": "one\ntwo\tthree\\n \/ \u0000\u2028"}', r'{"a": "one two three\n /   "}'),
        ("json", r'{"a": "the \"quoted\" word\""}', '{"a": "the "quoted" word""}'),
        ("json", r'{"a": "Gr\u00c3\u00bc\u00c3\u009fe \u00fc"}', '{"a": "Grüße ü"}'),
        ("gettext", r'msgstr "eins\n"', 'msgstr "eins "'),
        ("yaml", 'a: "\\u00fc\\x41\\U0001f642"\nb: C:\\new\\u00fc # it\'s 5" or "\\n"', None),
        ("toml", "a = \"\\u00fc\"\nb = 'C:\\new'", "a = \"ü\"\nb = 'C:\\new'"),
        ("toml", 'a = """\\u00fc "q"\n\\u00df"""\nb = "\\u00fc"', 'a = """ü "q"\nß"""\nb = "ü"'),
        ("properties", "a=Gr\\u00fc\\u00df\\:\\\n  Gott\\tx", "a=Grüß:\\\n  Gott x"),
        ("xml", "<a b='&#220;ber'>x &amp;lt; &nosuch; &lt;i&gt;y&lt;/i&gt;&#10;z</a>", None),
        ("latex", r"Fran\c{c}ois {\"u}ber na\"{\i}ve Stra\ss e {\O}re \v s \'etale \emph{x}", None),
        ("bibtex", r"On {B}ernoulli {\'e}tale Erd{\H o}s {\aa}", "On Bernoulli étale Erdős å"),
    ],
)
def test_escapes_become_their_characters(kind: str, written: str, expected: str | None) -> None:
    others = {
        "yaml": 'a: "üA🙂"\nb: C:\\new\\u00fc # it\'s 5" or "\\n"',
        "xml": "<a b='Über'>x &lt; &nosuch; <i>y</i> z</a>",
        "latex": r"François über naïve Straße Øre š étale \emph{x}",
    }
    assert unescape(written, kind) == (expected if expected is not None else others[kind])


@pytest.mark.parametrize("kind", ["json", "yaml", "toml", "properties", "xml", "latex", "gettext"])
def test_a_line_stays_a_line(kind: str) -> None:
    written = 'a: "x\\n\\u000a\\u0085&#10;&#xA;\\x0a"\nb: "\\\n &lt;p\nq&gt;"\n{\\"\nu}'

    assert unescape(written, kind).count("\n") == written.count("\n")


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("json", r'{"password": "abX9\"zz77QQ"}'),
        ("json", r'{"password": "abX9\u0026zz77QQ"}'),
        ("json", r'{"env": "A=1\nDB_PASSWORD=abX9zz77QQ\nC=2"}'),
        ("json", r'{"inner": "{\"password\": \"abX9zz77QQ\"}"}'),
        ("json", r'{"url": "postgres:\/\/bob:abX9zz77QQ@db\/x"}'),
        ("xml", '<add key="password" value="abX9&quot;zz77QQ"/>'),
    ],
)
def test_a_secret_that_is_written_in_escapes_is_masked_to_its_end(kind: str, written: str) -> None:
    assert "zz77QQ" not in redact(unescape(written, kind), kind)[0]


def test_a_fold_within_a_character_goes_behind_it() -> None:
    assert (
        rejoin_split_characters("SUMMARY:Börse".encode().replace(b"\xb6", b"\r\n \xb6"))
        == "SUMMARY:Bö\r\n rse".encode()
    )
