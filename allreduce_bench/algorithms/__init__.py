"""The all-reduce algorithms: every file of this folder whose name has no leading underscore, found by scanning.

In: a name, or the path of a user's file. Out: an `Algorithm`: a pure generator
`(rank, size, topology, count, segment) -> Step, Step, …` under the decorator `@algorithm`, with its cost. It knows no
buffers, dtype, operation, clock or MPI. To add one, copy `ring.py`. Read in this order: `ring`, `naive`,
`parameter_server`, `recursive_doubling` and `rabenseifner` (with `_folding`), `hierarchical_ring`, `tree` and
`two_tree` (with `_tree_pipeline`), `circulant` (with `_mirrored`), `swing` (with `_alternating`), `torus` (with
`_ring_phases`), `hierarchical` (with `_half`).
"""

import importlib
import importlib.util
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from stat import S_ISREG
from zlib import crc32

from ..schedule.algorithm import Algorithm, AlgorithmError
from ..schedule.algorithm import Cost as Cost  # for files of users, as the next two
from ..schedule.algorithm import Hops as Hops
from ..schedule.algorithm import algorithm as algorithm
from ..units import unknown_word

USUAL = ("ring", "recursive_doubling", "rabenseifner", "tree")  # of most libraries: first if time is short
LONGEST_FILE = 16 * 2**20  # bytes, of a user's file
FILES = ".py"  # names of users' files end so
PARTS = "@:"  # letters between the parts of a competitor's name


def _algorithms_of(module) -> list[Algorithm]:
    """Return the algorithms that a module defines itself."""
    return [
        value for value in vars(module).values() if isinstance(value, Algorithm) and value.module == module.__name__
    ]


@cache  # read the folder once: thousands of ranks ask several times
def builtin() -> dict[str, Algorithm]:
    """Return all algorithms of this folder by name, sorted."""
    files = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in files]
    return {own.name: own for module in modules for own in _algorithms_of(module)}


def by_default() -> list[str]:
    """Return the names of those that a run measures if none is named."""
    return [name for name, own in builtin().items() if not own.on_request]


def find(words: list[str], also: Sequence[str] = ()) -> dict[str, Algorithm]:
    """Look up algorithms by name or by the path of a user's own file (a word that ends like FILES).

    Raises AlgorithmError for an unknown name (the message suggests one of the known ones or `also`, or lists them), for
    a name that is taken or holds one of PARTS, and for a file that is missing, broken, or holds no algorithm.
    """
    algorithms: dict[str, Algorithm] = {}
    for word in words:
        if word.endswith(FILES):
            for of_user in _from_file(Path(word)):
                name = of_user.name
                if not {*PARTS}.isdisjoint(name):
                    raise AlgorithmError(
                        f"{word}: a name of an algorithm holds no @ and no :, found '{name}'; rename it"
                    )
                if name in (*builtin(), *algorithms) or is_of_library(name):
                    raise AlgorithmError(f"{word}: another algorithm is named '{name}'; rename it")
                algorithms[name] = of_user
        elif of_package := _from_module_of_its_name(word) or builtin().get(word):
            algorithms[word] = of_package
        else:
            raise why_unknown(word, also)
    return algorithms


def digest_of(path: str) -> str:
    """Return the CRC-32 of a file, eight hexadecimal digits. Raises AlgorithmError if it cannot be read."""
    try:
        _refuse_odd(Path(path))
        return f"{crc32(Path(path).read_bytes()):08x}"
    except OSError as error:
        raise AlgorithmError(f"{path}: {error.strerror}; the run needs this algorithm's file") from error


def find_planned(names: Iterable[str], files: Sequence[str], digests: Sequence[str]) -> dict[str, Algorithm]:
    """Return the algorithms of a plan by name: built-in ones of `names`, and users' in `files`; not the library's.

    `digests` are the fingerprints of the files when the plan was made. Raises AlgorithmError for a file that is gone or
    has changed.
    """
    for path, digest in zip(files, digests):
        if digest_of(path) != digest:
            raise AlgorithmError(f"{path}: has changed since the run began; begin a new run, or restore the file")
    of_users = find([*files])
    return of_users | find([name for name in names if name not in of_users and not is_of_library(name)])


def is_of_library(name: str) -> bool:
    """Return whether a library does it, not steps: `native`, a mock-up such as `native:reduce+bcast`, or `gloo`."""
    return name.split(":")[0] in ("native", "gloo")


def is_builtin(name: str) -> bool:
    """Return whether `name` is an algorithm of this folder, with or without parameters."""
    try:
        return name in builtin() or not name.endswith(FILES) and _from_module_of_its_name(name) is not None
    except AlgorithmError:
        return False


def builtin_of(name: str) -> Algorithm:
    """Return the algorithm of this folder that `name` names, with or without parameters. Raises AlgorithmError."""
    return builtin().get(name) or next(iter(find([name]).values()))


def why_unknown(word: str, also: Sequence[str] = ()) -> AlgorithmError:
    """Return why a word names no algorithm of this folder: its parameters, a way, or none has it; `also` are known."""
    try:
        _from_module_of_its_name(word)
    except AlgorithmError as error:
        return error
    name, at, _ = word.rpartition("@")
    if at and (is_builtin(name) or name.endswith(FILES)):
        return AlgorithmError(f"'{word}': the steps of {name} are the same whichever way they are run; use {name}")
    return AlgorithmError(unknown_word("algorithm", word, [*builtin(), *also], "'allreduce-bench list' shows all"))


@cache  # algorithms with the same parameters are the same
def _from_module_of_its_name(word: str) -> Algorithm | None:
    """Return the algorithm of this folder named like its module, without reading the other files, or None.

    `word` may have parameters: `torus:2x3`. Raises AlgorithmError for wrong ones.
    """
    name, colon, parameters = word.partition(":")
    if not name.isidentifier() or not Path(__file__).with_name(f"{name}.py").is_file():
        return None
    module = importlib.import_module(f"{__name__}.{name}")
    own = next((own for own in _algorithms_of(module) if own.name == name), None)
    return own if own and not colon else module.named(parameters) if hasattr(module, "named") else None


def _refuse_odd(path: Path) -> None:
    """Raise AlgorithmError for anything but a regular file of sensible size; OSError if it is absent."""
    status = path.stat()
    if not S_ISREG(status.st_mode):
        raise AlgorithmError(f"{path}: no regular file; expected a Python file with an @algorithm")
    if status.st_size > LONGEST_FILE:
        raise AlgorithmError(f"{path}: longer than {LONGEST_FILE:,} bytes; expected a Python file with an @algorithm")


def _from_file(path: Path) -> list[Algorithm]:
    """Return the algorithms of a user's own file. Raises AlgorithmError."""
    try:
        _refuse_odd(path)
    except OSError as error:
        raise AlgorithmError(f"{path}: no such file; expected a Python file with an @algorithm") from error
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None  # a path that ends in .py always has a loader
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a user's file may fail in any way; the message must name it
        raise AlgorithmError(f"{path}: cannot be imported: {type(error).__name__}: {error}") from error
    algorithms = [one._replace(file=str(path)) for one in _algorithms_of(module)]
    if not algorithms:
        raise AlgorithmError(f"{path}: defines no algorithm; decorate its generator with @algorithm")
    for one in algorithms:
        if any("\ud800" <= letter <= "\udfff" for letter in one.name):
            raise AlgorithmError(f"{path}: the name of an algorithm is {one.name!r}; expected Unicode text")
    return algorithms
