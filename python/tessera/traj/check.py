"""Checks trajectories in segments byte by byte, and leaves out what is not whole."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tessera.checked_file import DamagedFileError, checksum
from tessera.errors import InputError
from tessera.files import locked, replaced
from tessera.printing import are, counted
from tessera.traj.find import Found
from tessera.traj.manifest import NAME, Manifest, Segments, manifest_paths, numbers_of, read_manifest, taken
from tessera.traj.parts import Descriptors, check_place, holds_all, read_place
from tessera.traj.trajectory import Trajectory
from tessera.traj.written import Claim, claims_of, missing_at_the_end

Progress = Callable[[int], None]
_BATCH = 4 << 20  # bytes that a thread reads at a time, about
KEPT = ".before-repair"


@dataclass
class Checked:
    """What came of a folder of segments, or of a HISTORY."""

    folder: Path
    frames: int = 0  # that readers take
    bytes: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems


def size_of(folder: Path) -> int:
    """Returns how many bytes a check reads at most."""
    return sum(path.stat().st_size for path in folder.glob("segment-*") if path.is_file())


def check(folder: Path, progress: Progress = lambda _: None) -> Checked:
    """Checks every byte of all segments of a folder, also of frames that a later segment has again, and that all frames
    are there that a run has written by its files beside the folder. `progress` gets the number of bytes after each
    piece. Raises `OSError` where the folder can't be read."""
    place = folder.resolve()
    claims = claims_of(place.parent, place.stem)
    result = Checked(folder, bytes=size_of(folder))
    manifests: list[Manifest] = []
    whole: list[NDArray[np.bool_]] = []
    for path in manifest_paths(folder):
        try:
            manifest = read_manifest(path)
        except DamagedFileError as error:
            result.problems.append(_without_hint(error, folder))
            continue
        if manifest is None:
            result.notes.append(f"{path.name} was begun, and has no frame")
            continue
        manifests.append(manifest)
        progress(manifest.size)
        if manifest.damaged:
            result.problems.append(f"{path.name} has {manifest.damaged} entries that are not what was written")
        whole.append(readable(manifest, whole_frames(manifest, progress)))
        if rest := manifest.unfinished():
            result.notes.append(f"{path.name}: {rest:,} bytes belong to frames that were not finished")
    for manifest, good, mask in zip(manifests, whole, taken([Segments(folder, manifests)])[0]):
        _tell_of_frames(result, manifest, good, mask)
    _check_whole(folder, result, [manifest.number for manifest in manifests], claims)
    return result


def _tell_of_frames(result: Checked, manifest: Manifest, whole: NDArray[np.bool_], is_taken: NDArray[np.bool_]) -> None:
    """Notes frames that were not finished and are there again later, and reports damaged ones. What never came to the
    disk whole and a later leg calculated again is what a machine leaves that stops, and no damage."""
    name = manifest.path.name.removesuffix(".manifest")
    never_whole = ~whole & ~is_taken & _is_beyond(manifest)
    if never_whole.any():
        count = int(never_whole.sum())
        was = "was" if count == 1 else "were"
        result.notes.append(f"{name}: {counted(count, 'frame')} {was} not finished, and {are(count)} there again later")
    bad = ~whole & ~never_whole
    if bad.any():
        steps = manifest.entries["step"][bad]
        files = ", ".join(part.path.name for part in manifest.parts if not part.path.is_file())
        result.problems.append(
            f"{name} has {len(steps):,} damaged frames, the first of step {int(steps[0]):,}"
            f"{f'; not there: {files}' if files else ''}"
        )


def _is_beyond(manifest: Manifest) -> NDArray[np.bool_]:
    """Returns which frames (n,) have numbers behind the end of a part that is there."""
    beyond = np.zeros(len(manifest.entries), np.bool_)
    for index, part in enumerate(manifest.parts):
        if part.path.is_file():
            places = manifest.entries["place"][:, index]
            beyond |= (places[..., 0] + places[..., 1] > part.path.stat().st_size).any(axis=1)
    return beyond


def _check_whole(folder: Path, result: Checked, numbers: list[int], claims: list[Claim]) -> None:
    """Checks that segments and frames follow each other, to the last that was written."""
    begun = numbers_of(folder)
    named = {int(match[1]) for path in folder.iterdir() if (match := NAME.match(path.name))}  # also those kept
    lost = [
        number
        for number in range(max(begun, default=-1) + 1)
        if number not in begun
        or (number not in named and any(path.stat().st_size for path in folder.glob(f"segment-{number:04d}.*")))
    ]
    if lost:
        result.problems.append(f"segments are missing: {', '.join(f'segment-{number:04d}' for number in lost[:8])}")
    if not numbers:
        if not result.problems:
            result.notes.append("there is no frame yet")
        tell_of_the_end(result, claims, None)
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trajectory = Trajectory(folder)
    except DamagedFileError:
        return
    except InputError as error:
        result.problems.append(str(error))
        return
    result.frames = len(trajectory)
    missing = trajectory.gaps()
    if missing > trajectory.damaged:
        result.problems.append(f"{counted(missing, 'frame')} {are(missing)} missing between the steps of others")
    tell_of_the_end(result, claims, trajectory)


