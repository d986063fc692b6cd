from __future__ import annotations

from directory_indexer.storage.documents.runs import Phase, RunProgress
from directory_indexer.text.progress import (
    IndexSteps,
    Pace,
    PaceMeter,
    ProgressLines,
    progress_details,
    progress_headline,
    work_of,
)

MIB = 1024 * 1024


def reading(n_bytes: int, *, files_done: int = 0, files_total: int = 0, n_failed: int = 0) -> RunProgress:
    return RunProgress(
        Phase.READING,
        files_done=files_done,
        files_total=files_total,
        bytes_done=n_bytes,
        bytes_total=100 * MIB,
        n_failed=n_failed,
    )


def written(*steps: tuple[float, RunProgress]) -> list[str]:
    lines: list[str] = []
    now = 0.0
    show = ProgressLines(lines.append, clock=lambda: now)
    for now, progress in steps:  # noqa: B007 - the clock reads it
        show(progress)
    return lines


def test_a_large_file_moves_the_display_while_it_is_read() -> None:
    before, after = reading(10 * MIB, files_done=0, files_total=1), reading(11 * MIB, files_done=0, files_total=1)
    assert work_of(after).share > work_of(before).share


def test_the_time_left_follows_from_bytes_while_reading_and_from_chunks_while_embedding() -> None:
    meter = PaceMeter()
    meter.observe(reading(0), at=0)
    assert meter.observe(reading(50 * MIB), at=10) == Pace(5 * MIB, 10)
    meter.observe(RunProgress(Phase.EMBEDDING, chunks_total=1000), at=11)
    pace = meter.observe(RunProgress(Phase.EMBEDDING, chunks_done=100, chunks_total=1000), at=16)
    assert pace == Pace(20, 40)


def test_nothing_is_foretold_before_the_pace_has_settled_or_while_nothing_moves() -> None:
    meter = PaceMeter()
    meter.observe(reading(0), at=0)
    assert meter.observe(reading(50 * MIB), at=1) == Pace()
    stalled = PaceMeter()
    stalled.observe(reading(5), at=0)
    assert stalled.observe(reading(5), at=100) == Pace()


def test_the_time_left_does_not_jump_when_the_pace_does() -> None:
    meter, times, done = PaceMeter(), [], 0
    for second in range(100):
        times.append(meter.observe(RunProgress(Phase.EMBEDDING, chunks_done=done, chunks_total=2000), at=second))
        done += 20 if second % 10 < 5 else 5
    left = [pace.seconds_left or 0 for pace in times[20:]]
    assert left == sorted(left, reverse=True)
    assert set(left) == {120, 60}


def test_of_a_phase_that_is_done_no_time_is_left() -> None:
    meter = PaceMeter()
    meter.observe(reading(0), at=0)
    assert meter.observe(reading(100 * MIB), at=10).seconds_left is None


