"""Programs watch a run through a socket by IMD, versions 3 and 2, and neither steer it nor slow it down."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tessera.system import read
from tessera.traj import Frame, Trajectory
from tessera.watch.status import read_status
from tests.support.programs import ENGINES, HANGS, free_port, mpirun, wait_until
from tests.support.runs import Runs, Settings, read_table
from tests.support.samples import sample

DISCONNECT, ENERGIES, COORDINATES, GO, HANDSHAKE, KILL, MDCOMM, PAUSE, RATE = range(9)
SESSION_INFO, RESUME, TIME, BOX, VELOCITIES, FORCES, WAIT = range(10, 17)
KILOJOULES = 4.184
NAMES = ("temperature", "total", "potential")  # the first of an energy packet


@dataclass
class Seen:
    """A frame as it comes."""

    kinds: list[int] = field(default_factory=list)
    step: int = 0
    time: tuple[float, float] = (0.0, 0.0)  # of a step and of the frame, ps
    energies: tuple[float, ...] = ()
    box: np.ndarray | None = None
    rows: dict[int, np.ndarray] = field(default_factory=dict)  # (n,3) by kind


class Client:
    """Reads what version 3 or 2 sends."""

    def __init__(self, port: int, receive_buffer: int = 0) -> None:
        self.socket = socket.socket()
        self.socket.settimeout(HANGS)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.connect(("127.0.0.1", port))
        kind, number = struct.unpack("!i4s", self.take(8))
        assert kind == HANDSHAKE
        (self.version,) = struct.unpack("=i", number)  # in the order of the machine
        self.info: tuple[int, ...] = ()
        if self.version == 3:
            assert struct.unpack("!ii", self.take(8)) == (SESSION_INFO, 7)
            self.info = struct.unpack("7b", self.take(7))

    def take(self, n: int) -> bytes:
        found = b""
        while len(found) < n:
            more = self.socket.recv(n - len(found))
            if not more:
                raise EOFError
            found += more
        return found

    def send(self, kind: int, number: int = 0, body: bytes = b"") -> None:
        self.socket.sendall(struct.pack("!ii", kind, number) + body)

    def frame(self) -> Seen:
        last = FORCES if self.version == 3 else COORDINATES
        seen = Seen()
        while not seen.kinds or seen.kinds[-1] != last:
            kind, number = struct.unpack("!ii", self.take(8))
            seen.kinds.append(kind)
            if kind == TIME:
                step_length, time, seen.step = struct.unpack("=ddq", self.take(24))
                seen.time = (step_length, time)
            elif kind == ENERGIES:
                step, *energies = struct.unpack("=i9f", self.take(40))
                assert seen.step in (0, step)
                seen.step, seen.energies = step, tuple(energies)
            elif kind == BOX:
                seen.box = np.frombuffer(self.take(36), np.float32).reshape(3, 3)
            else:
                seen.rows[kind] = np.frombuffer(self.take(12 * number), np.float32).reshape(-1, 3)
        return seen


@dataclass
class Watched:
    process: subprocess.Popen[str]
    port: int
    folder: Path
    text: str = ""

    def connect(self, **options: Any) -> Client:
        found: list[Client] = []

        def connects() -> bool:
            try:
                found.append(Client(self.port, **options))
            except (ConnectionError, EOFError):
                return False
            return True

        wait_until(connects, self.process)
        return found[0]


@contextmanager
def watched(runs: Runs, name: str, settings: Settings, mpi: str = "serial") -> Iterator[Watched]:
    """Starts a run without end, and stops it."""
    port = free_port()
    every: Settings = {f"output.{key}_every": 10 for key in ("energy", "trajectory")}
    endless: Settings = {"dynamics.steps": 10**8, "output.velocities": True, "output.forces": True, "output.imd": port}
    path = runs.run_file(sample(name), {**every, **endless, **settings})
    engine = ENGINES / f"tessera-md-{mpi}"
    command = [*mpirun(mpi, 3), str(engine), str(path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    run = Watched(process, port, path.parent / "output")
    try:
        yield run
        assert process.poll() is None
    finally:
        status = read_status(run.folder)  # a rank that is stopped stops all; a launcher would wait for some seconds
        os.kill(process.pid if status is None else status.find("process", "id"), signal.SIGTERM)
        _, run.text = process.communicate(timeout=HANGS)


def wait_for_rows(run: Watched, n: int) -> None:
    """Waits until a run has written so many more rows of energies, one each ten steps. It is served before it has begun
    the table."""
    table = run.folder / "energy.csv"

    def rows() -> int:
        return table.read_bytes().count(b"\n") if table.exists() else 0

    first = rows()
    wait_until(lambda: rows() >= first + n, run.process)


def frame_of(run: Watched, step: int) -> Frame:
    frames = Trajectory(run.folder)
    return frames[list(frames.steps).index(step)]


VACUUM: Settings = {"interactions.electrostatics": "cut"}


@pytest.mark.parametrize(("name", "mpi"), [("tripeptide", "serial"), ("peptide", "openmpi"), ("peptide", "mpich")])
def test_frames_are_those_of_the_trajectory(runs: Runs, name: str, mpi: str) -> None:
    has_box = name == "peptide"
    with watched(runs, name, {} if has_box else VACUUM, mpi) as run:
        client = run.connect()
        assert client.version == 3 and client.info == (1, 1, has_box, 1, 0, 1, 1)
        client.send(GO)
        seen = [client.frame() for _ in range(3)]
        client.send(DISCONNECT)
    table = read_table(run.folder / "energy.csv")
    for one in seen:
        assert one.kinds == [TIME, ENERGIES, *([BOX] if has_box else []), COORDINATES, VELOCITIES, FORCES]
        assert one.step % 10 == 0
        np.testing.assert_allclose(one.time, (0.002, 0.002 * one.step))
        expected = frame_of(run, one.step)
        np.testing.assert_array_equal(one.rows[COORDINATES], expected.positions)
        np.testing.assert_array_equal(one.rows[VELOCITIES], expected.velocities)
        assert expected.forces is not None
        np.testing.assert_allclose(one.rows[FORCES], KILOJOULES * expected.forces, rtol=1e-6)  # single precision
        if has_box:
            assert expected.box is not None
            np.testing.assert_allclose(one.box, expected.box, rtol=1e-7)
        row = list(table["step"]).index(one.step)
        for value, column in zip(one.energies, NAMES, strict=False):
            unit = 1 if column == "temperature" else KILOJOULES
            np.testing.assert_allclose(value, unit * table[column][row], rtol=1e-6)


FOLLOW = """
import sys
import MDAnalysis
import numpy as np
universe = MDAnalysis.Universe.empty(int(sys.argv[1]))
universe.load_new(f"imd://localhost:{sys.argv[2]}")
seen = {name: [] for name in ("step", "time", "dimensions", "potential_energy", "positions", "velocities", "forces")}
for frame in universe.trajectory:
    for name, values in seen.items():
        values.append(np.copy(frame.data[name] if name in frame.data else getattr(frame, name)))
    if len(seen["step"]) == 5:
        break
