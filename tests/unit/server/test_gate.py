"""The request guard: who passes, who does not, and that every answer has the same form."""

from __future__ import annotations

import io
import json
import logging
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import pytest
from starlette.requests import ClientDisconnect

from directory_indexer.core.errors import BusyError
from directory_indexer.core.rights import Right
from directory_indexer.server.middleware.access import Access, HttpAddress
from directory_indexer.server.middleware.authentication import Authenticator, LoginThrottle
from directory_indexer.server.middleware.guard import GuardPolicy, RequestGuard
from directory_indexer.server.middleware.limits import (
    MAX_ANSWERS,
    MAX_BYTES_OF_KEY,
    MAX_REQUESTS_OF_KEY,
    BudgetClaim,
    ConcurrencyBudgets,
    Rate,
    RequestStage,
    TokenBuckets,
)
from directory_indexer.server.middleware.monitoring import LogFormat, Metrics, formatter
from directory_indexer.server.middleware.request_context import CONNECTION_KEY, Route, context_of, request_id
from directory_indexer.storage.registry.keys import Key, digest_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import Message, Receive, Scope, Send

TOKEN = "the-token-of-the-operator"  # noqa: S105 - of a test
SECRET = "dirindex_0123456789abcdefghij"  # noqa: S105 - of a test
SECRET_WORDS = "carrots in the garden of Anna"  # noqa: S105 - that must not get into a log
PORT = 8765
_HOST = f"127.0.0.1:{PORT}"
_LONGEST = 1000

_KEYS = (
    Key("ann", digest_secret(SECRET), Right.READ),
    Key("late", digest_secret(f"{SECRET}-late"), Right.ADMIN, expires_at=1.0),
    Key("writer", digest_secret(f"{SECRET}-writer"), Right.WRITE),
    Key("watcher", digest_secret(f"{SECRET}-watcher"), Right.METRICS),
    Key("guest", digest_secret(f"{SECRET}-guest"), Right.WRITE, collections=frozenset({"papers"})),
)
_PLACES = {
    "/read": Route("/read", Right.READ, _LONGEST, collection="default"),
    "/write": Route("/write", Right.WRITE, _LONGEST, collection="default"),
    "/admin": Route("/admin", Right.ADMIN, _LONGEST),
    "/metrics": Route("/metrics", Right.METRICS, _LONGEST),
    "/stream": Route("/stream", Right.READ, _LONGEST, is_stream=True),
    "/open": Route("/open", None, _LONGEST),
    "/probe": Route("/probe", None, _LONGEST, is_probe=True),
}
_NOWHERE = Route("other", Right.READ, _LONGEST)


