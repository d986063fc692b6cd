"""Nobody has this program ask, on its behalf, what lies behind a firewall: every trick that is known to have worked."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import pytest

from directory_indexer.config.services import parse_host_rule
from directory_indexer.core.errors import DirIndexError, UnavailableError, UsageError
from directory_indexer.integrations.converting import fetching
from directory_indexer.integrations.converting.destinations import Destinations, addresses_of, is_public
from directory_indexer.integrations.converting.fetching import Validators, fetch, fetch_changed

PUBLIC: Final = "93.184.215.14"
SIX: Final = "2606:2800:220:1:248:1893:25c8:1946"

REFUSED_URLS: Final = [
    "file:///etc/passwd",
    "ftp://a.example/x",
    "gopher://a.example/",
    "gopher:x",
    "dict://a.example:11211/stat",
    "ldap://a.example/",
    "jar:http://a.example!/x",
    "javascript:1",
    "data:text/plain,x",
    "//a.example/x",
    "http://",
    "http:///x",
    "http:/a.example/",
    "http://[::1",
    "http://[::1]x/",
    "http://a.example:99999/",
    "http://a\x01b/",
    "http://a.example/\r\nHost: inside",
    "http://a.example\r\n.inside/",
    "http://a.example\\@inside.example/",
    "http://a.example/\\..\\inside",
    "http://a.example\t/",
    "http://user:secret@a.example/",
    "http://user@a.example/",
    "http://a.example@inside.example/",
    "http://a.example:80@inside.example/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://0177.0.0.1/",
    "http://0/",
    "http://00000127.0.0.1/",
    "http://127.0.0.1./",
    "http://256.256.256.256/",
    "http://1.2.3.4.5/",
    "http://①②⑦.⓪.⓪.①/",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ\\x/",
    "http://a/" + 70_000 * "x",
]

PRIVATE_ADDRESSES: Final = [
    "127.0.0.1",
    "127.255.255.254",
    "10.1.2.3",
    "100.64.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "169.254.169.254",
    "169.254.170.2",
    "0.0.0.0",  # noqa: S104 - refused
    "0.1.2.3",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "fe80::1%eth0",
    "fc00::1",
    "fd00:ec2::254",
    "fec0::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::10.0.0.1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2002:a9fe:a9fe::",
    "2001:0:5ef5:79fb::1",
    "2001:db8::1",
    "3fff::1",
    "2606:4700::5efe:10.0.0.1",
    "2606:4700::200:5efe:192.168.0.1",
    "100::1",
    "4000::1",
]

PUBLIC_ADDRESSES: Final = [
    PUBLIC,
    "8.8.8.8",
    SIX,
    "64:ff9b::93.184.215.14",
    "2002:5db8:d70e::1",
    "2606:4700::5efe:93.184.215.14",
]


class Site(BaseHTTPRequestHandler):
    """Answers as the path says, and counts what it is asked."""

    asked: Final[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path.startswith("/to/"):
            self._answer(302, b"", Location=self.path.removeprefix("/to/"))
        elif self.path.startswith("/type/"):
            self._answer(200, b"x", Content_Type=self.path.removeprefix("/type/"))
        elif self.path in ("/loop", "/cookie"):
            self._answer(302, b"", Location="/loop" if self.path == "/loop" else "/headers", Set_Cookie="a=b")
        elif self.path == "/headers":
            self._answer(200, str(self.headers).encode())
        elif self.path == "/etag":
            is_known = self.headers["If-None-Match"] == '"1"'
            self._answer(304 if is_known else 200, b"" if is_known else b"x", ETag='"1"')
        else:
            self._raw(self.path)

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def _raw(self, path: str) -> None:
        pieces = {
            "/flood": (b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"a" * 1000 + b"\r\n", 2_000),
            "/names": (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", 200_000),
            "/chunk": (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                b"f4240\r\n" + b"a" * 1_000_000 + b"\r\n",
                60,
            ),
            "/extension": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"a" * 100_000, 60),
            "/negative": (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", b"x", 1),
            "/lengths": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", b"abcdef", 1),
            "/smuggled": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: x\r\n\r\n", b"abcde", 1),
            "/bomb": (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", gzip.compress(bytes(60_000_000)), 1),
            "/tail": (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"x"), bytes(1_000_000), 60),
            "/twice": (b"HTTP/1.1 200 OK\r\n" + 2 * b"Content-Encoding: gzip\r\n" + b"\r\n", b"x", 1),
            "/hidden": (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\ncontent-encoding: identity\r\n\r\n", b"x", 1),
            "/cut": (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", gzip.compress(b"text")[:-9], 1),
            "/other": (b"SSH-2.0-OpenSSH_9.9\r\n", b"", 1),
        }
        head, piece, times = pieces[path]
        with suppress(OSError):
            self.wfile.write(head)
            for _ in range(times):
                self.wfile.write(piece)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def port() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    Site.asked.clear()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def site(port: int) -> Destinations:
    """Allow what plays the internet in a test: one address of this machine, at its port."""
    return Destinations((parse_host_rule(f"127.0.0.1:{port}"),))


def look_up(host: str, _: int) -> list[str]:
    return ["127.0.0.1"] if host.endswith(".example") else [host]


@pytest.mark.parametrize("url", REFUSED_URLS)
def test_what_is_no_clear_address_of_the_web_is_not_even_looked_up(url: str) -> None:
    asked: list[str] = []

    def look_up(host: str, _: int) -> list[str]:
        asked.append(host)
        return [PUBLIC]

    with pytest.raises(UsageError):
        fetch(url, look_up=look_up)
    assert not asked


@pytest.mark.parametrize("address", PRIVATE_ADDRESSES)
def test_an_address_of_another_network_is_refused_before_anything_is_sent(address: str) -> None:
    assert not is_public(address)
    for answers in ([address], [PUBLIC, address], [address, PUBLIC]):
        with pytest.raises(UsageError, match="private network") as refused:
            fetch("http://intranet.example/", look_up=lambda *_, answers=answers: answers)
        assert address not in refused.value.message, "who asks learns nothing of the network"


@pytest.mark.parametrize("address", PUBLIC_ADDRESSES)
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "[::ffff:7f00:1]", "[::ffff:127.0.0.1]", "localhost", "LOCALHOST", "10.1.2.3"]
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_this_machine_is_refused_by_all_its_names(scheme: str, host: str) -> None:
    with pytest.raises(UsageError, match="private network"):
        fetch(f"{scheme}://{host}/", look_up=addresses_of)


@pytest.mark.parametrize("written", [22, 25, 6379, 8080, 65535])
def test_no_other_port_than_those_of_the_web_is_asked(written: int) -> None:
    with pytest.raises(UsageError, match=f"port {written}"):
        fetch(f"http://a.example:{written}/", look_up=lambda *_: [PUBLIC])


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://10.0.0.1/",
        "https://10.0.0.1/",
        "//10.0.0.1/",
        "http://127.0.0.1/",
        "http://127.0.0.1:6379/",
        "http://2130706433/",
        "http://user:secret@a.example/",
        "file:///etc/passwd",
        "gopher://a.example/",
        "http://a.example\\@10.0.0.1/",
        "http://a.example:22/",
        "",
    ],
)
@pytest.mark.parametrize("n_before", [0, 2])
def test_every_redirection_is_judged_again(port: int, target: str, n_before: int) -> None:
    chain = "".join(f"/to/http://{name}.example:{port}" for name in "bcd"[:n_before])
    with pytest.raises(DirIndexError):
        fetch(f"http://a.example:{port}{chain}/to/{target}", destinations=site(port), look_up=look_up)
    assert all(path.startswith("/to/") for path in Site.asked)


def test_a_name_that_leads_elsewhere_the_next_time_is_asked_once(port: int) -> None:
    answers = iter([["127.0.0.1"], ["10.0.0.1"], ["10.0.0.1"]])
    found = fetch(f"http://a.example:{port}/type/text/plain", destinations=site(port), look_up=lambda *_: next(answers))
    assert found.content == b"x"
    assert next(answers) == ["10.0.0.1"], "one connection, and so one question"


def test_a_name_that_leads_inside_when_it_is_redirected_to_is_refused(port: int) -> None:
    answers = {"a.example": ["127.0.0.1"], "b.example": ["127.0.0.1", "10.0.0.1"]}
    with pytest.raises(UsageError, match="private network"):
        fetch(
            f"http://a.example:{port}/to/http://b.example:{port}/headers",
            destinations=site(port),
            look_up=lambda host, _: answers[host],
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/loop", "redirections"),
        ("/twice", "compresses its response with 'gzip, gzip'"),
        ("/hidden", "compresses its response with 'gzip, identity'"),
        ("/bomb", "more than 50 MB"),
        ("/cut", "error"),
        ("/chunk", "more than 50 MB"),
        ("/extension", "ProtocolError"),
        ("/flood", "ProtocolError"),
        ("/names", "ProtocolError"),
        ("/negative", "ProtocolError"),
        ("/lengths", "ProtocolError"),
        ("/smuggled", "ProtocolError"),
        ("/other", "ProtocolError"),
        ("/type/video/mp4", "not a document"),
        ("/type/audio/mpeg", "not a document"),
        ("/type/font/woff2", "not a document"),
        ("/type/multipart/mixed", "not a document"),
    ],
)
def test_an_answer_that_goes_beyond_all_measure_is_left(port: int, path: str, told: str) -> None:
    with pytest.raises(DirIndexError, match=told):
        fetch(f"http://a.example:{port}{path}", destinations=site(port), look_up=look_up)


def test_what_comes_behind_the_end_of_what_is_packed_is_not_gathered(port: int) -> None:
    assert fetch(f"http://a.example:{port}/tail", destinations=site(port), look_up=look_up).content == b"x"


def test_what_is_asked_for_behind_the_path_stays_out_of_messages(port: int) -> None:
    with pytest.raises(UnavailableError) as raised:
        fetch(f"http://a.example:{port}/loop?", destinations=site(port), look_up=look_up)
    assert "?" not in raised.value.message
    with pytest.raises(UsageError) as refused:
        fetch(
            f"http://a.example:{port}/to/http://b.example:22/?token=hunter2", destinations=site(port), look_up=look_up
        )
    assert "hunter2" not in refused.value.message


def test_nothing_is_told_that_was_not_asked_for(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    sent = fetch(f"http://a.example:{port}/cookie", destinations=site(port), look_up=look_up).content.decode().lower()
    assert sorted(line.partition(":")[0] for line in sent.split("\n") if line.strip()) == [
        "accept",
        "accept-encoding",
        "host",
        "user-agent",
    ]


def test_what_has_not_changed_is_not_sent_again(port: int) -> None:
    url = f"http://a.example:{port}/etag"
    found = fetch(url, destinations=site(port), look_up=look_up)
    known = Validators(found.etag, found.last_modified)
    assert fetch_changed(url, known, destinations=site(port), look_up=look_up) is None


def test_a_drip_of_bytes_ends_in_time(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "MAX_SECONDS", 0.0)
    with pytest.raises(UnavailableError, match="takes too long"):
        fetch(f"http://a.example:{port}/headers", destinations=site(port), look_up=look_up)


@pytest.mark.parametrize(
    ("allowed", "url", "address", "may"),
    [
        ("wiki.corp", "http://wiki.corp/", "10.0.0.1", True),
        ("wiki.corp", "http://WIKI.corp./", "10.0.0.1", True),
        ("wiki.corp", "https://wiki.corp/", "10.0.0.1", True),
        ("wiki.corp", "http://wiki.corp:8080/", "10.0.0.1", False),
        ("wiki.corp:8080", "http://wiki.corp:8080/", "10.0.0.1", True),
        ("wiki.corp:8080", "http://wiki.corp/", "10.0.0.1", False),
        ("wiki.corp", "http://evil-wiki.corp/", "10.0.0.1", False),
        ("wiki.corp", "http://wiki.corp.evil.example/", "10.0.0.1", False),
        ("wiki.corp", "http://wiki.corp/", "127.0.0.1", False),
        ("wiki.corp", "http://wiki.corp/", "169.254.169.254", False),
        ("wiki.corp", "http://wiki.corp/", "::ffff:127.0.0.1", False),
        ("*.corp", "http://a.b.corp/", "10.0.0.1", True),
        ("*.corp", "http://corp/", "10.0.0.1", False),
        ("*.corp", "http://evilcorp/", "10.0.0.1", False),
        ("10.1.0.0/16", "http://anything.example/", "10.1.2.3", True),
        ("10.1.0.0/16", "http://anything.example/", "::ffff:10.1.2.3", True),
        ("10.1.0.0/16", "http://anything.example/", "10.2.0.1", False),
        ("10.1.2.3:9200", "http://10.1.2.3:9200/", "10.1.2.3", True),
        ("10.1.2.3:9200", "http://10.1.2.3:9300/", "10.1.2.3", False),
        ("127.0.0.1", "http://localhost/", "127.0.0.1", True),
        ("[fd00::/8]:8443", "https://a.example:8443/", "fd12::1", True),
        ("[fd00::/8]:8443", "https://a.example:8443/", "fe80::1", False),
        ("public.example:8443", "https://public.example:8443/", PUBLIC, True),
        ("public.example:8443", "https://other.example:8443/", PUBLIC, False),
    ],
)
def test_an_operator_allows_hosts_networks_and_ports(allowed: str, url: str, address: str, *, may: bool) -> None:
    host, _, port = url.partition("://")[2].strip("/").partition(":")
    number = int(port or (443 if url.startswith("https") else 80))
    assert Destinations((parse_host_rule(allowed),)).may_reach(host, address, number) is may


@pytest.mark.parametrize(
    "written",
    ["", "*", "a b", "http://a", "10.0.0.0/33", "10.1.0.1/16", "[::1", "a:0", "a:99999", "a:b", "*.*.a", ".a"],
)
def test_what_allows_nothing_clear_is_a_mistake(written: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the configuration says it in words
        parse_host_rule(written)
