// The turns of a session as one list: every attempt with its Celery task, turns side by side indented together.

import { clock, count, dollars, duration } from "../format.js";
import { updateNode } from "../nodes.js";
import { make } from "../page.js";
import { isBad, outcomeOf } from "./timeline.js";
import { waitsForWorkers } from "./timeline_layout.js";

export class TurnsView {
  constructor({ body, taskUrl }) {
    this.body = body;
    this.taskUrl = taskUrl;
    this.rows = new Map(); // key of an attempt -> its row, and the data that it shows
  }

  draw({ data, names, nowMs, openedMs, rootId }) {
    const spans = data.inOrder();
    const turnOf = new Map(spans.map((span) => [span.task_id, span.turn]));
    const groups = groupSizes(spans);
    const waits = waitsForWorkers(data.spans, openedMs);
    const planned = (span) => (span.parent_id === rootId ? "the start" : turnOf.get(span.parent_id));
    spans.forEach((span, index) => {
      const row = this.currentRow(span, {
        name: names.get(span.participant) ?? span.participant,
        isBeside: (groups.get(span.parent_id)?.size ?? 0) > 1,
        planner: planned(span),
        isParked: span.ended_ms === undefined && data.isParked(span.turn),
        waitMs: waits.has(span.key) ? span.began_ms - waits.get(span.key) : null,
        untilMs: span.ended_ms ?? nowMs,
      });
      if (this.body.children[index] !== row) this.body.insertBefore(row, this.body.children[index] ?? null);
    });
  }

  // Return the row of an attempt. It stays the same element, so that a focused link keeps the focus.
  currentRow(span, facts) {
    const shown = JSON.stringify([span, facts]);
    const known = this.rows.get(span.key);
    if (known?.shown === shown) return known.row;
    const row = this.row(span, facts);
    if (known) updateNode(known.row, row);
    this.rows.set(span.key, { row: known?.row ?? row, shown });
    return known?.row ?? row;
  }

  row(span, { name, isBeside, isParked, planner, waitMs, untilMs }) {
    const cells = [
      name,
      `${span.attempt}`,
      outcomeCell(span, isParked),
      span.began_ms ? clock(span.began_ms) : "earlier",
      span.began_ms ? duration(untilMs - span.began_ms) : "–",
      duration(waitMs),
      span.tokens ? count(span.tokens) : "–",
      dollars(span.cost_micros),
      typeof planner === "number" ? `turn ${planner}` : planner ?? "–",
      this.taskLink(span),
    ];
    return make("tr", { class: isBad(span) ? "turn-bad" : null },
      make("th", { scope: "row", class: isBeside ? "turn-beside" : null }, `${span.turn}`,
        isBeside ? make("span", { class: "visually-hidden" }, " side by side") : null),
      ...cells.map((cell) => make("td", {}, cell)));
  }

  taskLink(span) {
    if (!span.task_id) return "–";
    const label = `Celery task of turn ${span.turn}, attempt ${span.attempt}`;
    return make("a", { href: this.taskUrl(span.task_id), "aria-label": label }, "task");
  }
}

function outcomeCell(span, isParked) {
  const [kind, text] = isParked ? ["parked", "waiting for an answer"] : [kindOf(span), outcomeOf(span)];
  return make("span", {}, make("span", { class: `state state-${kind}` }, text),
    span.error ? make("span", { class: "turn-error" }, span.error) : null);
}

function groupSizes(spans) {
  const groups = new Map();
  for (const span of spans) {
    if (!groups.has(span.parent_id)) groups.set(span.parent_id, new Set());
    groups.get(span.parent_id).add(span.turn);
  }
  return groups;
}

// Return the class of a status of a session that looks as the outcome means.
function kindOf(span) {
  if (span.ended_ms === undefined) return "active";
  if (isBad(span)) return "cancelled";
  return span.outcome === "message" ? "completed" : "suspended";
}