def tell_of_the_end(result: Checked, claims: list[Claim], trajectory: Trajectory | None) -> None:
    """Adds in what a trajectory falls short of what its run says. What a killed run had not yet brought to the disk is
    no damage."""
    found = missing_at_the_end(claims, trajectory)
    if found is None:
        return
    text, is_certain = found
    if is_certain:
        result.problems.append(f"{text}; put it back, or move it away to begin another at the checkpoint")
    else:
        result.notes.append(f"{text}; the run ended before it had written them, or is writing them")


def _without_hint(error: DamagedFileError, folder: Path) -> str:
    return str(error).split(";")[0].removeprefix(f"{folder}/")


def whole_frames(manifest: Manifest, progress: Progress = lambda _: None) -> NDArray[np.bool_]:
    """Returns which frames (n,) are what was written, in all parts. Raises `OSError`."""
    whole = np.ones(len(manifest.entries), np.bool_)
    files = Descriptors()

    def check_batch(batch: tuple[int, int, int]) -> int:
        """Checks the frames of one part from `begin` to `end - 1`."""
        index, begin, end = batch
        done = 0
        for frame in range(begin, end):
            for place in manifest.entries["place"][frame, index]:
                try:
                    done += check_place(files, manifest.parts[index], place)
                except DamagedFileError:
                    whole[frame] = False
        return done

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        for done in threads.map(check_batch, _batches(manifest)):
            progress(done)
    files.close()
    return whole


def readable(manifest: Manifest, whole: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns which frames (n,) can be read where these are whole: of atoms that moved, a frame needs those before it,
    back to one that holds all. Raises `OSError`."""
    if not manifest.depends:
        return whole
    found, files = whole.copy(), Descriptors()
    numbers = manifest.entries["number"]
    for row in np.flatnonzero(whole).tolist():
        follows = row > 0 and found[row - 1] and numbers[row - 1] == numbers[row] - 1
        found[row] = follows or all(
            holds_all(read_place(files, part, manifest.entries["place"][row, index, quantity]), part)
            for index, part in enumerate(manifest.parts)
            for quantity in manifest.depends
        )
    return found


def _batches(manifest: Manifest) -> Iterator[tuple[int, int, int]]:
    for index in range(len(manifest.parts)):
        sizes = manifest.entries["place"][:, index, :, 1].astype(np.float64).sum(axis=1)
        batch = np.floor(np.cumsum(sizes) / _BATCH)
        bounds = [0, *(np.flatnonzero(np.diff(batch)) + 1).tolist(), len(sizes)]
        yield from ((index, begin, end) for begin, end in itertools.pairwise(bounds) if end > begin)


@dataclass
class Repaired:
    """What was done to a manifest."""

    manifest: Path
    kept: Path  # the manifest as it was
    frames: int  # that are left
    left_out: int  # damaged frames and entries
    cut: int  # bytes of an unfinished entry
    lost: bool = False  # the header is damaged, and the whole segment is left out


def repair(found: Found, progress: Progress = lambda _: None) -> list[Repaired]:
    """Writes manifests anew that have damaged or unfinished entries, or entries of damaged frames, without these. Keeps
    each as it was beside the new one; parts are not changed.

    Raises `InputError` where a run is writing into the folder, and `OSError`.
    """
    done = []
    advice = "repair when it has ended; what it has finished can be read now"
    with nullcontext() if found.run is None else locked(found.run, advice):
        for path in manifest_paths(found.segments):
            try:
                manifest = read_manifest(path)
            except DamagedFileError:
                kept = _kept_name(path)
                path.rename(kept)
                done.append(Repaired(path, kept, 0, 0, 0, lost=True))
                continue
            if manifest is None:
                continue
            progress(manifest.size)
            whole = readable(manifest, whole_frames(manifest, progress))
            left_out = manifest.damaged + int((~whole).sum())
            if not left_out and not manifest.torn:
                continue
            kept = _kept_name(path)
            content = path.read_bytes()
            os.link(path, kept)
            entries = renumbered(manifest.entries[whole])
            with replaced(path) as temporary:
                temporary.write_bytes(content[: manifest.header_bytes] + entries.tobytes())
            done.append(Repaired(path, kept, len(entries), left_out, manifest.torn))
    return done


def renumbered(entries: NDArray[np.void]) -> NDArray[np.void]:
    """Returns entries with the numbers from 0 and their checksums."""
    entries = entries.copy()
    entries["number"] = np.arange(len(entries))
    for entry in entries:
        entry["checksum"] = checksum(entry.tobytes()[:-8])
    return entries


def _kept_name(path: Path) -> Path:
    number = 1
    while True:
        kept = path.with_name(f"{path.name}{KEPT}{'' if number == 1 else f'-{number}'}")
        if not kept.exists():
            return kept
        number += 1


def facts_of(repaired: Repaired) -> dict[str, Any]:
    """Returns the same for programs."""
    return {
        "manifest": str(repaired.manifest),
        "kept": str(repaired.kept),
        "frames": repaired.frames,
        "left_out": repaired.left_out,
        "cut_bytes": repaired.cut,
        "segment_lost": repaired.lost,
    }
