// The inbox: open questions to people, answered in place.
import { span, timeElement } from "./format.js";
import { follow } from "./live.js";
import { act, allowsActions, base, getJson, make, makeVisible, setHidden } from "./page.js";
import { perform, refresh, tell } from "./refresh.js";

const PAGE = 50;
const MOST = 500;
// What the session expects of a turn without a question of its own.
const EXPECTED = {
  message: "Write the next message.",
  decision: "Decide who speaks next, or whether the work is done.",
  review: "Approve the work, or say what to correct.",
};
const list = document.getElementById("questions");
const form = document.getElementById("filter");
const more = document.getElementById("more");
const cards = new Map();
let limit = PAGE;
// The stream of changes; its state is "live" or "polling" while it works.
let stream = null;
let streamState = "";
let waiting = null;

function facts(question) {
  const late = question.until_ms !== null && question.until_ms - Date.now() < 3600000;
  const until = question.until_ms === null ? ["until the session ends"] : ["until ", timeElement(question.until_ms)];
  return [
    make("span", {}, `Turn ${question.turn} of ${question.participant}, asked ${span(Date.now() - question.asked_ms)} ago (`, timeElement(question.asked_ms), "), "),
    make("span", { class: late ? "late" : null }, ...until),
  ];
}

function answerForm(question) {
  const id = `answer-${question.id}`;
  const name = make("select", { class: "form-select", name: "participant" }, ...question.asked.map((it) => make("option", { value: it }, it)));
  const who = question.asked.length > 1 ? make("label", { class: "form-label" }, "Answer as", name) : null;
  const buttons = make("div", { class: "button-row" });
  const node = make("form", { "aria-label": `Answer of ${question.asked.join(", ")}` }, who);
  const text = make("textarea", { class: "form-control", id, name: "text", rows: "3", required: true });
  async function send(button, answer) {
    const sent = await perform(button, () => act("/api/inbox/reply", { session: question.session_id, question: question.id, participant: name.value, text: answer }));
    if (!sent) return;
    remove(question.id);
    tell(`Answer of ${name.value} accepted.`);
  }
  if (question.choices.length) {
    for (const choice of question.choices) {
      const button = make("button", { class: "btn btn-primary", type: "button" }, choice);
      button.addEventListener("click", () => send(button, choice));
      buttons.append(button);
    }
  } else {
    node.append(make("label", { class: "form-label mb-0", for: id }, "Answer"), text);
    buttons.append(make("button", { class: "btn btn-primary", type: "submit" }, "Send"));
    node.addEventListener("submit", (event) => {
      event.preventDefault();
      send(buttons.firstChild, text.value);
    });
  }
  if (question.is_own && !question.choices.length) {
    const pass = make("button", { class: "btn btn-outline-secondary", type: "button" }, "Pass");
    pass.addEventListener("click", () => send(pass, "PASS"));
    buttons.append(pass);
  }
  node.append(buttons);
  return node;
}

function card(question) {
  const about = make("p", { class: "muted mb-1" }, ...facts(question));
  const asked = question.text || EXPECTED[question.expects] || "Answer.";
  const node = make(
    "article",
    { class: "dashboard-card question", id: `question-${question.id}` },
    make("h2", {}, make("a", { href: `${base}/collabs/${question.session_id}` }, question.title || question.session_id), ` asks ${question.asked.join(", ")}`),
    about,
    make("p", { class: "said" }, asked),
    allowsActions ? answerForm(question) : question.choices.length ? make("p", { class: "muted" }, `One of: ${question.choices.join(", ")}`) : null,
  );
  return { node, session: question.session_id, update: (it) => about.replaceChildren(...facts(it)) };
}

/** Say that there are no questions, or none to the person of the filter. */
function showEmpty() {
  const name = new FormData(form).get("participant");
  document.getElementById("empty-title").textContent = makeVisible(name ? `No open questions to ${name}` : "No open questions");
  document.getElementById("empty").hidden = cards.size > 0;
}

function remove(id) {
  const node = cards.get(id)?.node;
  const hadFocus = node?.contains(document.activeElement);
  const neighbour = node?.nextElementSibling ?? node?.previousElementSibling;
  node?.remove();
  cards.delete(id);
  // A neighbour gets the focus of a card that is gone.
  if (hadFocus) (neighbour?.querySelector("textarea, button") ?? neighbour?.querySelector("a") ?? list).focus();
  showEmpty();
}

/** Load soon after a change, at most once a second. */
function reloadSoon() {
  waiting ??= setTimeout(() => {
    waiting = null;
    reload();
  }, 1000);
}

/** Follow the sessions that wait for a person. The next refresh finds what the stream does not report. */
function watch(position) {
  const isShown = (id) => [...cards.values()].some((it) => it.session === id);
  const left = (id) => { if (isShown(id)) reloadSoon(); };
  stream = follow("/api/collabs", {
    position,
    query: new URLSearchParams({ status: "person" }),
    events: { collab: reloadSoon, gone: (row) => left(row.id) },
    polled: (answer) => {
      if (answer.collabs.length) reloadSoon();
      answer.gone.forEach(left);
      return false;
    },
    state: (state) => {
      streamState = state;
      if (state === "live" || state === "polling") tell(words());
    },
  });
}

function words() {
  return streamState === "live" || streamState === "polling" ? "Live" : "Updated every 10 s";
}

async function load() {
  const query = new URLSearchParams(new FormData(form));
  query.set("limit", limit);
  const page = await getJson(`/api/inbox?${query}`);
  const open = new Set(page.questions.map((it) => it.id));
  for (const id of [...cards.keys()]) if (!open.has(id)) remove(id);
  page.questions.forEach((question, place) => {
    // A card stays as it is, so that text which is being written is not lost.
    if (!cards.has(question.id)) cards.set(question.id, card(question));
    const it = cards.get(question.id);
    it.update(question);
    if (list.children[place] !== it.node) list.insertBefore(it.node, list.children[place] || null);
  });
  showEmpty();
  setHidden(more, page.next === null || limit >= MOST, list);
  if (stream === null) watch(page.position);
}

const reload = refresh(load, words);
form.addEventListener("input", reload);
form.addEventListener("submit", (event) => event.preventDefault());
more.addEventListener("click", () => {
  limit = Math.min(MOST, limit + PAGE);
  reload();
});
