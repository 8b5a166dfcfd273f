"""The page's server by HTTP: who is let in, what is refused, and that nothing can be changed."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tessera.errors import InputError
from tessera.watch.liveness import Watch
from tessera.watch.server import HEADERS, MOST_CONNECTIONS, Server, Source, _Handler, serve
from tests.support.programs import HANGS
from tests.watch.samples import NETWORK, table, write

FOREIGN = '<img src=x onerror="alert(1)">\x1b[31m</script>'
FOREIGN_LETTERS = "éx\u202e\u2066\x07"


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    with Server(Source(Watch(folder), 0.1)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = write(tmp_path_factory.mktemp("served") / "run", network=NETWORK, stage={"name": FOREIGN, "number": 1})
    (folder / "energy.csv").write_text(table(50))
    with serving(folder) as found:
        yield found


def ask(server: Server, path: str, method: str = "GET", headers: dict[str, str] | None = None) -> Answer:
    """Asks with the right Host and without a cookie, unless headers say otherwise. A path is one below the page's, but
    for that of the token."""
    if path.startswith("/") and not path.startswith("/enter"):
        path = server.home + path[1:]
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in ({"Host": f"127.0.0.1:{server.port}"} | (headers or {})).items():
        if value:
            connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    found = Answer(answer.status, answer.headers, answer.read())
    connection.close()
    return found


def with_cookie(server: Server, **more: str) -> dict[str, str]:
    return {"Cookie": f"other=1; {server.cookie_name}={server.cookie}", **more}


def test_the_token_gives_a_cookie_that_opens_the_page(server: Server) -> None:
    answer = ask(server, f"/enter?token={server.token}")
    assert answer.status == 303 and answer.headers["Location"] == server.home and answer.body == b""
    cookie, *attributes = answer.headers["Set-Cookie"].split("; ")
    assert set(attributes) == {"HttpOnly", "SameSite=Strict", f"Path={server.home}"} and server.token not in cookie
    page = ask(server, "/", headers={"Cookie": cookie})
    assert page.status == 200 and page.headers["Content-Type"].startswith("text/html")
    assert ask(server, "/status", headers={"Cookie": cookie, "Host": f"localhost:{server.port}"}).status == 200


@pytest.mark.parametrize("token", ["", "x", "\u00e9", "%FF", "{token}x", "{token_less}", "{cookie}"])
def test_no_other_token_gives_it(server: Server, token: str) -> None:
    token = token.format(token=server.token, token_less=server.token[:-1], cookie=server.cookie).replace(
        "\u00e9", "%C3%A9"
    )
    answer = ask(server, f"/enter?token={token}")
    assert answer.status == 403 and "Set-Cookie" not in answer.headers and server.token.encode() not in answer.body
    assert ask(server, "/enter").status == 403


@pytest.mark.parametrize("path", ["/", "/status", "/series", "/watch.js", "/none"])
def test_without_the_cookie_there_is_nothing(server: Server, path: str) -> None:
    for value in (
        "",
        f"{server.cookie_name}=",
        f"{server.cookie_name}={server.token}",
        f"tessera_watch={server.cookie}",
        f"{server.cookie_name}={server.cookie}x",
        "\x01=;;",
        f"{server.cookie_name}={server.cookie[:-1]}",
    ):
        answer = ask(server, path, headers={"Cookie": value})
        assert answer.status == 403 and b"tessera watch" in answer.body


@pytest.mark.parametrize(
    "host",
    [
        "",
        "example.org",
        "127.0.0.1",
        "localhost:1",
        "127.0.0.1.example.org:{port}",
        "example.org:{port}",
        "[::1]:{port}",
        "127.0.0.1:{port}.",
        "LOCALHOST:{port}x",
    ],
)
def test_another_host_is_refused_whatever_it_brings(server: Server, host: str) -> None:
    named = with_cookie(server, Host=host.format(port=server.port))
    for path in ("/", "/status", f"/enter?token={server.token}"):
        answer = ask(server, path, headers=named)
        assert answer.status == 421 and "Set-Cookie" not in answer.headers


def test_two_hosts_are_refused(server: Server) -> None:
    good = f"127.0.0.1:{server.port}"
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
        raw.sendall(f"GET /enter?token={server.token} HTTP/1.1\r\nHost: {good}\r\nHost: {good}\r\n\r\n".encode())
        assert b" 421 " in raw.makefile("rb").readline()


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_are_refused(server: Server, site: str) -> None:
    assert ask(server, "/status", headers=with_cookie(server, **{"Sec-Fetch-Site": site})).status == 403
    assert ask(server, "/status", headers=with_cookie(server, **{"Sec-Fetch-Site": "same-origin"})).status == 200


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get"])
def test_only_get_is_answered(server: Server, method: str) -> None:
    for path in ("/", "/status"):
        answer = ask(server, path, method, with_cookie(server))
        assert answer.status == 405 and answer.headers["Allow"] == "GET"


@pytest.mark.parametrize(
    "path",
    [
        "/index.html",
        "/../server.py",
        "/%2e%2e/server.py",
        "/static/watch.js",
        "/status/",
        "/x\u0000",
        "http://[/",
        "//[",
    ],
)
def test_there_is_nothing_else(server: Server, path: str) -> None:
    answer = ask(server, path.replace("\u0000", "%00"), headers=with_cookie(server))
    assert answer.status in (403, 404)


def test_the_cookie_goes_to_the_path_of_the_page_alone(server: Server) -> None:
    """Browsers bring it to other ports of this host, which may be somebody else's, if they are asked for its path."""
    answer = ask(server, f"/enter?token={server.token}")
    path = answer.headers["Location"]
    assert re.fullmatch(r"/[\w-]{43}/", path) and f"; Path={path}" in answer.headers["Set-Cookie"]
    assert server.token not in path and server.cookie not in path
    for name in server.pages:
        text = server.pages[name][0].decode()
        assert not re.search(r"""(href|src|from|ask\(|import)\s*=?\s*["'`]/""", text)  # which leads out of the path
    for out in ("", "status", "watch.js", f"{path[1:-1]}x/status"):
        assert ask(server, f"http:/{out}", headers=with_cookie(server)).status == 404
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
            cookie = with_cookie(server)["Cookie"]
            host = f"127.0.0.1:{server.port}"
            raw.sendall(f"GET /{out} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n".encode())
            assert b" 404 " in raw.makefile("rb").readline()


