// Live parts of a page that the server renders: elements are replaced by their ids, and times grow older.
//
// The page has an element with `data-view` (the name of the view) and `data-sent` (the token of what it has). Whether
// Flower answers, and how old the page is, is shown by health.js.
import { isStale, receive } from "./health.js";
import { updateNode } from "./nodes.js";
import { base } from "./page.js";

const POLL_MS = 1000;
const RETRY_STREAM_MS = 30000;
const AGE_MS = 1000;

const root = document.querySelector("[data-view], [data-live]");
let token = root.dataset.sent;
let streamAt = 0;
let shownAt = Date.now(); // when the page was not stale

const address = (end) => {
  const query = new URLSearchParams(location.search);
  query.set("view", root.dataset.view);
  query.set("after", token);
  return `${base}${root.dataset.live ?? "/api/collabs"}/${end}?${query}`;
};

/** Show fragments: `html` by id, and `lists`: the ids of a list in their order. */
export function show({ html = {}, lists = {} }) {
  const fresh = new Map();
  for (const [id, text] of Object.entries(html)) {
    const holder = document.createElement("template");
    holder.innerHTML = text;
    const element = holder.content.firstElementChild;
    tellTimes(element.querySelectorAll("time[data-as]"));
    fresh.set(id, element);
  }
  for (const [id, order] of Object.entries(lists)) arrange(document.getElementById(id), order, fresh);
  for (const [id, element] of fresh) {
    const old = document.getElementById(id);
    if (old) updateNode(old, element);
  }
  document.dispatchEvent(new Event("fragments"));
}

/** Remove an element of a list. If it has the focus, its neighbour gets it. */
export function drop(element) {
  const neighbour = element.nextElementSibling ?? element.previousElementSibling;
  const list = element.closest("[tabindex]");
  const hadFocus = element.contains(document.activeElement);
  element.remove();
  const next = neighbour?.querySelector("textarea, input[type=radio]") ?? neighbour?.querySelector("a") ?? list;
  if (hadFocus) next?.focus({ preventScroll: true });
}

/** Give a list its elements in their order. */
function arrange(list, order, fresh) {
  const active = document.activeElement;
  const kept = new Set(order);
  for (const element of [...list.children]) {
    // A script may keep it: see forms.js.
    if (!kept.has(element.id) && element.dispatchEvent(new Event("leave", { bubbles: true, cancelable: true }))) drop(element);
  }
  order.forEach((id, index) => {
    const element = document.getElementById(id) ?? fresh.get(id);
    if (element && list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null);
  });
  if (active !== document.activeElement && list.contains(active)) active.focus({ preventScroll: true });
}

function follow() {
  const source = new EventSource(address("stream"));
  root.dataset.source = "stream";
  source.addEventListener("fragments", (event) => {
    token = event.lastEventId || token;
    show(JSON.parse(event.data));
  });
  source.addEventListener("end", () => source.close());
  source.addEventListener("health", (event) => receive(JSON.parse(event.data)));
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED) return;
    // The browser has too many streams, or Flower refuses this one.
    streamAt = Date.now() + RETRY_STREAM_MS;
    poll();
  };
}

async function poll() {
  if (Date.now() >= streamAt) {
    follow();
    return;
  }
  root.dataset.source = "polling";
  try {
    const response = await fetch(address("changes"), { headers: { Accept: "application/json" } });
    if (response.ok) {
      const answer = await response.json();
      token = answer.after;
      show(answer);
    }
  } catch {
    // health.js shows that Flower does not answer.
  }
  setTimeout(poll, POLL_MS);
}

/** Write times. What is old does not grow older. */
function tellTimes(elements) {
  if (!isStale()) shownAt = Date.now();
  elements.forEach(tellTime);
}

/** Write a time: `data-as` is its form (`TimeForm` of the server). Old data has no ages. */
function tellTime(element) {
  const at = new Date(element.dateTime);
  const text = textOf(at, element.dataset);
  if (element.textContent !== text) element.textContent = text;
  if (!element.title) element.title = WHOLE.format(at);
}

function textOf(at, { as: form, zone }) {
  if (form === "for") return span(shownAt - at);
  if (form === "ago" && !isStale()) return `${span(shownAt - at)} ago`;
  if (form === "moment") return moment(at, zone);
  if (form === "due") return `${moment(at, zone)}, ${at > shownAt ? `in ${span(at - shownAt)}` : "now"}`;
  const isToday = at.toDateString() === new Date().toDateString();
  return CLOCKS[form === "minute"][isToday].format(at);
}

/** Return date and time in the zone of the reader, with the time in another zone beside it if it differs there. */
function moment(at, zone) {
  const here = MOMENT.format(at);
  try {
    if (!zone || format({ ...WHOLE_MINUTE, timeZone: zone }).format(at) === here) return here;
    const isSameDay = DAY.format(at) === format({ dateStyle: "medium", timeZone: zone }).format(at);
    const there = format({ ...(isSameDay ? { timeStyle: "short" } : WHOLE_MINUTE), timeZone: zone });
    return `${here} (${there.format(at)} ${zone})`;
  } catch {
    return `${here} (times of ${zone})`; // the browser does not know the zone
  }
}

// A format takes as long to make as a hundred times take to write.
const format = (options) => new Intl.DateTimeFormat([], { hour12: false, ...options });
const DATE = { day: "numeric", month: "short" };
const MINUTE = { hour: "2-digit", minute: "2-digit" };
const SECOND = { ...MINUTE, second: "2-digit" };
const WHOLE_MINUTE = { dateStyle: "medium", timeStyle: "short" };
const WHOLE = format({ dateStyle: "medium", timeStyle: "medium" });
const MOMENT = format(WHOLE_MINUTE);
const DAY = format({ dateStyle: "medium" });
const CLOCKS = {
  true: { true: format(MINUTE), false: format({ ...DATE, ...MINUTE }) },
  false: { true: format(SECOND), false: format({ ...DATE, ...SECOND }) },
};

/** Return a span of time in its largest unit, such as "5 min". */
function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

if (root.dataset.view) follow();
tellTimes(root.querySelectorAll("time[data-as]"));
setInterval(() => tellTimes(root.querySelectorAll("time:is([data-as=for], [data-as=ago], [data-as=due])")), AGE_MS);
