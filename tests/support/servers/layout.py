"""What is wrong with the layout of a page: elements outside of it, cut, or followed by a blank area."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

#: Widths of a window, in pixels.
WIDTHS = (1400, 1000, 800, 390)
#: Returns what is wrong with the layout: one line for each element.
FAULTS = """() => {
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) faults.push(`page: ${root.scrollWidth} of ${innerWidth} pixels`);
  const hides = (it) => /hidden|clip/.test(getComputedStyle(it).overflow);
  const scrolls = (it) => /auto|scroll/.test(getComputedStyle(it).overflowX);
  const canBeSeen = (it) => it.closest("[title], summary.cut, select, input");
  let bottom = 0;
  for (const it of document.querySelectorAll("main *")) {
    if (!it.checkVisibility() || it.closest(".visually-hidden, option, datalist")) continue;
    const box = it.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    const name = `${it.tagName}.${it.className} ${it.textContent.trim().slice(0, 40)}`;
    bottom = Math.max(bottom, box.bottom + scrollY);
    let frame = it.parentElement;
    while (frame && !scrolls(frame)) frame = frame.parentElement;
    if (!frame && (box.left < -1 || box.right > innerWidth + 1)) faults.push(`outside: ${name}`);
    const isCut = it.scrollWidth > it.clientWidth + 1 || it.scrollHeight > it.clientHeight + 1;
    if (isCut && it.clientWidth && hides(it) && !canBeSeen(it)) faults.push(`cut: ${name}`);
    if (isCut && it.matches("td, th") && it.scrollWidth > it.clientWidth + 1) faults.push(`overflows: ${name}`);
  }
  const rest = root.scrollHeight - Math.max(bottom, innerHeight);
  if (rest > 60) faults.push(`${rest} blank pixels below the content`);
  return faults;
}"""


def layout_faults(page: Page, pictures: Path, name: str) -> dict[int, list[str]]:
    """Faults of a page at each width that has some; takes a picture at each width."""
    faults = {}
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 844})
        faults[width] = page.evaluate(FAULTS)
        page.screenshot(path=pictures / f"{name}-{width}.png", full_page=True)
    return {width: lines for width, lines in faults.items() if lines}
