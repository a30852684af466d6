"""The command line, as ``python -m streammetrics``."""

from streammetrics.cli import main

if __name__ == "__main__":
    main(prog_name="streammetrics")
