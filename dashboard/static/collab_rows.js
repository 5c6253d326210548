// Rows of the list of sessions: their columns, elements and order.
import { count, dollars, span } from "./format.js";
import { base, make } from "./page.js";

const NONE = "–";

export const COLUMNS = [
  { name: "Title", sort: "title", cell: titleCell },
  { name: "Mode", sort: "mode", cell: (row) => row.mode.replace("_", " ") },
  { name: "Status", sort: "status", cell: statusCell },
  { name: "Progress", cell: progressCell },
  { name: "Speaker", cell: speakerCell },
  { name: "Turns", sort: "turns", number: true, cell: (row) => count(row.turns) },
  { name: "Tokens", sort: "tokens", number: true, cell: (row) => count(row.tokens) },
  { name: "Cost", sort: "cost", number: true, cell: (row) => dollars(row.cost_micros) },
  { name: "Age", sort: "opened", number: true, cell: (row) => ageCell(row.opened_ms) },
  { name: "Activity", sort: "activity", number: true, cell: (row) => ageCell(row.updated_ms) },
  { name: "Last error", cell: errorCell },
];

/** Sort key -> field of a row, as the server sorts. */
const FIELDS = JSON.parse(document.getElementById("rows").dataset.sortFields);

/** Compare two rows in an order, as the server does: by a field, then by id. */
export function compare(one, other, order) {
  const [left, right] = [one, other].map((row) => keyOf(row[FIELDS[order.by]]));
  const result = left < right ? -1 : left > right ? 1 : one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
  return order.descending ? -result : result;
}

function keyOf(value) {
  return typeof value === "string" ? value.toLowerCase() : value;
}

/** Return the element of a row. */
export function rowOf(row) {
  const cells = COLUMNS.map((it) => {
    const content = it.cell(row);
    const kind = `${it.number ? "number" : "words"}${content === NONE ? " none" : ""}`;
    return make("td", { class: kind, "data-label": it.name }, content);
  });
  const kind = row.attention ? ` row-${row.attention}` : "";
  return make("tr", { id: `row-${row.id}`, "data-id": row.id, class: `collab-row${kind}` }, ...cells);
}

function titleCell(row) {
  return make("a", { href: `${base}/collabs/${row.id}`, class: "collab-title" }, row.title.trim() || row.id);
}

function statusCell(row) {
  const parts = [make("span", { class: `state state-${row.status}` }, row.status)];
  if (row.archived) parts.push(make("span", { class: "state" }, "archived"));
  if (row.attention) parts.push(make("span", { class: `state state-${row.attention}` }, row.attention_text));
  const reason = [row.reason === row.status ? null : row.reason, row.detail].filter(Boolean).join(": ");
  if (reason) parts.push(make("span", { class: "state-reason", title: reason }, reason));
  return make("span", { class: "state-cell" }, ...parts);
}

function progressCell(row) {
  if (!row.max_turns) return `${count(row.rounds)} rounds`;
  const label = `${row.turns} of ${row.max_turns} turns`;
  return make(
    "span", { class: "progress-cell" },
    make("progress", { value: row.turns, max: row.max_turns, "aria-label": label }), make("span", {}, label),
  );
}

function speakerCell(row) {
  if (!row.speakers.length) return NONE;
  return row.speakers.map((it) => `${it.name} (${it.state})`).join(", ");
}

function ageCell(ms) {
  const at = new Date(ms);
  const element = make("time", { datetime: at.toISOString(), title: at.toLocaleString() });
  element.ageText = () => span(Date.now() - ms);
  element.textContent = element.ageText();
  return element;
}

function errorCell(row) {
  if (!row.last_error) return NONE;
  const { text } = row.last_error;
  return make("span", { class: "last-error", title: text }, text);
}
