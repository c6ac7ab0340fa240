"""One archive of the Python environment that runs this program, to be unpacked on nodes: see `staging`.

It holds all below sys.prefix, whether that is a virtual environment or one of conda, and this package, wherever it is
imported from: the folder of an editable install becomes a part of site-packages, and the lines of .pth files that
led there are left out. The base interpreter of a virtual environment is a link in the archive as it is on disk.
"""

import io
import os
import sys
import sysconfig
import tarfile
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[1]
INSTALLATION_RECORDS = ("*.dist-info", "*.egg-info", "*.pth")  # in site-packages: what is installed, and when it was
VERSION = "1"  # of what an archive holds; others are not used again


class PackError(RuntimeError):
    """Error: the environment cannot be packed."""


class Archive(NamedTuple):
    """A whole archive, and the seconds that packing it took; None: it was there already."""

    path: Path
    nbytes: int
    pack_s: float | None


class PackedEnvironment(NamedTuple):
    """What is packed: the folder of the environment, and inside it the places of what starts a rank."""

    prefix: Path
    python: Path
    package: Path  # of this package, once it is packed

    @property
    def digest(self) -> str:
        """Changes with the installed packages, the interpreter, and every file of this package."""
        site = self.prefix / self.package.parent
        records = [path for pattern in INSTALLATION_RECORDS for path in site.glob(pattern)]
        records += (self.prefix / "conda-meta").glob("*.json")
        sources = [path for path in PACKAGE.rglob("*") if "__pycache__" not in path.parts and path.is_file()]
        parts = [VERSION, str(self.prefix), sys.version]
        for path in sorted(records + sources):
            status = path.stat()
            parts.append(f"{path} {status.st_mtime_ns} {status.st_size if path.is_file() else ''}")
        return sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def environment() -> PackedEnvironment:
    """The environment of this interpreter. Raises PackError for one that is a system's, or that lies apart."""
    prefix = Path(sys.prefix)
    if sys.prefix == sys.base_prefix and not (prefix / "conda-meta").is_dir():
        raise PackError(f"{prefix} is a system Python; expected a virtual environment: python3 -m venv")
    try:
        python = Path(sys.executable).relative_to(prefix)
        package = Path(sysconfig.get_path("purelib")).relative_to(prefix) / PACKAGE.name
    except ValueError as error:
        raise PackError(f"the interpreter or its packages are outside the environment {prefix}: {error}") from error
    return PackedEnvironment(prefix, python, package)


def archive_of(packed: PackedEnvironment, folder: Path) -> Archive:
    """The archive of the environment below `folder`: the one that is there, else packed now.

    Several processes may do so at once: each writes a file of its own and puts it in its place when it is whole. Its
    name says what it holds and its size, so that a damaged one is not used. Raises PackError.
    """
    stem = f"environment-{packed.digest}"
    path = _trusted_archive(folder, stem)
    if path:
        return Archive(path, path.stat().st_size, None)
    temporary = folder / f"{stem}.{os.uname().nodename}.{os.getpid()}.tmp"
    began = time.perf_counter()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            _pack(packed, temporary)
            nbytes = temporary.stat().st_size
            path = _trusted_archive(folder, stem) or temporary.replace(folder / f"{stem}-{nbytes}.tar")
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise PackError(f"cannot pack {packed.prefix} into {folder}: {error.strerror}{where}") from error
    return Archive(path, path.stat().st_size, round(time.perf_counter() - began, 3))


def _trusted_archive(folder: Path, stem: str) -> Path | None:
    """The archive of that name and of the size in its name, which no other user could have put there or changed."""
    for path in sorted(folder.glob(f"{stem}-*.tar")):
        with suppress(FileNotFoundError):
            status = path.lstat()
            is_own = status.st_uid == os.geteuid() and not status.st_mode & 0o022
            if is_own and not path.is_symlink() and path.name == f"{stem}-{status.st_size}.tar":
                return path
    return None


def _pack(packed: PackedEnvironment, path: Path) -> None:
    """GNU's format keeps whole seconds, as compiled Python files name the time of their source."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for source, name in _files(packed):
                with suppress(FileNotFoundError):  # others may use the environment, and compile, meanwhile
                    _add(archive, source, name)
        file.flush()
        os.fsync(file.fileno())


def _files(packed: PackedEnvironment) -> Iterator[tuple[Path, Path]]:
    """Every file, link and folder, and its name in the archive; an installed copy of this package gives way."""
    site = packed.package.parent
    for root, folders, names in os.walk(packed.prefix):
        inside = Path(root).relative_to(packed.prefix)
        if inside == site:
            folders[:] = [name for name in folders if name != PACKAGE.name]
        for name in (*folders, *names):
            yield Path(root) / name, inside / name
    yield PACKAGE, packed.package
    for root, folders, names in os.walk(PACKAGE):
        for name in (*folders, *names):
            yield Path(root) / name, packed.package / Path(root).relative_to(PACKAGE) / name


def _add(archive: tarfile.TarFile, source: Path, name: Path) -> None:
    if name.suffix != ".pth" or not source.is_file():
        archive.add(source, name, recursive=False)
        return
    lines = _without_this_package(source.read_text(encoding="utf-8", errors="surrogateescape"))
    content = lines.encode("utf-8", "surrogateescape")
    member = archive.gettarinfo(source, str(name))
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _without_this_package(pth: str) -> str:
    """A .pth file without the lines that lead to this package where it was installed editable."""
    checkout = str(PACKAGE.parent)
    lines = pth.splitlines(keepends=True)
    return "".join(line for line in lines if PACKAGE.name not in line and line.strip() != checkout)
