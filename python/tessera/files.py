"""Takes paths, and replaces files: a name always has the whole old content or the whole new one, and only regular files
are replaced."""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import re
import shutil
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from tessera.errors import InputError
from tessera.stopping import Stopped


class AnyPath(click.Path):
    """Reads a path on the command line, as pathlib's or as another type. An empty one, as of a variable of the shell
    that is not set, is refused: pathlib takes it for the working directory."""

    def __init__(self, path_type: type = Path, **more: Any) -> None:
        super().__init__(path_type=path_type, **more)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the path is empty; is a variable of the shell not set?", param, ctx)
        return super().convert(value, param, ctx)


@contextmanager
def replaced(path: str | Path) -> Iterator[Path]:
    """Yields a new, empty file beside `path` to write to; when the block ends it takes the place of `path`.

    A symbolic link stays, and its target is replaced. If the block fails, `path` is unchanged.

    Raises `OSError` where the folder is missing, or where a folder, a device or a pipe has the name.
    """
    place = _place_of(Path(path))
    temporary = _create_beside(place)
    try:
        yield temporary
        _flush(temporary)
        os.replace(temporary, place)
        _flush(place.parent)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.errno and str(error.filename) in ("None", str(temporary)):
            raise OSError(error.errno, error.strerror, str(path)) from None  # such as of a full disk
        raise


def check_free(path: Path, force: bool) -> None:
    """Raises `InputError` where the folder of a file to write is missing, or where something is there already and may
    not be replaced."""
    if not path.parent.is_dir():
        raise InputError(f"the folder of {path} does not exist")
    if not force and (path.exists() or path.is_symlink()):
        raise InputError(f"{path} exists; --force replaces it")


def real_path(path: str | Path) -> Path:
    """Returns where links lead. `Path.resolve` raises what is no `OSError` for those that form a circle."""
    return Path(os.path.realpath(path))


def named(message: str, path: Path) -> str:
    """Returns a message with the name of a file in place of its temporary's, which the user does not know."""
    return re.sub(r"\.tessera\.[^/\s]+\.part\b", lambda _: path.name, message)


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """Yields a new, empty folder beside `path` to fill; when the block ends it takes the place of `path`.

    A symbolic link stays, and its target is replaced. If the block fails, `path` is unchanged. What is in the files has
    to be brought to the disk in the block. Raises `OSError`.
    """
    place, base = real_path(path), f".tessera.{socket.gethostname()}.{os.getpid()}"
    new, old = place.with_name(f"{base}.new.part"), place.with_name(f"{base}.old.part")
    try:
        new.mkdir()
        yield new
        if place.exists():
            place.rename(old)
        new.rename(place)
    finally:
        if old.exists() and not place.exists():  # ended between both names
            old.rename(place)
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """Yields a new, empty file in the folder of `path`, which is removed when the block ends. Raises `OSError`."""
    temporary = _create_beside(path)
    try:
        yield temporary
    finally:
        with suppress(OSError):
            temporary.unlink()


def open_regular(path: str | Path) -> int:
    """Returns a descriptor of a regular file to read from. Raises `OSError`, also of a folder, a pipe or a device: from
    those one might read for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # to open a pipe would wait for a writer
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is no regular file", str(path))
    return descriptor


def read_regular(path: str | Path) -> bytes:
    """Returns the content of a regular file. Raises `OSError`."""
    with open(open_regular(path), "rb") as file:
        return file.read()


def write_text(path: str | Path, text: str) -> None:
    """Replaces the file's content by a text in UTF-8, in the way of `replaced`."""
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def locked(folder: Path, advice: str) -> Iterator[None]:
    """Holds the lock of a run's folder, as the engine does; nothing where the file system has no locks. Raises
    `InputError`, with advice, where a run holds it, and `OSError`."""
    lock = folder / ".lock"
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 400, 0).decode(errors="replace").split("\n")[0]
            who = f" ({holder})" if holder else ""
            raise InputError(f"another run writes into {folder}{who}: {advice}") from None
        except OSError:
            yield
            return
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        try:
            yield
        finally:
            with suppress(OSError):
                lock.unlink()
    finally:
        os.close(descriptor)


def _place_of(path: Path) -> Path:
    """Returns the file that has or will have the content, after following links."""
    if path.exists() and not path.is_file():
        kind = "is a folder" if path.is_dir() else "is no regular file but a device, a pipe or the like"
        raise OSError(errno.EINVAL, kind, str(path))
    if not path.is_symlink():
        return path
    try:
        return path.resolve()
    except RuntimeError:  # pathlib raises it for links that form a loop
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None


def _create_beside(place: Path) -> Path:
    """Creates a file with a name by which the engine finds files that a killed process of this host has left."""
    for number in itertools.count():
        path = place.parent / f".tessera.{socket.gethostname()}.{os.getpid()}.{number}.part"
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666))
            return path
        except FileExistsError:
            pass
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(place)) from None
        except Stopped:  # while the file was made
            path.unlink(missing_ok=True)
            raise
    raise AssertionError


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
