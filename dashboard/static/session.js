// The page of one session: actions, answers, messages and keys. What it shows are fragments of the server.
import "./copy.js";
import "./fragments.js";
import { act, allowsActions, base, runOnce } from "./page.js";

const root = document.getElementById("session");
const path = root.dataset.live;
const line = document.getElementById("action-status");
const post = document.getElementById("post");
let hasActed = false; // a button was used, which may go when the page shows the new state
let unanswered = null; // message that was sent without an answer: `{text, role, key}`

/** Perform an action of a button; return whether it worked. */
async function run(name, button, body = {}) {
  hasActed = true;
  return runOnce(button, async () => {
    line.textContent = "Sending…";
    const { id } = await act(`${path}/${name}`, body);
    line.textContent = `${name}: done`;
    if (id) location.assign(`${base}/collabs/${id}`); // a new session
  }).catch((error) => {
    line.textContent = `${name} failed: ${error.message}`;
    return false;
  });
}

root.addEventListener("click", (event) => {
  const button = event.target.closest("[data-action]");
  const dialog = button && document.getElementById(`${button.dataset.action}-dialog`);
  if (dialog) {
    dialog.returnValue = ""; // Escape closes the dialog with the value of the last time
    if (button.dataset.turn) dialog.querySelector("[name=turn]").value = button.dataset.turn;
    dialog.showModal();
  } else if (button) {
    run(button.dataset.action, button);
  }
});

for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("close", () => {
    const name = dialog.returnValue;
    if (!name) return;
    const body = Object.fromEntries([...new FormData(dialog.querySelector("form"))].filter(([, text]) => text.trim()));
    if (body.turn) body.turn = Number(body.turn);
    run(name, dialog.querySelector(`[value=${name}]`), body);
  });
  dialog.addEventListener("keydown", (event) => {
    // Enter sends the form; in a text of several lines, with Ctrl or Command.
    if (event.key !== "Enter" || event.target.nodeName !== "TEXTAREA" || !(event.ctrlKey || event.metaKey)) return;
    const form = event.target.form;
    form.requestSubmit(form.querySelector("button"));
  });
}

root.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.question) {
    event.preventDefault();
    const { name, text } = Object.fromEntries(new FormData(form));
    run("reply", form.querySelector("button"), { question: form.dataset.question, name, text });
  } else if (form === post) {
    event.preventDefault();
    sendPost();
  } else if (form.id === "find") {
    // A field that is empty does not belong into the address.
    for (const field of form.elements) if (field.name && !field.value) field.disabled = true;
  }
});
window.addEventListener("pageshow", () => {
  for (const field of document.getElementById("find").elements) field.disabled = false;
});

async function sendPost() {
  const { text, role } = Object.fromEntries(new FormData(post));
  // The same key until the server has answered: a message that is sent again is written once, a changed one is another.
  if (unanswered?.text !== text || unanswered.role !== role) {
    unanswered = { text, role, key: crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` };
  }
  if (!await run("post", post.querySelector("button"), unanswered)) return;
  unanswered = null;
  // What was written meanwhile stays.
  if (new FormData(post).get("text") === text) post.reset();
}

function showPost() {
  post.hidden = !allowsActions || !document.querySelector("#summary[data-posts]");
}

// The newest turn stays in view while the reader is at the end of the page.
let wasAtEnd = false;
const isAtEnd = () => window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 80;
window.addEventListener("scroll", () => { wasAtEnd = isAtEnd(); }, { passive: true });
document.addEventListener("fragments", () => {
  showPost();
  if (hasActed && document.activeElement === document.body) {
    hasActed = false;
    line.focus({ preventScroll: true });
  }
  if (wasAtEnd) window.scrollTo({ top: document.documentElement.scrollHeight });
});

const turns = () => [...document.querySelectorAll("#turns > .turn")];

function move(step) {
  const all = turns();
  const at = all.indexOf(document.activeElement?.closest(".turn"));
  const next = all[at < 0 ? all.length - 1 : Math.min(all.length - 1, Math.max(0, at + step))];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}

const KEYS = {
  "/": () => document.querySelector("#find [name=find]").focus(),
  j: () => move(1),
  k: () => move(-1),
  g: () => document.querySelector("#find [name=turn]").focus(),
  e: () => turns().at(-1)?.scrollIntoView({ block: "nearest" }),
  a: () => document.querySelector("#questions textarea, #questions input")?.focus(),
};
document.addEventListener("keydown", (event) => {
  const isField = event.target.closest("input, select, textarea, dialog");
  if (isField || event.ctrlKey || event.metaKey || event.altKey || localStorage.getItem("symposia-keys") === "off") return;
  if (!KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});
const turn = new URLSearchParams(location.search).get("turn");
if (turn) document.getElementById(`turn-${turn}`)?.scrollIntoView();
showPost();
