"""Slow ranks and nodes are named, and nobody where there is none."""
