// The list of sessions: loaded once, then changed by the stream.
import { COLUMNS, compare, rowOf } from "./collab_rows.js";
import { count } from "./format.js";
import { follow, showState } from "./live.js";
import { getJson, make, RETRY_MS } from "./page.js";

const LIMIT = 100;
const TYPING_MS = 200;
const AGE_MS = 10000;

const body = document.getElementById("rows");
const form = document.getElementById("filter");
const archived = document.getElementById("archived");
const empty = document.getElementById("empty");
const more = document.getElementById("more");
const order = { by: "activity", descending: true };
/** Rows on the page by id, in their order on the page for those that the page loaded in pieces. */
let shown = new Map();
let next = null;
/** Where the archive continues. Its sessions follow those in memory, in the order of their opening. */
let archive = newArchive();
let stream = null;
let loads = 0;
let loadTimer = null;

function newArchive() {
  return { after: "", isOver: false, isLoading: false };
}

function filterQuery() {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value) query.set(name, value);
  return query;
}

/** Load the first page, and follow the changes from its position. */
async function load() {
  const mine = ++loads;
  clearTimeout(loadTimer);
  stream?.close();
  try {
    const page = await getJson(pageAddress());
    if (mine !== loads) return;
    const focused = document.activeElement?.closest("tr[data-id]")?.id;
    shown = new Map();
    body.replaceChildren();
    archived.replaceChildren();
    archive = newArchive();
    addPage(page);
    if (focused) focusRow(document.getElementById(focused));
    if (!next) addArchived();
    stream = follow("/api/collabs", {
      position: page.position,
      query: filterQuery(),
      events: { collab: put, gone: (row) => remove(row.id), counts: showCounts, reload: load },
      polled: (answer) => {
        if (answer.reload) {
          load();
          return;
        }
        answer.collabs.forEach(put);
        answer.gone.forEach(remove);
        showCounts(answer.counts);
      },
      state: showState,
    });
  } catch (error) {
    if (mine === loads) showProblem(error);
  }
}

function pageAddress(after = null) {
  const query = filterQuery();
  query.set("sort", order.by);
  query.set("order", order.descending ? "desc" : "asc");
  query.set("limit", LIMIT);
  if (after) query.set("after", after);
  return `/api/collabs?${query}`;
}

function addPage(page) {
  for (const row of page.collabs) {
    if (shown.has(row.id)) continue;
    shown.set(row.id, row);
    body.append(rowOf(row));
  }
  next = page.next;
  showEnd();
  showCounts(page.counts);
}

/** Add the next page of the sessions in memory. */
async function addNext() {
  const mine = loads;
  try {
    const page = await getJson(pageAddress(next));
    if (mine === loads) addPage(page);
  } catch (error) {
    if (mine === loads) showArchiveProblem(error);
  }
}

/** Add the next page of archived sessions; nothing while one is loaded, so that no page is added twice. */
async function addArchived() {
  if (archive.isLoading) return;
  const mine = archive;
  mine.isLoading = true;
  try {
    const page = await getJson(archivedAddress(mine.after));
    if (mine !== archive) return; // the list was loaded again
    Object.assign(mine, { after: page.next ?? "", isOver: page.next === null });
    showArchived(page.collabs.filter((row) => !shown.has(row.id)));
  } catch (error) {
    if (mine === archive) showArchiveProblem(error);
  } finally {
    mine.isLoading = false;
  }
}

function archivedAddress(after) {
  const query = filterQuery();
  query.set("limit", LIMIT);
  if (after) query.set("after", after);
  return `/api/collabs/archived?${query}`;
}

function showArchived(rows) {
  archived.querySelector(".archive-problem")?.remove();
  if (rows.length && !archived.childElementCount) {
    const title = "Archived, by the time of opening";
    archived.append(make("tr", { class: "archived-title" }, make("th", { colspan: COLUMNS.length, scope: "rowgroup" }, title)));
  }
  archived.append(...rows.map(rowOf));
  showEnd();
}

/** Show the button if there are further sessions, or the note that there are none at all. */
function showEnd() {
  const isOver = !next && archive.isOver;
  more.hidden = isOver;
  empty.hidden = !isOver || shown.size > 0 || archived.childElementCount > 0;
}

