from __future__ import annotations

from itertools import pairwise

import pytest
import secret_corpus
from growth import require_linear
from hypothesis import given
from hypothesis import strategies as st

from directory_indexer.formats.document import Document, Section
from directory_indexer.secrets.context_rules import RULES, rule_spans
from directory_indexer.secrets.formats import HASH_RULES
from directory_indexer.secrets.prose_rules import _TITLE, is_title
from directory_indexer.secrets.redaction import redact, redact_document, secret_spans
from directory_indexer.secrets.rule_engine import LiteralPrefilter, Rule, compile_pattern, line_start
from directory_indexer.secrets.tokens import token_spans

KINDS = ("", "text", "python", "yaml", "json", "bash", "csv", "markdown", "xml")
SETS = {
    name: [file.content.decode("utf-8", "replace") for file in secret_corpus.sample_files(name)]
    for name in ("secret", "innocent", "plain_secret", "plain_innocent")
}
SAMPLES = [text for texts in SETS.values() for text in texts]
PIECES = (
    'password token api_key secret = : " \' \\" => {{ }} ${X} <a> </a> | , ; ( ) [ ] $6$ :// @ -p -u Bearer Basic x y1 '
    "kind: Secret data: hunter2Xy aZ9kD83jsLq02mXz BEGIN PRIVATE KEY----- MIIEowIBAAKCAQEAx3Qd9k2vM7fWbT0aP4yLq8Zs "
    "\u0130 \u00df eyJhbGciOiJIUzI1NiJ9 . _ - **** ghp_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"
).split(" ")
TEXTS = st.lists(st.sampled_from([*PIECES, "\n", " ", "\t", "  "]), max_size=40).map("".join) | st.text(max_size=200)


@given(TEXTS, st.sampled_from(KINDS))
def test_a_mask_moves_nothing(text: str, kind: str) -> None:
    redacted, spans = redact(text, kind)

    assert len(redacted) == len(text)
    assert [at for at, char in enumerate(text) if char.isspace()] == [
        at for at, char in enumerate(redacted) if char.isspace()
    ]
    assert all(0 <= start < end <= len(text) for start, end, _ in spans)
    assert all(left.end <= right.start for left, right in pairwise(spans))


@given(TEXTS, st.sampled_from(KINDS))
def test_masking_twice_is_masking_once(text: str, kind: str) -> None:
    redacted, _ = redact(text, kind)

    assert redact(redacted, kind)[0] == redacted


@pytest.mark.parametrize("texts", SETS.values(), ids=SETS)
def test_masking_a_real_file_twice_is_masking_it_once(texts: list[str]) -> None:
    for text in texts:
        redacted, _ = redact(text)
        assert len(redacted) == len(text)
        assert redact(redacted)[0] == redacted


_LENGTH = 20_000

MARKS = ("pass", "password", "word", " - ", "密码", "é", "://", '"notes"', "sshpass")


@given(st.lists(st.sampled_from([*MARKS, "\ud800", "\udcff", "pas", "x", "\n"]), max_size=30).map("".join))
def test_the_literals_of_a_text_are_those_that_are_in_it(text: str) -> None:
    assert LiteralPrefilter(MARKS).literals_in(text) == {mark for mark in MARKS if mark in text}


@pytest.mark.parametrize("n_before", range((1 << 16) - 10, (1 << 16) + 3))
def test_a_mark_is_found_wherever_a_long_text_is_divided(n_before: int) -> None:
    assert LiteralPrefilter(MARKS).literals_in("-" * n_before + "password") == {"pass", "password", "word"}


def test_each_form_of_a_hash_is_found_in_texts_with_its_marks_alone() -> None:
    table = LiteralPrefilter(literal for rule in HASH_RULES for literal in rule.literals)
    found = [(rule, table.literals_in(text.lower())) for text in SAMPLES for rule in HASH_RULES if [*rule.find(text)]]

    assert {rule for rule, _ in found} == set(HASH_RULES)
    assert [rule.literals for rule, marks in found if marks.isdisjoint(rule.literals)] == []


