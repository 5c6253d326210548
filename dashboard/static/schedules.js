// Schedules: next and last run, history, pause, resume and run.
import { count, countOf, dollars, span, timeElement } from "./format.js";
import { updateRows } from "./nodes.js";
import { act, allowsActions, base, cell, getJson, make, setHidden } from "./page.js";
import { perform, refresh, tell } from "./refresh.js";

const PAGE = 50;
const MOST = 200;
const COLUMNS = 7;
const DONE = { pause: "paused", resume: "resumed", run: "run requested" };
const body = document.getElementById("rows");
const more = document.getElementById("more");
// Names of the schedules whose history is shown.
const opened = new Set();
let limit = PAGE;

function runLink(kind, id) {
  return make("a", { href: `${base}/${kind === "review" ? "reviews" : "collabs"}/${id}` }, id.slice(0, 8));
}

function nextCell(row) {
  if (row.next_ms === null) return make("span", { class: "outcome outcome-skipped" }, "paused");
  const wait = row.next_ms - Date.now();
  return make("span", {}, timeElement(row.next_ms, row.zone), make("span", { class: "muted" }, wait > 0 ? ` in ${span(wait)}` : " due"));
}

function nowCell(row) {
  const parts = [];
  if (row.running) parts.push("running ", runLink(row.kind, row.running));
  if (row.queued) parts.push(`${parts.length ? ", " : ""}${count(row.queued)} queued`);
  return make("span", {}, ...(parts.length ? parts : ["–"]));
}

function outcome(run) {
  return make("span", { class: `outcome outcome-${run.outcome}` }, run.outcome);
}

function lastCell(row) {
  if (!row.last) return "–";
  return make("span", { title: row.last.detail }, outcome(row.last), make("span", { class: "muted" }, ` ${span(Date.now() - row.last.ended_ms)} ago`));
}

// The buttons of a row are changed in place, so one listener of the table handles all clicks.
function button(label, description, style, verb, name) {
  return make("button", {
    class: `btn btn-sm ${style}`, type: "button", "aria-label": description, "data-verb": verb, "data-schedule": name,
  }, label);
}

function buttons({ name, paused }) {
  const isOpen = opened.has(name);
  const history = button(isOpen ? "Hide history" : "History", `History of ${name}`, "btn-outline-secondary", "history", name);
  history.setAttribute("aria-expanded", String(isOpen));
  const changes = allowsActions
    ? [
        paused
          ? button("Resume", `Resume ${name}`, "btn-outline-primary", "resume", name)
          : button("Pause", `Pause ${name}`, "btn-outline-primary", "pause", name),
        button("Run now", `Run ${name} now`, "btn-primary", "run", name),
      ]
    : [];
  return make("div", { class: "button-row" }, ...changes, history);
}

function toggleHistory(name) {
  if (!opened.delete(name)) opened.add(name);
  reload();
}

async function change(node, name, verb) {
  if (!await perform(node, () => act(`/api/schedules/${encodeURIComponent(name)}/${verb}`))) return;
  await reload();
  tell(`${name}: ${DONE[verb]}`);
}

function rowOf(row) {
  return make(
    "tr",
    { "data-key": row.name },
    cell("Name", make("span", {}, make("strong", {}, row.name), row.from_settings ? make("span", { class: "muted" }, " (settings)") : null)),
    cell("Action", row.action),
    cell("Times", row.times),
    cell("Next run", nextCell(row)),
    cell("Now", nowCell(row)),
    cell("Last run", lastCell(row)),
    cell("Change", buttons(row)),
  );
}

function historyRow(row, runs) {
  const lines = runs.map((run) =>
    make(
      "li",
      {},
      outcome(run),
      " ",
      timeElement(run.due_ms, row.zone),
      run.by_hand ? " (run now)" : "",
      run.started_ms ? `, ${span(run.ended_ms - run.started_ms)}, ${countOf(run.tokens, "token")}, ${dollars(run.cost_micros)}, ` : ", ",
      run.started_ms ? runLink(row.kind, run.id) : "not started",
      run.detail ? make("span", { class: "said muted" }, ` ${run.detail}`) : null,
    ),
  );
  const content = lines.length ? make("ol", { class: "mb-0", "aria-label": `Runs of ${row.name}, newest first` }, ...lines) : "No runs yet.";
  return make("tr", { "data-key": `history of ${row.name}` }, make("td", { colspan: COLUMNS }, content));
}

async function load() {
  const page = await getJson(`/api/schedules?limit=${limit}`);
  const rows = [];
  for (const row of page.schedules) {
    rows.push(rowOf(row));
    if (opened.has(row.name)) {
      const detail = await getJson(`/api/schedules/${encodeURIComponent(row.name)}`);
      rows.push(historyRow(row, detail.runs));
    }
  }
  updateRows(body, rows);
  document.getElementById("empty").hidden = rows.length > 0;
  document.getElementById("table").hidden = rows.length === 0;
  setHidden(more, page.next === null || limit >= MOST, body.closest("[tabindex]"));
}

const reload = refresh(load);
body.addEventListener("click", (event) => {
  const node = event.target.closest("[data-verb]");
  if (!node) return;
  const { verb, schedule } = node.dataset;
  if (verb === "history") toggleHistory(schedule);
  else change(node, schedule, verb);
});
more.addEventListener("click", () => {
  limit = Math.min(MOST, limit + PAGE);
  reload();
});
