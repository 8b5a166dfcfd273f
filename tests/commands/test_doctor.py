"""`tessera doctor`: this machine as it is, and machines on which something is amiss."""

from __future__ import annotations

import contextlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tessera.doctor import checks, disk, gpu, host, programs, sample
from tessera.doctor.command import doctor
from tessera.doctor.finding import Finding
from tessera.launch import engines
from tests.support.programs import FAKE_DRIVER


def test_this_machine_is_well() -> None:
    """And the simulation has the bits that are written down, on one rank and on two of each MPI."""
    done = CliRunner().invoke(doctor, ["--json"])
    facts = json.loads(done.stdout)
    assert done.exit_code == 0, facts
    assert facts["ok"] and facts["faults"] == 0
    runs = [one for one in facts["findings"] if one["subject"].startswith("simulation")]
    assert len(runs) == len(engines())
    assert all(one["verdict"] == "good" and one["found"].endswith("the right bits") for one in runs), runs


def test_compiled_modules_that_are_missing_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    assert programs._modules().verdict == "good"
    monkeypatch.setitem(sys.modules, "tessera._core", None)
    found = programs._modules()
    assert found.verdict == "fault" and "make build" in found.mend


def test_a_folder_of_temporary_files_that_is_full_is_a_fault(tiny_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.suppress(OSError):
        (tiny_disk / "rest").write_bytes(bytes(1 << 21))
    monkeypatch.setattr(tempfile, "tempdir", str(tiny_disk))
    found = list(sample.sample())
    assert [one.verdict for one in found] == ["fault"] and "TMPDIR" in found[0].mend


def test_faults_are_printed_with_how_to_mend_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def check() -> Iterator[Finding]:
        yield Finding("colour", "red\x1b[2J", "fault", "paint it")
        yield Finding("shape", "round")

    monkeypatch.setattr(checks, "CHECKS", (check,))
    done = CliRunner().invoke(doctor, [])
    assert done.exit_code == 1
    assert "\x1b" not in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["FAULT", "paint", "ok", "1"]


def written(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("check", "files", "mend"),
    [
        (host.cores, {"sys/fs/cgroup/cpu.max": "50000 100000\n"}, "start at most 1 ranks × threads"),
        (host.clocks, {"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n"}, "than hpet"),
        (host.clocks, {"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n"}, "performance"),
        (host.limits, {"dev/other": ""}, "mount it"),
    ],
)
def test_what_slows_a_host_is_a_warning(
    check: Callable[[Path], Iterator[Finding]], files: dict[str, str], mend: str, tmp_path: Path
) -> None:
    found = [one for one in check(written(tmp_path, files)) if one.verdict != "good"]
    assert [one.verdict for one in found] == ["warning"]
    assert mend in found[0].mend


def test_no_quota_is_none(tmp_path: Path) -> None:
    assert all(one.verdict == "good" for one in host.cores(written(tmp_path, {"sys/fs/cgroup/cpu.max": "max 100000"})))


@pytest.mark.parametrize(("size", "verdict"), [(1_000_000, "fault"), (10**9, "warning")])
def test_limits_of_files_are_told(size: int, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of_files = resource.RLIMIT_FSIZE
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (size if kind == of_files else -1, -1))
    found = {one.subject: one for one in host.limits()}
    assert found["longest file"].verdict == verdict
    assert "ulimit -f" in found["longest file"].mend


MOUNTS = """22 1 254:0 / / rw - ext4 /dev/vda rw
31 22 0:27 / /scratch\\040of\\040all rw shared:1 master:2 - lustre host:/all rw
32 31 0:28 / /scratch\\040of\\040all/fast rw - tmpfs tmpfs rw
33 31 0:29 / /scratch\\040of\\040all/fast rw - nfs4 host:/fast rw
not a line
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [("/home/a", "ext4"), ("/scratch of all/a", "lustre"), ("/scratch of all/fast", "nfs4"), ("/scratch", "ext4")],
)
def test_the_mount_that_is_seen_counts(folder: str, kind: str, tmp_path: Path) -> None:
    mounts = written(tmp_path, {"mountinfo": MOUNTS}) / "mountinfo"
    assert disk.kind_of(Path(folder), mounts) == kind


def test_folders_in_which_no_file_stays_are_told(tmp_path: Path) -> None:
    mounts = written(tmp_path, {"mountinfo": "1 1 0:1 / / rw - tmpfs tmpfs rw\n"}) / "mountinfo"
    assert [one.verdict for one in disk.files(tmp_path, mounts)] == ["warning", "good"]
    assert list(disk.files(Path("/proc")))[1].verdict == "fault"


def test_libraries_that_are_missing_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "\tlibc.so.6 => /lib/libc.so.6 (0x1)\n\tlibmpi.so.40 => not found\n"
    monkeypatch.setattr(programs, "_said", lambda words: said)
    (found,) = programs._libraries("openmpi", Path("tessera-md-openmpi"))
    assert (found.verdict, found.found) == ("fault", "libmpi.so.40 not found")
    monkeypatch.setattr(programs, "_said", lambda words: "\tlibmpi.so.12 => /opt/lib/libmpi.so.12 (0x1)\n")
    (found,) = programs._libraries("mpich", Path("tessera-md-mpich"))
    assert (found.verdict, found.found) == ("good", "libmpi.so.12, /opt/lib/libmpi.so.12")


def test_engines_and_launchers_that_do_not_fit_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(programs, "engines", dict)
    assert [(one.subject, one.verdict) for one in programs.programs()][1:] == [("engines", "fault")]
    monkeypatch.setenv("TESSERA_MPIRUN", "no-such-launcher")
    (found,) = programs._launchers({"openmpi": tmp_path})
    assert (found.verdict, found.found) == ("fault", "no-such-launcher")
    monkeypatch.delenv("TESSERA_MPIRUN")
    monkeypatch.setattr(programs, "launchers", lambda: iter(()))
    (found,) = programs._launchers({"openmpi": tmp_path})
    assert found.verdict == "warning" and "openmpi-bin" in found.mend


def test_a_machine_without_a_gpu_is_well(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_text("not a library")
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("LD_LIBRARY_PATH", str(tmp_path))
        (found,) = gpu.gpus(tmp_path)
        assert (found.verdict, found.found) == ("good", "none")
        written(tmp_path, {f"sys/bus/pci/devices/0000:01:00.{k}/vendor": "0x10de\n" for k in range(2)})
        written(tmp_path, {"sys/bus/pci/devices/0000:01:00.0/class": "0x030200\n"})
        written(tmp_path, {"sys/bus/pci/devices/0000:01:00.1/class": "0x040300\n"})  # its sound
        (found,) = gpu.gpus(tmp_path)
        assert (found.verdict, found.found) == ("warning", "1 of NVIDIA")
        assert "there is no NVIDIA driver here" in found.mend


def test_gpus_are_told_with_their_driver_and_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engine = shutil.copy(engines()["serial"], tmp_path)
    monkeypatch.setenv("TESSERA_BIN", str(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(FAKE_DRIVER))
    monkeypatch.setenv("TESSERA_FAKE_DRIVER", "memory=80000000000")
    of_driver, without = gpu.gpus()
    assert (of_driver.verdict, of_driver.found) == ("good", "CUDA 13.0")
    assert without.found == "Fake 0, compute capability 9.0, 80.0 GB"
    assert "there are no kernels for GPUs" in without.mend
    Path(engine).with_name("tessera-some.fatbin").write_text("80")
    _, covered = gpu.gpus()
    assert (covered.verdict, "which `tessera run --device gpu` uses" in covered.found) == ("good", True)
    monkeypatch.setenv("TESSERA_FAKE_DRIVER", "devices=2 capability=75")
    _, *old = gpu.gpus()
    assert [one.verdict for one in old] == ["warning", "warning"]
    assert "Fake 1 has compute capability 7.5" in old[1].mend
    monkeypatch.setenv("TESSERA_FAKE_DRIVER", "cuda=12080")
    bus = written(tmp_path, {"sys/bus/pci/devices/1/vendor": "0x10de\n", "sys/bus/pci/devices/1/class": "0x030000\n"})
    (found,) = gpu.gpus(bus)
    assert found.verdict == "warning" and "has CUDA 12.8, Tessera needs 13.0" in found.mend


def test_wrong_bits_and_failures_are_faults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sample, "HASH", "0" * 64)
    monkeypatch.setattr(sample, "_started", lambda: ["serial"])
    (found,) = sample.sample()
    assert found.verdict == "fault" and "expected 0000000000000000…" in found.found
    program = tmp_path / "tessera-md-serial"
    program.write_text("#!/bin/sh\necho tessera: error: no luck >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("TESSERA_BIN", str(tmp_path))
    (found,) = sample.sample()
    assert (found.verdict, found.found) == ("fault", "failed: tessera: error: no luck")


def test_a_run_may_be_slow_as_long_as_it_makes_steps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of an emulated processor, or beside other work."""
    status = tmp_path / "status.json"

    def looked_at(steps: list[int], end: bool) -> str | None:
        """Returns what is made of a process that has come to these steps when it is looked at, and then may end."""
        with subprocess.Popen(["sleep", "1000"], stderr=subprocess.PIPE, text=True) as process:
            left = iter(steps)

            def step_of(asked: Path) -> int:
                assert asked == status
                step = next(left)
                if end and step == steps[-1]:
                    process.terminate()
                return step

            monkeypatch.setattr(sample, "_step_of", step_of)
            try:
                return sample._said(process, status)
            finally:
                process.kill()

    monkeypatch.setattr(sample, "_SECONDS", 0.01)
    assert looked_at([0, 1, 5], end=True) == ""
    for steps in ([-1], [0, 0], [0, 3, 3]):
        assert looked_at(steps, end=False) is None, steps


@pytest.mark.parametrize(("text", "step"), [('{"step": 7}', 7), ("{}", -1), ('{"step": 7', -1), ("[]", -1), (None, -1)])
def test_the_step_of_a_run(tmp_path: Path, text: str | None, step: int) -> None:
    status = tmp_path / "status.json"
    if text is not None:
        status.write_text(text)
    assert sample._step_of(status) == step
