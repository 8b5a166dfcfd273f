"""The page in a browser: what it shows, on narrow and wide screens, by keyboard, and that foreign text is text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera.errors import InputError
from tessera.watch.status import read_status
from tests.watch.browser import Browser, browsing
from tests.watch.samples import NETWORK, table, write
from tests.watch.test_server import serving

pytestmark = pytest.mark.slow(part="pictures")

FOREIGN = '<img src=x onerror="document.title=\'hurt\'"><script>document.title="hurt"</script>'
STAGES = [{"name": FOREIGN}, {"name": "production"}]
DRAWN = "document.querySelectorAll('.curve').length === 8"


def words(browser: Browser) -> str:
    return str(browser.value("document.body.innerText"))


def test_the_page_shows_a_run_to_its_end(tmp_path: Path) -> None:
    folder = tmp_path / "run"

    def say(**changes: object) -> None:
        write(folder, **{"network": NETWORK, "stages": STAGES, "stage": {"name": "production", "number": 2}, **changes})

    say()
    (folder / "energy.csv").write_text(table(300))
    with serving(folder) as server, browsing(tmp_path / "profile") as browser:
        browser.show(1400, 900)
        browser.open(server.address)
        browser.wait(DRAWN)
        assert (
            browser.value("location.href") == f"http://127.0.0.1:{server.port}{server.home}"
        )  # the token is not in it
        assert browser.value("document.cookie") == ""
        text = words(browser)
        for found in ("running", "step 1,200 of 50,000 (2.4 %)", "6 min 47 s left", "301.3", "+0.0040 ± 0.002", "1.07",
                      "pair forces", "75.0 %", "n3 2 ranks from 6", "by a bus", "<img src=x"):  # fmt: skip
            assert found in text
        assert browser.value("document.querySelector('[aria-current]').textContent") == "production"

        for width, dark in ((1400, False), (390, True), (320, False)):
            browser.show(width, 900, dark)
            browser.wait(f"innerWidth === {width}")
            assert browser.value("document.documentElement.scrollWidth") <= width

        say(drift={"value": 0.5, "half_width": 0.1, "confidence": 0.95}, step=2400)
        browser.wait("document.querySelector('[role=alert]').textContent.includes('drifts by +0.5')")
        say(state="failed", end={"exit_status": 3, "message": FOREIGN})
        browser.wait("document.getElementById('state').textContent === 'failed'")
        assert "exit status 3" in words(browser) and "onerror" in words(browser)
        (folder / "status.json").write_text("{")
        with pytest.raises(InputError):
            read_status(folder)

        assert browser.value("document.images.length") == 0 and "hurt" not in browser.value("document.title")
        assert browser.logged == [] and all(one.startswith(f"http://127.0.0.1:{server.port}/") for one in browser.asked)


def test_names_of_any_length_fit_on_the_screen(tmp_path: Path) -> None:
    long = "x" * 500
    folder, one = tmp_path / "run", {"name": long, "number": 1, "seconds": 1.0, "ranks": 1, "subnet": 0}
    network = {"source": long, "hosts": [one], "subnets": [{"parent": -1}]}
    write(folder, stages=[one], stage=one, phases=[one], network=network, process={"host": long, "id": 1})
    with serving(folder) as server, browsing(tmp_path / "profile") as browser:
        browser.open(server.address)
        browser.wait("document.body.innerText.includes('step 1,200')")
        for width in (1400, 320):
            browser.show(width, 900)
            browser.wait(f"innerWidth === {width}")
            assert browser.value("document.documentElement.scrollWidth") <= width


def test_plots_are_read_by_the_keyboard(tmp_path: Path) -> None:
    folder = write(tmp_path / "run")
    (folder / "energy.csv").write_text(table(300))
    with serving(folder) as server, browsing(tmp_path / "profile") as browser:
        browser.show(1000, 800)
        browser.open(server.address)
        browser.wait(DRAWN)
        browser.press("Tab")
        assert browser.value("document.activeElement.className") == "skip"
        browser.press("Enter")
        browser.press("Tab")
        assert browser.value("document.activeElement.getAttribute('aria-label')").startswith("Temperature: ")
        output = "document.activeElement.parentElement.querySelector('output').textContent"
        for key, found in (("Home", "300.0 K at 0.000 ps"), ("ArrowRight", "at 0.200 ps"), ("End", "at 59.800 ps"),
                           ("ArrowLeft", "at 59.600 ps")):  # fmt: skip
            browser.press(key)
            assert found in browser.value(output)
        browser.press("Escape")
        assert browser.value(output) == ""


def test_without_the_token_there_is_no_page_and_without_a_server_it_says_so(tmp_path: Path) -> None:
    with browsing(tmp_path / "profile") as browser:
        with serving(write(tmp_path / "run")) as server:
            browser.open(f"http://127.0.0.1:{server.port}/")
            browser.wait("document.body.innerText.includes('open the address that')")
            browser.open(server.address)
            browser.wait("document.body.innerText.includes('step 1,200')")
        browser.wait("document.getElementById('state').textContent === 'no news'")
        assert "does not answer any more" in words(browser) and "step 1,200" in words(browser)
