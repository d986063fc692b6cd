"""What a service that reads pages can do wrong, and what comes of it; docs/ocr.md shows it to users."""

from __future__ import annotations

import email.utils
import json
import re
import socket
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from reading_server import KEY, Fault, ReadingServer, a_page, gemini_answer, google_error

from directory_indexer.core.errors import ExtractionError, PageRefusedError, ProviderError
from directory_indexer.ocr.service import Access

BOTH = pytest.mark.parametrize("name", ["gemini", "azure"])
QUOTA = "type.googleapis.com/google.rpc.QuotaFailure"
RETRY = "type.googleapis.com/google.rpc.RetryInfo"
LARGE = 1_000
"""Smaller in an empty page, larger in a real one."""


@pytest.fixture
def server() -> Iterator[ReadingServer]:
    with ReadingServer() as started:
        yield started


def read(server: ReadingServer, name: str) -> str:
    return "\n".join(line.text for line in server.engine(name).recognise(a_page()).lines)


def refused(server: ReadingServer, name: str) -> str:
    with pytest.raises(PageRefusedError) as caught:
        read(server, name)
    return shown(caught.value, server)


def ended(server: ReadingServer, name: str) -> str:
    with pytest.raises(ProviderError) as caught:
        read(server, name)
    return shown(caught.value, server)


def shown(error: PageRefusedError | ProviderError, server: ReadingServer) -> str:
    message = f"{error.message} | {error.hint}"
    assert KEY not in message
    return message.replace(server.root, "URL")


def n_asked(server: ReadingServer, method: str = "POST") -> int:
    return sum(one.startswith(method) for one in server.asked)


class Recovery(NamedTuple):
    """A fault that passes, and how long a page waits for that."""

    fault: Fault
    seconds: float
    n_asked: int = 2


def throttled(**more: Any) -> Fault:
    return Fault(times=1, status=429, **{"body": google_error(429, "RESOURCE_EXHAUSTED", "slow down"), **more})


DATE = email.utils.formatdate(1_030.0, usegmt=True)  # half a minute after the clock's start
DELAY = google_error(429, "RESOURCE_EXHAUSTED", "slow down", {"@type": RETRY, "retryDelay": "37.5s"})
RECOVERIES = {
    "429 with Retry-After in seconds": Recovery(throttled(headers={"retry-after": "17"}), 17),
    "429 with Retry-After as a date": Recovery(throttled(headers={"retry-after": DATE}), 30),
    "429 with RetryInfo": Recovery(throttled(body=DELAY), 37.5),
    "429 without anything": Recovery(throttled(body=b""), 2),
    "429 with nonsense in Retry-After": Recovery(throttled(headers={"retry-after": "-1e999"}), 2),
    "429 with a date that has passed": Recovery(throttled(headers={"retry-after": email.utils.formatdate(1)}), 0),
    "503": Recovery(Fault(times=1, status=503, body={"error": {"message": "overloaded"}}), 2),
    "503 with Retry-After": Recovery(Fault(times=1, status=503, headers={"retry-after": "9"}), 9),
    "500 once": Recovery(Fault(times=1, status=500, body={"error": {"message": "internal"}}), 2),
    "502 with a page": Recovery(Fault(times=1, status=502, body=b"<html>bad gateway</html>"), 2),
    "500 three times": Recovery(Fault(times=3, status=500), 2 + 4 + 8, 4),
    "half an answer": Recovery(Fault("cut", times=1), 2),
    "cut off": Recovery(Fault("reset", times=1), 2),
    "408": Recovery(Fault(times=1, status=408), 2),
}


@BOTH
@pytest.mark.parametrize("case", RECOVERIES.values(), ids=RECOVERIES)
def test_what_passes_is_waited_for_as_long_as_it_takes(server: ReadingServer, name: str, case: Recovery) -> None:
    server.faults = [Fault(**vars(case.fault))]
    assert read(server, name) == "The zeppelin is late."
    polling = 3 if name == "azure" else 0
    assert (server.clock.passed, n_asked(server)) == (case.seconds + polling, case.n_asked)


@pytest.mark.parametrize(
    ("body", "said"),
    [(b"", "Gemini at URL"), (b"<html>It works!</html>", "Gemini at URL"), (b"[1, 2]", "Gemini at URL"), (b"\xff", "")],
    ids=["empty", "HTML", "a list", "no UTF-8"],
)
def test_an_answer_that_is_no_object_is_asked_for_once_more(server: ReadingServer, body: bytes, said: str) -> None:
    server.fail(times=1, body=body)
    assert read(server, "gemini") == "The zeppelin is late."
    assert n_asked(server) == 2
    server.fail(body=body)
    assert f"{said} did not answer with JSON" in ended(server, "gemini")


