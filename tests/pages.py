"""Pages in a real browser."""

from contextlib import contextmanager

import pytest


def until(window, condition):
    """Wait until a condition in JavaScript is true, which `wait_for_function` cannot where pages forbid ``eval``."""
    for _ in range(500):
        if window.evaluate(condition):
            return
        window.wait_for_timeout(10)
    pytest.fail(f"never true: {condition}")


@contextmanager
def opening(browser, path, ready="body"):
    """Open a page in a window of some width; it must say nothing on the console and ask for nothing else."""
    problems, asked, windows = [], [], []

    def open_page(width=1280, **options):
        window = browser.new_page(viewport={"width": width, "height": 900}, **options)
        window.on("console", lambda message: problems.append(message.text))
        window.on("pageerror", lambda error: problems.append(str(error)))
        window.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
        window.on("request", lambda request: asked.append(request.url))
        window.goto(path.as_uri())
        window.wait_for_selector(ready)
        windows.append(window)
        return window

    yield open_page
    for window in windows:
        window.close()
    assert not problems
    assert {url for url in asked if not url.startswith("blob:")} == {path.as_uri()}