universe.trajectory.close()
np.savez(sys.argv[3], **seen)
"""


def test_mdanalysis_follows_a_run(runs: Runs, tmp_path: Path) -> None:
    path = tmp_path / "seen.npz"
    with watched(runs, "peptide", {}) as run:
        run.connect().socket.close()  # it listens
        n_atoms = read(sample("peptide")).n_atoms
        subprocess.run(
            [sys.executable, "-c", FOLLOW, str(n_atoms), str(run.port), str(path)], check=True, timeout=HANGS
        )
    table = read_table(run.folder / "energy.csv")
    seen = np.load(path)
    for i, step in enumerate(seen["step"]):
        expected = frame_of(run, step)
        np.testing.assert_allclose(seen["time"][i], 0.002 * step)
        np.testing.assert_array_equal(seen["positions"][i], expected.positions)
        np.testing.assert_array_equal(seen["velocities"][i], expected.velocities)
        np.testing.assert_allclose(seen["forces"][i], KILOJOULES * expected.forces, rtol=1e-6)
        assert expected.box is not None
        np.testing.assert_allclose(seen["dimensions"][i], [*np.diag(expected.box), 90, 90, 90], rtol=1e-6)
        row = list(table["step"]).index(step)
        np.testing.assert_allclose(seen["potential_energy"][i], KILOJOULES * table["potential"][row], rtol=1e-6)


def test_version_2(runs: Runs) -> None:
    with watched(runs, "tripeptide", {**VACUUM, "output.imd_version": 2}) as run:
        client = run.connect()
        assert client.version == 2
        client.send(GO)
        seen = client.frame()
    assert seen.kinds == [ENERGIES, COORDINATES]
    np.testing.assert_array_equal(seen.rows[COORDINATES], frame_of(run, seen.step).positions)


def test_clients_change_nothing(runs: Runs) -> None:
    """A client may ask for another rate; to end, to pause and to push are refused, and the next client is served."""
    unwatched = runs.run(sample("tripeptide"), {**VACUUM, "dynamics.steps": 60, "output.trajectory_every": 10})
    with watched(runs, "tripeptide", VACUUM) as run:
        client = run.connect()
        client.send(GO)
        client.send(PAUSE)
        client.send(KILL)
        client.send(MDCOMM, 2, struct.pack("=2i6f", 0, 1, *(1e6,) * 6))
        client.send(RATE, 30)
        steps = [client.frame().step for _ in range(8)]
        assert all(step % 30 == 0 for step in steps[-3:]) and steps == sorted(set(steps))
        client.send(99)  # which there is not
        with pytest.raises((EOFError, ConnectionError)):
            while True:
                client.frame()
        second = run.connect()
        second.send(GO)
        assert second.frame().step > steps[-1]
    for what in ("to end the run", "to pause the run", "to apply forces", "what IMD does not have"):
        assert what in run.text, run.text
    last = Trajectory(unwatched.folder)[-1]
    np.testing.assert_array_equal(last.positions, frame_of(run, 60).positions)


@pytest.mark.parametrize("mpi", ["serial", "mpich"])
def test_frames_have_the_atoms_that_are_chosen(runs: Runs, mpi: str) -> None:
    with watched(runs, "peptide", {"output.imd_select": "index 3:7 100:1001"}, mpi) as run:
        client = run.connect()
        client.send(GO)
        seen = client.frame()
    atoms, expected = [*range(3, 8), *range(100, 1002)], frame_of(run, seen.step)
    assert seen.kinds == [TIME, ENERGIES, BOX, COORDINATES, VELOCITIES, FORCES]
    np.testing.assert_array_equal(seen.rows[COORDINATES], expected.positions[atoms])
    np.testing.assert_array_equal(seen.rows[VELOCITIES], expected.velocities[atoms])
    assert expected.forces is not None
    np.testing.assert_allclose(seen.rows[FORCES], KILOJOULES * expected.forces[atoms], rtol=1e-6)


def test_clients_that_send_anything_do_no_harm(runs: Runs) -> None:
    """Nor do they keep others from being served, or fill the run's log."""
    random = Random(7)
    with watched(runs, "tripeptide", VACUUM) as run:
        for _ in range(60):
            client = run.connect()
            with suppress(ConnectionError):
                if random.random() < 0.7:
                    client.send(GO)
                for _ in range(random.randint(0, 6)):
                    client.send(random.choice(range(17)), random.choice([0, 1, 42, -1, 2**31 - 1, -(2**31)]))
                client.socket.sendall(random.randbytes(random.randint(0, 99)))
            client.socket.close()
        patient = run.connect()
        patient.send(GO)
        patient.send(RATE, 2**31 - 1)
        wait_for_rows(run, 10)  # the run knows
        patient.send(DISCONNECT)
        last = run.connect()
        last.send(GO)
        steps = [last.frame().step for _ in range(3)]
        assert all(step % 10 == 0 for step in steps)
        # What others have sent may be lost with their connections; this one is left once all of its own has been read.
        for kind in (KILL, PAUSE, MDCOMM, 99):
            last.send(kind)
        with pytest.raises((EOFError, ConnectionError)):
            while True:
                last.frame()
        with pytest.raises(EOFError):
            run.connect().take(1)  # and does not say go
    notes = [line for line in run.text.splitlines() if "a program" in line]
    assert len(notes) == len(set(notes)) == 5, run.text