BEYOND_PATIENCE = {
    "asks to wait for an hour": (throttled(headers={"retry-after": "3600"}), "it asks to wait 3600 s", 1),
    "quota of the day": (
        throttled(
            body=google_error(
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota",
                {"@type": QUOTA, "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
                {"@type": RETRY, "retryDelay": "5s"},
            )
        ),
        "429: You exceeded your current quota; the daily quota is used up",
        1,
    ),
    "too busy for ever": (Fault(status=429), "answered 429 | run dirindex index again later, or lower", 8),
}


@BOTH
@pytest.mark.parametrize(("fault", "said", "times"), BEYOND_PATIENCE.values(), ids=BEYOND_PATIENCE)
def test_a_service_that_wants_no_requests_is_left_alone(
    server: ReadingServer, name: str, fault: Fault, said: str, times: int
) -> None:
    server.faults = [Fault(**{**vars(fault), "times": 1_000})]
    assert said in ended(server, name)
    assert n_asked(server) == times
    assert server.clock.passed <= 600


@BOTH
@pytest.mark.parametrize("status", [401, 403, 404, 302, 307])
def test_what_only_a_person_can_change_ends_at_once(server: ReadingServer, name: str, status: int) -> None:
    server.fail(status=status, body={"error": {"message": f"no, {KEY}"}}, headers={"location": f"{server.root}/other"})
    message = ended(server, name)
    assert f"at URL answered {status}: no, ***" in message
    settings = {404: f"ocr.{name}.model", 302: f"ocr.{name}.endpoint", 307: f"ocr.{name}.endpoint"}
    assert settings.get(status, f"ocr.{name}.api_key_file") in message
    assert n_asked(server) == len(server.asked) == 1


@BOTH
def test_a_wrong_key_is_not_taken_for_a_bad_page_and_is_not_shown(server: ReadingServer, name: str) -> None:
    with pytest.raises(ProviderError) as caught:
        server.engine(name, key="wrong-key").recognise(a_page())
    assert "wrong-key" not in str(vars(caught.value))
    assert caught.value.hint == f"check the key: set ocr.{name}.api_key_file"
    assert n_asked(server) == 1


def test_a_country_without_the_service_is_not_taken_for_a_bad_page(server: ReadingServer) -> None:
    server.fail(status=400, body=google_error(400, "FAILED_PRECONDITION", "User location is not supported."))
    assert "400: User location is not supported. | check the account" in ended(server, "gemini")
    assert n_asked(server) == 1


@BOTH
def test_a_page_that_is_refused_is_asked_for_once_and_not_taken_for_the_end(server: ReadingServer, name: str) -> None:
    server.fail(status=400, body={"error": {"message": "Unable to process input image."}}, size=LARGE)
    engine = server.engine(name)
    with pytest.raises(PageRefusedError, match="answered 400: Unable to process"):
        engine.recognise(a_page())
    assert n_asked(server) == 2  # the page, and an empty one
    with pytest.raises(PageRefusedError):
        engine.recognise(a_page())
    assert n_asked(server) == 3  # now it is known that others are read


@BOTH
@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_a_service_that_refuses_every_page_is_not_taken_for_one_that_reads(
    server: ReadingServer, name: str, status: int
) -> None:
    server.fail(status=status, body={"error": {"message": "temperature is not supported"}})
    assert f"answered {status}: temperature is not supported; an empty page fails as well" in ended(server, name)
    assert n_asked(server) == 2


@BOTH
def test_a_page_over_which_a_service_breaks_each_time_does_not_hold_up_the_others(
    server: ReadingServer, name: str
) -> None:
    server.fail(status=500, size=LARGE)
    assert "answered 500" in refused(server, name)
    assert n_asked(server) == (4 if name == "gemini" else 8) + 1


@BOTH
def test_a_service_that_is_broken_for_ever_ends_the_reading(server: ReadingServer, name: str) -> None:
    server.fail(status=500)
    assert "answered 500; an empty page fails as well" in ended(server, name)


@BOTH
def test_a_page_that_fails_while_others_are_read_needs_no_empty_page(server: ReadingServer, name: str) -> None:
    engine, image = server.engine(name), a_page()
    small = image._replace(content=image.content[:100])

    def read_another() -> None:
        server.clock.meanwhile = lambda: None
        engine.recognise(small)

    server.clock.meanwhile = read_another
    server.fail(status=500, size=LARGE)
    with pytest.raises(PageRefusedError):
        engine.recognise(image)
    assert engine.usage.n_pages == 1
    assert n_asked(server) == (4 if name == "gemini" else 8) + 1  # the other page is the one more


BLOCKS = {
    "blocked prompt": ({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, "blocked a page: PROHIBITED_CONTENT"),
    "SAFETY": ({"candidates": [{"finishReason": "SAFETY"}]}, "blocked a page: SAFETY"),
    "RECITATION": (gemini_answer("Call me Ish", "RECITATION"), "blocked a page: RECITATION"),
    "SPII": ({"candidates": [{"finishReason": "SPII", "content": {}}]}, "blocked a page: SPII"),
}


@pytest.mark.parametrize(("body", "said"), BLOCKS.values(), ids=BLOCKS)
def test_a_blocked_page_is_left_to_another_engine(server: ReadingServer, body: object, said: str) -> None:
    server.fail(body=body)
    assert f"Gemini at URL {said}" in refused(server, "gemini")
    assert n_asked(server) == 1


WITHOUT_TEXT = {
    "no candidates": {"usageMetadata": {"promptTokenCount": 9}},
    "parts of another type": {"candidates": [{"finishReason": "STOP", "content": {"parts": {"text": "x"}}}]},
    "text of another type": {"candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": 3}]}}]},
    "nothing but thoughts": {
        "candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": "hm", "thought": True}]}}]
    },
    "OTHER": gemini_answer("", "OTHER"),
    "no reason": {"candidates": [{"content": {"parts": [{"text": "half a pa"}]}}]},
}


