// One session: its dialog as it grows, its questions, its controls and its result.
import { ApiError, download, events, get, post } from "./api.js";
import { questionForm, submit } from "./forms.js";
import { by, data, make, markdown, visible } from "./nodes.js";

const REFRESH_MS = 1_000; // at most one read of the state in this time
const NEAR_END_PX = 120;
const number = new Intl.NumberFormat();
const money = new Intl.NumberFormat(undefined, { style: "currency", currency: "USD", maximumFractionDigits: 4 });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

let view = null; // of the session that is shown

export function stop() {
  view?.abort.abort();
  view = null;
  by("connection").hidden = true;
}

// Show a session until `stop`. `fail` gets an error that ends this.
export async function show(id, { fail, changed, go, isStarting, started }) {
  stop();
  const own = (view = { id, abort: new AbortController(), path: `sessions/${encodeURIComponent(id)}`, fail, changed, go, isStarting, started,
    drafts: new Map(), questions: new Map(), hues: new Map(), people: new Map(), timer: null, session: null });
  for (const part of ["dialog", "drafts", "questions", "result-body", "attachment-list", "facts", "controls"]) by(part).replaceChildren();
  for (const part of ["result", "attachments", "continue-form", "post-form"]) by(part).hidden = true;
  for (const part of ["session-title", "purpose", "now", "status", "control-error"]) by(part).textContent = "";
  by("dialog").ariaBusy = "true";
  try {
    await refresh(own);
    for await (const event of events(id, { signal: own.abort.signal, onState: (it) => showConnection(own, it) })) {
      if (own !== view) return;
      take(own, event);
    }
  } catch (error) {
    if (own === view) fail(error);
  }
}

function take(own, { name, data: it }) {
  if (name === "connected") {
    if (own.isStarting()) start(own);
    setTimeout(() => (by("dialog").ariaBusy = "false"), REFRESH_MS);
  } else if (name === "message") following(() => addMessage(own, it));
  else if (name === "delta") addDelta(own, it);
  else if (name === "end") return end(own);
  refreshSoon(own);
}

// A draft that this tab has submitted begins now that its events are followed. A lost connection repeats it.
async function start(own) {
  try {
    if (own.hasTried) await refresh(own); // the answer may have been lost, and not the request
    own.hasTried = true;
    if (own.session.status === "draft") await post(`${own.path}/activate`);
    own.started();
    await refresh(own);
  } catch (error) {
    if (!(error instanceof ApiError)) return;
    own.started();
    await refresh(own).catch(() => {});
    if (own === view && own.session.status === "draft") by("control-error").textContent = error.message; // its button stays
  }
}

function showConnection(own, state) {
  if (own !== view) return;
  const pill = by("connection");
  const isEnded = own.session?.is_final;
  pill.hidden = false;
  pill.className = `fresh ${state === "lost" ? "is-lost" : isEnded ? "is-ended" : ""}`;
  const text = state === "lost" ? "Connection lost, reconnecting …" : isEnded ? "Ended" : "Live";
  if (pill.textContent !== text) pill.textContent = text;
}

// Keep the newest text in sight for a reader who is at the end.
function following(change) {
  const isAtEnd = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - NEAR_END_PX;
  change();
  if (isAtEnd && by("dialog").ariaBusy !== "true") window.scrollTo({ top: document.documentElement.scrollHeight });
}

// ---- Dialog ----

function speaker(own, name) {
  if (!own.hues.has(name)) own.hues.set(name, own.hues.size % 6);
  return make("b", { class: `h${own.hues.get(name)}` }, make("bdi", {}, own.people.get(name) ?? name));
}

function addMessage(own, message) {
  const files = (message.attachments ?? []).map((it) => it.name);
  const turn = message.turn_id;
  const time = make("time", { datetime: message.at }, clock.format(new Date(message.at)));
  const meta = make("span", { class: "meta" }, turn ? `turn ${turn} · ` : null, time);
  const article = make("article", { class: "turn" }, make("header", {}, speaker(own, message.speaker ?? message.role), meta), markdown(message.content));
  if (files.length) article.append(make("p", { class: "muted" }, `Files: ${files.join(", ")}`));
  if (message.cut) article.append(make("p", { class: "muted" }, `This message is incomplete: ${message.cut}.`));
  by("dialog").append(article);
  dropDraft(own, (draft) => draft.turn === turn);
}

function dropDraft(own, isOver) {
  for (const [key, draft] of own.drafts) {
    if (!isOver(draft)) continue;
    draft.element.remove();
    own.drafts.delete(key);
  }
}

