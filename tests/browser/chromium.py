"""Debian's Chromium, driven by Playwright; nothing is downloaded."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
MISSING = "The browser tests need Chromium on PATH. Debian, Ubuntu: apt install chromium. Fedora: dnf install chromium."


def find() -> str:
    """Where it is installed; a sentence that says how to install it otherwise."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise RuntimeError(MISSING)
    return found


@contextmanager
def running() -> Iterator[Browser]:
    """A headless browser; it asks no other host for anything of its own."""
    with sync_playwright() as playwright:
        options = ["--disable-background-networking", "--disable-component-update", "--no-default-browser-check"]
        browser = playwright.chromium.launch(executable_path=find(), args=options)
        yield browser
        browser.close()
