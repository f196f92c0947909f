"""`python -m thalweg` is the command line."""

import sys

from thalweg.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
