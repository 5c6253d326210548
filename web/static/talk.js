// The page to talk: choose a session file, start a session, and find the recent ones. `session.js` shows one.
import { ApiError, get, post, token } from "./api.js";
import { inputField, submit } from "./forms.js";
import { by, make } from "./nodes.js";
import { show, stop, submitByKey } from "./session.js";

const RECENT = 20;
const RECENT_MS = 15_000;
const STARTING = "symposia-starting"; // id of the session that was just submitted, as a draft
const time = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
let cursor = null; // of the next page of recent sessions
let pages = 1;
let isRefused = false; // the token is missing or not valid: further requests would count as failed logins
let files = null;
let fields = [];
let typed = new Map(); // fields by file, so that another choice loses nothing

const currentId = () => /^#\/sessions\/([^/]+)$/.exec(location.hash)?.[1] ?? null;
const addressOf = (id) => `#/sessions/${encodeURIComponent(id)}`;

function fail(error) {
  if (error instanceof ApiError && error.status === 401) isRefused = true;
  if (isRefused) return askForToken(token.get() ? error.message : "");
  by("problem").textContent = error.message;
  by("problem").hidden = false;
}

// ---- Token ----

function askForToken(reason) {
  by("show-token").hidden = false;
  by("token-error").textContent = reason;
  if (!by("token-dialog").open) by("token-dialog").showModal();
}

by("show-token").addEventListener("click", () => askForToken(""));
by("token-cancel").addEventListener("click", () => by("token-dialog").close());
by("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  submit(event.target, by("token-error"), async () => {
    const before = token.get();
    token.set(by("token").value.trim());
    try {
      await get("files");
    } catch (error) {
      token.set(before);
      throw error;
    }
    by("token").value = "";
    by("token-dialog").close();
    files = null;
    isRefused = false;
    await route();
  });
});

// ---- Recent sessions ----

function recentRow(session) {
  const at = new Date(session.opened_at);
  return make("li", {},
    make("a", { href: addressOf(session.id), "aria-current": session.id === currentId() ? "page" : null },
      make("span", { class: "title", dir: "auto" }, session.title ?? session.id),
      make("small", {}, make("time", { datetime: at.toISOString() }, time.format(at))),
      make("small", {}, session.shown ?? session.status)));
}

async function loadRecent() {
  const items = [];
  cursor = null;
  for (let page = 0; page < pages && (page === 0 || cursor); page += 1) {
    const found = await get(`sessions?limit=${RECENT}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
    items.push(...found.items);
    cursor = found.next_cursor;
  }
  const focused = document.activeElement?.closest("#recent a")?.hash;
  by("recent").replaceChildren(...items.map(recentRow));
  for (const it of by("recent").querySelectorAll("a")) if (it.hash === focused) it.focus({ preventScroll: true });
  by("recent-more").hidden = !cursor;
  by("recent-empty").hidden = items.length > 0;
}

const loadRecentQuietly = () => isRefused || loadRecent().catch(() => {}); // the next attempt comes soon
by("recent-more").addEventListener("click", () => ((pages += 1), loadRecentQuietly()));
setInterval(() => document.hidden || loadRecentQuietly(), RECENT_MS);

// ---- Start ----

async function showStart() {
  by("start").hidden = false;
  document.title = "Symposia";
  files ??= await get("files");
  const chosen = by("files").querySelector(":checked")?.value ?? (files.length === 1 ? files[0].name : null);
  const cards = files.map((it) =>
    make("label", { class: "file" }, make("input", { type: "radio", name: "file", value: it.name, checked: it.name === chosen }),
      make("b", { dir: "auto" }, it.inputs.some(({ name }) => it.title.includes(`{${name}}`)) ? it.name : it.title), make("span", { dir: "auto" }, it.description)));
  const none = make("p", { class: "card empty" }, "The server offers no session files. Name them in the setting ", make("code", {}, "jobs"), ".");
  by("files").replaceChildren(...(cards.length ? cards : [none]));
  showInputs(chosen);
}

function showInputs(name) {
  const file = files.find((it) => it.name === name);
  by("start-button").hidden = !file;
  if (!typed.has(name)) typed.set(name, (file?.inputs ?? []).map(inputField));
  fields = typed.get(name);
  by("inputs").replaceChildren(...fields.map((it) => it.field));
  by("inputs").hidden = !fields.length;
  by("start-error").textContent = "";
}

by("files").addEventListener("change", (event) => showInputs(event.target.value));
by("inputs").addEventListener("keydown", submitByKey);
by("start-form").addEventListener("submit", (event) => {
  event.preventDefault();
  submit(event.target, by("start-error"), async () => {
    const file = new FormData(event.target).get("file");
    const inputs = Object.fromEntries(fields.map((it) => [it.name, it.value()]).filter(([, it]) => it !== undefined));
    // It begins once its events are followed: workers stream only turns that have a reader when they begin.
    const session = await post("sessions", { file, inputs, draft: true });
    typed.delete(file);
    sessionStorage.setItem(STARTING, session.id);
    go(session.id);
  });
});

// ---- Where ----

const go = (id) => (location.hash = addressOf(id));

async function route() {
  by("problem").hidden = true;
  const id = currentId();
  stop();
  by("session").hidden = !id;
  by("start").hidden = Boolean(id);
  for (const it of by("recent").querySelectorAll("a")) it.ariaCurrent = it.hash === location.hash ? "page" : null;
  if (token.get()) by("show-token").hidden = false;
  loadRecentQuietly();
  try {
    if (!id) return await showStart();
    let shown = null;
    const changed = (session) => {
      document.title = `${session.title} · Symposia`;
      if (session.shown !== shown) loadRecentQuietly();
      shown = session.shown;
    };
    const isStarting = () => sessionStorage.getItem(STARTING) === id;
    const started = () => sessionStorage.removeItem(STARTING);
    await show(decodeURIComponent(id), { fail, changed, go, isStarting, started });
  } catch (error) {
    fail(error);
  }
}

window.addEventListener("hashchange", () => {
  by("main").focus({ preventScroll: true });
  window.scrollTo({ top: 0 });
  if (matchMedia("(max-width: 899.98px)").matches) by("side").open = false;
  route();
});
if (matchMedia("(max-width: 899.98px)").matches) by("side").open = false;
route();
