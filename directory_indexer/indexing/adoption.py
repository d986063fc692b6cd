"""Whether an index was built in another way than it would be now, and what a run redoes because of it."""

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
    """Make the way in which an index was built that of now."""

    def __init__(self, docstore: DocStore, vectorizer: Vectorizer, policy: IndexPolicy) -> None:
        self._docstore = docstore
        self._vectorizer = vectorizer
        self._policy = policy

    def adopt(self, fingerprint: str | None, vector_places: Collection[VectorPlace], *, has_consent: bool) -> None:
        """Prepare an index with a fingerprint, whose vectors are at these places, for being built as it would be now.

        Raises:
            ConsentNeededError: much would be redone, and nobody has agreed.
        """
        now = self._policy.fingerprint
        built = Fingerprint.from_json(fingerprint) if fingerprint else now
        differences = now.differences(built)
        is_elsewhere = bool(vector_places) and self._vectorizer.merger.place not in vector_places
        if is_elsewhere:
            differences += ("embed every text again (its vectors are in another store; dirindex migrate copies them)",)
        if differences and not has_consent:
            raise ConsentNeededError(
                f"the index was built in another way; this run would {'; '.join(differences)}",
                hint="agree to it with dirindex index --yes; until then searches answer from what is there",
            )
        if built.embedding != now.embedding and not is_elsewhere:
            self._vectorizer.spaces.switch(built._replace(embedding=now.embedding))
        if fingerprint == now.to_json() and not is_elsewhere:
            return
        with self._docstore.transaction() as transaction:
            if built.analysis != now.analysis:
                transaction.words.rebuild()
            if changed := now.changed_kinds(built):
                transaction.files.read_again(changed, self._suffixes_of(changed - built.formats.keys()))
            if is_elsewhere:
                transaction.vector_sets.start_over()
            transaction.meta.set("fingerprint", now.to_json())

    def _suffixes_of(self, kinds: Collection[str]) -> list[str]:
        added = {one.kind: one.suffixes for one in self._policy.parse().added}
        return [suffix for kind in kinds for suffix in added.get(kind) or FORMATS[kind].suffixes.split()]
