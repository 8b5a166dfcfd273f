"""Makes the pictures of `tessera watch --web` and of `tessera report` in docs/images: runs the peptide of examples,
opens the pages in a headless Chromium, and looks at them on a wide and on a narrow screen."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from bench.common.results import ROOT
from tests.watch.browser import Browser, browsing

IMAGES = ROOT / "docs" / "images"
TESSERA = [sys.executable, "-m", "tessera"]
#: width and height in pixels, and whether the reader's browser is dark
SCREENS = {"wide": (1200, 1000, False), "narrow": (390, 800, True)}
RUN = """
[input]
system = "peptide.tsr"
[dynamics]
timestep = 2.0
ensemble = "npt"
temperature = 300.0
pressure = 1.0
[output]
energy_every = 10
trajectory_every = 500
"""
#: steps before what is shown, in which water finds its density
SETTLE = 5000


def look(browser: Browser, name: str, drawn: str) -> None:
    """Writes pictures of the page that is open, once the script `drawn` is true."""
    for screen, (width, height, dark) in SCREENS.items():
        browser.show(width, height, dark)
        browser.call("Emulation.setScrollbarsHidden", hidden=True)
        browser.wait(f"innerWidth === {width} && ({drawn})")
        time.sleep(1)  # for what the page draws again at a new width
        found = browser.call("Page.captureScreenshot", format="webp", quality=80)
        path = IMAGES / f"{name}_{screen}.webp"
        path.write_bytes(base64.b64decode(found["data"]))
        click.echo(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


@contextmanager
def started(*words: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """Starts a command of Tessera, and ends it at the end."""
    process = subprocess.Popen([*TESSERA, *words], cwd=cwd, text=True, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def settings(folder: str, steps: int, start: str = "") -> list[str]:
    """Returns the options of a run of so many steps, from the end of another."""
    keys = {"output.folder": folder, "dynamics.steps": steps, "input.start": start}
    return [word for key, value in keys.items() if value for word in ("--set", f"{key}={value}")]


def status(folder: Path) -> dict[str, object]:
    """Returns status.json of a run; empty before there is one."""
    path = folder / "status.json"
    return dict(json.loads(path.read_text())) if path.is_file() else {}


@click.command()
@click.option("--steps", default=4000, show_default=True, help="Length of the run that is shown.")
@click.option("--ranks", default=2, show_default=True)
def main(steps: int, ranks: int) -> None:
    """Make docs/images/watch_*.webp and report_*.webp. Needs Chromium (Debian: chromium).

    \b
    Examples:
      python -m bench.screens
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peptide = str(ROOT / "examples" / "peptide" / "peptide.pdb")
        subprocess.run([*TESSERA, "prepare", "pdb", peptide, "--force-field", "amber19", "-o", "peptide.tsr"],
                       cwd=folder, check=True)  # fmt: skip
        (folder / "npt.toml").write_text(RUN)
        (folder / "npt").mkdir()
        run_it = ["run", "npt.toml", "-n", str(ranks)]
        subprocess.run([*TESSERA, *run_it, *settings(folder="settle", steps=SETTLE)], cwd=folder, check=True)
        with (
            started(*run_it, *settings(folder="npt", steps=steps, start="settle"), cwd=folder) as run,
            started("watch", "npt", "--web", cwd=folder) as watch,
            browsing(folder / "profile") as browser,
        ):
            assert watch.stdout and run.stdout
            address = next(found[0] for line in watch.stdout if (found := re.search(r"http://\S+", line)))
            browser.show(*SCREENS["wide"])
            while int(str(status(folder / "npt").get("step", 0))) < steps * 0.6:
                time.sleep(0.2)
            browser.open(address)
            look(browser, "watch", "document.querySelectorAll('.curve').length > 4")
            run.communicate()
        subprocess.run([*TESSERA, "report", "npt"], cwd=folder, check=True)
        with browsing(folder / "profile") as browser:
            browser.show(*SCREENS["wide"])
            browser.open((folder / "npt" / "report.html").as_uri())
            look(browser, "report", "document.readyState === 'complete'")


if __name__ == "__main__":
    main()
