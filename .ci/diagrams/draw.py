"""Draw the texts beside this file as docs/diagrams/*.svg.

python .ci/diagrams/draw.py

The first line of a text is the title, the second the description for readers who do not see the picture. In labels,
`code` is in backquotes, and a bar begins a new line. The other lines of a sequence diagram are

- `columns: A | B`, first
- `A -> B: label`, a call or a message; `A --> B: label`, the answer of a script
- `[A]: label`, a note; `~ label`, a pause
- `takes: A` and `loses: A`, around the time in which A has the lease

and those of a diagram of states, with coordinates in pixels,

- `size: 640 x 400`, first
- `state 80,90: name`; `group 80,90: label`, several states
- `arrow 80,90 200,90: label at 140,82`, through any number of points; the label is centred there
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

SOURCES = Path(__file__).parent
TARGET = SOURCES.parents[1] / "docs" / "diagrams"
COLUMN, LINE, CODE_CHAR, TEXT_CHAR = 156, 18, 7.9, 7.6
#: Colours of background, text, lines, boxes, notes and the lease, in light and in dark.
LIGHT = ("#ffffff", "#1f2328", "#57606a", "#e8edfb", "#fff5d6", "#3f51b5")
DARK = ("#161b22", "#e6edf3", "#9aa4af", "#24304a", "#3d3415", "#8c9eff")
SHAPES = """\
text{font:14px system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;text-anchor:middle}
.code{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.line{fill:none;stroke-width:1.5}
.group{fill:none}
.answer,.group,.pause{stroke-dasharray:5 4}
.life{stroke-width:1;stroke-opacity:.55}
.note{stroke-opacity:.5}
"""
COLOURS = """\
.card{{fill:{0};stroke:{3}}}
.blank{{fill:{0}}}
text{{fill:{1}}}
.line,.box,.group,.note{{stroke:{2}}}
.head{{fill:{2}}}
.box{{fill:{3}}}
.note{{fill:{4}}}
.lease{{fill:{5}}}
"""


def render(source: str) -> str:
    """Return the SVG of a text."""
    title, description, first, *lines = source.splitlines()
    kind, _, value = first.partition(": ")
    parts = _Parts()
    if kind == "columns":
        width, height = _draw_sequence(parts, value.split(" | "), lines)
    else:
        width, height = map(int, value.split(" x "))
        _draw_states(parts, lines)
    dark = "@media (prefers-color-scheme:dark){\n" + COLOURS.format(*DARK) + "}"
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title desc" viewBox="0 0 {width} {height}" \
width="{width}" height="{height}">
<title id="title">{escape(title)}</title>
<desc id="desc">{escape(description)}</desc>
<style>
{SHAPES}{COLOURS.format(*LIGHT)}{dark}
</style>
<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">\
<path class="head" d="M0 0 10 5 0 10z"/></marker></defs>
<rect class="card" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>
{chr(10).join(parts.columns + parts.blanks + parts.front)}
</svg>
"""


class _Parts:
    """The elements of a diagram: lines of the columns, what labels cover of them, and all else."""

    def __init__(self) -> None:
        self.columns: list[str] = []
        self.blanks: list[str] = []
        self.front: list[str] = []

    def arrow(self, kind: str, *points: tuple[int, int]) -> None:
        path = " ".join(f"{x} {y}" for x, y in points)
        self.front.append(f'<path class="line {kind}" d="M{path}" marker-end="url(#head)"/>')

    def box(self, kind: str, x: int, y: int, *, size: tuple[int, int], rounding: int = 6) -> None:
        """Add a box around a point."""
        width, height = size
        geometry = f'x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width}" height="{height}"'
        self.front.append(f'<rect class="{kind}" {geometry} rx="{rounding}"/>')

    def text(self, label: str, x: int, y: int, *, room: int, kind: str = "label") -> None:
        """Add a label whose last line is at `y`; it must fit into `room`."""
        if _measure(label) > room:
            raise ValueError(f"{label!r} needs {_measure(label)} pixels and has {room}")
        rows, width = label.split(" | "), _measure(label)
        if kind == "label":
            geometry = f'x="{x - width // 2}" y="{y - len(rows) * LINE + 4}" width="{width}" height="{len(rows) * LINE}"'
            self.blanks.append(f'<rect class="blank" {geometry}/>')
        for number, row in enumerate(reversed(rows)):
            spans = re.sub("`(.+?)`", r'<tspan class="code">\1</tspan>', escape(row, quote=False))
            self.front.append(f'<text x="{x}" y="{y - number * LINE}">{spans}</text>')


def _measure(label: str) -> int:
    """Return the width of a label in pixels, with the widest of the fonts."""
    rows = [re.split("`", row) for row in label.split(" | ")]
    return round(
        max(len("".join(pieces[::2])) * TEXT_CHAR + len("".join(pieces[1::2])) * CODE_CHAR for pieces in rows)
    )


def _draw_sequence(parts: _Parts, names: list[str], lines: list[str]) -> tuple[int, int]:
    middle = {name: COLUMN // 2 + COLUMN * number for number, name in enumerate(names)}
    width, y, since = COLUMN * len(names), 62, dict.fromkeys(names, 0)
    for line in lines:
        rows = (line.count(" | ") + 1) * LINE
        if match := re.fullmatch(r"(takes|loses): (.+)", line):
            verb, name = match.groups()
            if verb == "takes":
                since[name] = y
            else:
                geometry = f'x="{middle[name] - 4}" y="{since[name]}" width="8" height="{y - since[name]}"'
                parts.columns.append(f'<rect class="lease" {geometry} rx="3"/>')
        elif match := re.fullmatch(r"(.+?) (--?>) (.+?): (.+)", line):
            (begin, end), label = (middle[match[1]], middle[match[3]]), match[4]
            y += rows + 16
            gap = 7 if begin < end else -7
            parts.arrow("call" if match[2] == "->" else "answer", (begin + gap, y), (end - gap, y))
            parts.text(label, (begin + end) // 2, y - 7, room=abs(end - begin) - 16)
        elif match := re.fullmatch(r"\[(.+)\]: (.+)", line):
            y += rows + 30
            x = middle[match[1]]
            parts.box("note", x, y - 9 - rows // 2, size=(_measure(match[2]) + 16, rows + 12))
            parts.text(match[2], x, y - 14, room=COLUMN + 20, kind="inside")
        elif line.startswith("~ "):
            y += 36
            parts.columns.append(f'<path class="line pause" d="M14 {y}H{width - 14}"/>')
            parts.text(line.removeprefix("~ "), width // 2, y + 5, room=width - 60)
            y += 6
        else:
            raise ValueError(f"unknown line: {line!r}")
    for name, x in middle.items():
        parts.columns.insert(0, f'<path class="line life" d="M{x} 46V{y + 20}"/>')
        parts.box("box", x, 30, size=(112, 32))
        parts.text(name, x, 35, room=100, kind="inside")
    return width, y + 34


def _draw_states(parts: _Parts, lines: list[str]) -> None:
    for line in lines:
        kind, rest = line.split(" ", 1)
        points, label = rest.split(": ", 1)
        places = [(int(x), int(y)) for x, y in (point.split(",") for point in points.split())]
        if kind == "arrow":
            label, _, at = label.rpartition(" at ")
            x, y = map(int, at.split(","))
            parts.arrow("call", *places)
            parts.text(label, x, y, room=360)
        else:
            size = (104, 40) if kind == "state" else (216, 40)
            parts.box("box" if kind == "state" else "group", *places[0], size=size, rounding=20)
            parts.text(label, places[0][0], places[0][1] + 5, room=size[0], kind="inside")


if __name__ == "__main__":
    TARGET.mkdir(exist_ok=True)
    for source in sorted(SOURCES.glob("*.txt")):
        (TARGET / f"{source.stem}.svg").write_text(
            render(source.read_text(encoding="utf-8")), encoding="utf-8"
        )
