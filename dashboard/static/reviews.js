// The list of reviews.
import { count, span } from "./format.js";
import { updateRows } from "./nodes.js";
import { base, cell, getJson, make, setHidden } from "./page.js";
import { perform, refresh } from "./refresh.js";

const body = document.getElementById("rows");
const more = document.getElementById("more");
// Rows by id: the pages that were shown further down stay.
const shown = new Map();
let cursor = null;
let reachedEnd = false;

function counted(counts, total) {
  const parts = Object.entries(counts).map(([name, value]) => `${count(value)} ${name}`);
  return parts.join(", ") || total;
}

function rowOf(row) {
  const started = Date.parse(row.started);
  return make(
    "tr",
    { "data-key": row.id },
    cell("Review", make("a", { href: `${base}/reviews/${row.id}` }, row.id.slice(0, 8))),
    cell("Root", row.root),
    cell("Panel", row.panel),
    cell("State", make("span", { class: `outcome outcome-${row.state}` }, row.state)),
    cell("Items", counted(row.items, "none")),
    cell("Findings", counted(row.findings, "–")),
    cell("Started", make("time", { datetime: row.started, title: new Date(started).toLocaleString() }, `${span(Date.now() - started)} ago`)),
  );
}

function show(reviews) {
  for (const row of reviews) shown.set(row.id, row);
  const rows = [...shown.values()].sort((a, b) => Date.parse(b.started) - Date.parse(a.started));
  updateRows(body, rows.map(rowOf));
  document.getElementById("empty").hidden = rows.length > 0;
  setHidden(more, cursor === null, body.closest("[tabindex]"));
}

async function load() {
  const page = await getJson("/api/reviews?limit=50");
  if (cursor === null && !reachedEnd) cursor = page.next;
  reachedEnd = reachedEnd || page.next === null;
  show(page.reviews);
}

refresh(load);
more.addEventListener("click", () => perform(more, async () => {
  const page = await getJson(`/api/reviews?limit=50&after=${encodeURIComponent(cursor)}`);
  cursor = page.next;
  reachedEnd = page.next === null;
  show(page.reviews);
}));
