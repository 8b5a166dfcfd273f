"""Brings up Slurm on this machine: its daemons and munge, a login host, and hosts of jobs, each with a name of its own.

All processes are in namespaces of one site, which has its own processes and network: nothing
of it is seen from outside, and all of it ends when the first of its processes is killed. A host is a set of UTS, IPC
and mount namespaces in it, with its own name and /dev/shm. Keys, sockets and state are in a folder below /tmp. An
ordinary user has a namespace of users, too; Slurm then does without cgroups.
"""

from __future__ import annotations

import os
import pwd
import re
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
ADDRESS = "10.77.1.1"  # of all hosts; MPI and Slurm want another device than the loopback
PORT = 27000  # of the controller; those of hosts follow
SECONDS = 300.0  # after which a daemon, or a job whose state is waited for, is taken for hanging
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "scontrol", "munged", "unshare", "nsenter", "setpriv", "ip")
FINAL = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE")

_CONFIGURATION = """\
ClusterName=tessera
SlurmctldHost=login({address})
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/controller
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/logs/slurmctld
SlurmdSpoolDir={folder}/%n
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/logs/%n
TmpFS={folder}/%n/tmp
ProctrackType=proctrack/{tracker}
TaskPlugin={tasks}
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
KillWait=10
JobRequeue=1
SchedulerParameters=bf_interval=1
"""
_CGROUPS = f"""\
CgroupPlugin=cgroup/v1
CgroupMountpoint={CGROUPS}
ConstrainCores=yes
"""


class SlurmError(Exception):
    """Raised where Slurm can't be brought up, or a job does not get as far as it should."""


def why_not() -> str | None:
    """Returns the reason why Slurm can't be brought up here, or None where it can."""
    missing = [name for name in PROGRAMS if _program(name) is None]
    if missing:
        return f"{', '.join(missing)} not found; scripts/slurm installs Slurm and munge, packages.txt names the others"
    done = subprocess.run([*_site_words(), "true"], capture_output=True, text=True)
    return f"Slurm's site needs namespaces: {done.stderr.strip()}" if done.returncode else None


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _site_words() -> list[str]:
    user = [] if os.geteuid() == 0 else ["-U", "--map-current-user", "--keep-caps"]
    return ["setpriv", "--pdeathsig", "KILL", "unshare", *user, "-p", "-n", "-m", "--fork", "--kill-child",
            "--mount-proc", "--"]  # fmt: skip


def user_name() -> str:
    """Returns the name of the user whose daemons and jobs these are."""
    return pwd.getpwuid(os.geteuid()).pw_name


def cgroups_are_writable() -> bool:
    """Returns whether Slurm can give jobs sets of cores by cgroups (version 1)."""
    return os.geteuid() == 0 and os.access(CGROUPS / "cpuset" / "cgroup.procs", os.W_OK)


def _cores() -> int:
    done = subprocess.run([str(_program("slurmd")), "-C"], capture_output=True, text=True, check=True)
    found = re.search(r"CPUs=(\d+)", done.stdout)
    if found is None:
        raise SlurmError(f"slurmd -C says {done.stdout!r}; expected CPUs=N")
    return int(found[1])


