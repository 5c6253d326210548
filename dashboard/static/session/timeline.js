// The timeline as an SVG drawing: lanes of participants, bars of turns to the scale of time.

import { clock, countOf, duration } from "../format.js";
import { make } from "../page.js";
import { svg } from "./svg.js";
import { extentOf, layOut, makeScale, waitsForWorkers } from "./timeline_layout.js";

const ROW = 22;
const BAR = 14;
const AXIS = 24;
const NARROWEST = 2;
const WIDEST = 60_000;
const TICK_PX = 110;
const MOST_EMPTY_LANES = 30;
const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 432e5,
  864e5, 1728e5, 6048e5,
];
const BAD = new Set(["failed", "expired", "dropped", "cancelled"]);

// Return the word that describes the state of a span.
export function outcomeOf(span) {
  if (span.ended_ms === undefined) return "speaking";
  return span.retried ? "failed, retried" : span.outcome;
}

export function isBad(span) {
  return BAD.has(span.outcome);
}

export class TimelineView {
  // `names`: element for the names of the lanes; `canvas`: element that scrolls; `tasks`: URL of a Celery task.
  constructor({ names, canvas, taskUrl }) {
    this.names = names;
    this.canvas = canvas;
    this.taskUrl = taskUrl;
    this.zoom = 1;
  }

  draw({ spans, waits, marks, participants, nowMs, openedMs }) {
    const all = [...spans.values()];
    const { fromMs, untilMs } = extentOf(all, marks, nowMs);
    const isAtEnd = this.canvas.scrollLeft + this.canvas.clientWidth >= this.canvas.scrollWidth - 4;
    const width = Math.min(Math.max(this.canvas.clientWidth, 300) * this.zoom, WIDEST);
    const x = makeScale(fromMs, untilMs, width);
    // A long roster has lanes only for participants with turns.
    const named = participants.length > MOST_EMPTY_LANES ? [] : participants.map((it) => it.id);
    const layout = layOut(all, named, fromMs, nowMs);
    const height = AXIS + layout.rows * ROW;
    const drawing = svg("svg", {
      width, height, viewBox: `0 0 ${width} ${height}`, role: "group",
      "aria-label": `Timeline of ${countOf(all.length, "attempt")}, ${duration(untilMs - fromMs)}. The list of turns has the same data.`,
    });
    drawing.append(...this.axis(fromMs, untilMs, x, height), ...this.lanes(layout, width));
    drawing.append(...this.queues(layout, waitsForWorkers(spans, openedMs), x));
    drawing.append(...layout.items.map((item) => this.bar(item, x)));
    drawing.append(...this.parked(layout, waits, x, nowMs), ...this.marks(layout, marks, x, height));
    this.canvas.replaceChildren(drawing);
    if (isAtEnd) this.canvas.scrollLeft = this.canvas.scrollWidth;
    this.drawNames(layout, new Map(participants.map((it) => [it.id, it.name])));
  }

  drawNames(layout, names) {
    const rows = layout.lanes.map((lane) => {
      const name = names.get(lane.participant) ?? lane.participant;
      return svg("text", { x: 4, y: AXIS + lane.first * ROW + BAR, class: "tl-name" }, document.createTextNode(name));
    });
    const height = AXIS + layout.rows * ROW;
    this.names.replaceChildren(svg("svg", { width: 120, height, "aria-hidden": "true" }, ...rows));
  }

  axis(fromMs, untilMs, x, height) {
    const perPx = (untilMs - fromMs) / Math.max(x(untilMs), 1);
    const step = STEPS_MS.find((ms) => ms >= perPx * TICK_PX) ?? STEPS_MS.at(-1);
    const parts = [];
    for (let ms = 0; ms <= untilMs - fromMs && parts.length < 2_000; ms += step) {
      const at = x(fromMs + ms);
      parts.push(svg("line", { x1: at, x2: at, y1: AXIS - 4, y2: height, class: "tl-grid" }));
      const label = ms === 0 ? clock(fromMs) : `+${duration(ms)}`;
      parts.push(svg("text", { x: at + 3, y: 12, class: "tl-tick" }, document.createTextNode(label)));
    }
    return parts;
  }