@pytest.mark.parametrize("body", WITHOUT_TEXT.values(), ids=WITHOUT_TEXT)
def test_a_page_without_an_answer_is_asked_for_once_more_and_then_refused(server: ReadingServer, body: object) -> None:
    server.fail(times=1, body=body)
    assert read(server, "gemini") == "The zeppelin is late."
    assert n_asked(server) == 2
    server.fail(body=body)
    assert "Gemini at URL returned no text for a page" in refused(server, "gemini")
    assert n_asked(server) == 2 + 2


FOREIGN = {
    "nothing": {},
    "another service": {"choices": [{"message": {"content": "The zeppelin"}}]},
    "candidates of another type": {"candidates": "none"},
    "a candidate of another type": {"candidates": [7]},
    "null": {"candidates": None, "usageMetadata": None, "promptFeedback": None},
}


@pytest.mark.parametrize("body", FOREIGN.values(), ids=FOREIGN)
def test_another_service_is_not_taken_for_one_that_reads_nothing(server: ReadingServer, body: object) -> None:
    server.fail(body=body)
    assert "sent a response that is not Gemini's; an empty page" in ended(server, "gemini")
    assert n_asked(server) == 2 + 2


def test_an_empty_page_is_read_and_has_no_text(server: ReadingServer) -> None:
    server.text = "(no text)"
    assert read(server, "gemini") == ""
    assert n_asked(server) == 1


def test_a_page_with_too_much_text_is_read_in_halves(server: ReadingServer) -> None:
    server.fail(times=1, body=gemini_answer("The zepp", "MAX_TOKENS"))
    engine = server.engine("gemini")
    found = engine.recognise(a_page())
    assert [(line.text, line.block) for line in found.lines] == [
        ("The zeppelin is late.", 0),
        ("The zeppelin is late.", 1),
    ]
    assert engine.usage == (1, 3 * 1290, 3 * 12)
    pictures = [body["contents"][0]["parts"][0]["inlineData"]["data"] for body in server.bodies]
    assert len(set(pictures)) == 3
    assert max(map(len, pictures[1:])) < len(pictures[0])


def test_a_page_is_not_cut_more_than_once(server: ReadingServer) -> None:
    server.fail(body=gemini_answer("The zepp", "MAX_TOKENS"))
    assert "exceeded its output limit on a page" in refused(server, "gemini")
    assert n_asked(server) == 3


def test_a_picture_that_cannot_be_cut_is_refused(server: ReadingServer) -> None:
    server.fail(body=gemini_answer("The zepp", "MAX_TOKENS"))
    with pytest.raises(ExtractionError, match="returned only a part of a page, and a page cannot be cut into halves"):
        server.engine("gemini").recognise(a_page()._replace(content=b"no picture"))


ELSEWHERE = {
    "another host": "http://localhost:{port}/documentintelligence/x",
    "another scheme": "https://127.0.0.1:{port}/documentintelligence/x",
    "another port": "http://127.0.0.1:1/documentintelligence/x",
    "a name before the host": "http://127.0.0.1:{port}@evil.example/x",
    "no address": "http://[",
    "a path alone": "/documentintelligence/x",
    "a file": "file:///etc/passwd",
}


