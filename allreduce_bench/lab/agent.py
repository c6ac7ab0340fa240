"""`agent.py [OPTIONS] HOST COMMAND…`: called like ssh; runs the command on a host of the lab in a fresh environment.

An MPI starts it by its path on every launch, so it imports little.
"""

import json
import os
import sys

VARIABLE = "ALLREDUCE_BENCH_LAB"  # as in watching.lifeline, which this program cannot import
KEPT = ("HOME", "PATH", "TMPDIR", VARIABLE)  # of the environment; a login shell would set the first two itself
HOST = ("-n", "-m", "-u", "-i")  # what a host has of its own: network, mounts, name, System V memory


def host_and_command(words: list[str]) -> tuple[str, str]:
    """The host and the command for its shell, options left out; `-o`, `-p` and `-l` have a value."""
    while words and words[0].startswith("-"):
        words = words[2 if words[0] in ("-o", "-p", "-l") else 1 :]
    return (words[0] if words else ""), " ".join(words[1:])


def main() -> None:
    """Become the command; where there is no such host, say so and end with 255, as ssh does."""
    host, command = host_and_command(sys.argv[1:])
    hosts = json.loads(os.environ.get(VARIABLE, "{}"))
    if host not in hosts:
        sys.stderr.write(f"agent: could not resolve host {host}\n")
        sys.exit(255)
    environ = {name: os.environ[name] for name in KEPT if name in os.environ}
    os.execvpe("nsenter", ["nsenter", "-t", str(hosts[host][0]), *HOST, "bash", "-c", command], environ)


if __name__ == "__main__":
    main()
