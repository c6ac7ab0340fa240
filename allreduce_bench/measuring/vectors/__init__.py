"""The inputs of all-reduces whose results are known: `exact` sums, `random_floats` and how far a result is off."""
