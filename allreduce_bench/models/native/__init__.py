"""The library's own all-reduce: `guidelines` that it breaks, algorithms whose times it has (`resemblance`, `known`)."""
