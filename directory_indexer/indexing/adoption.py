"""Detection of an index built with other settings, and what a run rebuilds because of it."""

from __future__ import annotations

from collections.abc import Collection

from directory_indexer.docstore.store import DocStore
from directory_indexer.errors import ConsentNeededError
from directory_indexer.extractors.formats import FORMATS
from directory_indexer.fingerprint import Fingerprint
from directory_indexer.indexing.options import IndexPolicy
from directory_indexer.lazy import lazily
from directory_indexer.vectorstore import VectorPlace

with lazily:
    from directory_indexer.indexing.vectorizer import Vectorizer


class Adoption:
    """Adaptation of an index to the current settings."""

    def __init__(self, docstore: DocStore, vectorizer: Vectorizer, policy: IndexPolicy) -> None:
        self._docstore = docstore
        self._vectorizer = vectorizer
        self._policy = policy

    def adopt(self, fingerprint: str | None, vector_places: Collection[VectorPlace], *, has_consent: bool) -> None:
        """Prepare an index with this fingerprint, whose vectors are in these places, for the current settings.

        Raises:
            ConsentNeededError: much would be rebuilt without consent.
        """
        current = self._policy.fingerprint
        built = Fingerprint.from_json(fingerprint) if fingerprint else current
        differences = current.differences(built)
        is_elsewhere = bool(vector_places) and self._vectorizer.merger.place not in vector_places
        if is_elsewhere:
            differences += ("embed every text again (its vectors are in another store; dirindex migrate copies them)",)
        if differences and not has_consent:
            raise ConsentNeededError(
                f"the index was built in another way; this run would {'; '.join(differences)}",
                hint="agree to it with dirindex index --yes; until then searches answer from what is there",
            )
        if built.embedding != current.embedding and not is_elsewhere:
            self._vectorizer.spaces.switch(built._replace(embedding=current.embedding))
        if fingerprint == current.to_json() and not is_elsewhere:
            return
        with self._docstore.transaction() as transaction:
            if built.analysis != current.analysis:
                transaction.words.rebuild()
            if changed := current.changed_kinds(built):
                transaction.files.read_again(changed, self._suffixes_of(changed - built.formats.keys()))
            if is_elsewhere:
                transaction.vector_sets.start_over()
            transaction.meta.set("fingerprint", current.to_json())

    def _suffixes_of(self, kinds: Collection[str]) -> list[str]:
        added = {format_added.kind: format_added.suffixes for format_added in self._policy.parse().added}
        return [suffix for kind in kinds for suffix in added.get(kind) or FORMATS[kind].suffixes.split()]
