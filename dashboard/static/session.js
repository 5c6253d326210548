// The page of one session: loads its parts, then follows its changes.

import { moment } from "./format.js";
import { isStale } from "./health.js";
import { follow, showState } from "./live.js";
import { updateChildren } from "./nodes.js";
import { allowsActions, base, getJson, make, retry, RETRY_MS, runOnce, setHidden } from "./page.js";
import { ActionsView } from "./session/actions.js";
import { EventsView } from "./session/events.js";
import * as panels from "./session/panels.js";
import { TimelineView, zoomButtons } from "./session/timeline.js";
import { TimelineData } from "./session/timeline_data.js";
import { TranscriptView } from "./session/transcript.js";
import { TurnsView } from "./session/turns.js";

// Milliseconds between two reads of the state while events arrive, and between two drawings while a turn runs.
const READ_MS = 1_000;
const SOON_MS = 150;
const DRAW_MS = 1_000;
const LAST_EVENT = "MAPSessionCompleted";

const root = document.getElementById("session");
const id = root.dataset.session;
const api = `/api/collabs/${id}`;
const at = (name) => document.getElementById(name);
const taskUrl = (taskId) => root.dataset.taskUrl + encodeURIComponent(taskId);

const data = new TimelineData();
let session = null;
let names = new Map();
let clockMs = 0; // time of the server minus that of the page
let shownMs = 0; // time of the page up to which durations are counted
let turnsBefore = null;
let readTimer = null;
let readAt = -READ_MS;
let reads = 0; // number of reads of the state
let newestRead = 0; // number of the read whose result is shown
let drawTimer = null;
let liveState = null; // state of the stream
let hasFailed = false; // the status line shows an error
let memoryTurns = -1; // turns of the session when its memory was read
let isReadingMemory = false;

const timeline = new TimelineView({ names: at("timeline-names"), canvas: at("timeline"), taskUrl });
const turns = new TurnsView({ body: at("turns"), taskUrl });
const transcript = new TranscriptView({
  list: at("messages"), live: at("drafts"), older: at("older-messages"), scroller: at("transcript"),
  load: (before) => getJson(`${api}/messages${before ? `?before=${before}` : ""}`),
  loadWhole: (message) => getJson(`${api}/messages/${message}`),
  fileUrl: (sha256) => `${base}${api}/attachments/${sha256}`,
  failed: showError,
});
const events = new EventsView({
  list: at("events"), older: at("older-events"), scroller: at("events").closest(".session-scroll"),
  load: (before) => getJson(`${api}/events${before ? `?before=${before}` : ""}`),
});
const actions = new ActionsView({
  bar: at("actions"), dialog: at("cancel-dialog"), post: at("post"), questions: at("questions"),
  status: at("action-status"), path: api, changed: () => readState().catch(showError),
});

// While the data is old, no time passes on the page.
function nowMs() {
  if (!isStale()) shownMs = performance.now();
  return shownMs + clockMs;
}

async function readState() {
  readAt = performance.now();
  const number = ++reads;
  const read = await getJson(api);
  // Of several reads at the same time, the result of the newest stays.
  if (number < newestRead) return;
  newestRead = number;
  session = read;
  clockMs = session.now_ms - performance.now();
  names = new Map(session.participants.map((it) => [it.id, it.name]));
  transcript.names = names;
  drawState();
  draw();
  if (liveState && (hasFailed || !session.is_live)) showLive(liveState);
  hasFailed = false;
  if (!session.usage_is_complete) readLater(100);
  loadMemory();
}

// Read the state soon, and at most once in READ_MS.
function readLater(ms = Math.max(SOON_MS, readAt + READ_MS - performance.now())) {
  readTimer ??= setTimeout(() => {
    readTimer = null;
    readState().catch((error) => {
      showError(error);
      // With status 404, neither Redis nor the archive holds the session.
      if (error.status !== 404) readLater(RETRY_MS);
    });
  }, ms);
}

function drawState() {
  at("title").textContent = session.title;
  at("purpose").textContent = session.purpose;
  at("status").textContent = session.status;
  at("status").className = `state state-${session.status}`;
  const reason = session.reason && session.reason !== session.status ? session.reason : "";
  at("reason").textContent = [reason, session.detail, session.stop_requested ? "stops after the turns in flight" : ""]
    .filter(Boolean).join(" · ");
  at("attention").hidden = !session.attention;
  at("attention").textContent = session.badge ?? "";
  at("attention").className = `state state-${session.attention}`;
  at("now").textContent = speakers();
  fill("participants", panels.participantRows(session));
  at("counting").hidden = session.usage_is_complete;
  fillCard("board", panels.boardRows(session, names));
  if (session.decisions) fillCard("decisions", panels.decisionItems(session));
  if (session.ledger) {
    at("ledger-summary").textContent = panels.ledgerSummary(session);
    at("tensions-card").hidden = false;
    fill("tensions", panels.tensionRows(session));
  }
  const budget = panels.budgetItems(session);
  at("budget").hidden = !budget.length;
  fill("budget", budget);
  fill("export-links", session.exports.map((form) =>
    make("a", { href: `${base}${api}/export/${form}`, download: true }, `Export ${form}`)));
  drawQuestions();
  if (allowsActions) actions.draw(session);
}

