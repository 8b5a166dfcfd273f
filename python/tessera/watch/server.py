"""Serves the page of a run to browsers on this machine, and to nobody else.

Other users of the machine and pages of other sites that the browser has open can reach a port of the loopback, too. So
a request has to name this server in `Host` (a name that a stranger's DNS leads here does not), and to bring a cookie,
which the browser gets for the token of the address that was printed. The cookie goes with requests of the page alone
(`SameSite=Strict`), scripts do not see it (`HttpOnly`), and no address with the token is told to anybody
(`no-referrer`). A browser brings the cookies of a host to all its ports, so also to a server that somebody else has
started on this machine: therefore the page lies below a path that nobody can guess, and the cookie is for that path
alone (`Path`). Every answer has a policy by which the page loads nothing from elsewhere and runs no script but its own.
Nothing can be changed: only GET is answered. Who connects and asks slowly, or nothing, holds nobody up: of many
connections the oldest are ended.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any
from urllib.parse import parse_qs

from tessera.errors import InputError
from tessera.files import real_path
from tessera.printing import echo, told
from tessera.watch.liveness import Watch
from tessera.watch.page import page_of, text_for_page
from tessera.watch.tracks import Tracks

LOOPBACK = "127.0.0.1"
MOST_CONNECTIONS = 64  # at once; a browser opens six
_STATIC = {
    "index.html": "text/html; charset=utf-8",
    "watch.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    **dict.fromkeys(("dom.js", "map.js", "plot.js", "watch.js"), "text/javascript; charset=utf-8"),
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Source:
    """What the page asks for, as JSON. Browsers may have several pages open, so one request at a time looks."""

    def __init__(self, watching: Watch, limit: float) -> None:
        self._watching, self._limit = watching, limit
        self._name = text_for_page(real_path(watching.folder).name)  # it may go while its page is shown
        self._tracks = Tracks(watching.folder)
        self._lock = threading.Lock()

    def status(self) -> dict[str, Any]:
        """Returns how the run is, or what keeps it from being told."""
        with self._lock:
            try:
                facts = page_of(self._watching.look(), self._limit)
            except (InputError, OSError) as error:
                words = text_for_page(told(error))
                facts = {"state": "unreadable", "words": words, "is_over": False, "is_good": False, "alarms": []}
            return {"name": self._name, "drift_limit": self._limit, **facts}

    def series(self) -> dict[str, Any]:
        """Returns the columns of energy.csv that are drawn; nothing where there are none."""
        with self._lock:
            try:
                series = self._tracks.of(self._watching.look().status)
            except (InputError, OSError):
                series = None
            return series.content() if series else {}


class Server(ThreadingHTTPServer):
    """A server on the loopback; port 0: one that is free. `address` is what a browser has to open."""

    daemon_threads = True
    request_queue_size = MOST_CONNECTIONS  # with the usual 5 a browser would have to try again, seconds later

    def __init__(self, source: Source, port: int = 0) -> None:
        self.token, self.cookie = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.home = f"/{secrets.token_urlsafe(32)}/"  # the path of the page
        self.routes: dict[str, Callable[[], dict[str, Any]]] = {"status": source.status, "series": source.series}
        static = resources.files("tessera.watch") / "static"
        self.pages = {name: ((static / name).read_bytes(), kind) for name, kind in _STATIC.items()}
        self.pages[""] = self.pages.pop("index.html")
        self._open: dict[socket.socket, None] = {}  # the oldest first
        super().__init__((LOOPBACK, port), _Handler)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def cookie_name(self) -> str:
        """Returns a name with the port, by which people tell cookies apart: they are of a host with all its ports."""
        return f"tessera_watch_{self.port}"

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/enter?token={self.token}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answers in a thread of its own, and ends the oldest of too many connections."""
        self._open[request] = None
        for oldest in list(self._open)[:-MOST_CONNECTIONS]:
            with suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Ends a connection."""
        self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of a browser that has gone."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "tessera", ""
    timeout = 10  # seconds that a client may take for its request

    def do_GET(self) -> None:
        """Answers a request, unless it is refused."""
        if self.headers.get_all("Host") not in [[f"{host}:{self.server.port}"] for host in (LOOPBACK, "localhost")]:
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST, "this server has another name")
            return
        path, _, query = self.path.partition("?")
        if path == "/enter":
            self._enter(parse_qs(query).get("token", [""])[-1])
        elif self.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            self._refuse(HTTPStatus.FORBIDDEN, "a page of another site asks")
        elif not self._has_cookie():
            self._refuse(HTTPStatus.FORBIDDEN, "open the address that `tessera watch` has printed")
        elif not path.startswith(self.server.home):
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such page")
        elif (name := path.removeprefix(self.server.home)) in self.server.routes:
            self._answer(json.dumps(self.server.routes[name]()).encode(), "application/json")
        elif name in self.server.pages:
            self._answer(*self.server.pages[name])
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such page")

    def _enter(self, token: str) -> None:
        """Gives the cookie to who brings the token, and leads to the page, whose address does not hold it."""
        if not _is_same(token, self.server.token):
            self._refuse(HTTPStatus.FORBIDDEN, "this is not the address that `tessera watch` has printed")
            return
        cookie = f"{self.server.cookie_name}={self.server.cookie}; HttpOnly; SameSite=Strict; Path={self.server.home}"
        self._answer(b"", "text/plain", HTTPStatus.SEE_OTHER, {"Set-Cookie": cookie, "Location": self.server.home})

    def _has_cookie(self) -> bool:
        """Tells whether the cookie is there: browsers bring those of all servers of this host, and any may be odd."""
        cookies = [one.strip().partition("=") for one in self.headers.get("Cookie", "").split(";")]
        return any(_is_same(value, self.server.cookie) for name, _, value in cookies if name == self.server.cookie_name)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuses what is no GET, or no HTTP."""
        status = HTTPStatus(code)
        if status == HTTPStatus.NOT_IMPLEMENTED:
            status = HTTPStatus.METHOD_NOT_ALLOWED
        self._refuse(status, "only GET is answered" if status == HTTPStatus.METHOD_NOT_ALLOWED else status.phrase)

    def _refuse(self, status: HTTPStatus, words: str) -> None:
        more = {"Allow": "GET"} if status == HTTPStatus.METHOD_NOT_ALLOWED else {}
        self._answer(f"{words}\n".encode(), "text/plain; charset=utf-8", status, more)

    def _answer(
        self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK, more: dict[str, str] | None = None
    ) -> None:
        self.close_connection = True
        self.send_response(status)
        headers = {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body)), "Connection": "close"}
        for name, value in {**headers, **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Prints nothing: the terminal may be that of the run."""


def _is_same(given: str, secret: str) -> bool:
    """Compares in a time that tells nothing about where they differ."""
    return hmac.compare_digest(given.encode(errors="surrogatepass"), secret.encode())


def serve(watching: Watch, limit: float, port: int = 0) -> None:
    """Shows the page to browsers until this process is asked to end; its address is printed first. Raises `InputError`
    where the port can't be had."""
    try:
        server = Server(Source(watching, limit), port)
    except OSError as error:
        raise InputError(f"port {port} of {LOOPBACK}: {error.strerror}; choose another --port") from None
    with server:
        echo(f"{server.address}\nOpen this address in a browser on this machine; Ctrl-C ends the page, not the run.")
        server.serve_forever()
