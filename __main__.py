"""`python -m symposia`: the command line."""

from .workers.cli import main

if __name__ == "__main__":
    main()
