"""The command line, as ``streammetrics`` and ``python -m streammetrics``."""

import signal


def main() -> None:
    """Run the command line. Outside of a command, as during imports, Ctrl-C ends the process without a traceback."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # not if ignored, as in the background
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from streammetrics.cli import main as command

    try:
        signal.signal(signal.SIGINT, handler)
        command(prog_name="streammetrics")
    finally:
        if handler is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
