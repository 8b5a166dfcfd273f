"""Follows a run as the page of `tessera watch --web` does, once a second, and by IMD, until it ends: `python -m
bench.md.follower ADDRESS PORT ATOMS`. Prints how many answers and frames came, as JSON."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from http.cookiejar import CookieJar
from urllib.parse import urljoin
from urllib.request import HTTPCookieProcessor, build_opener

from imdclient.IMDClient import IMDClient

EVERY = 1.0  # s between the page's questions
GIVES_UP = 120.0  # s without a run


def ask(address: str, ended: threading.Event, answers: list[int]) -> None:
    """Asks as the page does: how the run is, and for its series where energies have been added. Notes the size of each
    answer."""
    browser = build_opener(HTTPCookieProcessor(CookieJar()))
    browser.open(address).read()

    def answer(path: str) -> bytes:
        found: bytes = browser.open(urljoin(address, path)).read()
        answers.append(len(found))
        return found

    drawn = None
    while not ended.wait(EVERY):
        status = json.loads(answer("/status")).get("status") or {}
        if (step := (status.get("energies") or {}).get("step")) != drawn:
            answer("/series")
            drawn = step


def connect(port: int, n_atoms: int) -> IMDClient:
    """Waits until the run listens."""
    until = time.monotonic() + GIVES_UP
    while True:
        try:
            return IMDClient("127.0.0.1", port, n_atoms)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def follow(address: str, port: int, n_atoms: int) -> None:
    ended, answers, frames = threading.Event(), list[int](), 0
    page = threading.Thread(target=ask, args=(address, ended, answers), daemon=True)
    page.start()
    client = connect(port, n_atoms)
    with contextlib.suppress(EOFError):
        while True:
            client.get_imdframe()
            frames += 1
    ended.set()
    page.join()
    print(json.dumps({"answers": len(answers), "frames": frames}))


if __name__ == "__main__":
    follow(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
