// Schedules: next and last run, history, pause, resume and run.
import { count, dollars, span, timeElement } from "./format.js";
import { act, allowsActions, base, cell, getJson, make } from "./page.js";
import { perform, refresh, tell } from "./refresh.js";

const PAGE = 50;
const MOST = 200;
const COLUMNS = 7;
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

function button(label, description, style, action) {
  const node = make("button", { class: `btn btn-sm ${style}`, type: "button", "aria-label": description }, label);
  node.addEventListener("click", () => action(node));
  return node;
}

function buttons(row) {
  const { name } = row;
  const change = (verb, done) => async (node) => {
    if (await perform(node, () => act(`/api/schedules/${encodeURIComponent(row.name)}/${verb}`))) {
      await reload();
      body.querySelector(`tr[data-name="${CSS.escape(row.name)}"] button`)?.focus(); // its button was replaced
      tell(`${name}: ${done}`);
    }
  };
  const isOpen = opened.has(row.name);
  const history = button(isOpen ? "Hide history" : "History", `History of ${name}`, "btn-outline-secondary", () => {
    if (isOpen) opened.delete(row.name);
    else opened.add(row.name);
    reload();
  });
  history.setAttribute("aria-expanded", String(isOpen));
  const changes = allowsActions
    ? [
        row.paused
          ? button("Resume", `Resume ${name}`, "btn-outline-primary", change("resume", "resumed"))
          : button("Pause", `Pause ${name}`, "btn-outline-primary", change("pause", "paused")),
        button("Run now", `Run ${name} now`, "btn-primary", change("run", "run requested")),
      ]
    : [];
  return make("div", { class: "button-row" }, ...changes, history);
}

function rowOf(row) {
  return make(
    "tr",
    { "data-name": row.name },
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
      run.started_ms ? `, ${span(run.ended_ms - run.started_ms)}, ${count(run.tokens)} tokens, ${dollars(run.cost_micros)}, ` : ", ",
      run.started_ms ? runLink(row.kind, run.id) : "not started",
      run.detail ? make("span", { class: "said muted" }, ` ${run.detail}`) : null,
    ),
  );
  const content = lines.length ? make("ol", { class: "mb-0", "aria-label": `Runs of ${row.name}, newest first` }, ...lines) : "No runs yet.";
  return make("tr", {}, make("td", { colspan: COLUMNS }, content));
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
  // The button that has the focus is replaced: its successor gets the focus.
  const label = body.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
  body.replaceChildren(...rows);
  if (label !== null) [...body.querySelectorAll("button")].find((it) => it.getAttribute("aria-label") === label)?.focus();
  document.getElementById("empty").hidden = rows.length > 0;
  more.hidden = page.next === null || limit >= MOST;
}

const reload = refresh(load);
more.addEventListener("click", () => {
  limit = Math.min(MOST, limit + PAGE);
  reload();
});
