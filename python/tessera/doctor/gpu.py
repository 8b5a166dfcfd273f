"""Looks for GPUs: whether there is one, its driver, and whether the kernels beside the engine run on it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tessera.doctor.finding import Finding, judged
from tessera.launch import LaunchError, engine_command

_NVIDIA = "0x10de"  # as a maker of devices on the PCI bus
_DISPLAY = "0x03"  # the class of such devices begins so
_SECONDS = 120  # in which the engine says what it finds: a driver takes long for its first program


def gpus(root: Path = Path("/")) -> Iterator[Finding]:
    """Yields the GPUs that the engine finds, and what keeps it from using them. Where there is none, all is well. No
    run needs a GPU, so that nothing here is a fault."""
    facts = _facts_of_engine()
    if facts is None:  # other checks say why
        return
    if facts["error"]:
        on_bus = sum(_is_gpu(device) for device in root.glob("sys/bus/pci/devices/*"))
        yield judged("GPU", f"{on_bus} of NVIDIA" if on_bus else "none", facts["error"] if on_bus else "")
        return
    yield judged("GPU driver", f"CUDA {facts['cuda']}")
    for device in facts["devices"]:
        found = f"{device['name']}, compute capability {device['capability']}, {device['bytes'] / 1e9:,.1f} GB"
        kernels = "" if device["error"] else ", which `tessera run --device gpu` uses"
        yield judged("GPU", f"{found}{kernels}", device["error"])


def _facts_of_engine() -> dict[str, Any] | None:
    """Returns what the engine prints of devices."""
    try:
        command = engine_command(["--devices"])
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, stdin=subprocess.DEVNULL)
        facts: dict[str, Any] = json.loads(done.stdout)
    except (LaunchError, OSError, subprocess.SubprocessError, ValueError):
        return None
    return facts


def _is_gpu(device: Path) -> bool:
    """Returns whether a device on the PCI bus is a GPU of NVIDIA's."""
    try:
        maker, kind = (device / "vendor").read_text().strip(), (device / "class").read_text()
    except OSError:
        return False
    return maker == _NVIDIA and kind.startswith(_DISPLAY)