def test_every_answer_has_the_policy(server: Server) -> None:
    known = with_cookie(server)
    for path, headers in [
        ("/", known),
        ("/", {}),
        ("/status", known),
        ("/watch.js", known),
        ("/none", known),
        ("/enter", {}),
        (f"/enter?token={server.token}", {}),
        ("/", {"Host": "example.org"}),
    ]:
        answer = ask(server, path, headers=headers)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert "Access-Control-Allow-Origin" not in answer.headers and answer.headers["Server"].strip() == "tessera"
    policy = HEADERS["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "http" not in policy
    assert HEADERS["Referrer-Policy"] == "no-referrer"
    assert ask(server, "/", "POST", known).headers["Content-Security-Policy"] == policy


def test_the_page_holds_no_script_of_its_own_and_loads_nothing_from_elsewhere(server: Server) -> None:
    page = ask(server, "/", headers=with_cookie(server)).body.decode()
    assert "<script>" not in page and "style=" not in page
    names = [name for name in server.pages if name]
    for name in names:
        text = server.pages[name][0].decode()
        foreign = [line for line in text.splitlines() if "//" in line and "http" in line and "www.w3.org" not in line]
        assert foreign == [] and "innerHTML =" not in text and "insertAdjacentHTML" not in text
    assert "watch.js" in names and "watch.css" in names


def test_status_and_series_are_data(server: Server) -> None:
    answer = ask(server, "/status", headers=with_cookie(server))
    assert answer.headers["Content-Type"] == "application/json"
    found = json.loads(answer.body)
    assert found["name"] == "run" and found["state"] == "running" and found["drift_limit"] == 0.1
    assert found["status"]["stage"]["name"] == FOREIGN.replace("\x1b", "\\u001b") and found["status"]["step"] == 1200
    series = json.loads(ask(server, "/series", headers=with_cookie(server)).body)
    assert len(series["time"]) == 50 and series["stride"] == 1 and "bond" not in series


def test_the_page_gets_the_types_that_it_expects(tmp_path: Path) -> None:
    """Otherwise it would stop at the first that it does not expect, and say that the server does not answer."""
    odd = {"toString": None, "valueOf": 1}
    values: list[Any] = [None, True, 7, "x", odd, [None, odd], [[]], [{"name": odd, "parent": odd, "seconds": odd}]]
    for value in values:
        network = {"hosts": value, "subnets": value, "source": value, "is_measured": value}
        names = ("n_atoms", "step", "stages", "stage", "energies", "drift", "imbalance", "minimization", "phases")
        write(tmp_path, network=network, process={"host": "n1", "id": "7"}, **dict.fromkeys(names, value))
        with serving(tmp_path) as server:
            found = json.loads(ask(server, "/status", headers=with_cookie(server)).body)["status"]
        assert found["process"] == {"host": "n1", "id": 7} and found["step"] == (7 if value == 7 else None)
        assert found["network"]["source"] == (value if value == "x" else "")
        for row in (*found["phases"], *found["stages"], *found["network"]["hosts"], *found["network"]["subnets"]):
            assert isinstance(row, dict) and not any(isinstance(one, dict | list) for one in row.values())
        for one in (found["stage"], found["energies"], found["drift"], found["imbalance"], found["minimization"]):
            assert one is None or not any(isinstance(part, dict | list) for part in one.values())


def test_the_page_gets_texts_that_do_nothing(tmp_path: Path) -> None:
    """Marks that turn the direction of writing would show other names, and other words after them."""
    end = {"exit_status": 3, "message": FOREIGN_LETTERS}
    one = {"name": FOREIGN_LETTERS}
    network = {"source": FOREIGN_LETTERS, "hosts": [one]}
    folder = write(tmp_path / "a\u202eb", stages=[one], stage=one, phases=[one], state="failed", end=end,
                   process={"host": FOREIGN_LETTERS, "id": 1}, network=network)  # fmt: skip
    with serving(folder) as server:
        text = json.dumps(json.loads(ask(server, "/status", headers=with_cookie(server)).body), ensure_ascii=False)
    assert "é" in text and text.count("x\\\\u202e\\\\u2066\\\\u0007") == 7 and not re.search("[\u202e\u2066\x07]", text)
    assert '"a\\\\u202eb"' in text


def test_the_page_gets_no_more_than_it_can_draw(tmp_path: Path) -> None:
    rows = [{"name": "x", "seconds": 1.0, "subnet": 0, "parent": -1}] * 20_000
    long = "x" * 1_000_000
    folder = write(tmp_path, phases=[{"name": long}, *rows], stages=rows, network={"hosts": rows, "subnets": rows},
                   state="failed", end={"exit_status": 3, "message": long})  # fmt: skip
    with serving(folder) as server:
        body = ask(server, "/status", headers=with_cookie(server)).body
    found = json.loads(body)
    assert len(body) < 5_000_000 and len(found["words"]) < 3000 and found["words"].endswith("…")
    assert len(found["status"]["phases"]) == 200 and len(found["status"]["network"]["hosts"]) == 16384


def test_a_status_that_is_damaged_is_told(tmp_path: Path) -> None:
    (tmp_path / "status.json").write_text("{")
    with serving(tmp_path) as server:
        found = json.loads(ask(server, "/status", headers=with_cookie(server)).body)
        assert found["state"] == "unreadable" and "damaged" in found["words"] and not found["is_good"]
        assert json.loads(ask(server, "/series", headers=with_cookie(server)).body) == {}


def test_a_run_that_vanishes_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one in the working directory, which has no name then, and where the name is a link to itself."""
    folder = write(tmp_path / "run")
    monkeypatch.chdir(folder)
    with serving(folder) as server, serving(Path()) as here:
        shutil.rmtree(folder)
        found = json.loads(ask(server, "/status", headers=with_cookie(server)).body)
        assert found["state"] == "unreadable" and found["name"] == "run" and "is not there" in found["words"]
        assert json.loads(ask(here, "/status", headers=with_cookie(here)).body)["name"] == "run"
        folder.symlink_to("run")
        for path in ("/status", "/series"):
            assert ask(server, path, headers=with_cookie(server)).status == 200


@pytest.mark.parametrize("other", ["a[b]=1", 'a={"b":"c"}', 'a="b', "a b=c", "a", "\xe9=\xe9", "", "a=\x01"])
def test_cookies_of_other_servers_of_this_host_lock_nobody_out(server: Server, other: str) -> None:
    own = f"{server.cookie_name}={server.cookie}"
    for cookies in (f"{other}; {own}", f"{own}; {other}", f"{server.cookie_name}=old; {own}"):
        assert ask(server, "/status", headers={"Cookie": cookies}).status == 200


def test_many_who_ask_nothing_hold_nobody_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Handler, "timeout", HANGS)
    with ExitStack() as all_of_them:
        idle = [
            all_of_them.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            for _ in range(MOST_CONNECTIONS + 10)
        ]
        for one in idle[:11]:
            one.sendall(b"GET /status HTTP/1.1\r\n")  # and nothing else
        assert ask(server, "/status", headers=with_cookie(server)).status == 200
        assert [one.recv(1) for one in idle[:10]] == [b""] * 10


def test_it_listens_on_the_loopback_alone_with_secrets_of_its_own(server: Server, tmp_path: Path) -> None:
    assert server.server_address[0] == "127.0.0.1"
    with serving(write(tmp_path / "run")) as other:
        secrets = {server.token, server.cookie, server.home, other.token, other.cookie, other.home}
        assert len(secrets) == 6 and len(server.token) >= 43
        assert ask(other, "/status", headers=with_cookie(server)).status == 403
        with pytest.raises(InputError, match=f"port {other.port} of 127"):
            serve(Watch(tmp_path), 0.1, other.port)


def test_what_is_no_http_is_refused(server: Server) -> None:
    for text in (
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"x" * 70000 + b" HTTP/1.1\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw:
            raw.sendall(text)
            answer = raw.makefile("rb").read()
            assert b"200" not in answer.split(b"\n")[0] and b"<" not in answer
