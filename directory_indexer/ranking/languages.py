"""The language of a query, as far as a few words show it, and its function words.

Words are spelled here as in the index: in lower case and without Latin accents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

UNKNOWN: Final = ""


def language_of(text: str, words: Sequence[str]) -> str:
    """Return the English name of the language of a query; "" where script and words leave it open.

    Letters that only one language uses count first, then its function words. Latin text with neither counts as English:
    so are names, symbols and the words of computing.
    """
    votes = {language: sum(word in fillers for word in words) for language, fillers in _FILLERS.items()}
    # Names, commands and English words that are function words in other languages prove nothing by themselves.
    spoken = [word for word in words if len(word) > 1 and word not in _ALSO_ENGLISH]
    votes |= {
        language: 0
        for language, fillers in _FILLERS.items()
        if language != "english" and has_latin_letters(language)
        if not any(word in fillers for word in spoken) and len({*words} & fillers - _SINGLE_LETTERS) < _MIN_FILLERS
    }
    votes["french"] += 2 * len(_FRENCH_ELISION.findall(text))
    # Patterns are compiled when they are first needed: compiling all takes longer than a keyword search.
    if not text.isascii():
        for script, language in _SCRIPTS:
            if re.search(script, text):
                return language
        for letters, language in _DISTINCTIVE_LETTERS:
            votes[language] += 2 * len(re.findall(letters, text))
    best = max(votes, key=lambda language: (votes[language], language == "english"))
    return best if votes[best] else "english"


def has_latin_letters(language: str) -> bool:
    """Whether a language is written in Latin letters."""
    return language not in _OTHER_SCRIPTS


def differs_in_language(code: str, *, than: str) -> bool:
    """Whether the first part of a BCP 47 tag names another language than that of a query; both must be known."""
    return code in NAMES_OF_ALL and than in NAMES_OF_ALL.values() and NAMES_OF_ALL[code] != than


def is_function_word(word: str, language: str) -> bool:
    """Whether a word of a language is a function word, which says nothing about the subject of a text."""
    return word in function_words(language)


def function_words(language: str) -> frozenset[str]:
    """Return the function words of a language; none if they are not known."""
    return _FILLERS.get(language, frozenset())


@cache
def other_function_words(language: str) -> frozenset[str]:
    """Return the function words of all languages but one."""
    return frozenset().union(*(words for other, words in _FILLERS.items() if other != language))


CODES: Final = {
    "arabic": "ar",
    "czech": "cs",
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "french": "fr",
    "german": "de",
    "greek": "el",
    "hindi": "hi",
    "hungarian": "hu",
    "italian": "it",
    "persian": "fa",
    "polish": "pl",
    "portuguese": "pt",
    "romanian": "ro",
    "russian": "ru",
    "spanish": "es",
    "swedish": "sv",
    "turkish": "tr",
}
"""The languages whose function words are known, and the first parts of their BCP 47 tags."""

NAMES: Final = {code: language for language, code in CODES.items()}

NAMES_OF_ALL: Final = {**NAMES, "ja": "japanese", "zh": "chinese", "ko": "korean", "th": "thai", "vi": "vietnamese"}
"""`NAMES`, with the languages that are identified by their letters alone."""


def _word_sets(listed: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    return {language: frozenset(words.split()) for language, words in listed}


_SCRIPTS: Final = (
    ("[\u3040-\u30ff\u31f0-\u31ff]", "japanese"),
    ("[\u3400-\u4dbf\u4e00-\u9fff]", "chinese"),
    ("[\uac00-\ud7af\u1100-\u11ff]", "korean"),
    ("[\u0e00-\u0e7f]", "thai"),
    ("[\u0400-\u052f]", "russian"),
    ("[\u0370-\u03ff\u1f00-\u1fff]{2}", "greek"),
    ("[پچژگ]", "persian"),
    ("[\u0600-\u06ff]", "arabic"),
    ("[\u0900-\u097f]", "hindi"),
    ("[\u0b80-\u0bff]", "tamil"),
    ("[\u0530-\u058f]", "armenian"),
    (
        "[\u0590-\u05ff\u0980-\u0b7f\u0c00-\u0dff\u0e80-\u109f\u10a0-\u10ff\u1200-\u137f\u1780-\u17ff]",
        UNKNOWN,
    ),
    ("[\u1ea0-\u1ef9ăơưĂƠƯ](?=.*[\u1ea0-\u1ef9ơưƠƯđĐ])", "vietnamese"),
)
_OTHER_SCRIPTS: Final = frozenset(language for _, language in _SCRIPTS)
_DISTINCTIVE_LETTERS: Final = (
    ("[äöüßÄÖÜ]", "german"),
    ("[èêùçœÈÊÙÇŒ]", "french"),
    ("[ñ¿¡Ñ]", "spanish"),
    ("[ãõÃÕ]", "portuguese"),
    ("[ğışĞİŞ]", "turkish"),
    ("[ășțĂȘȚţ]", "romanian"),
    ("[åÅ]", "swedish"),
    ("[øæØÆ]", "danish"),
    ("[őűŐŰ]", "hungarian"),
    ("[ąęłńśźżĄĘŁŃŚŹŻ]", "polish"),
    ("[ěřůĚŘŮ]", "czech"),
)
_MIN_FILLERS: Final = 2
_SINGLE_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz")
_ALSO_ENGLISH: Final = frozenset(
    "a al am an ante as ate bin but by co com come con dance de del den des die do dos du e el em en er era es et for fra "
    "from go had hat her i il in is it j la le les lo los man me men mit mi mu my ni no node non o om on or os out over par "
    "pas per plus po pod pop pour pro quit re red sa se self set sera si sin so son su sub sur tag te the to toe tot u "
    "um un under up var ve was we war will word y z za".split()
)
_FRENCH_ELISION: Final = re.compile("l'|d'|qu'")
_FILLERS: Final = _word_sets(
    (
        (
            "english",
            """a about above after all also am an and any are as at be because been before being below between both but by
            can could did do does doing during each either for from had has have having he her here hers him his how i if
            in into is it its just me more most my no nor not of off on once only or other our out over own same shall she
            should so some such than that the their them then there these they this those through to too under until up
            us very was way we were what when where whether which while who whom whose why will with within without would
            you your""",
        ),
        (
            "german",
            """aber alle allem allen aller als also am an andere anderen auch auf aus bei beim bin bis da dabei damit dann
            das dass dem den denen der deren des dessen die dies diese diesem diesen dieser dieses doch dort durch ein
            eine einem einen einer eines er es etwas fur gegen gibt hat hatte hatten habe haben hier ich ihm ihn ihr ihre
            ihrem ihren ihrer im in ins ist jede jeder jedes kann kein keine keinen konnen machen man mehr mein mit muss
            nach nicht noch nur ob oder ohne sehr sein seine seinem seinen seiner seit sich sie sind so soll sollte uber
            um und uns unter viel viele vielen vom von vor wann war waren warum was welche welchem welchen welcher
            welches wem wen wenn wer werden wessen wie wieso wieviel wieviele wir wird wo wobei wodurch wofur wofuer
            woher wohin womit woran worauf wurde wurden zu zum zur zwischen fuer ueber koennen""",
        ),
        (
            "french",
            """a au aux avec c ce ces cet cette combien comme comment d dans de des dont du elle en est et etaient etait
            ete etre eu fait il ils j l la laquelle le lequel les lesquels leur leurs lors lui m mais mes meme n ne nos
            notre nous on ont ou par pas plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se
            ses si son sont sous sur t ta tout tous un une vers vos votre vous y""",
        ),
        (
            "spanish",
            """a al ante aquella como con cual cuales cuando cuanta cuantas cuanto cuantos de del desde donde durante el
            ella ellos en entre era eran es esa ese eso esta este esto estos fue fueron ha han hasta hay hizo la las le
            les lo los mas me mi muy no nos o para pero por porque que quien quienes se segun ser si sin sobre son su
            sus tambien tiene tienen un una uno unos y ya""",
        ),
        (
            "portuguese",
            """a ao aos as com como da das de do dos e ela ele eles em entre era eram essa esse esta este foi foram ha
            isso isto ja la mais mas me na nas nao nem no nos o onde os ou para pela pelas pelo pelos por porque qual
            quais quando quanto quantos que quem se sem ser seu seus sobre sua suas sao tem um uma voce""",
        ),
        (
            "italian",
            """a ad agli ai al alla alle anche che chi ci come con cosa cui da dai dal dalla dalle degli dei del della
            delle di do dove e ed era erano essere fu gli ha hanno i il in la le lo ma ne negli nei nel nella nelle non o
            per perche piu quale quali quando quanti quanto questa questo se sei si sono su sua sul sulla suo suoi tra
            un una uno""",
        ),
        (
            "dutch",
            """aan al als bij dan dat de der deze die dit doen door dus een en er ging had hebben heeft het hij hoe
            hoeveel hun ik in is kan kunnen maar meer men met mijn moet na naar niet nog of om onder ons ook op over te
            tegen toen tot u uit van veel voor waar waarom wanneer waren was wat welk welke werd werden wie wij word
            wordt ze zich zij zijn zonder zou""",
        ),
        (
            "romanian",
            """a acest aceasta aceste ai al ale am ar are as au au avut ca care cat cata cate cati ce cea cel cele cei cine
            cu cum cui dar de din dintre este era erau fi fost iar in intre la le lui lor mai nu o pe pentru prin sa sale
            sau sau se si sunt sub un una unde unei unor unui""",
        ),
        (
            "turkish",
            """acaba ama ancak bir bu cok da daha de degil diye en gibi hangi hangisi hangileri icin ile ise kac kadar ki
            kim kime kimin mi mu ne neden nedir nasil nerede nereye niye o olan olarak oldu oldugu olduğu onun sadece
            sonra su tarafindan tum var ve veya ya yani zaman""",
        ),
        (
            "swedish",
            """alla att av blev bli da de dem den denna deras det detta dig din du efter eller en er ett fick for fran
            ha hade han hans har hon hur i icke inte ingen jag kan man med men min mot mycket nar nagon och om pa sa sig
            sin ska som till under upp ut vad var varfor vem vi vid vilka vilken vilket ar""",
        ),
        (
            "danish",
            """af alle at blev blive da de dem den denne der deres det dette dig din du efter eller en end er et for fra
            ha havde han hans har hun hvad hvem hver hvilke hvilken hvilket hvor hvordan hvorfor hvornar i ikke ind ingen
            jeg kan man med men mod naar nar noget nogle og om op pa sig sin skal som til ud under var ved vi vil""",
        ),
        (
            "polish",
            """a aby ale bo by byl byla bylo byly co czy dla do gdy gdzie go i ich ile ja jak jaka jaki jakie jako jego jej
            jest jestem kiedy kto ktora ktore ktory ma mi mnie na nad nie o od oraz po pod przez przy sa sie tak tego ten
            to tym w we z za ze""",
        ),
        (
            "czech",
            """a aby ale ani az by byl byla bylo byly co do i jak jaka jake jaky jako je jeho jejich jej jsou k kde kdo kdy
            kolik ktera ktere ktery mezi na nad nebo o od po pod podle pro proc s se si tak ten to u v ve z za ze""",
        ),
        (
            "hungarian",
            """a az azt be de egy el es ez ezt hany hogy hogyan hol ha is ki kik meg melyik mi mely mikor mert miert mint
            milyen mit nem s van volt vagy voltak""",
        ),
        (
            "russian",
            """а без более бы был была были было быть в вам вас весь во вот все всего вы где да даже для до его ее если есть
            еще же за здесь из или им их к как какая какие какими каким каких какого какое какой каком какому какую какова
            каково каковы когда кем кого который которая которое которые кому кто ли между меня мне может мы на над не него
            нее нет ни них но о об он она они оно от откуда по под почему при с сколько со так также там то того тоже той
            только том ты у уже чего чем чему что чтобы чья эта эти это этого этой этом этот я""",
        ),
        (
            "greek",
            """αν απο αυτα αυτη αυτο αυτοι αυτοσ αυτου για δε δεν εαν ειναι ειχαν ειχε εκανε ενα ενασ ενω εχει εχουν η ησαν
            ηταν θα και κατα με μετα μεταξυ μια να ο οι οποια οποιο οποιοσ οταν οτι οχι ποια ποιεσ ποιο ποιοι ποιον ποιοσ
            ποιου ποσα ποσεσ ποση ποσο ποσοι ποσουσ ποτε που προσ πωσ σαν σε στη στην στισ στο στον στουσ συμφωνα τα τη
            την τησ τι τισ το τον του τουσ των ωσ""",
        ),
        (
            "arabic",
            """اذا الا التي الذي الذين الي ان انه اي اين او بعد بين تم ثم حتي حيث خلال ذلك ضد عدد عن عند علي في قبل قد كان
            كانت كل كم كما كيف لا لم لماذا لها له ما ماذا متي مع من منذ هذا هذه هل هم هو هي و ولا وما يكون ايضا""",
        ),
        (
            "persian",
            """از اما ان اين با بر براي بود بودند به تا چرا چطور چند چه چگونه چي خود در را شد شده است كجا كدام كه كي ما مي
            نيست هاي هر هم و ها يا يك""",
        ),
        (
            "hindi",
            """और अपने आदि इस इसके उन उनके उस उसके एक ऐसे कब कर करता करते करने कहां कहाँ का कि कितना कितनी कितने किन किस किसका किसकी
            किसके किसने किसी किसे की के को कौन कौनसा कौनसी क्या क्यों गई गए गया जब जहां जा जाता जाती जाते जिस जो तक तथा तो था थी
            थे द्वारा दो नहीं ने पर भी में यह या ये रहा रही रहे लिए वह वाला वाली वाले वे से सा सी हुआ हुई हुए है हैं हो होता होती होते""",
        ),
        ("vietnamese", "cua la va voi duoc nhung"),
    )
)
_FILLERS["japanese"] = frozenset(
    "です ます した して いる ある する から まで とは って どの どこ だれ いつ なに 何で のは には では との".split()
)
_FILLERS["chinese"] = frozenset(
    "什么 么时 时候 多少 哪里 哪个 哪些 哪一 是什 怎么 为什 如何 谁是 是谁 什麼 麼時".split()
)
_FILLERS["korean"] = frozenset("무엇 엇인 인가 는가 은? 가? 어디 누구 언제 하는 하였 였는 었는 인가 있는".split())