@pytest.mark.parametrize("rule", [rule for rule in RULES if isinstance(rule, Rule)], ids=lambda rule: rule.pattern[:40])
def test_a_row_of_the_table_can_be_applied(rule: Rule) -> None:
    place = (
        compile_pattern(rule.before)
        if rule.before and compile_pattern(rule.before).groups
        else compile_pattern(rule.pattern)
    )

    assert rule.literals == tuple(literal.lower() for literal in rule.literals)
    assert rule.group <= place.groups
    assert rule.within is None or compile_pattern(rule.within).groups


@given(st.lists(TEXTS, max_size=4), TEXTS)
def test_a_document_keeps_its_shape(headings: list[str], text: str) -> None:
    sections = tuple(Section(at, (heading,)) for at, heading in enumerate(headings))

    redacted = redact_document(Document(text, "markdown", text[:40], sections)).document

    assert len(redacted.text) == len(text)
    assert len(redacted.title) == len(text[:40])
    assert [(section.start, len(section.headings)) for section in redacted.sections] == [
        (section.start, len(section.headings)) for section in sections
    ]


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "key=",
            "password=",
            "key>",
            "password: ",
            '"d":"',
            "://a:b",
            "-p x",
            "BEGIN PRIVATE KEY-----\n",
            "kind: Secret\n",
        ),
        *(
            "| a | password |\n|---|---|\n",
            "cookie: a=b",
            ".login(a, ",
            "accounts: [",
            ":500:",
            "LS0tLS1CRUdJTi",
            "AKIA",
        ),
        *("api_key=aZ9kD83j", "_aaaaaaaaaaaaaaaa", ".eyJ", "$6$a", "password,", "name: password\n value", "key\\\\\\"),
    ],
)
def test_hostile_repetition_takes_time_in_proportion_to_its_length(piece: str) -> None:
    require_linear(lambda length: secret_spans(piece * (length // len(piece)), "yaml"), _LENGTH)


_SETTINGS = (
    *(
        "password=sunshine\n",
        "user=a password=b ",
        "host=a;Password=b;",
        "?user=a&password=b",
        "://a:b@",
        "a:b@tcp(",
    ),
    *(
        "PASSWORD = 'a', ",
        "machine a login b password c ",
        "${PASSWORD:-",
        "log in with a1b2c3d4 ",
        "abandon ability ",
    ),
    *(
        "\nabandon",
        "1. abandon ",
        'AccountKey="',
        'credential("',
        " --password a ",
        "docker login -p ab ",
        "mysql -p a",
    ),
    *("password: " + "x@" * 40 + "\n", "Password: a\n", "://" + "a@" * 60),
)
_SETTING_KINDS = ("yaml", "text", "bash", "python", "ini")


@pytest.mark.parametrize(
    ("kind", "piece"),
    [
        pytest.param(kind, piece, marks=() if number % len(_SETTING_KINDS) == at else pytest.mark.slow)
        for number, piece in enumerate(_SETTINGS)
        for at, kind in enumerate(_SETTING_KINDS)
    ],
)
def test_no_setting_and_no_connection_string_is_made_to_take_long(kind: str, piece: str) -> None:
    """Of the kinds of text, one a piece is tried on every commit."""
    require_linear(lambda length: secret_spans(piece * (length // len(piece)), kind, "settings"), _LENGTH)


@pytest.mark.parametrize(
    "piece", ["xoxb-", "sk-ant-", "glpat-", " -u a:", " -p abc1def", "kind: Secret data: #", "  data:\n  k: abcd\n"]
)
@pytest.mark.slow
def test_two_megabytes_that_are_made_to_take_long_do_not(piece: str) -> None:
    secret_spans("kind: Secret\n" + piece * (2_000_000 // len(piece)), "yaml")


@pytest.mark.parametrize(
    ("kind", "piece"),
    [
        *(
            ("text", piece)
            for piece in ("pw\n", "password? \n\n", "pw\n" + ":" * 110 + "\n", "passwords\n===\n", "密码")
        ),
        *(("text", piece) for piece in ("abcd\n", "abcd ", "1 abcd ", "123456-", "| ", "@a.b.c: x1", "\np: ", "code ")),
        *(("json", piece) for piece in ('"text":"pw","text":"', '"value": "abcdef","type":"x",')),
        *(("sql", piece) for piece in ("COPY a (password) from stdin;\n", "copy a (b,")),
        *(
            ("json", piece)
            for piece in ('{"type":"password","value":"a1b2c3"', '{"a":"{', '{"a":"\\"{', "otpauth://a?b=c&")
        ),
        *(
            ("bash", piece)
            for piece in ("chpasswd <<A\n", "chpasswd <<A\na:b1c2d3\n", "a:b1c2d3 | ", "base64:", "key=hex:ab")
        ),
        *(
            ("yaml", piece)
            for piece in ("kind: SealedSecret\nencryptedData:\n", "encryptedData:\n a: b\n", "webhook/0123")
        ),
        *(("ini", piece) for piece in ("[users]\n", "[admins]\na = b1c2d3\n")),
    ],
)
def test_no_note_and_no_dump_is_made_to_take_long(kind: str, piece: str) -> None:
    head = "wallet @ / code\n"
    require_linear(lambda length: secret_spans(head + piece * (length // len(piece)), kind), _LENGTH)


@pytest.mark.parametrize(
    "piece", ["a: b1c2d3\n", "a: ", "a -> ", "pin ", "code 1234 ", "passwords ", "> * > * ", "k: v1w2x3 "]
)
@pytest.mark.parametrize(("kind", "name"), [("text", "passwords.txt"), ("yaml", "secrets.yaml")])
def test_no_file_that_is_called_secret_is_made_to_take_long(kind: str, name: str, piece: str) -> None:
    require_linear(lambda length: secret_spans(piece * (length // len(piece)), kind, name), _LENGTH)


@pytest.mark.parametrize("piece", ["xoxb-", "sk-ant-", "glpat-", ".eyJaZ9kD83jsLq02mXzaZ9kD83jsLq"])
def test_a_token_in_a_token_is_no_token_of_its_own(piece: str) -> None:
    n_spans = len(list(token_spans(piece * 1_000)))

    assert 1 <= n_spans <= 1_000 * len(piece) // 60


def test_a_section_of_a_manifest_in_another_is_read_once() -> None:
    text = "kind: Secret\n" + "  data:\n  k: abcd\n" * 500

    assert len(list(rule_spans(text, text.lower(), frozenset({"secret"}), "yaml"))) == 500


@given(st.text("ab\n", max_size=30), st.integers(0, 30), st.integers(0, 40))
def test_a_line_starts_behind_its_newline_or_as_far_back_as_is_looked(text: str, at: int, max_length: int) -> None:
    at = min(at, len(text))

    start = line_start(text, at, max_length)

    assert text[start:at] == text[:at].rpartition("\n")[2][-max_length or at :]


@given(
    st.lists(
        st.sampled_from(
            [
                *"password Logins kennwörter pwds zugänge hesla hasło şifreler losenord has my the".split(),
                "mots de passe",
            ]
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(["", ":", " (old)", "!", " is", " of home"]),
    st.booleans(),
)
def test_a_title_names_passwords_whether_or_not_that_is_seen_at_a_glance(
    words: list[str],
    end: str,
    is_upper: bool,  # noqa: FBT001
) -> None:
    line = " ".join(words) + end
    line = line.upper() if is_upper else line
    assert is_title(line) == (_TITLE.fullmatch(line) is not None)
