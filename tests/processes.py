"""Processes that tests start and kill."""

import contextlib
import multiprocessing

PROCESSES = multiprocessing.get_context("forkserver")
MODULES = "streammetrics.monitor.joining.joiner deltalake polars pyarrow.parquet pandas pytest"
PROCESSES.set_forkserver_preload(MODULES.split())


def start(target, *arguments):
    """A process, and the receiver of what it sends: its last argument is the sender."""
    receiver, sender = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=target, args=(*arguments, sender), daemon=True)
    process.start()
    sender.close()
    return process, receiver


def received(receiver):
    """All that a process has sent before its end."""
    with contextlib.suppress(EOFError):
        while True:
            yield receiver.recv()