function addDelta(own, delta) {
  let draft = own.drafts.get(delta.turn_id);
  if (!draft) {
    const said = make("div");
    const header = make("header", {}, speaker(own, delta.speaker), make("span", { class: "state active" }, "writes"));
    draft = { text: "", end: 0, attempt: 0, said, turn: delta.turn_id, isDue: false, element: make("article", { class: "turn live" }, header, said) };
    own.drafts.set(delta.turn_id, draft);
    following(() => by("drafts").append(draft.element));
  }
  if (!addText(draft, delta) || draft.isDue) return;
  draft.isDue = true;
  requestAnimationFrame(() => {
    draft.isDue = false;
    const said = markdown(draft.text);
    const last = said.querySelector(":scope > :last-child") ?? said;
    (last.lastElementChild?.tagName === "LI" ? last.lastElementChild : last).append(make("span", { class: "cursor" }));
    following(() => draft.said.replaceChildren(said));
  });
}

// Offsets count characters, not UTF-16 units. Text that was missed shows as an ellipsis.
function addText(draft, { attempt, offset, text }) {
  if (attempt < draft.attempt) return false;
  if (attempt > draft.attempt || offset === 0) Object.assign(draft, { attempt, text: "", end: 0 });
  const pieces = [...text];
  if (offset + pieces.length <= draft.end && text) return false;
  if (offset > draft.end) draft.text += " … ";
  draft.text += pieces.slice(Math.max(draft.end - offset, 0)).join("");
  draft.end = offset + pieces.length;
  return true;
}

// ---- State ----

function refreshSoon(own) {
  own.timer ??= setTimeout(async () => {
    own.timer = null;
    if (own !== view) return;
    try {
      await refresh(own);
    } catch (error) {
      if (error instanceof ApiError && own === view) own.fail(error);
    }
  }, REFRESH_MS);
}

async function refresh(own) {
  const [session, questions] = await Promise.all([get(own.path), get(`${own.path}/questions`)]);
  if (own !== view) return;
  own.session = session;
  for (const it of session.participants ?? []) own.people.set(it.participant_id, it.name ?? it.participant_id);
  showHead(own, session, questions);
  showQuestions(own, questions);
  own.changed(session);
}

function setText(id, text) {
  const shown = visible(text ?? "");
  if (by(id).textContent !== shown) by(id).textContent = shown;
}

const readable = (reason) => (reason ?? "").replaceAll("_", " ");

function showHead(own, session, questions) {
  const isAsking = questions.length > 0 && !session.is_final;
  setText("session-title", session.title);
  setText("purpose", session.purpose);
  setText("status", isAsking ? "needs answer" : session.shown);
  by("status").className = `state ${isAsking ? "waiting" : session.shown}`;
  const speaking = session.open_turns.filter((it) => it.status === "speaking").map((it) => own.people.get(it.participant) ?? it.participant);
  const now = session.is_final ? [readable(session.reason), session.detail].filter(Boolean).join(": ") : speaking.length ? `${speaking.join(", ")} ${speaking.length > 1 ? "speak" : "speaks"}` : "";
  setText("now", now);
  const { tokens, cost_micros: micros } = session.usage;
  const facts = { Mode: readable(session.mode), Turns: number.format(session.turns), Tokens: number.format(tokens), Cost: micros === 0 ? "–" : money.format(micros / 1e6) };
  by("facts").replaceChildren(...Object.entries(facts).map(([term, text]) => make("div", {}, make("dt", {}, term), make("dd", {}, text))));
  showControls(own, session.status);
  by("continue-form").hidden = !session.is_final;
  by("post-form").hidden = session.is_final;
}

// ---- Controls ----

const CONTROLS = {
  draft: [["activate", "Start"], ["cancel", "Cancel", "danger"]],
  active: [["suspend", "Suspend"], ["stop", "Stop after this round"], ["cancel", "Cancel", "danger"]],
  suspended: [["resume", "Resume"], ["cancel", "Cancel", "danger"]],
};

function showControls(own, status) {
  const place = by("controls");
  if (place.dataset.status === status && place.children.length) return;
  place.dataset.status = status;
  place.replaceChildren(...(CONTROLS[status] ?? []).map(([verb, title, kind]) => {
    const form = make("form", {}, make("button", { class: `button ${kind ?? ""}` }, title));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (verb === "cancel" && !(await confirm("Cancel this session?", "Running turns are discarded. The messages so far are kept.", "Cancel the session"))) return;
      by("control-error").textContent = "";
      await submit(form, by("control-error"), async () => {
        await post(`${own.path}/${verb}`);
        await refresh(own);
      });
    });
    return form;
  }));
}

