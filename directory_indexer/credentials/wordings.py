"""Words for passwords in many languages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from directory_indexer.credentials.lazy_pattern import LazyPattern


class Mention(NamedTuple):
    """A word for a password, or (`is_vague`) only for a login that may have one."""

    start: int
    end: int
    is_vague: bool


def mentions(text: str, lowered: str, marks: frozenset[str]) -> Iterator[Mention]:
    """Yield the words for passwords, stem by stem; `lowered` is the text in lower case."""
    for stem in KEYWORD_MARKS:
        haystack, needle = (text, stem.upper()) if stem in _CAPITALS else (lowered, stem)
        at = haystack.find(needle) if stem in marks else -1
        while at >= 0:
            match = _KEYWORD.match(text, at)
            if match and not (match["short"] and at and _WORD_CHARACTER.match(text, at - 1)):
                yield Mention(*match.span(), match["vague"] is not None)
            at = haystack.find(needle, at + len(stem))


_CAPITALS: Final = ("pin", "puk")
"""Stems that mean a password only in capitals."""
KEYWORD_MARKS: Final = (
    *_CAPITALS,
    *"pass pw kennwort contrase clave parola senha wachtwoord heslo mdp adgangskode kodeord salasana lozink".split(),
    *(
        "sifre",
        "psw",
        "pswd",
        "p/w",
        "haslo",
        "parole d",
        "geslo",
        "parool",
        "psk",
        "zugang",
        "credential",
        "login",
        "wlan",
        "wi-fi",
        "wifi",
    ),
    *(
        "kata sandi",
        "access code",
        "wpa key",
        "kw:",
        "ww ",
        "ww:",
        "authcode",
        "auth code",
        "auth-code",
        "wpa2:",
        "wpa3:",
    ),
    "netzwerkschl",
    *"paßw hasł lösenord парол şifre jelszó κωδικ סיסמ รหัสผ่าน पासवर्ड slaptažod zugäng 密码 密碼 口令 비번".split(),
    *"パスワード パスコード 暗号化キー 暗証番号 비밀번호 암호 السر المرور".split(),
    *("mật khẩu", "clé wpa", "clé wi"),
)
"""Stems in lower case."""
_WORD_CHARACTER: Final = LazyPattern(r"\w")
_KEYWORD: Final = LazyPattern(
    r"(?i)(?P<short>mdp|ww|pwd?|psw|pswd|p/w|haslo|psk|clave|heslo|geslo|sifre|senha|parola)(?:s|y|m|a)?(?!\w)|"
    r"passw(?:or[dt]s?|örter|d)(?!\d{1,4}[,;)!])"
    r"(?![ \t]{1,24}(?:\[[\w= -]{3,80}\]|\w{6,10})[ \t]{1,24}\S{0,40}pam_)|"  # not of PAM
    r"(?:login|zugangs)-?codes?(?!\w)|(?P<vague>zugang(?:sdaten)?|zugänge|credentials?|logins?|wlan|wi-?fi)(?![^\W\d_])"
    r"(?![- ]?(?:code|key|schlüssel|psk))|"
    r"parol[ae] d[\x27\u2019 ]?ordine|passe?(?<=mot de passe)|passe?(?<=mots de passe)|"
    r"passord|passcodes?|passphrases?|pass(?=:)|"
    r"kw(?=:)|auth[ -]?code|wpa[23](?=:)|(?-i:PIN|PUK)(?!\w)|netzwerkschlüssel(?!\w)|"
    r"paßw(?:ort|örter)|kenn(?:wort|wörter)|contrase(?:ñas?|nas?|nya)|wachtwoord(?:en)?|adgangskoder?|kodeord|salasanat?|"
    r"jelsz[oó]\w{0,3}|lozink[ae]|parool|slaptažod\w{1,4}|kata sandi|hasł[oa]|lösenord(?:et)?|парол[ьи]|şifre\w{0,3}|"
    r"access code|wpa key|(?:wlan|wi-?fi)[- ]?(?:code|key|schlüssel|psk)|비번|"
    r"κωδικ\w{2,4}|סיסמ\w{1,3}|รหัสผ่าน|पासवर्ड|密[码碼]|口令|パスワード|パスコード|暗号化キー|暗証番号|비밀번호|암호|"
    r"السر|المرور|mật khẩu|clé wpa|clé (?:du )?wi-?fi"
)
EXAMPLE: Final = LazyPattern(
    r"(?i)(?:^|\W)(?:such as|like|e\.[ ]?g\.?|for (?:example|instance)|example|z\. ?b\.|zum beispiel|beispiel|etwa|wie|"
    r"comme|par exemple|exemple|p\. ?ej\.|por ejemplo|ejemplo|zoals|bijvoorbeeld|per esempio|np\.)[:,]?[ ]?"
    r"[\s*\"'`„“«(]{0,4}\Z"
)
"""Text before a value that is given as an example."""
