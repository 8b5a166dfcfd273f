"""A headless Chromium, spoken to by its protocol for developers through a pair of pipes: no package is needed."""

from __future__ import annotations

import itertools
import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.programs import HANGS, wait_until

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class Browser:
    """A page of a browser. What it has logged and what it asked the network for are kept."""

    def __init__(self, process: subprocess.Popen[bytes], reading: int, writing: int) -> None:
        self._process, self._reading, self._writing = process, reading, writing
        self._numbers = itertools.count(1)
        self._rest = b""
        self.logged: list[str] = []
        self.asked: list[str] = []
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Calls a method of the protocol and returns its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") == number:
                assert "error" not in found, found
                return dict(found["result"])
            self._keep(found)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._reading], [], [], HANGS)[0] or not (data := os.read(self._reading, 1 << 20)):
                pytest.fail(f"the browser says nothing; its status is {self._process.poll()}")
            self._rest += data
        message, self._rest = self._rest.split(b"\0", 1)
        return dict(json.loads(message))

    def _keep(self, event: dict[str, Any]) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Log.entryAdded":
            self.logged.append(str(parameters["entry"]["text"]))
        elif method == "Runtime.exceptionThrown":
            self.logged.append(str(parameters["exceptionDetails"]))
        elif method == "Network.requestWillBeSent":
            self.asked.append(str(parameters["request"]["url"]))

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)

    def value(self, script: str) -> Any:
        """Returns what a script comes to."""
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def wait(self, script: str) -> None:
        """Waits until a script comes to true."""
        wait_until(lambda: self.value(script) is True)

    def press(self, key: str) -> None:
        """Presses a key."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}[key]
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def show(self, width: int, height: int, dark: bool = False) -> None:
        """Sets the screen."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)


@contextmanager
def browsing(profile: Path) -> Iterator[Browser]:
    """Starts a browser with a profile in this folder. Skips the test where there is none."""
    name = next((found for name in NAMES if (found := shutil.which(name))), None)
    if name is None:
        pytest.skip(f"there is no {NAMES[0]} (Debian: chromium) to open the page with")
    to_read, their_end = os.pipe()
    our_end, to_write = os.pipe()
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
               "--disable-dev-shm-usage", "--remote-debugging-pipe", f"--user-data-dir={profile}"]  # fmt: skip
    # Chromium reads from descriptor 3 and writes to 4; dash knows no descriptor above 9.
    move = f'exec "$0" "$@" 3<&{our_end} 4>&{their_end}'
    process = subprocess.Popen(
        ["bash", "-c", move, name, *options, "about:blank"], pass_fds=(our_end, their_end), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    os.close(our_end)
    os.close(their_end)
    try:
        yield Browser(process, to_read, to_write)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()
        os.close(to_read)
        os.close(to_write)
