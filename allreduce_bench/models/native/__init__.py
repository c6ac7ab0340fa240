"""The library's own all-reduce: see `models.guidelines`, `models.resemblance` and `models.known_algorithms`."""