function confirm(title, text, yes) {
  const dialog = by("confirm");
  by("confirm-title").textContent = title;
  by("confirm-text").textContent = text;
  by("confirm-yes").textContent = yes;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}

function onSubmit(id, path, done) {
  by(`${id}-form`).addEventListener("submit", (event) => {
    event.preventDefault();
    const own = view;
    submit(event.target, by(`${id}-error`), async () => {
      const text = by(`${id}-text`).value;
      if (!text.trim()) throw new Error("Write a message.");
      const answer = await post(`${own.path}/${path}`, { text });
      by(`${id}-text`).value = "";
      done(own, answer);
    });
  });
}

onSubmit("post", "post", (own) => refreshSoon(own));
onSubmit("continue", "continue", (own, session) => own.go(session.id));
for (const id of ["post-text", "continue-text"]) by(id).addEventListener("keydown", submitByKey);

export function submitByKey(event) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form.requestSubmit();
}

// ---- Questions ----

function showQuestions(own, questions) {
  const place = by("questions");
  const open = new Set(questions.map((it) => it.id));
  for (const [id, shown] of own.questions) {
    if (open.has(id) || shown.isLeft) continue;
    if (shown.hasText() && !shown.isSent) {
      shown.isLeft = true; // the text stays
      shown.error.textContent = "This question is no longer open. Your text was not sent.";
      for (const button of shown.card.querySelectorAll("button")) button.remove();
      continue;
    }
    if (shown.card.contains(document.activeElement)) by("session-title").focus();
    shown.card.remove();
    own.questions.delete(id);
  }
  for (const question of questions) {
    if (own.questions.has(question.id)) continue;
    const shown = questionForm(question, async (body) => {
      await post(`${own.path}/questions/${question.turn_id}/reply`, { ...body, question: question.id });
      shown.isSent = true;
      await refresh(own);
    });
    shown.form.addEventListener("keydown", submitByKey);
    const names = question.asked.map((it) => own.people.get(it) ?? it).join(" or ");
    const asker = question.is_own ? null : (own.people.get(question.participant) ?? question.participant);
    const head = make("p", {}, make("b", {}, make("bdi", {}, names)), " must answer ",
      make("span", { class: "muted" }, `· ${asker ? `asked by ${asker} in ` : ""}turn ${question.turn_id}`));
    const tool = question.tool ? make("p", {}, "The tool ", make("code", {}, question.tool), " waits for an approval.") : null;
    const text = question.text ? make("blockquote", {}, markdown(question.text)) : null;
    shown.card = make("article", { class: "card question", "aria-label": `Question to ${names}` }, head, tool, text, shown.form);
    own.questions.set(question.id, shown);
    following(() => place.append(shown.card));
  }
}

// ---- Result ----

async function end(own) {
  clearTimeout(own.timer);
  dropDraft(own, () => true);
  await refresh(own);
  showConnection(own, "live");
  const [result, files] = await Promise.all([get(`${own.path}/result`), get(`${own.path}/attachments`)]);
    if (own !== view) return;
  const parts = [];
  if (result.verdict) parts.push(make("p", { class: "result-note" }, make("bdi", {}, result.verdict.by), result.verdict.approved ? " approved it." : " did not approve it."));
  if (result.output !== null && result.output !== undefined) parts.push(data(result.output));
  else if (result.text) parts.push(markdown(result.text));
  if (result.items?.length) parts.push(data(result.items));
  following(() => {
    by("result-body").replaceChildren(...parts);
    by("result").hidden = !parts.length;
    by("attachments").hidden = !files.length;
    by("attachment-list").replaceChildren(...files.map((it) => attachmentRow(own, it)));
  });
}

const SIZES = ["byte", "kilobyte", "megabyte"];

function size(bytes) {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), 2);
  return new Intl.NumberFormat(undefined, { style: "unit", unit: SIZES[step], maximumFractionDigits: 1 }).format(bytes / 1000 ** step);
}

function attachmentRow(own, file) {
  const button = make("button", { class: "button", type: "button" }, "Download", make("span", { class: "sr-only" }, ` ${file.name}`));
  const error = make("p", { class: "field-error", role: "alert" });
  button.addEventListener("click", async () => {
    error.textContent = "";
    try {
      const url = URL.createObjectURL(await download(`${own.path}/attachments/${encodeURIComponent(file.sha256)}`));
      make("a", { href: url, download: file.name }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    } catch (problem) {
      error.textContent = problem.message;
    }
  });
  return make("li", {}, make("bdi", { class: "name" }, file.name), make("small", { class: "muted" }, `${file.media_type}, ${size(file.size)}`), button, error);
}