@dataclass
class Slurm:
    """Slurm that is up: the folder of its state, the hosts of jobs, and the cores of each."""

    folder: Path
    hosts: list[str]
    cores: int
    has_cgroups: bool
    pids: dict[str, int] = field(default_factory=dict)  # of a process in the namespaces of each host, and of the site

    def environment(self) -> dict[str, str]:
        """Returns this process's environment with that of the site. Ranks that wait leave their core to others; of what
        else is set for Open MPI in tests, nothing is passed on: a user's job has none of it."""
        left_out = ("SLURM", "OMPI_", "TESSERA_MPIRUN")
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(left_out)},
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
            "OMPI_MCA_mpi_yield_when_idle": "1",
        }

    def words(self, host: str, *command: str | Path) -> list[str]:
        """Returns the words that carry out a command on a host."""
        user = [] if os.geteuid() == 0 else ["-U", "--preserve-credentials"]
        spaces = ["-t", str(self.pids[host]), *user, "-p", "-n", "-m", "-u", "-i"]
        return ["nsenter", *spaces, "--", "env", "-C", os.getcwd(), *map(str, command)]

    def run(
        self, *command: str | Path, cwd: Path, env: Mapping[str, str] | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Carries out a command on the login host. Raises SlurmError where it fails, unless `check` is False."""
        words = self.words("login", "env", "-C", cwd, *command)
        done = subprocess.run(
            words, env={**self.environment(), **(env or {})}, capture_output=True, text=True, stdin=subprocess.DEVNULL,
            timeout=2 * SECONDS, errors="replace",
        )  # fmt: skip
        if check and done.returncode:
            raise SlurmError(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def submit(self, *words: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
        """Submits a job by `sbatch`, and returns its number."""
        return self.run("sbatch", "--parsable", *words, cwd=cwd, env=env).stdout.strip()

    def facts(self, job: str) -> dict[str, str]:
        """Returns what Slurm says of a job."""
        said = self.run("scontrol", "show", "job", "-o", job, cwd=self.folder).stdout.splitlines()[0]
        return dict(word.split("=", 1) for word in said.split() if "=" in word)

    def wait(self, job: str, happened: Callable[[dict[str, str]], bool] | None = None) -> dict[str, str]:
        """Waits until a job has ended, or until what it is has `happened`. Returns what Slurm says of it then. Raises
        SlurmError where it does not come, or where the job has ended before."""
        begin = time.monotonic()
        while True:
            facts = self.facts(job)
            has_ended = facts["JobState"] in FINAL
            if happened(facts) if happened else has_ended:
                return facts
            if has_ended or time.monotonic() - begin > SECONDS:
                raise SlurmError(f"job {job} has not got that far: {facts}")
            time.sleep(0.1)


@contextmanager
def slurm(n_hosts: int = 2) -> Iterator[Slurm]:
    """Yields Slurm with so many hosts of jobs. Takes everything down at the end, jobs and their cgroups included."""
    if (reason := why_not()) is not None:
        raise SlurmError(reason)
    name = f"t{os.getpid()}n"  # cgroups have the names of hosts
    hosts = [f"{name}{number}" for number in range(1, n_hosts + 1)]
    folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))  # the path of a socket is short
    folder.chmod(0o711)  # else munge does not take its socket there
    site: subprocess.Popen[bytes] | None = None
    try:
        up = Slurm(folder, hosts, _cores(), cgroups_are_writable())
        _configure(up)
        site = _start_site(up)
        _start_daemons(up)
        yield up
    finally:
        if site is not None:
            site.kill()
            site.wait()
        _remove_cgroups(hosts)
        shutil.rmtree(folder, ignore_errors=True)


def _configure(up: Slurm) -> None:
    for name in ("controller", "logs", *(f"{host}/tmp" for host in up.hosts)):
        (up.folder / name).mkdir(parents=True)
    tracker, tasks = ("cgroup", "task/affinity,task/cgroup") if up.has_cgroups else ("linuxproc", "task/affinity")
    text = _CONFIGURATION.format(
        user=user_name(), address=ADDRESS, port=PORT, folder=up.folder, tracker=tracker, tasks=tasks
    )
    for number, host in enumerate(up.hosts, 1):
        text += f"NodeName={host} NodeAddr={ADDRESS} Port={PORT + number} CPUs={up.cores}\n"
    text += f"PartitionName=all Nodes={','.join(up.hosts)} Default=YES MaxTime=INFINITE State=UP\n"
    (up.folder / "slurm.conf").write_text(text)
    if up.has_cgroups:
        (up.folder / "cgroup.conf").write_text(_CGROUPS)
    (up.folder / "hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} login {' '.join(up.hosts)}\n")
    key = up.folder / "munge.key"
    key.write_bytes(secrets.token_bytes(64))
    key.chmod(0o400)


def _start_site(up: Slurm) -> subprocess.Popen[bytes]:
    """Starts the first process of the site, and one for each host, which holds its namespaces."""
    ready = up.folder / "ready"
    hold = (
        "set -e; mount -t tmpfs -o size=25% shm /dev/shm; mount --bind {folder}/hosts /etc/hosts; hostname {host}; "
        "echo $$ >{folder}/{host}.holder; exec sleep infinity"
    )
    network = f"""ip link set lo up; ip link add eth0 type veth peer name eth1; ip link set eth1 up
        ip link set eth0 up; ip addr add {ADDRESS}/24 dev eth0"""
    starts = "".join(
        f"unshare -m -u -i sh -c '{hold.format(folder=up.folder, host=host)}' & " for host in ("login", *up.hosts)
    )
    site = subprocess.Popen(
        [*_site_words(), "sh", "-c", f"set -e; {network}; {starts} echo ready >{ready}; while :; do sleep 1000; done"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=(up.folder / "logs" / "site").open("w"),
        start_new_session=True,
    )  # fmt: skip

    def has_started() -> bool:
        if site.poll() is not None:
            raise SlurmError(f"the site has ended: {(up.folder / 'logs' / 'site').read_text()}")
        holders = [up.folder / f"{host}.holder" for host in ("login", *up.hosts)]
        return ready.exists() and all(holder.exists() and holder.read_text().strip() for holder in holders)

    _until(has_started, "the namespaces of the site")
    inside = {(up.folder / f"{host}.holder").read_text().strip(): host for host in ("login", *up.hosts)}
    for path in Path("/proc").glob("[0-9]*/status"):  # numbers of processes in the site are not those outside
        with suppress(OSError):
            numbers = re.search(r"^NSpid:\s+(.*)", path.read_text(), re.MULTILINE)
            own = numbers[1].split() if numbers else []
            if len(own) > 1 and own[-1] in inside and _is_in(int(own[0]), site.pid):
                up.pids[inside[own[-1]]] = int(own[0])
    return site


def _is_in(process: int, site: int) -> bool:
    """Returns whether a process descends from the site's."""
    while process not in (0, 1, site):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        process = int(fields[1])
    return process == site


def _start_daemons(up: Slurm) -> None:
    """Starts munge, the controller and a daemon on each host. Raises SlurmError with what they said where they end.

    In a namespace of users /tmp is nobody's, at which munge takes offence unless it is forced.
    """
    folder, logs = up.folder, up.folder / "logs"
    munged = ["munged", "--foreground", f"--key-file={folder}/munge.key", f"--socket={folder}/munge.socket",
              f"--pid-file={folder}/munged.pid", f"--seed-file={folder}/munge.seed", f"--log-file={logs}/munged",
              "--num-threads=1", *([] if os.geteuid() == 0 else ["--force"])]  # fmt: skip
    daemons: list[subprocess.Popen[bytes]] = []

    def start(host: str, *words: str) -> None:
        with (logs / f"{words[0]}.{host}.printed").open("w") as printed:
            daemons.append(
                subprocess.Popen(
                    up.words(host, *words), env=up.environment(), stdin=subprocess.DEVNULL, stdout=printed,
                    stderr=printed, cwd=folder, start_new_session=True,
                )
            )  # fmt: skip

    def is_there(happened: Callable[[], bool]) -> Callable[[], bool]:
        def ask() -> bool:
            if any(daemon.poll() is not None for daemon in daemons):
                raise SlurmError("a daemon has ended")
            return happened()

        return ask

    def are_idle() -> bool:
        said = up.run("sinfo", "-h", "-N", "-o", "%N %t", cwd=folder, check=False).stdout
        return [line.split()[1] for line in said.splitlines()] == ["idle"] * len(up.hosts)

    try:
        start("login", *munged)
        _until(is_there((folder / "munge.socket").exists), "munge's socket")
        start("login", "slurmctld", "-D", "-c")
        for host in up.hosts:
            start(host, "slurmd", "-D", "-N", host)
        _until(is_there(are_idle), "idle hosts")
    except SlurmError as error:
        said = "".join(f"\n{path.name}: {path.read_text()[-2000:]}" for path in sorted(logs.iterdir()))
        raise SlurmError(f"{error}{said}") from None


def _until(happened: Callable[[], bool], what: str) -> None:
    begin = time.monotonic()
    while not happened():
        if time.monotonic() - begin > SECONDS:
            raise SlurmError(f"{what}: not there after {SECONDS:g} s")
        time.sleep(0.05)


def _remove_cgroups(hosts: list[str]) -> None:
    """Removes what Slurm has made; a cgroup can go when the last of its processes has ended."""
    for host in hosts:
        for top in CGROUPS.glob(f"*/slurm_{host}"):
            for folder in (*sorted((one for one in top.rglob("*") if one.is_dir()), reverse=True), top):
                begin = time.monotonic()
                while folder.exists() and time.monotonic() - begin < 10:
                    with suppress(OSError):
                        folder.rmdir()