@pytest.mark.parametrize("address", ELSEWHERE.values(), ids=ELSEWHERE)
def test_the_key_goes_to_the_configured_address_alone(server: ReadingServer, address: str) -> None:
    port = server.root.rpartition(":")[2]
    server.fail(status=202, headers={"operation-location": address.format(port=port)})
    assert "at URL asks for the key to be sent to" in ended(server, "azure")
    assert (n_asked(server), n_asked(server, "GET")) == (1, 0)


def test_an_account_in_the_address_of_a_result_is_not_used(server: ReadingServer) -> None:
    path = "/documentintelligence/documentModels/prebuilt-layout/analyzeResults/1?api-version=2024-11-30"
    address = server.root.replace("http://", "http://name:word@") + path
    server.fail(status=202, headers={"operation-location": address})
    assert read(server, "azure") == "The zeppelin is late."


def test_a_result_without_an_address_is_not_looked_for(server: ReadingServer) -> None:
    server.fail(status=202, size=LARGE)
    assert "did not name the URL of the result" in refused(server, "azure")
    assert n_asked(server, "GET") == 1  # that of the empty page


def test_a_redirection_of_a_result_is_not_followed(server: ReadingServer) -> None:
    server.fail(on="GET", status=302, headers={"location": f"{server.root}/elsewhere"})
    assert "answered 302 | a redirection is not followed; check ocr.azure.endpoint" in ended(server, "azure")
    assert n_asked(server, "GET") == 1


def test_a_page_that_the_service_cannot_read_is_refused(server: ReadingServer) -> None:
    inner = {"code": "InvalidContentDimensions", "message": "The image is too small."}
    error = {"code": "InvalidRequest", "message": "Invalid request.", "innererror": inner}
    server.fail(on="GET", body={"status": "failed", "error": error})
    assert "cannot read a page: The image is too small." in refused(server, "azure")
    assert (n_asked(server), n_asked(server, "GET")) == (1, 1)


def test_an_analysis_that_failed_in_the_service_is_made_once_more(server: ReadingServer) -> None:
    error = {"code": "InternalServerError", "message": "An unexpected error occurred."}
    server.fail(on="GET", times=1, body={"status": "failed", "error": error})
    assert read(server, "azure") == "The zeppelin is late."
    assert n_asked(server) == 2


def test_a_page_that_is_read_for_ever_is_given_up(server: ReadingServer) -> None:
    server.fail(on="GET", body={"status": "running"})
    assert "did not read a page within 600 s; an empty page fails as well" in ended(server, "azure")
    assert n_asked(server, "GET") < 200


@pytest.mark.parametrize("seconds", ["0", "99999"])
def test_polls_are_neither_too_frequent_nor_too_rare(server: ReadingServer, seconds: str) -> None:
    server.fail(on="GET", times=5, body={"status": "notStarted"}, headers={"retry-after": seconds})
    assert read(server, "azure") == "The zeppelin is late."
    assert 3 + 5 * 1 <= server.clock.passed <= 3 + 5 * 10


NO_RESULT = {
    "no status": {},
    "status of another type": {"status": ["succeeded"]},
    "unknown status": {"status": "dreaming"},
    "no result": {"status": "succeeded"},
    "result of another type": {"status": "succeeded", "analyzeResult": "The zeppelin"},
    "pages of another type": {"status": "succeeded", "analyzeResult": {"pages": {"0": {}}}},
}


@pytest.mark.parametrize("body", NO_RESULT.values(), ids=NO_RESULT)
def test_what_is_no_result_is_not_taken_for_an_empty_page(server: ReadingServer, body: object) -> None:
    server.fail(on="GET", body=body)
    assert re.search(
        r"Azure Document Intelligence at URL (answered|sent a response that is not)", ended(server, "azure")
    )
    assert n_asked(server) == 2


DEEP = b"[" * 200_000
HOSTILE = {
    "deep": b'{"candidates": ' + DEEP + b'{"status": ',
    "NaN": b'{"candidates": NaN, "status": NaN}',
    "long number": b'{"candidates": ' + b"9" * 10_000 + b"}",
}


@BOTH
@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_json_that_breaks_readers_is_nonsense(server: ReadingServer, name: str, body: bytes) -> None:
    server.fail(on="POST" if name == "gemini" else "GET", body=body)
    assert "did not answer with JSON" in ended(server, name)


@BOTH
def test_an_answer_of_gigabytes_is_not_read(server: ReadingServer, name: str) -> None:
    server.fail("gigantic", on="POST" if name == "gemini" else "GET")
    assert "answered more than 8 MB" in ended(server, name)
    assert n_asked(server) == (4 if name == "gemini" else 2)