def test_the_pace_is_that_of_the_last_seconds() -> None:
    meter = PaceMeter()
    meter.observe(reading(0), at=0)
    meter.observe(reading(80 * MIB), at=10)
    for second in range(11, 81):
        pace = meter.observe(reading((80 + second // 4) * MIB), at=second)
    assert pace.per_second is not None
    assert pace.per_second < MIB


def test_a_walk_has_no_total_and_no_time_left() -> None:
    meter = PaceMeter()
    meter.observe(RunProgress(Phase.WALKING), at=0)
    progress = RunProgress(Phase.WALKING, files_done=500)
    pace = meter.observe(progress, at=5)
    assert (progress_headline(progress, pace), progress_details(progress, pace)) == ("", "500 files")


def test_progress_is_said_in_words() -> None:
    progress = reading(30 * MIB, files_done=1204, files_total=5600, n_failed=3)
    pace = Pace(12 * MIB, 120)
    assert progress_headline(progress, pace) == "30 %, about 2 min left"
    assert progress_details(progress, pace) == "1,204 of 5,600 files, 30 MiB of 100 MiB, 12 MiB/s, 3 failed"
    embedding = RunProgress(Phase.EMBEDDING, chunks_done=10, chunks_total=20)
    assert progress_details(embedding, Pace(0.5, 20)) == "10 of 20 passages, 30/min"
    assert progress_headline(embedding, Pace(5, 10)) == "50 %, about 10 s left"
    assert progress_headline(embedding, Pace(5, 4200)) == "50 %, about 1 h 10 min left"
    assert progress_details(RunProgress(Phase.WAITING), Pace()) == "another process is writing to the index"
    assert (
        progress_details(RunProgress(Phase.WAITING, waits_for="process 7 is writing"), Pace()) == "process 7 is writing"
    )


def test_a_first_pass_that_still_learns_is_not_said_to_stand_at_nothing() -> None:
    assert progress_headline(RunProgress(Phase.COVERING, chunks_total=2931), Pace()) == "preparing"
    assert progress_headline(RunProgress(Phase.COVERING, chunks_done=512, chunks_total=2931), Pace()) == "17 %"


def test_a_short_run_writes_no_line() -> None:
    assert written((0.1, reading(0)), (0.5, reading(50 * MIB)), (1.5, reading(100 * MIB))) == []


def test_a_long_run_writes_a_line_every_tenth_of_the_way_or_every_ten_seconds() -> None:
    steps = [(float(second), reading(second * MIB)) for second in range(60)]
    assert [line.partition(",")[0] for line in written(*steps)] == [f"reading: {n} %" for n in (10, 20, 30, 40, 50)]
    slow = [(float(second), reading(second * 1000)) for second in range(60)]
    assert len(written(*slow)) == 5
    fast = [(second / 10, reading(second * 5 * MIB)) for second in range(21)]
    assert len(written(*fast)) == 1


def test_each_phase_begins_anew() -> None:
    chunks = [(60.0 + n, RunProgress(Phase.EMBEDDING, chunks_done=n * 50, chunks_total=1000)) for n in range(4)]
    lines = written((59.0, reading(99 * MIB)), *chunks)
    assert [line.partition(":")[0] for line in lines] == ["reading", "improving search by meaning"]


def stepped(*progress: RunProgress) -> IndexSteps:
    steps = IndexSteps()
    for state in progress:
        steps.observe(state)
    return steps


COVERED = (
    RunProgress(Phase.WALKING, files_done=500),
    reading(100 * MIB, files_done=500, files_total=500),
    RunProgress(Phase.COVERING, chunks_done=1, chunks_total=2931),
    RunProgress(Phase.COVERING),
)


def test_a_completed_step_says_how_the_index_can_be_searched() -> None:
    steps = stepped(*COVERED, RunProgress(Phase.EMBEDDING, chunks_total=2931))
    assert steps.name == "3/3 improving"
    assert steps.completed == (
        ("1/3 reading", "done, searchable by words now"),
        ("2/3 meaning", "2,931 passages, searchable by meaning now"),
    )
    assert steps.hint.startswith("Ctrl+C is safe")


def test_scanned_pages_are_read_once_all_else_can_be_searched() -> None:
    steps = stepped(*COVERED, RunProgress(Phase.RECOGNISING, pages_total=3))
    assert (steps.name, len(steps.completed)) == ("3/3 scanned pages", 2)


def test_the_number_of_a_step_never_falls() -> None:
    reading_pages = (*COVERED[:2], RunProgress(Phase.RECOGNISING, pages_total=3))
    assert stepped(*reading_pages).name == "2/3 scanned pages"
    assert stepped(*reading_pages, RunProgress(Phase.EMBEDDING, chunks_total=12)).name == "2/3 meaning"


def test_few_passages_become_searchable_by_meaning_as_they_are_embedded() -> None:
    steps = stepped(*COVERED[:2], RunProgress(Phase.EMBEDDING, chunks_total=12))
    assert (steps.name, len(steps.completed)) == ("2/3 meaning", 1)


def test_a_run_that_gives_way_in_a_step_has_not_ended_it() -> None:
    steps = stepped(*COVERED[:3], RunProgress(Phase.WAITING), COVERED[2])
    assert (steps.name, len(steps.completed)) == ("2/3 meaning", 1)
    assert stepped(RunProgress(Phase.WAITING)).name == "waiting"
