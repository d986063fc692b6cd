"""A part of a German compound finds the note with the compound, by its own name or as half of another compound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from indexes import Index

from directory_indexer.embedding.embedded import EmbeddedEmbedder
from directory_indexer.search.requests import SearchMode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from directory_indexer.search.requests import SearchResult

NOTES = {
    "wohnung": "Im Mietvertrag steht eine Kaltmiete von 640 Euro, die am Dritten fällig ist.",
    "strom": "Die Stromrechnung kam im April und ist noch nicht bezahlt.",
    "steuer": "Für die Einkommensteuererklärung fehlen zwei Belege vom Vorjahr.",
    "urlaub": "Den Urlaubsantrag für den August hat die Chefin unterschrieben.",
    "zaehne": "Nächster Kontrolltermin beim Zahnarzt ist am Donnerstag um neun.",
    "kfz": "Die Kraftfahrzeugversicherung wird ab Januar teurer.",
    "verein": "Auf der Jahreshauptversammlung des Kleingartenvereins gab es Kuchen.",
    "rente": "Im Rentenversicherungsverlauf fehlen die Jahre des Studiums.",
    "wasser": "Wasserzählerstand zum Jahresende abgelesen und gemeldet.",
    "schule": "Der Elternsprechtag der Grundschulklasse ist im Musikraum.",
    "kueche": "Kartoffelsuppe für sechs Personen: ein Kilo Kartoffeln, Lauch und Sahne.",
    "reise": "Bahncard verlängern und den Fahrplanauszug nach Bremen ausdrucken.",
    "umzug": "Vierzig Umzugskartons und ein Möbelwagen sind bestellt.",
    "heizung": "Heizkostenabrechnung mit der Nebenkostenvorauszahlung vergleichen.",
    "aemter": "Ämter: Der Personalausweis wird im Bürgeramt verlängert.",
    "hafen": "Das Segelboot liegt seit Mai im Überseehafen hinter der Weserbrücke.",
    "keller": "Wegen der Mäuse stehen drei Mausefallen hinter dem Regal.",
    "bauen": "Neue Häuser am Südhang bekommen Solardächer und Wärmedämmung.",
    "arbeit": "Die Arbeitsunfähigkeitsbescheinigung ging an die Krankenkasse.",
    "recht": "Das Verwaltungsgericht prüft die Baugenehmigung noch einmal.",
}

OTHERS = (
    *("The plan of the release is to fix the parser first.", "The lamp burns for nine hours on one filling."),
    *("Prices fell in autumn, and more is expected.", "The race begins at noon in the old port."),
    *("Tea is kept in a dark tin.", "Tax returns are due in spring.", "A bill of lading lists the goods."),
    *("The class of the object is checked twice.", "Gloves and a hat are in the car."),
    *("The heating was repaired after the storm.", "Rent is paid by standing order."),
    *("The court adjourned until Monday.", "A ticket to Bremen costs forty euros.", "The roof of the shed leaks."),
    *("The school closes at three.", "Water the beans every evening.", "Insurance covers the broken window."),
    *("The dentist moved to another street.", "The moving van arrives on Saturday."),
    *("The club meets in the garden.", "Potatoes keep well in a cool cellar.", "The mouse of the computer is broken."),
    *("The meter reads in cubic metres.", "The office opens at eight.", "The bridge was closed for repairs."),
)

PARTS = {
    "wohnung": ("Vertrag Miete", "Vertrag", "Mietverträge"),
    "strom": ("Rechnung Strom", "Rechnung"),
    "steuer": ("Steuererklärung", "Steuer", "Einkommensteuer"),
    "urlaub": ("Antrag Urlaub", "Urlaub", "Antrag"),
    "zaehne": ("Termin Arzt", "Arzttermin", "Arzt"),
    "kfz": ("Versicherung Auto", "Versicherung", "KFZ-Versicherung", "Fahrzeug"),
    "verein": ("Versammlung Verein", "Hauptversammlung", "Gartenverein"),
    "rente": ("Versicherungsverlauf", "Verlauf", "Rentenversicherung"),
    "wasser": ("Zählerstand", "Zähler", "Wasserzähler"),
    "schule": ("Sprechtag", "Schulklasse", "Klasse"),
    "kueche": ("Suppe", "Kartoffelsuppen", "Kartoffel Suppe"),
    "reise": ("Fahrplan", "Auszug Plan", "Bahnkarte"),
    "umzug": ("Kartons", "Wagen Möbel", "Karton"),
    "heizung": ("Nebenkosten", "Kostenabrechnung", "Abrechnung", "Vorauszahlung"),
    "aemter": ("Ausweis", "Buergeramt", "Amt"),
    "hafen": ("Boot", "Uebersee", "Ueberseehafen", "Bruecke Weser", "Hafen Übersee"),
    "keller": ("Maus", "Maeuse", "Falle", "Fallen"),
    "bauen": ("Haus", "Haeuser", "Dämmung", "Waermedaemmung", "Dach", "Suedhang"),
    "arbeit": ("Bescheinigung", "Krankenkassen", "Kasse", "Arbeitsunfähigkeit"),
    "recht": ("Gericht", "Genehmigung", "Bau Genehmigung"),
}
ASKED = tuple((query, name) for name, queries in PARTS.items() for query in queries)


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    place = tmp_path_factory.mktemp("compounds")
    index = Index(root=place / "tree", data_dir=place / "data", provider=EmbeddedEmbedder())
    for name, text in NOTES.items():
        index.write(f"{name}.md", f"{text}\n")
    for number, text in enumerate(OTHERS):
        index.write(f"english/{number}.md", f"{text}\n")
    index.run()
    yield index
    index.close()


def _names(result: SearchResult) -> list[str]:
    return [hit.path.rpartition("/")[2].removesuffix(".md") for hit in result.hits]


@pytest.mark.parametrize("mode", [SearchMode.HYBRID, SearchMode.KEYWORD])
@pytest.mark.parametrize(("query", "name"), ASKED)
def test_a_part_of_a_compound_finds_its_note(notes: Index, query: str, name: str, mode: SearchMode) -> None:
    result = notes.searcher.search(notes.request(query, mode=mode))
    assert name in _names(result)[:5]
    assert not result.is_weak


def test_most_notes_are_first_for_a_part_of_their_compounds(notes: Index) -> None:
    first = [_names(notes.searcher.search(notes.request(query)))[:1] == [name] for query, name in ASKED]
    assert len(first) == 68
    assert sum(first) >= 0.9 * len(first)


def test_the_answer_names_the_halves_that_were_searched_for(notes: Index) -> None:
    (correction,) = notes.searcher.search(notes.request("Arzttermin")).corrections
    assert correction.note == "no text has the word Arzttermin; searched for *arzt* *termin*"