function drawQuestions() {
  at("questions-card").hidden = !session.questions.length;
  // With actions, the form has the text of the question.
  fill("question-texts", allowsActions ? [] : session.questions.map((it) =>
    make("li", {}, `Turn ${it.turn}, ${it.asked.join(" or ")}: ${it.text || `a ${it.expects} is expected`}`)));
}

function speakers() {
  if (session.is_final) return session.is_live ? "ended" : "archived";
  if (session.status === "draft") return "waiting to be started";
  const open = session.open_turns.map((it) => `${names.get(it.participant) ?? it.participant} (${it.state})`);
  if (["lost", "worker"].includes(session.attention)) return "Now: nobody";
  return `Now: ${open.join(", ") || "planning the next turn"}`;
}

// Draw what changes with time: timeline, turns, open turns, facts.
function draw() {
  if (session === null) return;
  const now = session.ended_ms ?? (session.is_live ? nowMs() : session.updated_ms);
  timeline.draw({
    spans: data.spans, waits: data.waits(), marks: [...data.marks.values()], participants: session.participants,
    nowMs: now, openedMs: session.opened_ms,
  });
  turns.draw({ data, names, nowMs: now, openedMs: session.opened_ms, rootId: id });
  fill("facts", panels.headFacts(session, now));
  fillCard("open-turns", panels.openTurnRows(session, names, now));
  drawEmptyNote();
}

function drawEmptyNote() {
  at("no-messages").hidden = transcript.ids.length > 0 || at("drafts").children.length > 0;
}

function drawLater(ms = 200) {
  drawTimer ??= setTimeout(() => {
    drawTimer = null;
    draw();
    if (session?.open_turns.length) drawLater(DRAW_MS);
  }, ms);
}

async function loadTurns() {
  const page = await getJson(`${api}/timeline${turnsBefore ? `?before=${turnsBefore}` : ""}`);
  data.addPage(page);
  turnsBefore = page.before;
  setHidden(at("older-turns"), turnsBefore === null, at("turns").closest(".session-scroll"));
  drawLater(0);
}

// Read the memory after each turn. It may be in a Redis of its own, so the page does not wait for it.
async function loadMemory() {
  if (isReadingMemory || !session.has_memory || memoryTurns === session.turns) return;
  const { turns: read } = session;
  isReadingMemory = true;
  try {
    const { memory } = await getJson(`${api}/memory`);
    memoryTurns = read;
    at("memory-note").textContent = "Private values are masked.";
    if (memory) fillCard("memory", panels.memoryRows(memory));
  } catch (error) {
    at("memory-note").textContent = `Not up to date: ${error.message}`;
    at("memory-card").hidden = false;
  } finally {
    isReadingMemory = false;
  }
}

function take(change) {
  if (change.delta) {
    if (!data.hasEnded(change.delta.turn, change.delta.attempt)) transcript.addPiece(change.delta);
    drawEmptyNote();
    return;
  }
  if (change.message) transcript.append(change.message);
  else if (change.event) {
    data.addChange(change.change);
    if (change.change.span?.ended_ms) transcript.dropDraft(change.change.span.turn);
    if (at("events-details").open) events.add(change.event);
    readLater();
  }
  drawLater();
}

function fill(name, nodes) {
  updateChildren(at(name), nodes);
}

function fillCard(name, nodes) {
  at(`${name}-card`).hidden = !nodes.length;
  fill(name, nodes);
}

function showLive(state) {
  liveState = state;
  showState(state);
  if (session.is_live) return;
  at("live-status").textContent = `Archived, as of ${moment(session.updated_ms)}`;
  at("live-status").parentElement.classList.remove("visually-hidden");
}

function showError(error) {
  hasFailed = true;
  showState("lost");
  at("live-status").textContent = `Not up to date: ${error.message}`;
}

async function start() {
  at("zoom").append(...zoomButtons(timeline, draw));
  for (const [name, load] of [["older-turns", loadTurns], ["older-events", () => events.loadOlder()]]) {
    at(name).addEventListener("click", () => runOnce(at(name), load).catch(showError));
  }
  at("events-details").addEventListener("toggle", () => {
    if (at("events-details").open) events.loadNewest().catch(showError);
  });
  await retry(readState, showError);
  const since = session.live_from;
  await Promise.all([retry(() => transcript.loadNewest(), showError), retry(loadTurns, showError)]);
  draw();
  if (session.is_final || !session.is_live) {
    showLive("ended");
    return;
  }
  drawLater();
  follow(api, {
    position: since,
    events: { message: take },
    polled: ({ changes }) => {
      changes.forEach(take);
      return changes.some((it) => it.event?.type === LAST_EVENT);
    },
    state: (state) => {
      showLive(state);
      if (state === "ended") readLater(0);
    },
    // The archive may hold the session: its state is read once more.
    gone: () => {
      liveState = "ended";
      readLater(0);
    },
  });
}

window.addEventListener("resize", () => drawLater());
// The condition also changes without an event of the session: a worker was lost.
document.getElementById("dashboard").addEventListener("condition", () => { if (session && !session.is_final) readLater(); });
start();