class Answer(NamedTuple):
    """What the guard let pass."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> str:
        return str(json.loads(self.body)["error"])


class Application:
    """Reads what it is sent, and answers with as much."""

    def __init__(self, work: Callable[[], object] = lambda: None) -> None:
        self.keys: list[str] = []
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = context_of(scope).key
        self.keys.append(key.name if key else "")
        n_bytes, is_going_on = 0, True
        while is_going_on:
            message = await receive()
            n_bytes += len(message.get("body", b""))
            is_going_on = message.get("more_body", False)
        self._work()
        body = str(n_bytes).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"1")]})
        await send({"type": "http.response.body", "body": body})


class Connection:
    """A connection by which a part of the body has yet to come."""

    owner = b""
    awaits_body = True


class World:
    """A gate before an application, and requests to it."""

    def __init__(self, app: Any = None, *, rate: Rate | None = None, needs_key: bool = True) -> None:
        self.now = 0.0
        self.app = app or Application()
        self.used: list[bytes] = []
        self.metrics = Metrics()
        self.budgets = ConcurrencyBudgets()
        access = Access(HttpAddress("127.0.0.1", PORT))
        rules = GuardPolicy(
            route_of=lambda path, _: _PLACES.get(path, _NOWHERE),
            authenticator=Authenticator(
                lambda: _KEYS,
                token=TOKEN,
                needs_key=needs_key,
                login_throttle=LoginThrottle(clock=lambda: self.now),
                on_use=self.used.append,
            ),
            buckets=TokenBuckets(rate or Rate(100, 200), clock=lambda: self.now),
            is_allowed_host=lambda host: access.is_allowed_host(host, PORT),
            is_allowed_origin=lambda origin: access.is_allowed_origin(origin, PORT),
            budgets=self.budgets,
            metrics=self.metrics,
        )
        self.gate = RequestGuard(self.app, rules, clock=lambda: self.now)

    def ask(self, path: str = "/read", *, key: str = SECRET, method: str = "POST", **given: Any) -> Answer:
        headers = [(b"host", given.get("host", _HOST).encode())]
        headers += [(b"authorization", f"Bearer {key}".encode())] if key else []
        headers += [(name.encode(), value.encode("latin-1")) for name, value in given.get("headers", ())]
        pieces = iter(given.get("body", [b""]))
        sent: list[Message] = []

        async def receive() -> Message:
            piece = next(pieces, None)
            if piece is None:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": piece, "more_body": piece != b""}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "headers": headers,
            "client": (given.get("client", "192.0.2.1"), 40_000),
            "state": {CONNECTION_KEY: given["connection"]} if "connection" in given else {},
            "http_version": given.get("http_version", "1.1"),
        }
        anyio.run(self.gate, scope, receive, send)
        start = sent[0]
        names = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], names, b"".join(message["body"] for message in sent[1:]))


@pytest.fixture
def log() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(formatter(LogFormat.JSON))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield lambda: [json.loads(line) for line in written.getvalue().splitlines()]
    root.setLevel(level)
    root.removeHandler(handler)


@pytest.mark.parametrize("path", ["/read", "/write", "/admin", "/metrics", "/nowhere", "/mcp", "/../read", ""])
@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("authorization", "")],
        [("authorization", "Bearer")],
        [("authorization", "Bearer ")],
        [("authorization", f"Bearer {SECRET[:-1]}")],
        [("authorization", f"Bearer {SECRET}x")],
        [("authorization", f"Bearer {SECRET[:8]}")],
        [("authorization", f"Basic {TOKEN}")],
        [("authorization", f"Bearer: {TOKEN}")],
        [("authorization", TOKEN)],
        [("authorization", f"Bearer {TOKEN}"), ("authorization", f"Bearer {TOKEN}")],
        [("authorization", f"Bearer {TOKEN}, Bearer {TOKEN}")],
        [("authorization", "Bearer ünïcödé")],
        [("authorization", f"Bearer {SECRET}-late")],
        [("authorization", f"Bearer {SECRET}-revoked")],
        [("authorization", "Bearer " + "x" * 60_000)],
    ],
)
def test_nobody_passes_without_a_key_that_is_valid(path: str, headers: list[tuple[str, str]]) -> None:
    world = World()
    answer = world.ask(path, key="", headers=headers)
    assert (answer.status, answer.error) == (401, "unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert world.app.keys == []


@pytest.mark.parametrize("given", [f"bearer {SECRET}", f"BEARER {SECRET}", f"Bearer  {SECRET} "])
def test_a_key_that_is_valid_passes_however_it_is_written(given: str) -> None:
    world = World()
    assert world.ask(key="", headers=[("authorization", given)]).status == 200
    assert world.app.keys == ["ann"]


@pytest.mark.parametrize(
    ("key", "passes"),
    [
        (SECRET, {"/read", "/stream", "/open", "/probe", "/nowhere"}),
        (f"{SECRET}-writer", {"/read", "/write", "/stream", "/open", "/probe", "/nowhere"}),
        (f"{SECRET}-watcher", {"/metrics", "/open", "/probe"}),
        (TOKEN, {"/read", "/write", "/admin", "/metrics", "/stream", "/open", "/probe", "/nowhere"}),
    ],
)
def test_a_key_passes_where_its_right_reaches(key: str, passes: set[str]) -> None:
    world = World()
    answers = {path: world.ask(path, key=key) for path in (*_PLACES, "/nowhere")}
    assert {path for path, answer in answers.items() if answer.status == 200} == passes
    assert {answer.error for path, answer in answers.items() if path not in passes} <= {"forbidden"}


def test_a_collection_that_a_key_is_not_for_seems_not_to_be_there() -> None:
    answer = World().ask("/read", key=f"{SECRET}-guest")
    assert (answer.status, answer.error) == (404, "not_found")


def test_everybody_may_do_everything_where_no_key_is_wanted() -> None:
    world = World(needs_key=False)
    assert {world.ask(path, key="").status for path in _PLACES} == {200}


@pytest.mark.parametrize(
    "host", ["", "evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:8765", "null"]
)
def test_a_host_that_is_not_ours_is_refused_but_to_probes(host: str) -> None:
    world = World()
    assert {world.ask(path, host=host).status for path in _PLACES if path != "/probe"} == {421}
    assert world.ask("/probe", host=host, key="").status == 200


def test_two_hosts_are_none() -> None:
    assert World().ask(headers=[("host", _HOST)]).status == 421


@pytest.mark.parametrize("host", [_HOST, "localhost:8765", "LOCALHOST:8765", "[::1]:8765"])
def test_a_host_that_is_ours_passes(host: str) -> None:
    assert World().ask(host=host).status == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("null", 403),
        ("file://", 403),
        ("http://evil.example", 403),
        ("https://127.0.0.1", 403),
        (f"ftp://{_HOST}", 403),
        (f"http://{_HOST}.evil.example", 403),
        (f"http://{_HOST}", 200),
        ("http://localhost:8765", 200),
    ],
)
def test_a_page_of_another_origin_may_not_ask_even_with_a_key(origin: str, status: int) -> None:
    world = World()
    assert world.ask(headers=[("origin", origin)]).status == status
    assert world.ask("/open", key="", headers=[("origin", origin)]).status == status


def test_two_origins_are_one_too_many() -> None:
    origins = [("origin", f"http://{_HOST}"), ("origin", f"http://{_HOST}")]
    assert World().ask(headers=origins).status == 403


def test_a_body_that_says_that_it_is_too_long_is_not_read() -> None:
    world = World()
    answer = world.ask(headers=[("content-length", str(_LONGEST + 1))])
    assert (answer.status, answer.error) == (413, "too_large")
    assert world.app.keys == []


@pytest.mark.parametrize("said", [[], [("content-length", "1")]])
def test_a_body_that_is_longer_than_it_says_is_left(said: list[tuple[str, str]]) -> None:
    answer = World().ask(headers=said, body=[b"x" * _LONGEST, b"x", b"x" * 10**6, b""])
    assert (answer.status, answer.error) == (413, "too_large")


def test_a_body_of_the_greatest_length_passes() -> None:
    assert World().ask(body=[b"x" * _LONGEST, b""]).body == str(_LONGEST).encode()


def test_a_bug_is_told_as_one_without_its_words(log: Callable[[], list[dict[str, Any]]]) -> None:
    def fail() -> None:
        raise ValueError(SECRET_WORDS)

    answer = World(Application(fail)).ask()
    assert (answer.status, answer.error) == (500, "internal")
    assert SECRET_WORDS not in answer.body.decode()
    bug, request = log()
    assert (bug["exception"], bug["request_id"]) == ("ValueError", answer.headers["x-request-id"])
    assert any(place.startswith("test_gate:") or ".test_gate:" in place for place in bug["raised_at"])
    assert (request["status"], request["request_id"]) == (500, bug["request_id"])
    assert SECRET_WORDS not in json.dumps([bug, request])


def test_too_much_to_do_is_no_bug(log: Callable[[], list[dict[str, Any]]]) -> None:
    def refuse() -> None:
        raise BusyError("the server is busy: too many requests are waiting")

    answer = World(Application(refuse)).ask()
    assert (answer.status, answer.error) == (503, "busy")
    assert [(line["event"], line["status"]) for line in log()] == [("request", 503)]


def test_a_client_that_goes_away_is_no_bug(log: Callable[[], list[dict[str, Any]]]) -> None:
    def leave() -> None:
        raise ClientDisconnect

    world = World(Application(leave))
    with pytest.raises(IndexError):  # nothing was sent
        world.ask()
    assert [(line["event"], line["status"]) for line in log()] == [("request", 499)]


def test_every_refusal_has_the_same_form() -> None:
    world = World()
    answers = [world.ask(key=""), world.ask(host="evil.example"), world.ask("/admin")]
    assert [answer.status for answer in answers] == [401, 421, 403]
    for answer in answers:
        said = json.loads(answer.body)
        assert list(said) == ["error", "detail", "status_code", "timestamp", "request_id"]
        assert said["status_code"] == answer.status
        assert said["request_id"] == answer.headers["x-request-id"]
        assert answer.headers["content-type"] == "application/json"
        time.strptime(said["timestamp"], "%Y-%m-%dT%H:%M:%SZ")


def test_a_request_keeps_the_id_that_it_came_with() -> None:
    seen: list[str] = []
    world = World(Application(lambda: seen.append(request_id.get())))
    assert world.ask(headers=[("x-request-id", "mine-1.a_B")]).headers["x-request-id"] == "mine-1.a_B"
    assert seen == ["mine-1.a_B"]
    assert request_id.get() == ""


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, '"', "a\nb", "é", "${jndi:ldap://x}"])
def test_an_id_that_cannot_stand_in_a_log_is_replaced(given: str) -> None:
    world = World()
    first, second = (world.ask(headers=[("x-request-id", given)]).headers["x-request-id"] for _ in range(2))
    assert given not in {first, second}
    assert first != second


def test_two_ids_are_none() -> None:
    answer = World().ask(headers=[("x-request-id", "one"), ("x-request-id", "two")])
    assert answer.headers["x-request-id"] not in {"one", "two"}


def test_every_answer_is_kept_by_nobody_and_taken_for_what_it_says() -> None:
    headers = World().ask().headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["x-own"] == "1"


def test_who_asks_too_often_is_told_when_to_come_back_and_others_are_not_held_up() -> None:
    world = World(rate=Rate(per_second=0.5, burst=3))
    assert [world.ask().status for _ in range(4)] == [200, 200, 200, 429]
    refused = world.ask()
    assert (refused.error, refused.headers["retry-after"]) == ("too_many_requests", "2")
    assert world.ask(key=TOKEN).status == 200
    world.now += 2
    assert [world.ask().status for _ in range(2)] == [200, 429]


def test_who_guesses_keys_has_to_wait_and_learns_nothing_of_the_next_guess() -> None:
    world = World()
    assert world.ask(client="192.0.2.7").status == 200
    guesses = [world.ask(key=f"dirindex_guess{number}").status for number in range(40)]
    assert guesses == [401] * 30 + [429] * 10
    assert world.ask(key=SECRET).status == 429, "nor of one that is right"
    assert world.ask(key="").headers["retry-after"] == "1"
    assert world.ask(key=SECRET, client="192.0.2.7").status == 200, "others are not held up"
    world.now += 1
    assert [world.ask(key=SECRET).status, world.ask(key="x").status, world.ask(key="x").status] == [200, 401, 429]
    assert world.ask(key=SECRET).status == 200, "nor is who has been there before"
    assert world.ask(key=TOKEN).status == 429


def test_addresses_that_have_shown_no_good_key_are_bounded_in_number_and_grouped() -> None:
    strangers = LoginThrottle(Rate(1, 2), clock=lambda: 0.0)
    for number in range(2):
        strangers.record_failure(f"2001:db8::{number}")
    assert strangers.seconds_to_wait("2001:db8::ffff:1", b"") == 1
    assert strangers.seconds_to_wait("2001:db8:0:1::1", b"") == 0
    for number in range(20_000):
        strangers.record_failure(f"10.0.{number // 250}.{number % 250}")
    assert strangers.count() == 10_000


def test_a_use_of_a_key_is_noted_and_a_guess_or_the_token_of_an_operator_is_not() -> None:
    world = World()
    for key in (SECRET, "guess", "", TOKEN):
        world.ask(key=key)
    assert world.used == [digest_secret(SECRET)]


def _fill(world: World, secret: str, stage: RequestStage, number: int | None = None) -> list[BudgetClaim]:
    """Hold requests of a key in hand: as many as it may, unless a number says otherwise."""
    claims = [BudgetClaim(world.budgets, digest_secret(secret)) for _ in range(number or MAX_REQUESTS_OF_KEY[stage])]
    assert not any(claim.enter_stage(stage) for claim in claims)
    return claims


def test_a_full_server_says_so_at_once_but_to_those_who_watch_it_or_have_few_requests_in_hand() -> None:
    world = World()
    for number in range(MAX_ANSWERS // 50):
        _fill(world, f"{SECRET}-{number}", RequestStage.ANSWER, 50)
    few = _fill(world, SECRET, RequestStage.ANSWER, 7)
    assert world.ask().status == 200
    few += _fill(world, SECRET, RequestStage.ANSWER, 1)
    answer = world.ask()
    assert (answer.status, answer.error, answer.headers["retry-after"]) == (503, "busy", "1")
    assert world.ask(key=TOKEN).status == 200
    assert world.ask("/probe", key="").status == 200
    assert world.ask("/metrics", key=f"{SECRET}-watcher").status == 200
    few[0].release()
    assert world.ask().status == 200


@pytest.mark.parametrize(
    ("path", "stage", "connection"),
    [
        ("/read", RequestStage.ANSWER, {}),
        ("/stream", RequestStage.STREAM, {}),
        ("/read", RequestStage.BODY, {"connection": Connection()}),
        ("/stream", RequestStage.BODY, {"connection": Connection()}),
    ],
)
def test_who_has_as_much_in_hand_as_a_key_may_is_told_so_and_nobody_else(
    path: str, stage: RequestStage, connection: dict[str, Any]
) -> None:
    world = World()
    claims = _fill(world, SECRET, stage)
    answer = world.ask(path, **connection)
    assert (answer.status, answer.error, answer.headers["retry-after"]) == (429, "too_many_requests", "1")
    assert world.app.keys == []
    assert world.ask(path, key=TOKEN, **connection).status == 200
    claims[0].release()
    assert world.ask(path, **connection).status == 200


def test_requests_that_were_answered_or_refused_count_no_more() -> None:
    world = World(rate=Rate(1000, 1000))
    for _ in range(2 * MAX_REQUESTS_OF_KEY[RequestStage.ANSWER]):
        assert world.ask(body=[b"x", b""]).status == 200
        assert world.ask(body=[b"x", b""], connection=Connection()).status == 200
        assert world.ask(body=[b"x" * 2 * _LONGEST, b""], connection=Connection()).status == 413


def test_a_request_counts_as_one_to_answer_when_its_body_is_there() -> None:
    world = World()
    claims = _fill(world, SECRET, RequestStage.ANSWER)
    answer = world.ask(body=[b"x", b"y", b""], connection=Connection())
    assert (answer.status, world.app.keys) == (429, ["ann"])
    claims[0].release()
    assert world.ask(body=[b"x", b"y", b""], connection=Connection()).body == b"2"


def test_bodies_in_hand_of_a_key_have_a_limit_together() -> None:
    world = World()
    claim = BudgetClaim(world.budgets, digest_secret(SECRET))
    assert claim.add_bytes(MAX_BYTES_OF_KEY - 10) is None
    assert [world.ask(body=[b"x" * length, b""]).status for length in (10, 11, 10)] == [200, 429, 200]
    assert world.ask(body=[b"x" * 11, b""], key=TOKEN).status == 200
    claim.release()
    assert world.ask(body=[b"x" * 11, b""]).status == 200


def test_a_connection_by_which_more_of_a_body_would_come_is_closed_with_the_answer_and_known_by_its_key() -> None:
    connection = Connection()
    assert World().ask(body=[b"x" * 2 * _LONGEST, b""], connection=connection).headers["connection"] == "close"
    assert connection.owner == digest_secret(SECRET)
    connection.awaits_body = False
    assert "connection" not in World().ask(body=[b"x", b""], connection=connection).headers


@pytest.mark.parametrize(
    ("http_version", "headers", "status"),
    [
        ("1.1", ["content-length", "transfer-encoding"], 400),
        ("1.1", ["transfer-encoding", "content-length"], 400),
        ("1.0", ["transfer-encoding"], 400),
        ("1.1", ["transfer-encoding"], 200),
        ("1.0", ["content-length"], 200),
    ],
)
def test_a_body_with_two_ends_is_refused_by_whomever_it_comes(
    http_version: str, headers: list[str], status: int
) -> None:
    world = World()
    for path, key in (("/read", SECRET), ("/probe", ""), ("/open", "")):
        answer = world.ask(path, key=key, http_version=http_version, headers=[(name, "1") for name in headers])
        assert (answer.status, answer.headers.get("connection")) == (status, "close" if status != 200 else None)


def test_the_log_tells_what_became_of_a_request_and_nothing_that_was_in_it(
    log: Callable[[], list[dict[str, Any]]],
) -> None:
    world = World(Application(lambda: logging.getLogger("dirindex.serve").warning("%s is odd", SECRET_WORDS)))
    world.ask(body=[SECRET_WORDS.encode(), b""])
    world.ask(f"/{SECRET_WORDS}", key="")
    other = logging.getLogger("some.library")
    other.warning(f"no idea what {SECRET_WORDS} is")
    told, answered, refused, elsewhere = log()
    assert told["event"] == "%s is odd"
    assert told["request_id"] == answered["request_id"]
    assert answered["route"] == "/read"
    assert (answered["key"], answered["status"], answered["bytes_in"]) == ("ann", 200, len(SECRET_WORDS))
    assert (refused["route"], refused["key"], refused["refusal"]) == ("other", "", "unauthorized")
    assert elsewhere["event"].startswith("some.library at ")
    assert SECRET_WORDS not in json.dumps([told, answered, refused, elsewhere])
    assert SECRET not in json.dumps([told, answered, refused, elsewhere])


def test_metrics_count_by_route_and_never_by_path() -> None:
    world = World()
    world.ask()
    world.ask(f"/{SECRET_WORDS}")
    world.ask(key="")
    world.ask(method="BREW")
    text = world.metrics.text()
    assert 'dirindex_requests_total{method="POST",route="/read",status="200"} 1' in text
    assert 'dirindex_requests_total{method="POST",route="other",status="200"} 1' in text
    assert 'dirindex_requests_total{method="OTHER",route="/read",status="200"} 1' in text
    assert 'dirindex_refusals_total{reason="unauthorized"} 1' in text
    assert 'dirindex_request_seconds_bucket{route="/read",le="+Inf"} 3' in text
    assert "dirindex_requests_in_hand 0" in text
    assert SECRET_WORDS not in text
    assert "BREW" not in text
