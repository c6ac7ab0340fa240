"""Place of models of the library's own all-reduce; they are `models.guidelines`, `models.resemblance` and

`models.known_algorithms`.
"""
