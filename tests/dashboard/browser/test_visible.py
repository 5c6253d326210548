"""Characters that a browser hides or obeys: every page shows the same text for them."""

from __future__ import annotations

import sys

import pytest

from symposia.dashboard.views.visible import make_visible

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

#: Text of the page for every code point that it changes, lone surrogates included.
SHOWN = """async () => {
  const { makeVisible } = await import("/collabs/static/page.js");
  const shown = {};
  for (let code = 0; code <= 0x10ffff; code++) {
    const character = String.fromCodePoint(code);
    const text = makeVisible(character);
    if (text !== character) shown[code] = text;
  }
  return shown;
}"""
TEXTS = [
    "a\r\nb\rc\td",
    "\x1b[31mred",
    "user\u202egnp.exe",
    "\ud83d",
    "\U0001f600 \U000e0041",
    "👩‍👩‍👧 ٣ שלום",
]


def test_page_and_server_show_the_same_characters(open_tab):
    page = open_tab("/inbox").page
    characters = map(chr, range(sys.maxunicode + 1))
    expected = {str(ord(it)): make_visible(it) for it in characters if make_visible(it) != it}
    assert page.evaluate(SHOWN) == expected
    codes = [[ord(it) for it in text] for text in TEXTS]
    shown = page.evaluate(
        """async (texts) => {
          const { makeVisible } = await import("/collabs/static/page.js");
          return texts.map((codes) => makeVisible(String.fromCodePoint(...codes)));
        }""",
        codes,
    )
    assert shown == [make_visible(text) for text in TEXTS]
