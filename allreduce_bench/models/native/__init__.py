"""The library's own all-reduce: held against its other operations and against other all-reduces (`comparison`); and
algorithms whose times it has (`resemblance`, `known`).
"""
