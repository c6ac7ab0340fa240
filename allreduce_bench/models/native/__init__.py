"""The library's own all-reduce: held against its other operations (`guidelines`) and other all-reduces (`rivals`), both
by `comparison`; and algorithms whose times it has (`resemblance`, `known`).
"""