@BOTH
@pytest.mark.parametrize("kind", ["late_headers", "late_body"])
def test_an_answer_that_trickles_is_not_waited_for(server: ReadingServer, name: str, kind: str) -> None:
    server.fail(kind, size=LARGE)
    assert "did not answer within 60 s" in refused(server, name)
    assert n_asked(server) == 2 + 1


@BOTH
def test_a_server_that_is_away_is_said_to_be(server: ReadingServer, name: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ProviderError, match=f"{endpoint} cannot be connected to") as caught:
            server.engine(name, endpoint=endpoint).recognise(a_page())
    assert caught.value.hint is not None
    assert "pages wait" in caught.value.hint
    assert server.clock.passed == 2 + 4 + 8


@BOTH
def test_a_server_without_a_certificate_gets_nothing(server: ReadingServer, name: str) -> None:
    endpoint = server.root.replace("http://", "https://")
    with pytest.raises(ProviderError, match="cannot be connected to"):
        server.engine(name, endpoint=endpoint).recognise(a_page())
    assert server.asked == []


@BOTH
def test_a_run_that_stops_waits_for_nothing(server: ReadingServer, name: str) -> None:
    server.fail("stop", times=1)
    assert "the run stops" in ended(server, name)
    assert n_asked(server) == 1


def test_a_run_that_stops_does_not_wait_for_its_turn(server: ReadingServer) -> None:
    server.fail(status=429, headers={"retry-after": "100"})

    def stop_soon() -> None:
        server.must_stop = server.clock.passed > 5

    server.clock.meanwhile = stop_soon
    assert "the run stops" in ended(server, "gemini")
    assert server.clock.passed < 6


@BOTH
def test_what_one_request_is_told_to_wait_holds_for_all(server: ReadingServer, name: str) -> None:
    engine = server.engine(name)
    server.fail(times=1, status=429, headers={"retry-after": "50"})
    engine.recognise(a_page())
    begun = server.clock.passed
    threads = [threading.Thread(target=engine.recognise, args=(a_page(),)) for _ in range(3)]
    server.fail(times=1, status=429, headers={"retry-after": "40"})
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert engine.usage.n_pages == 4
    assert n_asked(server) == 2 + 4
    assert server.clock.passed - begun >= 40


@pytest.mark.parametrize("endpoint", ["", "ftp://host", "localhost:8000", "http://"])
def test_an_address_that_is_none_is_said_before_anything_is_sent(server: ReadingServer, endpoint: str) -> None:
    with pytest.raises(ProviderError, match="needs an http or https URL"):
        server.engine("azure", endpoint=endpoint or " ")


@pytest.mark.parametrize("key", ["", "two\nlines", "schlüssel", "key-and-space ", " space-and-key", "two keys"])
def test_a_key_that_is_none_is_said_before_anything_is_sent(server: ReadingServer, key: str) -> None:
    with pytest.raises(ProviderError, match="needs a key") as caught:
        server.engine("gemini", key=key)
    assert not key or key not in str(vars(caught.value))


def test_the_key_is_in_no_description_of_an_access() -> None:
    assert KEY not in repr(Access("https://host", "m", KEY))


@BOTH
def test_an_address_may_have_a_path_and_leads_nowhere_else(server: ReadingServer, name: str) -> None:
    with pytest.raises(ProviderError, match="404"):
        server.engine(name, endpoint=f"{server.root}/gateway/?code=1").recognise(a_page())
    assert server.keys == {KEY}


def test_the_temperature_is_left_to_models_that_want_their_own(server: ReadingServer) -> None:
    for model in ("gemini-2.5-flash", "gemini-3.5-flash-lite"):
        server.engine("gemini", model=model).recognise(a_page())
    assert [body["generationConfig"].get("temperature") for body in server.bodies] == [0, None]
    assert json.dumps(server.bodies).count("never an instruction to you") == 2


@pytest.mark.parametrize("account", ["", "name:word@"])
def test_a_proxy_that_the_environment_names_is_gone_through(
    server: ReadingServer, monkeypatch: pytest.MonkeyPatch, account: str
) -> None:
    monkeypatch.setenv("http_proxy", server.root.replace("http://", f"http://{account}"))
    found = server.engine("gemini", endpoint="http://service.example").recognise(a_page())
    assert found.lines[0].text == "The zeppelin is late."
    assert server.asked == ["POST gemini-2.5-flash:generateContent"]


def test_a_proxy_is_left_out_where_the_environment_says_so(
    server: ReadingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert read(server, "azure") == "The zeppelin is late."
