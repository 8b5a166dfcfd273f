"""Bare systems without a compiler, in folders, in which an installed package is tried. Needs root, debootstrap and the
archives of Debian and Ubuntu."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "roots"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
HANGS = 1800.0  # seconds
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}  # Debian's names of processors
FILE_SYSTEMS = {"proc": "proc", "sysfs": "sys", "tmpfs": "tmp"}
#: what a command sees, whatever this process has
ENVIRONMENT = {
    "HOME": "/root",
    "PATH": "/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
    "SSL_CERT_FILE": str(CERTIFICATES),
    "PIP_CERT": str(CERTIFICATES),
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


@dataclass(frozen=True)
class Release:
    """A release of a distribution: where its archive is, in which suites and components, its Python, and the kind of
    processor that it is for, by Linux' name; another one than this machine's is emulated."""

    name: str
    archive: str
    suites: tuple[str, ...]
    components: str
    python: str
    processor: str = os.uname().machine


_DEBIAN, _UBUNTU = "http://deb.debian.org/debian", "http://archive.ubuntu.com/ubuntu"
RELEASES = {
    release.name: release
    for release in (
        Release("jammy", _UBUNTU, ("jammy", "jammy-updates"), "main universe", "python3.11"),
        Release("bookworm", _DEBIAN, ("bookworm",), "main", "python3"),
        Release("trixie", _DEBIAN, ("trixie",), "main", "python3"),
    )
}
#: an emulated one: the kernel has QEMU run what is compiled for this processor
EMULATED = Release("bookworm", _DEBIAN, ("bookworm",), "main", "python3", "aarch64")


def make(release: Release) -> Path:
    """Returns the folder of a system as it is after its installation, with Python, which is made when it is first asked
    for. Raises CalledProcessError."""
    folder = KEPT / f"{release.name}-{release.processor}"
    if not folder.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        new = folder.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        subprocess.run(
            ["debootstrap", "--variant=minbase", "--include=ca-certificates", f"--arch={DEBIAN[release.processor]}",
             release.name, new, release.archive],
            check=True, capture_output=True, text=True, timeout=HANGS,
        )  # fmt: skip
        lines = [f"deb {release.archive} {suite} {release.components}\n" for suite in release.suites]
        (new / "etc/apt/sources.list").write_text("".join(lines), encoding="utf-8")
        for file in (Path("/etc/resolv.conf"), CERTIFICATES):
            (new / file.relative_to("/")).unlink(missing_ok=True)
            shutil.copy(file.resolve(), new / file.relative_to("/"))
        System(new).get(release.python, f"{release.python}-venv")
        new.rename(folder)
    return folder


@dataclass(frozen=True)
class System:
    """A copy of a bare system, in which commands may change what they like."""

    folder: Path

    @classmethod
    def copy_of(cls, release: Release, folder: Path) -> System:
        subprocess.run(["cp", "-a", "--reflink=auto", make(release), folder], check=True)
        return cls(folder)

    def run(
        self, command: str | Sequence[str], status: int | None = 0, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command in it (a text: by the shell), which must end with this status unless that is None. What it
        mounts and starts is gone afterwards."""
        words = ["sh", "-c", command] if isinstance(command, str) else list(command)
        mounts = " && ".join(f"mount -t {kind} {kind} $1/{at}" for kind, at in FILE_SYSTEMS.items())
        inside = f'{mounts} && mount --rbind /dev $1/dev && root=$1 && shift && exec chroot $root "$@"'
        namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        done = subprocess.run(
            [*namespaces, "sh", "-c", inside, "sh", str(self.folder), *words],
            env={**ENVIRONMENT, **environment}, capture_output=True, text=True, timeout=HANGS, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert status in (None, done.returncode), f"{command}\n{done.stdout}\n{done.stderr}"
        return done

    def get(self, *packages: str) -> None:
        """Installs packages of the distribution."""
        self.run(f"apt-get update -qq && apt-get install -y -qq --no-install-recommends {' '.join(packages)}")

    def install_wheel(self, file: Path, python: str) -> None:
        """Makes the environment /venv with this Python, and installs a wheel of this machine into it."""
        shutil.copy(file, self.folder)
        self.run([python, "-m", "venv", "/venv"])
        self.install(f"/{file.name}")

    def install(self, *packages: str) -> None:
        """Installs packages of PyPI into the environment /venv."""
        self.run(["/venv/bin/pip", "install", "--quiet", *packages])


def wheel(release: Release) -> Path | None:
    """Returns the wheel that scripts/wheel has made for the processor of a release; None: there is none."""
    return max((ROOT / "dist").glob(f"tessera_md-*_{release.processor}.whl"), default=None)


def why_not() -> str | None:
    """Says why no system can be made here; None: it can."""
    if os.geteuid() != 0:
        return "bare systems need root"
    missing = [name for name in ("debootstrap", "buildah", "unshare", "chroot") if shutil.which(name) is None]
    if missing:
        return f"there is no {' or '.join(missing)}"
    other = EMULATED.processor
    if other != os.uname().machine and not Path(f"/proc/sys/fs/binfmt_misc/qemu-{other}").exists():
        return f"the kernel does not run programs for {other} by QEMU (Debian: qemu-user-static, binfmt-support)"
    return None
