"""`python -m allreduce_bench` is the command `allreduce-bench`."""

from .cli import main

if __name__ == "__main__":
    main()
