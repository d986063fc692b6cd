"""Languages of documents are recognised by their prose, and steer what words and meaning weigh."""

# ruff: noqa: RUF001 - other scripts have letters that look like Latin ones

from __future__ import annotations

import pytest

from directory_indexer.ranking.language_table import guess_language, language_of_document
from directory_indexer.ranking.languages import differs_in_language
from directory_indexer.ranking.query import parse_query

ARTICLE_1 = {
    "cs": "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím.",
    "da": "Alle mennesker er født frie og lige i værdighed og rettigheder. De er udstyret med fornuft og samvittighed.",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt.",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "en": "All human beings are born free and equal in dignity and rights. They are endowed with reason.",
    "es": "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón.",
    "fi": "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan.",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison.",
    "hu": "Minden emberi lény szabadon születik és egyenlő méltósága és joga van.",
    "it": "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione.",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "nl": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand.",
    "pl": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw.",
    "pt": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão.",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом.",
    "sv": "Alla människor är födda fria och lika i värde och rättigheter. De är utrustade med förnuft.",
    "tr": "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler.",
    "uk": "Всі люди народжуються вільними і рівними у своїй гідності та правах.",
    "zh": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
}
"""The beginning of the Universal Declaration of Human Rights."""


@pytest.mark.parametrize(("language", "text"), ARTICLE_1.items())
def test_a_sentence_is_recognised(language: str, text: str) -> None:
    assert language_of_document(text) == language
    assert language_of_document(text.upper()) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The lantern burns a litre an hour.", "en"),
        ("Voucher for Ana Sousa and Lars Lund: two nights at the hotel", "en"),
        ("Mbappe Haaland Ronaldo Modric", ""),
        ("Note que isto procura as fontes das páginas do manual,", ""),  # nearest to Galician; as, do are English, too
        ("La lanterne consomme un litre de pétrole par heure et il faut la remplir.", "fr"),
        ("Die Laterne verbrennt in der Stunde einen Liter Öl, also bitte nachfüllen.", "de"),
        ("La linterna quema un litro de aceite por hora y hay que llenarla.", "es"),
    ],
)
def test_a_short_text_needs_more_evidence(text: str, language: str) -> None:
    assert language_of_document(text) == language


def test_prose_among_code_is_recognised() -> None:
    code = "const x = { a: 1, b: [2, 3] };\nreturn x.map((y) => y + 1);\n" * 10
    assert language_of_document(f"# Notiz\n\n```js\n{code}```\n\n{ARTICLE_1['de']}\n") == "de"


@pytest.mark.parametrize(
    "text",
    ["", "ok", "0x1f 23 44 AE FF 12 99\n" * 20, "[console_scripts]\nnormalizer = charset:cli\n", "a,b,c\n1,2,3\n" * 50],
    ids=["nothing", "a word", "numbers", "settings", "rows"],
)
def test_what_is_no_prose_has_no_language(text: str) -> None:
    assert language_of_document(text) == ""


def test_no_text_is_too_odd() -> None:
    for text in ("\0" * 100, "\ud800" * 50, "é" * 100_000, "\u202e" * 40):
        assert isinstance(guess_language(text[:600]).language, str)


@pytest.mark.parametrize(
    ("code", "query", "expected"),
    [
        ("en", "german", True),
        ("de", "german", False),
        ("ja", "chinese", True),
        ("ko", "korean", False),
        ("", "german", False),
        ("de", "", False),
        ("uk", "russian", False),  # the letters of a query tell no Ukrainian from Russian
    ],
)
def test_only_languages_that_are_known_differ(code: str, query: str, *, expected: bool) -> None:
    assert differs_in_language(code, than=query) is expected


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("bin means python numpy", "english"),
        ("die on error", "english"),
        ("man page of tar", "english"),
        ("come back later", "english"),
        ("wer ist die Kanzlerin", "german"),
        ("die Frist der Kündigung", "german"),
        ("qui est le maire", "french"),
        ("quali sono i fiumi", "italian"),
    ],
)
def test_names_and_english_words_are_no_sign_of_another_language(query: str, language: str) -> None:
    assert parse_query(query).language == language