  lanes(layout, width) {
    return layout.lanes.map((lane, index) => svg("rect", {
      x: 0, y: AXIS + lane.first * ROW - 2, width, height: lane.rows * ROW, class: index % 2 ? "tl-lane tl-odd" : "tl-lane",
    }));
  }

  queues(layout, waits, x) {
    return layout.items.filter(({ span }) => waits.has(span.key)).map(({ span, row, beginMs }) => {
      const from = x(waits.get(span.key));
      const y = AXIS + row * ROW + BAR / 2;
      return titled(svg("line", { x1: from, x2: x(beginMs), y1: y, y2: y, class: "tl-queue" }),
        `turn ${span.turn} waited ${duration(beginMs - waits.get(span.key))} for a worker`);
    });
  }

  bar({ span, row, beginMs, endMs, isOpenLeft, isOpenRight }, x) {
    const width = Math.max(x(endMs) - x(beginMs), NARROWEST);
    const kind = isOpenRight ? "speaking" : span.outcome || "unknown";
    const text = [
      `turn ${span.turn}, ${span.participant}: ${outcomeOf(span)}`,
      span.attempt > 1 ? `attempt ${span.attempt}` : "",
      isOpenLeft ? "began before this page" : duration(endMs - beginMs),
      span.tokens ? countOf(span.tokens, "token") : "",
      span.error ?? "",
    ].filter(Boolean).join(", ");
    const rect = titled(svg("rect", {
      x: x(beginMs), y: AXIS + row * ROW, width, height: BAR, rx: 2, class: `tl-bar tl-${kind}`,
    }), text);
    if (!span.task_id) return rect;
    return svg("a", { href: this.taskUrl(span.task_id), tabindex: "-1", "aria-label": text }, rect);
  }

  parked(layout, waits, x, nowMs) {
    const rows = new Map(layout.items.map((item) => [item.span.turn, item]));
    return waits.filter((wait) => rows.has(wait.turn)).map((wait) => {
      const item = rows.get(wait.turn);
      const until = Math.min(wait.until_ms ?? nowMs, item.endMs);
      const from = Math.max(wait.from_ms, item.beginMs);
      return titled(svg("rect", {
        x: x(from), y: AXIS + item.row * ROW + BAR / 4, height: BAR / 2, width: Math.max(x(until) - x(from), 0),
        class: "tl-parked",
      }), `turn ${wait.turn} waited ${duration(until - from)} for an answer`);
    });
  }

  marks(layout, marks, x, height) {
    const rows = new Map(layout.items.map((item) => [item.span.turn, item.row]));
    return marks.map((mark) => {
      const at = x(mark.at_ms);
      const row = rows.get(mark.turn);
      const [top, bottom] = row === undefined ? [AXIS - 6, height] : [AXIS + row * ROW - 2, AXIS + row * ROW + BAR + 2];
      const kind = mark.kind === "refused commit" ? "tl-mark tl-refused" : "tl-mark";
      return titled(svg("line", { x1: at, x2: at, y1: top, y2: bottom, class: kind }),
        `${mark.kind}${mark.turn ? `, turn ${mark.turn}` : ""}${mark.by ? `, by ${mark.by}` : ""}, ${clock(mark.at_ms)}`);
    });
  }
}

// Return the buttons that change the scale.
export function zoomButtons(view, redraw) {
  const button = (text, label, change) => {
    const node = make("button", { type: "button", class: "btn btn-sm btn-outline-primary", "aria-label": label }, text);
    node.addEventListener("click", () => {
      view.zoom = change(view.zoom);
      redraw();
    });
    return node;
  };
  return [
    button("−", "Smaller scale", (zoom) => Math.max(zoom / 2, 1)),
    button("Fit", "Fit the timeline into the page", () => 1),
    button("+", "Larger scale", (zoom) => Math.min(zoom * 2, 64)),
  ];
}

function titled(node, text) {
  node.append(svg("title", {}, document.createTextNode(text)));
  return node;
}