/** Add or replace a row at its place. */
function put(row) {
  const before = shown.get(row.id);
  // A row beyond the loaded pages is on one of the next pages.
  if (!before && next && isAfterLast(row)) return;
  shown.set(row.id, row);
  const element = rowOf(row);
  const old = document.getElementById(element.id);
  if (old && old.parentElement === body) {
    const focused = old.contains(document.activeElement);
    old.replaceWith(element);
    if (focused) element.querySelector("a")?.focus({ preventScroll: true });
    if (focused || compare(before, row, order) === 0) return;
  } else {
    old?.remove(); // it was among the archived ones
  }
  const place = [...body.children].find((it) => it !== element && compare(shown.get(it.dataset.id), row, order) > 0);
  body.insertBefore(element, place ?? null);
  showEnd();
}

function isAfterLast(row) {
  const last = body.lastElementChild;
  return last !== null && compare(row, shown.get(last.dataset.id), order) > 0;
}

function remove(id) {
  if (!shown.delete(id)) return;
  const row = document.getElementById(`row-${id}`);
  const hadFocus = row?.contains(document.activeElement);
  const neighbour = row?.nextElementSibling ?? row?.previousElementSibling;
  row?.remove();
  // A neighbour gets the focus of a row that is gone.
  if (hadFocus) focusRow(neighbour);
  showEnd();
}

/** Focus the link of a row, or the area of the list if there is no row. */
function focusRow(row) {
  (row?.querySelector("a") ?? body.closest("[tabindex]")).focus({ preventScroll: true });
}

function showCounts(counts) {
  // The filter names all statuses, except for its first option: all sessions.
  const statuses = [...document.querySelector("#filter select[name=status]").options].slice(1);
  const items = statuses.map(({ value: name, text }) => make(
    "li", { class: `count count-${name}${counts[name] ? "" : " count-none"}` },
    make("b", {}, count(counts[name] ?? 0)), ` ${text}`,
  ));
  document.getElementById("counts").replaceChildren(...items);
}

function showProblem(error) {
  showState("lost");
  document.getElementById("live-status").textContent = error.message;
  loadTimer = setTimeout(load, RETRY_MS);
}

/** Show why the end of the list is missing; the button tries again. */
function showArchiveProblem(error) {
  const line = make("tr", { class: "archive-problem" }, make("td", { colspan: COLUMNS.length }, error.message));
  archived.querySelector(".archive-problem")?.remove();
  archived.append(line);
  more.hidden = false;
}

function showColumns() {
  const cells = COLUMNS.map((column) => {
    const sorted = column.sort && order.by === column.sort;
    const direction = order.descending ? "descending" : "ascending";
    const label = column.sort
      ? make("button", { type: "button", class: "sort-button", "data-sort": column.sort }, column.name)
      : column.name;
    return make("th", {
      scope: "col", class: column.number ? "number" : null, "aria-sort": sorted ? direction : null,
    }, label);
  });
  document.getElementById("columns").replaceChildren(...cells);
}

document.getElementById("columns").addEventListener("click", (event) => {
  const by = event.target.closest("[data-sort]")?.dataset.sort;
  if (!by) return;
  order.descending = order.by === by ? !order.descending : !["title", "mode", "status"].includes(by);
  order.by = by;
  showColumns();
  document.querySelector(`[data-sort="${by}"]`).focus();
  load();
});

let typing = null;
form.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(load, TYPING_MS);
});
form.addEventListener("submit", (event) => event.preventDefault());
more.addEventListener("click", async () => {
  const titles = document.getElementsByClassName("collab-title");
  const before = titles.length;
  const focused = document.activeElement === more;
  await (next ? addNext() : addArchived());
  // A button that is hidden loses the focus: the first new row gets it.
  if (focused && more.hidden) titles[before]?.focus({ preventScroll: true });
});
// Ages change without an event.
setInterval(() => {
  for (const element of body.querySelectorAll("time")) element.textContent = element.ageText();
}, AGE_MS);

showColumns();
load();
