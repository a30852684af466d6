"""Draw history.png: the page of the history of monitoring.md, written by its last `store page`, in a browser.

python docs/pictures/history.py history.html
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--headless", "--no-sandbox"])
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
    page.goto(Path(sys.argv[1]).resolve().as_uri())
    bottom = page.locator(".charts").first.bounding_box()
    clip = {"x": 0, "y": 0, "width": 1280, "height": bottom["y"] + bottom["height"] + 12}
    page.screenshot(path=str(Path(__file__).with_name("history.png")), clip=clip, full_page=True)
    browser.close()
