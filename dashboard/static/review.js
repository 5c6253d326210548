// One review: progress, findings by severity, failed items, and the report in a frame.
import { count, dollars, span } from "./format.js";
import { act, allowsActions, base, getJson, make, makeVisible, setHidden } from "./page.js";
import { perform, refresh, tell } from "./refresh.js";

const id = document.getElementById("review").dataset.id;
const api = `/api/reviews/${id}`;
const byId = (name) => document.getElementById(name);
const form = byId("filter");
const more = byId("more");
const frame = byId("report-frame");
let cursor = null;
let version = "";
let requests = 0; // number of requests for findings

function fact(name, value) {
  return make("div", {}, make("dt", {}, name), make("dd", {}, value));
}

function showReview(review) {
  byId("title").textContent = makeVisible(`Review of ${review.root} by ${review.panel}`);
  const progress = byId("progress");
  progress.max = review.total || 1;
  progress.value = review.settled;
  const severities = Object.entries(review.severities).flatMap(([name, value], place) => [
    place ? ", " : "", make("span", { class: `severity severity-${name}` }, `${count(value)} ${name}`)]);
  const states = Object.entries(review.items).map(([name, value]) => `${count(value)} ${name}`).join(", ");
  const statuses = Object.entries(review.statuses).map(([name, value]) => `${count(value)} ${name}`).join(", ");
  byId("facts").replaceChildren(
    fact("State", make("span", { class: `outcome outcome-${review.state}` }, review.state, review.reason ? `: ${review.reason}` : "")),
    fact("Items", `${count(review.settled)} of ${count(review.total)} finished${states ? ` (${states})` : ""}`),
    fact("Open findings", make("span", {}, ...(severities.length ? severities : ["none"]))),
    fact("Compared with the last run", statuses || "–"),
    fact("Skipped files", count(review.skipped)),
    fact("Tokens", count(review.tokens)),
    fact("Cost", dollars(review.cost_micros)),
    fact("Started", `${span(Date.now() - review.started_ms)} ago`),
    fact("Duration", span((review.ended_ms ?? Date.now()) - review.started_ms)),
    fact("Revision", review.revision || "–"),
  );
  byId("verdict").textContent = makeVisible(review.verdict);
  if (!allowsActions) return;
  setHidden(byId("cancel"), review.ended_ms !== null, byId("title"));
  setHidden(byId("retry"), review.ended_ms === null || !(review.items.failed || review.items.cancelled), byId("title"));
}

function place(finding) {
  if (!finding.start_line) return finding.path;
  const lines = finding.start_line === finding.end_line ? finding.start_line : `${finding.start_line}-${finding.end_line}`;
  return `${finding.path}:${lines}`;
}

function findingOf(finding) {
  return make(
    "article",
    { class: "finding" },
    make("h3", {}, make("span", { class: `severity severity-${finding.severity}` }, finding.severity), " ", make("code", {}, place(finding)), " ", make("code", {}, finding.rule)),
    make("p", { class: "said mb-1" }, finding.message),
    make("p", { class: "muted mb-0" }, `${finding.status ? `${finding.status}, ` : ""}found by ${finding.agents.join(", ") || "–"}`),
    finding.suggestion ? make("pre", {}, finding.suggestion) : null,
  );
}

async function loadFindings(after = null) {
  const query = new URLSearchParams(new FormData(form));
  if (after !== null) query.set("after", after);
  const number = ++requests;
  const page = await getJson(`${api}/findings?${query}`);
  if (number !== requests) return; // a newer request shows its findings
  const found = page.entries.map(findingOf);
  if (after !== null) byId("findings").append(...found);
  else byId("findings").replaceChildren(...(found.length ? found : [make("p", { class: "empty-note" }, "No findings.")]));
  cursor = page.next;
  setHidden(more, cursor === null, byId("findings"));
}

async function loadFailed() {
  const page = await getJson(`${api}/items?state=failed`);
  byId("failed-part").hidden = page.total === 0;
  byId("failed").replaceChildren(...page.entries.map((item) => make(
    "li",
    {},
    make("code", {}, item.path),
    `: ${item.error} `,
    item.session_id ? make("a", { href: `${base}/collabs/${item.session_id}` }, "session") : null,
  )));
}

async function load() {
  const review = await getJson(api);
  showReview(review);
  const now = JSON.stringify([review.state, review.settled, review.severities, review.statuses, review.ended_ms]);
  if (now === version) return;
  await Promise.all([loadFindings(), loadFailed()]);
  version = now;
  if (byId("report").open) frame.src = frame.dataset.src;
}

const reload = refresh(load);
form.addEventListener("input", () => loadFindings().catch((error) => tell(error.message, true)));
form.addEventListener("submit", (event) => event.preventDefault());
more.addEventListener("click", () => perform(more, () => loadFindings(cursor)));
byId("report").addEventListener("toggle", () => {
  if (byId("report").open) frame.src = frame.dataset.src;
});
for (const verb of allowsActions ? ["cancel", "retry"] : []) {
  const button = byId(verb);
  button.addEventListener("click", async () => {
    if (await perform(button, () => act(`${api}/${verb}`))) await reload();
  });
}
