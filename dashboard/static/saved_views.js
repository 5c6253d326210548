// Views that a person has saved: names of queries, kept in this browser.
import { base, make } from "./page.js";

const KEY = "symposia-views";
const MAX_VIEWS = 20;
const holder = document.getElementById("saved-views");
const button = document.getElementById("save-view");
const dialog = document.getElementById("name-view");

function read() {
  try {
    const views = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(views) ? views.filter((it) => typeof it.name === "string" && typeof it.query === "string") : [];
  } catch {
    return []; // not written by this page
  }
}

function write(views) {
  localStorage.setItem(KEY, JSON.stringify(views.slice(-MAX_VIEWS)));
  show();
}

function show() {
  holder.replaceChildren(...read().flatMap(({ name, query }) => {
    const remove = make("button", { class: "btn btn-link btn-sm p-0", type: "button", "aria-label": `Remove view ${name}` }, "×");
    remove.addEventListener("click", () => {
      write(read().filter((it) => it.name !== name));
      button.focus();
    });
    return [make("a", { href: `${base}/collabs${query}`, dir: "auto" }, name), remove];
  }));
}

button.addEventListener("click", () => dialog.showModal());
dialog.addEventListener("close", () => {
  const { value } = dialog.querySelector("input");
  if (dialog.returnValue !== "save") return;
  dialog.returnValue = "";
  write([...read().filter((it) => it.name !== value), { name: value, query: location.search }]);
});
button.hidden = false;
show();
