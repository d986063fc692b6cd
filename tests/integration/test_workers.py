"""Worker processes for real, with formats that do their worst."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hostile_formats
import pymupdf
import pytest

from directory_indexer.chunking import ChunkPolicy
from directory_indexer.core.errors import UnavailableError
from directory_indexer.core.files import FileFailure, SkippedFile, SourceFile, Stage, source_file_of_status
from directory_indexer.core.ids import content_hash
from directory_indexer.core.paths import file_path
from directory_indexer.formats.extraction import extract
from directory_indexer.parsing.outcomes import MemberOutcomes, ParsedFile, ParseOutcome, ParseRequest
from directory_indexer.parsing.parse import parse_all
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.parsing.tasks import Limits, Task, WorkerFailure
from directory_indexer.parsing.workers import run_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LIMITS = Limits(seconds=60, memory_bytes=1 << 29, clock_seconds=60)
POLICY = ParsePolicy(
    max_file_size=1_000_000,
    include_secrets=False,
    chunking=ChunkPolicy(size=64, overlap=8),
    count_tokens=hostile_formats.count_words,
    extract=hostile_formats.extract,
    limits=LIMITS,
)
STARTER = """
import sys
from hostile_formats import count_words, hold_open
from directory_indexer.chunking import ChunkPolicy
from directory_indexer.parsing.parse import parse_all
from directory_indexer.parsing.policy import ParsePolicy
from directory_indexer.formats.extraction import extract
from directory_indexer.core.files import SourceFile
from directory_indexer.parsing.outcomes import ParseRequest
from directory_indexer.core.paths import file_path

