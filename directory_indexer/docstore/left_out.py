"""What the index holds nothing of, and why: files that failed, files that were left out."""

from __future__ import annotations

from directory_indexer.docstore.filters import within_condition
from directory_indexer.docstore.reading import Reading
from directory_indexer.files import FileFailure, SkippedFile, SkipReason, Stage
from directory_indexer.paths import FilePath


class LeftOut(Reading):
    """What was left out at one moment."""

    def count_failed(self, within: tuple[FilePath, ...]) -> int:
        """Count the files that the last run could not process, in some places or everywhere."""
        conditions = [within_condition(path) for path in within] or [within_condition(None)]
        wanted = " OR ".join(condition for condition, _ in conditions)
        arguments = [value for _, values in conditions for value in values]
        return self._count(f"SELECT count(*) FROM files f WHERE state = 'failed' AND ({wanted})", arguments)  # noqa: S608

    def failures(self, *, within: FilePath | None, limit: int) -> tuple[FileFailure, ...]:
        """List the files and directories that the last run could not process, and chunks that were refused."""
        condition, arguments = within_condition(within)
        rows = self._connection.execute(
            f"""SELECT path, reason, detail, broken_hash FROM files f WHERE state = 'failed' AND {condition}
                UNION ALL
                SELECT f.path, 'embed', 'chunk ' || (c.ordinal + 1) || ': ' || r.reason, NULL FROM refused_chunks r
                JOIN chunks c ON c.id = r.id JOIN files f ON f.id = c.file_id WHERE {condition}
                ORDER BY path LIMIT ?""",  # noqa: S608
            [*arguments, *arguments, limit],
        )
        return tuple(FileFailure(FilePath(row[0]), Stage(row[1]), row[2], hash=row[3]) for row in rows)

    def skipped(self, *, within: FilePath | None, limit: int) -> tuple[SkippedFile, ...]:
        """List the files that were left out, with reason and detail."""
        condition, arguments = within_condition(within)
        rows = self._connection.execute(
            f"SELECT path, reason, detail FROM files f WHERE state = 'skipped' AND {condition} ORDER BY path LIMIT ?",  # noqa: S608
            [*arguments, limit],
        )
        return tuple(SkippedFile(FilePath(path), SkipReason(reason), detail) for path, reason, detail in rows)
