"""Plans of tracked directories: a walk compared with one snapshot of the index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from directory_indexer.docstore.store import DocStore
from directory_indexer.indexing.consent import asking_before_much
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.indexing.planner import Plan, plan
from directory_indexer.paths import FilePath
from directory_indexer.walker.listing import IgnoredPath, Listing, SameListing, Settled
from directory_indexer.walker.policy import WalkPolicy
from directory_indexer.walker.walk import walk


class WalkStoppedError(Exception):
    """The run must stop before a directory has been walked completely, so there is no plan."""


class Plans:
    """Plans directories; `recipe` identifies the current way of reading files.

    `embeds` tells whether runs embed every passage.
    """

    def __init__(self, docstore: DocStore, policy: WalkPolicy, *, recipe: int, embeds: bool = True) -> None:
        self._docstore = docstore
        self._policy = policy
        self._recipe = recipe
        self._embeds = embeds

    def of(self, root: FilePath, options: IndexOptions, *, must_stop: Callable[[], bool] = lambda: False) -> Plan:
        """Compare a directory with its known files.

        Raises:
            WalkStoppedError: the run must stop.
            RootUnavailableError: the directory is missing, or all of its files are.
            ConsentNeededError: it is not tracked yet and very large, and the options do not allow it.
        """
        with self._docstore.snapshot() as snapshot:
            directory_id = snapshot.directories.all().get(root)
            mounts = {} if directory_id is None else snapshot.directories.mounts(directory_id)
            known = snapshot.files.known(directory_id, recipe=self._recipe)
            listings = _until(must_stop, walk(root, self._policy, _skippable(known.settled, options)))
            if directory_id is None and not options.has_consent and root != self._policy.documents:
                listings = asking_before_much(root, listings, embeds=self._embeds)
            return plan(
                root,
                listings,
                known,
                recipe=self._recipe,
                mounts=None if options.accepts_mounts else mounts,
                read_everything=options.read_everything,
            )

    def beginning_of(self, root: FilePath, *, must_stop: Callable[[], bool]) -> tuple[Plan, bool]:
        """Return the plan for a directory that is not tracked, and whether it is complete.

        Raises:
            RootUnavailableError: the directory cannot be read.
        """
        is_whole = True

        def listings() -> Iterator[Listing | SameListing]:
            nonlocal is_whole
            for listing in walk(root, self._policy):
                yield listing
                if must_stop():
                    is_whole = False
                    return

        with self._docstore.snapshot() as snapshot:
            known = snapshot.files.known(None, recipe=self._recipe)
            beginning = plan(root, listings(), known, recipe=self._recipe)
        return beginning, is_whole

    def ignored(self, root: FilePath) -> Iterator[IgnoredPath]:
        """Yield the paths in a directory that rules ignore, without reading unchanged directories."""
        with self._docstore.snapshot() as snapshot:
            directory_id = snapshot.directories.all().get(root)
            settled = snapshot.files.known(directory_id, recipe=self._recipe).settled
        for listing in walk(root, self._policy, settled):
            yield from listing.settled.ignored if isinstance(listing, SameListing) else listing.ignored

    def directories(self, roots: Sequence[FilePath]) -> Iterator[FilePath]:
        """Yield the directories that a run over these roots would read."""
        return (listing.directory for root in roots for listing in walk(root, self._policy))


def _skippable(known: Settled, options: IndexOptions) -> Settled:
    return Settled(known.recipe) if options.read_everything else known


def _until(must_stop: Callable[[], bool], listings: Iterator[Listing | SameListing]) -> Iterator[Listing | SameListing]:
    for listing in listings:
        if must_stop():
            raise WalkStoppedError
        yield listing
