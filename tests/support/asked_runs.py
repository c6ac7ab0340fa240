"""Requests for runs, as words of the command line make them."""

from allreduce_bench.cli.request import Request
from allreduce_bench.cli.run import run
from allreduce_bench.cli.types import given_options


def asked_run(*words: object, **decided) -> Request:
    """The request of `run` with these words, and options decided besides, as if the user had not given them."""
    context = run.make_context("run", [*map(str, words)])
    return Request(context.params | decided, frozenset(given_options(context)))
