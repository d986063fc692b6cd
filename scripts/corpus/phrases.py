"""Phrases of letters, notes and mail in four languages, and of those who write them."""

from __future__ import annotations

from typing import NamedTuple


class Words(NamedTuple):
    """The phrases of a language about everyday matters."""

    trades: tuple[str, ...]
    invoice: str
    letter: tuple[str, ...]
    topics: tuple[str, ...]
    total: str


WORDS = {
    "en": Words(
        ("plumber", "electrician", "gardener", "carpenter", "dentist"),
        "Invoice",
        (
            "Thank you for your letter of last week.",
            "We have looked at the roof and found two broken tiles.",
            "Please let us know which day suits you best.",
            "The rent will rise by three per cent in autumn.",
            "Your parcel was left with the neighbours on the second floor.",
        ),
        ("budget", "holidays", "roadmap", "hiring", "warehouse", "garden"),
        "Total",
    ),
    "de": Words(
        ("Klempner", "Elektriker", "Gärtner", "Tischler", "Zahnarzt"),
        "Rechnung",
        (
            "Vielen Dank für Ihr Schreiben von letzter Woche.",
            "Wir haben das Dach geprüft und zwei kaputte Ziegel gefunden.",
            "Bitte teilen Sie uns mit, welcher Tag Ihnen passt.",
            "Die Miete steigt im Herbst um drei Prozent.",
            "Ihr Paket liegt bei den Nachbarn im zweiten Stock.",
        ),
        ("Haushalt", "Urlaub", "Fahrplan", "Einstellungen", "Lager", "Garten"),
        "Summe",
    ),
    "fr": Words(
        ("plombier", "électricien", "jardinier", "menuisier", "dentiste"),
        "Facture",
        (
            "Merci pour votre lettre de la semaine dernière.",
            "Nous avons examiné le toit et trouvé deux tuiles cassées.",
            "Dites-nous quel jour vous convient le mieux.",
            "Le loyer augmentera de trois pour cent cet automne.",
            "Votre colis est chez les voisins du deuxième étage.",
        ),
        ("budget", "vacances", "calendrier", "embauche", "entrepôt", "jardin"),
        "Total",
    ),
    "es": Words(
        ("fontanero", "electricista", "jardinero", "carpintero", "dentista"),
        "Factura",
        (
            "Gracias por su carta de la semana pasada.",
            "Hemos revisado el tejado y hay dos tejas rotas.",
            "Díganos qué día le viene mejor.",
            "El alquiler subirá un tres por ciento en otoño.",
            "Su paquete está con los vecinos del segundo piso.",
        ),
        ("presupuesto", "vacaciones", "calendario", "contratación", "almacén", "jardín"),
        "Total",
    ),
}
PEOPLE = ("Ada Brown", "Jörg Weiß", "Chloé Martin", "Lucía Gómez", "Tom Price", "Nina Kraft", "Paul Noël", "Inés Ruiz")
