// The list of sessions.
import { base, count, dollars, getJson, make, plain, span } from "./page.js";

const COLUMNS = [
  { name: "Title", sort: "title", cell: titleCell },
  { name: "Mode", sort: "mode", cell: (row) => row.mode.replace("_", " ") },
  { name: "Status", sort: "status", cell: statusCell },
  { name: "Progress", cell: progressCell },
  { name: "Speaker", cell: speakerCell },
  { name: "Turns", sort: "turns", number: true, cell: (row) => count(row.turns) },
  { name: "Tokens", sort: "tokens", number: true, cell: (row) => count(row.tokens) },
  { name: "Cost", sort: "cost", number: true, cell: (row) => dollars(row.cost_micros) },
  { name: "Age", sort: "opened", number: true, cell: (row) => timeCell(row.opened_ms) },
  { name: "Activity", sort: "activity", number: true, cell: (row) => timeCell(row.updated_ms) },
  { name: "Last error", cell: errorCell },
];

const rows = document.getElementById("rows");
const form = document.getElementById("filter");
const order = { by: "activity", descending: true };

function titleCell(row) {
  return make("a", { href: `${base}/collabs/${row.id}`, class: "collab-title" }, plain(row.title) || row.id);
}

function statusCell(row) {
  const parts = [make("span", { class: `state state-${row.status}` }, row.status)];
  if (row.reason && row.reason !== row.status) parts.push(make("span", { class: "state-reason" }, plain(row.reason)));
  if (row.attention) {
    parts.push(make("span", { class: `state state-${row.attention}` }, plain(row.attention_text)));
  }
  return make("span", { class: "state-cell" }, ...parts);
}

function progressCell(row) {
  if (!row.max_turns) return `${count(row.rounds)} rounds`;
  const label = `${row.turns} of ${row.max_turns} turns`;
  return make("span", {}, make("progress", { value: row.turns, max: row.max_turns, "aria-label": label }), ` ${label}`);
}

function speakerCell(row) {
  if (!row.speakers.length) return "–";
  return row.speakers.map((it) => `${plain(it.name)} (${it.state})`).join(", ");
}

function timeCell(ms) {
  return make("time", { datetime: new Date(ms).toISOString(), title: new Date(ms).toLocaleString() }, span(Date.now() - ms));
}

function errorCell(row) {
  if (!row.last_error) return "–";
  return make("span", { class: "last-error", title: plain(row.last_error.text) }, plain(row.last_error.text));
}

function rowOf(row) {
  const cells = COLUMNS.map((it) => make("td", { class: it.number ? "number" : null, "data-label": it.name }, it.cell(row)));
  return make("tr", { id: `row-${row.id}`, class: row.attention ? `row-${row.attention}` : null }, ...cells);
}

async function load() {
  const query = new URLSearchParams(new FormData(form));
  query.set("sort", order.by);
  query.set("order", order.descending ? "desc" : "asc");
  const page = await getJson(`/api/collabs?${query}`);
  rows.replaceChildren(...page.collabs.map(rowOf));
  document.getElementById("empty").hidden = page.collabs.length > 0;
  document.getElementById("live-status").textContent = "Loaded";
}

document.getElementById("columns").append(...COLUMNS.map((it) => make("th", { scope: "col", class: it.number ? "number" : null }, it.name)));
form.addEventListener("input", () => load());
form.addEventListener("submit", (event) => event.preventDefault());
load();
