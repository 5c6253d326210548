// The list of sessions: selection, bulk actions, filters and keys. The rows are fragments of the server.
import "./fragments.js";
import "./saved_views.js";
import { act } from "./page.js";

const form = document.getElementById("selection");
const filters = document.getElementById("filters");
const dialog = document.getElementById("ask");
const line = document.getElementById("bulk-result");
const isAll = form.hasAttribute("data-all");
const boxes = () => [...form.querySelectorAll("tbody input[name=id]")];
const chosen = () => boxes().filter((it) => it.checked);
const all = document.getElementById("pick-all");
let from = null;
let askedIds = []; // the sessions that the open dialog names

function showSelection() {
  if (isAll) for (const it of boxes()) it.checked = true;
  const count = chosen().length;
  if (!isAll) document.getElementById("selected").textContent = count;
  all.checked = count > 0 && count === boxes().length;
  all.indeterminate = count > 0 && !all.checked;
}

function selectAll(isChosen) {
  for (const it of boxes()) it.checked = isChosen;
  showSelection();
}

function wanted() {
  if (isAll) return { query: Object.fromEntries(new URLSearchParams(location.search)) };
  return { ids: chosen().map((it) => it.value) };
}

/** Perform an action on the selection, or ask first whether to do so. */
async function start(action) {
  try {
    const answer = await act("/api/collabs/bulk", { action, ...wanted(), ask: true });
    if (answer.dialog && dialog.open) return; // a second click, while the first one was on its way
    if (answer.dialog) {
      askedIds = answer.ids; // sessions that appear later are not changed
      dialog.innerHTML = answer.dialog;
      dialog.showModal();
    } else {
      finish(answer);
    }
  } catch (error) {
    line.textContent = error.message;
  }
}

dialog.addEventListener("submit", async (event) => {
  event.preventDefault();
  const asked = event.target;
  if (event.submitter?.value === "keep") {
    dialog.close();
    return;
  }
  const sent = asked.querySelector("button[value=send]");
  if (sent.getAttribute("aria-disabled")) return;
  sent.setAttribute("aria-disabled", "true");
  const { action } = asked.dataset;
  try {
    const answer = await act("/api/collabs/bulk", { action, ids: askedIds, reason: asked.elements.reason?.value });
    dialog.close();
    finish(answer);
  } catch (error) {
    asked.querySelector("[role=alert]").textContent = error.message;
    sent.removeAttribute("aria-disabled");
  }
});

function finish(answer) {
  line.textContent = answer.text;
  if (!isAll) selectAll(false);
  line.focus({ preventScroll: true });
}

form.addEventListener("click", (event) => {
  const action = event.target.closest("[data-action]")?.dataset.action;
  if (action) start(action);
});
form.addEventListener("change", (event) => {
  if (event.target === all) selectAll(all.checked);
  else showSelection();
});
document.addEventListener("fragments", showSelection);

// A field that is empty does not belong into the address.
filters.addEventListener("submit", () => {
  for (const it of filters.elements) if (it.name && !it.value) it.disabled = true;
});
filters.addEventListener("change", (event) => {
  if (event.target.matches("select")) filters.requestSubmit();
});
window.addEventListener("pageshow", () => {
  for (const it of filters.elements) it.disabled = false;
  showSelection();
});

const rowAt = () => document.activeElement?.closest("#rows > tr");

function move(step) {
  const rows = [...document.querySelectorAll("#rows > tr")];
  const at = rows.indexOf(rowAt());
  const row = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
  row?.querySelector(".c-session a").focus();
}

function pick(isRange) {
  const row = rowAt();
  if (!row) return;
  const rows = [...document.querySelectorAll("#rows > tr")];
  const box = row.querySelector("input[name=id]");
  box.checked = !box.checked;
  const start = rows.indexOf(from);
  if (isRange && start >= 0) {
    const [low, high] = [start, rows.indexOf(row)].sort((one, other) => one - other);
    for (const it of rows.slice(low, high + 1)) it.querySelector("input[name=id]").checked = true;
  }
  from = row;
  showSelection();
}

const KEYS = {
  "/": () => filters.elements.q.focus(),
  j: () => move(1),
  k: () => move(-1),
  x: () => pick(false),
  X: () => pick(true),
  b: () => form.querySelector(".bulk button")?.focus(),
  "?": () => document.getElementById("keys").showModal(),
  Escape: () => selectAll(false),
};
const areOn = document.getElementById("keys-on");
areOn.checked = localStorage.getItem("symposia-keys") !== "off";
areOn.addEventListener("change", () => localStorage.setItem("symposia-keys", areOn.checked ? "on" : "off"));

document.addEventListener("keydown", (event) => {
  const isField = event.target.closest("input:not([type=checkbox]), select, textarea, dialog");
  if (isField || event.ctrlKey || event.metaKey || event.altKey || !areOn.checked) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
showSelection();