policy = ParsePolicy(1000, False, ChunkPolicy(size=64, overlap=8), count_words, extract=hold_open)
list(parse_all([ParseRequest(SourceFile(file_path(sys.argv[1]), 8, 0), None)], policy))
"""
SHORT = POLICY._replace(limits=Limits(seconds=0.5, clock_seconds=0.5))
PATIENT = POLICY._replace(limits=hostile_formats.SHORT_LIMITS)
"""By the clock as much as a good file needs on a busy machine."""

FRUGAL = POLICY._replace(limits=Limits(seconds=0.5))
"""Little time of the processor, and much by the clock."""

NEEDS_SIGNALS = pytest.mark.skipif(os.name == "nt", reason="processes end otherwise there")

pytestmark = pytest.mark.usefixtures("started_workers")


def files(directory: Path, *texts: str, suffix: str = ".pdf") -> list[ParseRequest]:
    """Write files, by their suffix of a kind that is never read in the process of the caller."""
    requests = []
    for index, text in enumerate(texts):
        path = directory / f"{index:03}{suffix}"
        path.write_text(text)
        requests.append(ParseRequest(source_file_of_status(file_path(path), path.stat()), None))
    return requests


def parsed(requests: Iterable[ParseRequest], policy: ParsePolicy = POLICY) -> list[ParseOutcome]:
    """Parse files, and give the outcomes in the order of the files."""
    return sorted(outcomes_of(requests, policy), key=path_of)


def outcomes_of(
    requests: Iterable[ParseRequest], policy: ParsePolicy = POLICY, *, must_stop: Callable[[], bool] = lambda: False
) -> Iterator[ParseOutcome]:
    """Parse files, and give the outcomes as they come, those of members with them."""
    for result in parse_all(requests, policy, must_stop=must_stop):
        if isinstance(result, MemberOutcomes):
            yield from (outcome for _, outcome in result.outcomes)
        else:
            yield result


def path_of(outcome: ParseOutcome) -> str:
    return outcome.path if isinstance(outcome, SkippedFile | FileFailure) else outcome.source.path


def text_of(outcome: ParseOutcome) -> str:
    assert isinstance(outcome, ParsedFile)
    return "".join(chunk.text for chunk in outcome.chunks)


def message_of(outcome: ParseOutcome) -> str:
    assert isinstance(outcome, FileFailure)
    assert outcome.stage == Stage.EXTRACT
    return outcome.message


def work_on(function: Callable[[Any], Any], *items: object, n_workers: int = 1) -> dict[Any, Any]:
    """Give each item to workers as a task of its own, and tell what came back."""
    return dict(run_tasks(function, [Task((item,), (LIMITS,)) for item in items], n_workers=n_workers))


def workers() -> list[str]:
    """Tell which processes of those that this one started still work."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    pids = children.read_text().split() if children.exists() else []
    return [pid for pid in pids if b"parsing.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    assert workers() == []


def test_few_small_files_are_parsed_without_starting_a_process(tmp_path: Path) -> None:
    outcomes = parsed(files(tmp_path, "who", "who", suffix=".txt"))

    assert [text_of(outcome) for outcome in outcomes] == [f"who read by {os.getpid()}"] * 2


def test_the_bulk_of_many_files_and_large_ones_are_parsed_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    many = files(tmp_path / "many", *["who"] * 140, suffix=".txt")
    large = files(tmp_path, "word " * 60_000, suffix=".txt")
    here = f"who read by {os.getpid()}"

    outcomes = list(outcomes_of([*large, *many]))

    assert sum(isinstance(outcome, ParsedFile) for outcome in outcomes) == 141
    assert 90 <= sum(text_of(outcome) == here for outcome in outcomes) < 110


def test_source_code_under_another_name_is_parsed_elsewhere(tmp_path: Path) -> None:
    (request,) = files(tmp_path, f"#!/usr/bin/env python3\n{'x' * 50}", suffix="")

    (outcome,) = parsed([request], POLICY._replace(extract=hostile_formats.tell_process))

    assert text_of(outcome) != str(os.getpid())


def test_a_pdf_is_read_in_a_worker(tmp_path: Path) -> None:
    pdf = pymupdf.open()
    pdf.new_page().insert_text((60, 100), "Foxes live in dens.")
    pdf.save(tmp_path / "a.pdf")
    size = (tmp_path / "a.pdf").stat().st_size
    request = ParseRequest(SourceFile(file_path(tmp_path / "a.pdf"), size, 0), None)

    (outcome,) = parsed([request], POLICY._replace(extract=extract))

    assert isinstance(outcome, ParsedFile)
    assert (outcome.facts.kind, text_of(outcome), outcome.chunks[0].page) == ("pdf", "Foxes live in dens.", 1)


def test_a_parser_that_never_ends_is_the_failure_of_its_file(tmp_path: Path) -> None:
    outcomes = parsed(files(tmp_path, "hang", "fine", "spin", "good"), PATIENT)

    assert message_of(outcomes[0]) == message_of(outcomes[2]) == "took longer than 0.5 seconds"
    assert [text_of(outcome) for outcome in outcomes[1::2]] == ["fine", "good"]


def test_a_parser_that_ends_its_process_is_the_failure_of_its_file(tmp_path: Path) -> None:
    outcomes = parsed(files(tmp_path, "leave", "fine", "leave", "good"))

    assert message_of(outcomes[0]) == message_of(outcomes[2]) == "ended the process that read it (exit code 7)"
    assert [text_of(outcome) for outcome in outcomes[1::2]] == ["fine", "good"]


@NEEDS_SIGNALS
def test_a_parser_that_crashes_is_the_failure_of_its_file(tmp_path: Path) -> None:
    outcomes = parsed(files(tmp_path, "fine", "crash"))

    assert message_of(outcomes[1]) == "ended the process that read it (SIGSEGV)"


@pytest.mark.skipif(sys.platform != "linux", reason="memory cannot be limited there")
def test_a_parser_that_wants_all_memory_is_the_failure_of_its_file(tmp_path: Path) -> None:
    outcomes = parsed(files(tmp_path, "memory", "fine"))

    assert message_of(outcomes[0]) == "needs more memory than it may use"
    assert text_of(outcomes[1]) == "fine"


def test_of_many_files_handed_over_together_only_the_culprit_fails(tmp_path: Path) -> None:
    requests = files(tmp_path, *["fine"] * 100, *["good"] * 20, "leave", *["good"] * 20, suffix=".txt")

    outcomes = parsed(requests)

    assert len(outcomes) == len(requests)
    assert [path_of(outcome) for outcome in outcomes if not isinstance(outcome, ParsedFile)] == [
        requests[120].source.path
    ]


def test_what_parsers_print_reaches_nobody(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    parsed(files(tmp_path, "print", "leave"))

    assert capfd.readouterr() == ("", "")


def test_leaving_early_leaves_no_process(tmp_path: Path) -> None:
    outcomes = outcomes_of(files(tmp_path, "fine", *["hang"] * 5))

    assert text_of(next(outcomes)) == "fine"

    outcomes.close()  # type: ignore[attr-defined]


def test_a_run_that_must_stop_does_not_wait_for_files_in_hand(tmp_path: Path) -> None:
    outcomes: list[ParseOutcome] = []

    for outcome in outcomes_of(files(tmp_path, "fine", "hang", "hang"), must_stop=lambda: bool(outcomes)):
        outcomes.append(outcome)  # noqa: PERF402 - what must stop the run is that there is one

    assert [text_of(outcome) for outcome in outcomes] == ["fine"]


def test_a_run_that_must_stop_before_it_starts_parses_nothing(tmp_path: Path) -> None:
    requests = [*files(tmp_path, "fine", suffix=".txt"), *files(tmp_path, "fine")]

    assert list(parse_all(requests, POLICY, must_stop=lambda: True)) == []


def test_no_more_files_are_taken_than_are_worked_on(tmp_path: Path) -> None:
    taken: list[ParseRequest] = []

    def requests() -> Iterator[ParseRequest]:
        for request in files(tmp_path, *["word " * 60_000] * 150, suffix=".txt"):
            taken.append(request)
            yield request

    outcomes = outcomes_of(requests())
    next(outcomes)

    assert len(taken) < 110

    outcomes.close()  # type: ignore[attr-defined]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_worker_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    (request,) = files(tmp_path, "anything")
    pipe = Path(f"{request.source.path}.pipe")
    os.mkfifo(pipe)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    starter = subprocess.Popen([sys.executable, "-c", STARTER, request.source.path], env=environment)
    with pipe.open("rb") as held_by_worker:
        starter.kill()
        starter.wait()

        assert held_by_worker.read() == b""


def test_workers_that_do_not_stay_alive_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("only_here")
    exec("def work(item): ...", module.__dict__)  # noqa: S102 - a function that no worker can import
    monkeypatch.setitem(sys.modules, "only_here", module)

    with pytest.raises(UnavailableError, match="worker processes do not stay alive"):
        work_on(module.work, "item")


def test_what_cannot_be_handed_back_is_lost() -> None:
    assert work_on(hostile_formats.make_lock, "item") == {"item": WorkerFailure("could not be handed over (TypeError)")}


def test_what_is_no_record_is_not_taken_from_a_worker() -> None:
    results = work_on(hostile_formats.hand_over_command, "item")

    assert results == {"item": WorkerFailure("could not be handed over (UnpicklingError)")}


def test_a_worker_sets_no_attribute_of_a_record() -> None:
    results = work_on(hostile_formats.hand_over_attribute, "item")

    assert results == {"item": WorkerFailure("could not be handed over (UnpicklingError)")}
    assert SourceFile(file_path("/a"), 1, 0).size == 1


def test_a_result_of_impossible_length_ends_the_worker_and_not_the_run() -> None:
    results = work_on(hostile_formats.claim_length, "item")

    assert results == {"item": WorkerFailure("had the process that read it send nonsense")}


@NEEDS_SIGNALS
def test_an_interrupt_reaches_no_worker_not_even_one_that_replaces_another() -> None:
    results = work_on(hostile_formats.session_id, "first", "leave", "second")

    assert os.getsid(0) not in {results["first"], results["second"]}
    assert results["first"] != results["second"]


def test_a_worker_is_replaced_after_so_many_tasks() -> None:
    results = work_on(hostile_formats.process_id, *range(105))

    assert len({results[number] for number in range(100)}) == 1
    assert len(set(results.values())) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="memory is not looked at there")
def test_a_worker_that_keeps_much_memory_is_replaced() -> None:
    results = work_on(hostile_formats.keep_memory, *range(3))

    assert len(set(results.values())) == 3


def test_no_tasks_need_no_worker() -> None:
    assert list(run_tasks(len, [])) == []


@pytest.mark.parametrize("grammar_of", [".cs", ".swift", ".py", ".c"])
def test_source_code_is_parsed_elsewhere_however_small(tmp_path: Path, grammar_of: str) -> None:
    requests = files(tmp_path, "x = 1", suffix=grammar_of)

    (outcome,) = parsed(requests, POLICY._replace(extract=hostile_formats.tell_process))

    assert text_of(outcome) != str(os.getpid())


@pytest.mark.skipif(sys.platform != "linux", reason="memory cannot be limited there")
def test_code_that_breaks_its_grammar_is_indexed_as_plain_text(tmp_path: Path) -> None:
    requests = [
        *files(tmp_path, "a<" * 25_000, suffix=".cs"),
        *files(tmp_path, "class Fine { void Method() { } }", suffix=".java"),
    ]

    broken, fine = parsed(requests, POLICY._replace(extract=extract, limits=None))

    assert isinstance(broken, ParsedFile)
    assert (broken.facts.kind, text_of(broken)) == ("csharp", "a<" * 25_000)
    assert isinstance(fine, ParsedFile)
    assert fine.chunks[0].heading == "Fine"


@pytest.mark.slow
@NEEDS_SIGNALS
@pytest.mark.parametrize("is_wary", [False, True])
@pytest.mark.parametrize("behaviour", ["crash", "spin"])
def test_code_whose_parser_breaks_is_indexed_as_plain_text(tmp_path: Path, behaviour: str, *, is_wary: bool) -> None:
    requests = files(tmp_path, "fine", behaviour, "good", suffix=".rs")

    outcomes = parsed(requests, FRUGAL._replace(is_wary=is_wary))

    assert [text_of(outcome) for outcome in outcomes] == ["fine", behaviour, "good"]


@pytest.mark.slow
@NEEDS_SIGNALS
@pytest.mark.parametrize("behaviour", ["crash", "spin", "memory", "leave"])
def test_a_failure_names_the_content_that_broke_a_worker(tmp_path: Path, behaviour: str) -> None:
    (request,) = files(tmp_path, behaviour)

    (outcome,) = parsed([request], FRUGAL)

    assert isinstance(outcome, FileFailure)
    assert (outcome.source, outcome.hash) == (request.source, content_hash(behaviour.encode()))
    assert outcome.seen_ns


@NEEDS_SIGNALS
def test_what_only_waits_for_too_long_is_not_held_to_be_broken(tmp_path: Path) -> None:
    outcomes = [*parsed(files(tmp_path, "hang"), SHORT), *parsed(files(tmp_path, "hang", suffix=".rs"), SHORT)]

    assert [message_of(outcome) for outcome in outcomes] == ["took longer than 0.5 seconds"] * 2
    assert [outcome.hash for outcome in outcomes if isinstance(outcome, FileFailure)] == [None, None]


@pytest.mark.parametrize("behaviour", ["for another", "with text"])
def test_an_answer_that_is_not_about_the_file_is_the_failure_of_the_file(tmp_path: Path, behaviour: str) -> None:
    (outcome,) = parsed(files(tmp_path, behaviour))

    assert message_of(outcome) == "had the process that read it answer something else"


@pytest.mark.parametrize("suffix", [".pdf", ".txt"])
def test_what_broke_a_parser_is_not_parsed_again(tmp_path: Path, suffix: str) -> None:
    (request,) = files(tmp_path, "never parsed", suffix=suffix)
    before = request.source._replace(size=1, mtime_ns=1)
    failure = FileFailure(request.source.path, Stage.EXTRACT, "broke", before, content_hash(b"never parsed"))

    (outcome,) = parsed([request._replace(broken=failure)])

    assert isinstance(outcome, FileFailure)
    assert outcome._replace(seen_ns=0) == failure._replace(source=request.source)


def test_what_broke_a_parser_is_parsed_when_its_content_is_another(tmp_path: Path) -> None:
    (request,) = files(tmp_path, "mended")
    failure = FileFailure(request.source.path, Stage.EXTRACT, "broke", request.source, content_hash(b"broken"))

    (outcome,) = parsed([request._replace(broken=failure)])

    assert text_of(outcome) == "mended"


@NEEDS_SIGNALS
def test_a_worker_that_somebody_else_kills_costs_no_file(tmp_path: Path) -> None:
    outcomes = parsed(files(tmp_path, "fine", "killed once", "good"))

    assert [text_of(outcome) for outcome in outcomes] == ["fine", "killed once", "good"]


@NEEDS_SIGNALS
def test_a_file_whose_worker_is_killed_each_time_fails_and_is_not_held_to_be_broken(tmp_path: Path) -> None:
    (outcome,) = parsed(files(tmp_path, "killed"))

    assert message_of(outcome) == "ended the process that read it (SIGKILL)"
    assert isinstance(outcome, FileFailure)
    assert outcome.hash is None


@NEEDS_SIGNALS
def test_limits_hold_where_their_signals_were_blocked_and_ignored_before(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGPROF, signal.SIG_IGN)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPROF, signal.SIGALRM})
    try:
        (outcome,) = parsed(files(tmp_path, "spin"), POLICY._replace(limits=Limits(seconds=0.5)))
    finally:
        signal.signal(signal.SIGPROF, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    assert message_of(outcome) == "took longer than 0.5 seconds"


@NEEDS_SIGNALS
def test_a_worker_hears_of_no_key_of_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIRINDEX_EMBEDDING__API_KEY", "key")
    monkeypatch.setenv("PYTHONSTARTUP", "anything")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")

    assert work_on(hostile_formats.environment_variable, "DIRINDEX_EMBEDDING__API_KEY", "PYTHONSTARTUP", "LC_ALL") == {
        "DIRINDEX_EMBEDDING__API_KEY": None,
        "PYTHONSTARTUP": None,
        "LC_ALL": "C.UTF-8",
    }
