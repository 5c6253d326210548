"""A real Chromium, and pages that report their errors."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from programs import find_program
from scaling import patient

#: Chromium reaches no other host, and starts without the questions of a first start.
OPTIONS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",
]

#: What a page must not contain: effects of scripts, invisible characters, elements made of a text.
UNSAFE = """() => {
  const root = document.getElementById("dashboard");
  const invisible = new RegExp(root.dataset.invisible, "u");
  const found = "pwned" in window ? ["a script ran"] : [];
  const texts = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) if (invisible.test(texts.currentNode.data)) found.push(texts.currentNode.data);
  for (const it of root.querySelectorAll("[title], [aria-label]")) {
    if (invisible.test(it.title + it.ariaLabel)) found.push(it.outerHTML);
  }
  for (const it of root.querySelectorAll("img, script, style, object, [onerror]")) found.push(it.outerHTML);
  for (const it of root.querySelectorAll("a[href]")) {
    if (!/^(https?:|mailto:|[/?])/.test(it.getAttribute("href"))) found.push(it.outerHTML);
  }
  return found;
}"""


@contextmanager
def own_browser() -> Iterator[Browser]:
    """A browser without windows, gone afterwards; without one the test is skipped, or fails if it is required."""
    # It has no window to draw, and so takes less than half of the processor time.
    path = shutil.which("chromium-headless-shell") or find_program("chromium", "google-chrome")
    expect.set_options(timeout=patient(30_000))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Tab:
    """A page, and the errors of all pages of its profile: console errors, dialogs, requests to other hosts."""

    context: BrowserContext
    page: Page
    errors: list[str] = field(default_factory=list)

    def serious_findings(self) -> list[str]:
        """Findings of axe-core that keep a person from using the page."""
        found = Axe().run(self.page).response["violations"]
        return [
            f"{it['id']} ({it['impact']}): {node['html']} {node['failureSummary']}"
            for it in found
            if it["impact"] in ("serious", "critical")
            for node in it["nodes"]
        ]

    def unsafe_parts(self) -> list[str]:
        """Parts of the page which show that it obeys a text, or hides characters of it."""
        found: list[str] = self.page.evaluate(UNSAFE)
        return found


@contextmanager
def own_tab(browser: Browser, url: str, credentials: str | None = None, **options: object) -> Iterator[Tab]:
    """A tab of a fresh profile. `options`: those of Playwright's `new_context`."""
    if credentials is not None:
        name, _, password = credentials.partition(":")
        options["http_credentials"] = {"username": name, "password": password}
    context = browser.new_context(base_url=url, **options)  # type: ignore[arg-type]
    context.set_default_timeout(patient(30_000))
    tab = Tab(context, context.new_page())
    context.on("weberror", lambda it: tab.errors.append(it.error.stack or str(it.error)))
    context.on(
        "console", lambda it: tab.errors.append(f"{it.text} {it.location}") if it.type == "error" else None
    )
    context.on("dialog", lambda it: (tab.errors.append(f"dialog: {it.message}"), it.dismiss()))
    context.on("request", lambda it: None if _is_local(it.url, url) else tab.errors.append(it.url))
    try:
        yield tab
    finally:
        context.close()


def _is_local(address: str, url: str) -> bool:
    return address.startswith((f"{url}/", "data:", "blob:", "about:"))
