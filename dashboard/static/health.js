// State and freshness of the page: the server's words, how old they are, and whether Flower answers at all.
//
// A stream sends the state every two seconds; a page without one asks for it. The server renders and escapes the
// element; it is replaced as it is.
import { updateNode } from "./nodes.js";

// As in views/health.py.
const LATE_MS = 5_000;
const STALE_MS = 15_000;
const ASK_MS = 3_000;
const TICK_MS = 1_000;
const LEVELS = { live: ["Live", "fresh"], late: ["Late", "fresh is-late"], stale: ["Stale", "fresh is-lost"], ended: ["Ended", "fresh is-ended"] };

const root = document.getElementById("dashboard");
const element = () => document.getElementById("health");
let receivedAt = performance.now();
let ageMs = 0; // age of the data when it was received
let level = element().dataset.level; // as the server sent it
let awayMs = null; // since when Flower does not answer, by the clock of the page
let problem = "";
let isAsking = false;

/** Show a state from the server: `html`, `level` and `age_ms`; of a session also `session_html`. */
export function receive(health) {
  receivedAt = performance.now();
  ageMs = health.age_ms;
  level = health.level;
  awayMs = null;
  replace(element(), health.html);
  const session = document.getElementById("session-notice");
  if (session && health.session_html) replace(session, health.session_html);
  showLevel();
}

/** Return whether what the page shows is old: no action is possible. */
export function isStale() {
  return root.classList.contains("stale");
}

/** Replace an element by HTML of the server; what is equal stays. */
function replace(old, html) {
  const parsed = document.createElement("template");
  parsed.innerHTML = html;
  const fresh = parsed.content.firstElementChild;
  showClocks(fresh);
  updateNode(old, fresh);
}

function showClocks(node) {
  for (const time of node.querySelectorAll("time.clock")) time.textContent = clock(new Date(time.dateTime));
}

function clock(moment) {
  const isToday = moment.toDateString() === new Date().toDateString();
  return moment.toLocaleString([], { ...(isToday ? {} : { dateStyle: "medium" }), timeStyle: "medium", hour12: false });
}

function currentLevel() {
  if (level === "ended") return level; // what the page shows does not grow old
  if (level === "stale" || awayMs !== null) return "stale";
  const age = ageMs + performance.now() - receivedAt;
  return age > STALE_MS ? "stale" : age > LATE_MS ? "late" : level;
}

function showLevel() {
  const now = currentLevel();
  const [word, style] = LEVELS[now];
  const line = element().querySelector(".fresh");
  line.className = style;
  const text = line.querySelector("[role=status]");
  if (text.textContent !== word) text.textContent = word;
  root.classList.toggle("stale", now === "stale");
}

/** Say that Flower does not answer, and from when the page is. */
function showAway() {
  const from = Number(element().dataset.at);
  const seconds = Math.round((Date.now() - awayMs) / 1000);
  const passed = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`;
  let notice = element().querySelector(".notice");
  if (!notice) {
    notice = document.createElement("div");
    notice.setAttribute("role", "alert");
    element().append(notice);
  }
  notice.className = "notice bad";
  const lead = document.createElement("strong");
  const span = document.createElement("span");
  span.setAttribute("aria-hidden", "true");
  span.textContent = ` (${passed})`;
  lead.append(`${problem} since ${clock(new Date(awayMs))}`, span, ".");
  const line = document.createElement("p");
  line.append(lead, from ? ` What you see is from ${clock(new Date(from))}.` : "");
  const fresh = notice.cloneNode(false);
  fresh.append(line);
  updateNode(notice, fresh);
}

async function ask() {
  isAsking = true;
  const session = document.getElementById("session")?.dataset.session;
  try {
    const query = session ? `?session=${session}` : "";
    const response = await fetch(`${root.dataset.base}/api/health${query}`, { headers: { Accept: "application/json" } });
    if (!response.ok) throw Object.assign(new Error(), { words: `Flower answers with status ${response.status}` });
    receive(await response.json());
  } catch (error) {
    awayMs ??= Date.now();
    problem = error.words ?? "No connection to Flower";
    showAway();
    showLevel();
  } finally {
    isAsking = false;
  }
}

function tick() {
  showLevel();
  const isDue = performance.now() - receivedAt > ASK_MS;
  if (isDue && !isAsking && !document.hidden && level !== "ended") ask();
}

showClocks(document.getElementById("dashboard"));
showLevel();
setInterval(tick, TICK_MS);
document.addEventListener("visibilitychange", tick);