def test_a_client_that_does_not_go_is_left(runs: Runs) -> None:
    """It is told at the end, where no frame is due before that."""
    with watched(runs, "tripeptide", VACUUM | {"output.imd_every": 10**7}) as run:
        silent = run.connect()
        with pytest.raises(EOFError):
            silent.take(1)
    assert "did not say go" in run.text


def test_a_slow_client_loses_whole_frames(runs: Runs) -> None:
    with watched(runs, "peptide", {"output.imd_every": 1, "output.trajectory_every": 0}) as run:
        client = run.connect(receive_buffer=4096)
        client.send(GO)
        first = client.frame().step
        wait_for_rows(run, 8)  # it goes on, 80 steps
        steps = [first, *(client.frame().step for _ in range(20))]
        assert max(np.diff(steps)) > 1 and min(np.diff(steps)) >= 1


def test_a_port_that_is_taken_is_refused(runs: Runs) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        settings: Settings = {**VACUUM, "dynamics.steps": 10, "output.imd": int(other.getsockname()[1])}
        found = runs.run(sample("tripeptide"), settings, check=False)
    assert found.process.returncode == 2 and "output.imd" in found.process.stderr
    found = runs.run(sample("tripeptide"), {**VACUUM, "output.imd": 8888, "output.imd_host": "here"}, check=False)
    assert found.process.returncode == 2 and "expected an address of this host" in found.process.stderr


def test_atoms_that_there_are_not_are_refused(runs: Runs) -> None:
    settings: Settings = {**VACUUM, "output.imd": 8888, "output.imd_select": "index 0:99"}
    found = runs.run(sample("tripeptide"), settings, check=False)
    assert found.process.returncode == 2 and "output.imd_select" in found.process.stderr
