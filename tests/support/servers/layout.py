"""The computed layout of a page at each width: what is outside of the window, cut off or blank; and its pictures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page

from scaling import patient

WIDTHS = (1400, 1000, 800, 390)
#: Maximum pixels of a picture.
MAX_HEIGHT = 6_000
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
#: Returns what is wrong with the layout: one line for each element.
FAULTS = """() => {
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) faults.push(`page: ${root.scrollWidth} of ${innerWidth} pixels`);
  // Heads of Flower's tables scroll with their bodies.
  const left = ".visually-hidden, .visually-hidden-focusable, .skip-link, option, datalist, svg, .dataTables_scrollHead, .dataTables_scrollFoot";
  const isForReaders = (it) => it && ((it.clientWidth === 1 && it.clientHeight === 1) || isForReaders(it.parentElement));
  const hidden = /hidden|clip/;
  const canBeSeen = (it) => it.closest("[title], summary.cut, select, input");
  const canHaveFocus = (it) => it.tabIndex >= 0 || it.querySelector("a[href], button, input, select, textarea, summary");
  let bottom = 0;
  for (const it of document.querySelectorAll("body *")) {
    if (!it.checkVisibility() || it.closest(left) || isForReaders(it)) continue;
    const box = it.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    const text = it.textContent.replace(/\\s+/g, " ").trim().slice(0, 40);
    const name = `${it.tagName.toLowerCase()}.${it.className} ${text}`;
    const style = getComputedStyle(it);
    bottom = Math.max(bottom, box.bottom + scrollY);
    let frame = it.parentElement;
    while (frame && getComputedStyle(frame).overflowX === "visible") frame = frame.parentElement;
    if (!frame && (box.left < -1 || box.right > innerWidth + 1)) faults.push(`outside: ${name}`);
    const isWide = it.scrollWidth > it.clientWidth + 1;
    const isTall = it.scrollHeight > it.clientHeight + 1;
    const isCut = (isWide && hidden.test(style.overflowX)) || (isTall && hidden.test(style.overflowY));
    if (isCut && it.clientWidth && !canBeSeen(it)) faults.push(`cut: ${name}`);
    if (isWide && it.matches("td, th")) faults.push(`overflows: ${name}`);
    if (isWide && /auto|scroll/.test(style.overflowX) && !canHaveFocus(it)) faults.push(`scrolls without focus: ${name}`);
  }
  const rest = root.scrollHeight - Math.max(bottom, innerHeight);
  if (rest > 60) faults.push(`${rest} blank pixels below the content`);
  return [...new Set(faults)];
}"""


def _lasting_faults(page: Page) -> list[str]:
    """Faults that stay: a script may change the page after its width has changed."""
    deadline = time.monotonic() + patient(2)
    while (faults := page.evaluate(FAULTS)) and time.monotonic() < deadline:
        page.wait_for_timeout(100)
    return list(faults)


def layout_faults(page: Page, pictures: Path, name: str) -> dict[int, list[str]]:
    """Faults of a page at each width that has some. Pictures in both themes are written as `name-width-theme.png`."""
    faults = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 844})
        faults[width] = _lasting_faults(page)
        # A page as high as its content: a browser does not draw turns that are out of sight.
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": width, "height": min(height, MAX_HEIGHT)})
        for theme in THEMES:
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            page.screenshot(path=pictures / f"{name}-{width}-{theme}.png")
    return {width: lines for width, lines in faults.items() if lines}
