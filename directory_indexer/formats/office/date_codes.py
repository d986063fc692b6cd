"""Dates and times as workbooks display them by format code: `dd.mm.yyyy`, `[$-407]d. mmmm yyyy`, `h:mm AM/PM`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final, TypeAlias

_Writer: TypeAlias = Callable[[datetime], str]


def moment_writer(code: str) -> _Writer:
    """Return a formatter of dates and times for a format code, of which the first section counts."""
    tokens = [(match.lastgroup or "", match[match.lastgroup or 0]) for match in _TOKEN.finditer(code.split(";", 1)[0])]
    is_half_day = any(group == "part" and text.lower() in {"am/pm", "a/p"} for group, text in tokens)
    parts = _parts(*_names(code), is_half_day=is_half_day)
    writers = [_literal(text) if group != "part" else parts[text] for group, text in _with_minutes(tokens)]
    return lambda moment: "".join(write(moment) for write in writers).strip()


def _names(code: str) -> tuple[list[str], list[str]]:
    match = _LANGUAGE.search(code)
    tag = (match["tag"] or _TAGS.get(int(match["number"], 16) & _PRIMARY_LANGUAGE, "")) if match else ""
    months, days = _NAMES.get(tag.lower(), _NAMES["en"])
    return months.split(), days.split()


def _with_minutes(tokens: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the tokens with normalised signs; minutes, behind hours or before seconds, are `n`, as in Basic."""
    signs = [(at, text.lower()) for at, (group, text) in enumerate(tokens) if group == "part"]
    around = {at: (signs[nth - 1][1] if nth else "") for nth, (at, _) in enumerate(signs)}
    behind = {at: (signs[nth + 1][1] if nth + 1 < len(signs) else "") for nth, (at, _) in enumerate(signs)}
    for at, (group, text) in enumerate(tokens):
        if group != "part":
            yield group, text
            continue
        sign = text.lower()
        if sign in {"m", "mm"} and (around[at][:1] == "h" or behind[at][:1] == "s"):
            sign = sign.replace("m", "n")
        yield group, sign if sign in _SIGNS else _LONG_SIGNS[sign[0]]


def _literal(text: str) -> _Writer:
    return lambda _: text


def _parts(months: list[str], days: list[str], *, is_half_day: bool) -> dict[str, _Writer]:
    def hour(moment: datetime) -> int:
        return (moment.hour + 11) % 12 + 1 if is_half_day else moment.hour

    return {
        "yy": lambda moment: f"{moment.year % 100:02}",
        "yyyy": lambda moment: f"{moment.year:04}",
        "m": lambda moment: f"{moment.month}",
        "mm": lambda moment: f"{moment.month:02}",
        "mmm": lambda moment: months[moment.month - 1][:3],
        "mmmm": lambda moment: months[moment.month - 1],
        "mmmmm": lambda moment: months[moment.month - 1][:1],
        "d": lambda moment: f"{moment.day}",
        "dd": lambda moment: f"{moment.day:02}",
        "ddd": lambda moment: days[moment.weekday()][:3],
        "dddd": lambda moment: days[moment.weekday()],
        "h": lambda moment: f"{hour(moment)}",
        "hh": lambda moment: f"{hour(moment):02}",
        "n": lambda moment: f"{moment.minute}",
        "nn": lambda moment: f"{moment.minute:02}",
        "s": lambda moment: f"{moment.second}",
        "ss": lambda moment: f"{moment.second:02}",
        "am/pm": lambda moment: "AM" if moment.hour < _NOON else "PM",
        "a/p": lambda moment: "A" if moment.hour < _NOON else "P",
    }


_NOON: Final = 12
_SIGNS: Final = frozenset(_parts([], [], is_half_day=False))
_LONG_SIGNS: Final = {"y": "yyyy", "e": "yyyy", "m": "mmmm", "d": "dddd", "h": "hh", "s": "ss", "a": "dddd"}
_TOKEN: Final = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|(?P<part>[Aa][Mm]/[Pp][Mm]|[Aa]/[Pp]|[yY]+|[eE]+|[mM]+|[dD]+|[hH]+|[sS]+)'
    r"|(?P<literal>[^_*\[\]@])|(?:[_*].|\[[^\]]*\]|.)",
    re.DOTALL,
)
_LANGUAGE: Final = re.compile(r"\[\$[^\]-]*-(?:(?P<tag>[A-Za-z]{2})-[A-Za-z]{2}|(?P<number>[0-9A-Fa-f]{1,8}))[,\]]")
_PRIMARY_LANGUAGE: Final = 0x3FF
_TAGS: Final = dict(
    zip(
        (0x05, 0x06, 0x07, 0x0A, 0x0B, 0x0C, 0x10, 0x13, 0x14, 0x15, 0x16, 0x19, 0x1D, 0x1F),
        "cs da de es fi fr it nl nb pl pt ru sv tr".split(),
        strict=True,
    )
)
"""Primary languages of Windows (MS-LCID)."""

_NAMES: Final[dict[str, tuple[str, str]]] = {
    "en": (
        "January February March April May June July August September October November December",
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    ),
    "cs": (
        "ledna února března dubna května června července srpna září října listopadu prosince",
        "pondělí úterý středa čtvrtek pátek sobota neděle",
    ),
    "da": (
        "januar februar marts april maj juni juli august september oktober november december",
        "mandag tirsdag onsdag torsdag fredag lørdag søndag",
    ),
    "de": (
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    ),
    "es": (
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "lunes martes miércoles jueves viernes sábado domingo",
    ),
    "fi": (
        " ".join(
            f"{month}kuuta" for month in "tammi helmi maalis huhti touko kesä heinä elo syys loka marras joulu".split()
        ),
        "maanantai tiistai keskiviikko torstai perjantai lauantai sunnuntai",
    ),
    "fr": (
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
    ),
    "it": (
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    ),
    "nb": (
        "januar februar mars april mai juni juli august september oktober november desember",
        "mandag tirsdag onsdag torsdag fredag lørdag søndag",
    ),
    "nl": (
        "januari februari maart april mei juni juli augustus september oktober november december",
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    ),
    "pl": (
        "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
        "poniedziałek wtorek środa czwartek piątek sobota niedziela",
    ),
    "pt": (
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
    ),
    "ru": (
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        "понедельник вторник среда четверг пятница суббота воскресенье",
    ),
    "sv": (
        "januari februari mars april maj juni juli augusti september oktober november december",
        "måndag tisdag onsdag torsdag fredag lördag söndag",
    ),
    "tr": (
        "Ocak Şubat Mart Nisan May\u0131s Haziran Temmuz Ağustos Eylül Ekim Kas\u0131m Aral\u0131k",
        "Pazartesi Sal\u0131 Çarşamba Perşembe Cuma Cumartesi Pazar",
    ),
}
