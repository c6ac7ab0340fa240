"""Measure, prove, model and explain all-reduce algorithms over MPI."""

__version__ = "0.1.0"
