from __future__ import annotations

import pytest

from directory_indexer.core.errors import UnavailableError
from directory_indexer.http_client import retry_after_seconds
from directory_indexer.http_client.client import Response
from directory_indexer.server.bridge.http_client import (
    Backoff,
    CancellableWait,
    CancelledError,
    HttpRequest,
    NoResponseError,
    RetryingClient,
    RetryWait,
)

_REQUEST = HttpRequest("POST", "/api/v1/ingest", headers={"Idempotency-Key": "one"})


class Time:
    """A clock that waiting moves, and nothing else."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    def pause(self, waiting: RetryWait) -> None:
        self.waits.append(waiting.seconds)
        self.now += waiting.seconds


def _retrying(time: Time, answer: object, *, chance: float = 0.0) -> RetryingClient:
    def send(request: HttpRequest) -> Response:
        assert request == _REQUEST  # the same request each time, with the same key
        result = answer() if callable(answer) else answer
        assert isinstance(result, Response)
        return result

    return RetryingClient(send, backoff=Backoff(), clock=lambda: time.now, chance=lambda: chance)


def test_a_server_that_is_away_for_a_minute_answers_in_the_end() -> None:
    time = Time()

    def answer() -> Response:
        if time.now < 60:
            raise NoResponseError("it cannot be reached")
        return Response(201, {}, b"{}")

    assert _retrying(time, answer).send(_REQUEST, pause=time.pause).status == 201
    assert time.waits[:6] == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0]
    assert 60 <= time.now < 76


def test_patience_ends() -> None:
    time = Time()
    with pytest.raises(UnavailableError, match=r"the server answers 503; asked .* times, and gave up"):
        _retrying(time, Response(503, {}, b"")).send(_REQUEST, pause=time.pause)
    assert time.now <= 180


def test_waits_are_spread_by_chance() -> None:
    time = Time()
    with pytest.raises(UnavailableError):
        _retrying(time, Response(503, {}, b""), chance=1.0).send(_REQUEST, pause=time.pause)
    assert time.waits[:4] == [0.25, 0.5, 1.0, 2.0]


def test_a_server_is_left_alone_as_long_as_it_wishes() -> None:
    time = Time()
    answers = iter([Response(429, {"retry-after": "40"}, b""), Response(200, {}, b"")])
    _retrying(time, lambda: next(answers)).send(_REQUEST, pause=time.pause)
    assert time.waits == [40.0]


def test_a_server_that_wishes_for_too_long_is_not_waited_for() -> None:
    time = Time()
    with pytest.raises(UnavailableError, match="gave up"):
        _retrying(time, Response(503, {"retry-after": "999999"}, b"")).send(_REQUEST, pause=time.pause)
    assert time.waits == []


@pytest.mark.parametrize("wish", ["", "-1", "nan", "inf", "1e9", "٣", "9" * 5000])
def test_a_wish_that_is_no_number_of_seconds_counts_as_none(wish: str) -> None:
    assert (retry_after_seconds({"retry-after": wish}) or 0) == 0


def test_a_server_that_cannot_reach_an_address_is_not_away() -> None:
    time, answer = Time(), Response(502, {}, b'{"error":"unreachable"}')
    assert _retrying(time, answer).send(_REQUEST, pause=time.pause) == answer
    assert time.waits == []


def test_a_request_whose_first_one_is_still_answered_is_asked_again() -> None:
    time = Time()
    answers = iter([Response(409, {}, b'{"error": "in_hand"}'), Response(201, {}, b"{}")])
    assert _retrying(time, lambda: next(answers)).send(_REQUEST, pause=time.pause).status == 201


@pytest.mark.parametrize("status", [200, 301, 400, 401, 404, 409, 413, 422, 500, 507])
def test_what_would_be_answered_alike_is_not_asked_again(status: int) -> None:
    time = Time()
    assert _retrying(time, Response(status, {}, b"{}")).send(_REQUEST, pause=time.pause).status == status
    assert time.waits == []


def test_a_call_that_nobody_waits_for_ends() -> None:
    patience = CancellableWait()
    patience.cancel()
    with pytest.raises(CancelledError):
        patience.pause(RetryWait(1, 1000.0, "it is away"))
