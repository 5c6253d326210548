// Panels of the state: participants, open turns and locks, budget, board, decisions, tensions, memory.

import { count, countOf, dollars, duration, moment } from "../format.js";
import { base, make } from "../page.js";

const UNITS = { turns: "Turns", tokens: "Tokens", cost_micros: "Cost", seconds: "Time" };

export function headFacts(session, nowMs) {
  const end = session.ended_ms ?? nowMs;
  return [
    ["Mode", session.mode.replace("_", " ") + (session.protocol ? ` (${session.protocol})` : "")],
    ["Turns", count(session.turns)],
    ["Rounds", count(session.rounds)],
    ["Messages", count(session.messages)],
    ["Tokens", count(session.usage.tokens)],
    ["Cost", dollars(session.usage.cost_micros)],
    ...(session.usage.cached_tokens ? [["From cache", `${Math.round(100 * session.usage.cached_tokens / session.usage.input_tokens)}% of input`]] : []),
    ["Duration", duration(end - session.started_ms)],
    ["Opened", moment(session.opened_ms)],
    ...(session.queued_for_s >= 1 ? [["Queued", `${Math.round(session.queued_for_s)} s without a worker`]] : []),
    ...(session.tenant ? [["Tenant", session.tenant]] : []),
    ...(session.parent ? [["Parent", sessionLink(session.parent.session_id, `turn ${session.parent.turn}`)]] : []),
    ...(session.descendants.length ? [["Sub-sessions", childLinks(session)]] : []),
  ].map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)));
}

// Links to all sessions below this one, each indented below its parent.
function childLinks(session) {
  const depth = new Map([[session.id, 0]]);
  return make("ul", { class: "session-tree" }, ...session.descendants.map((it) => {
    depth.set(it.session_id, depth.get(it.parent) + 1);
    const label = `${"\u2003".repeat(depth.get(it.parent))}turn ${it.turn}`;
    return make("li", {}, sessionLink(it.session_id, label));
  }));
}

function sessionLink(id, label) {
  return make("span", {}, `${label} `, make("a", { href: `${base}/collabs/${id}` }, id.slice(0, 8)));
}

export function participantRows(session) {
  return session.participants.map((it) => row([
    make("span", {}, it.name, it.name === it.id ? null : make("small", { class: "subtle" }, ` ${it.id}`)),
    it.is_orchestrator ? "orchestrator" : it.role ?? "–",
    it.agent ?? "–",
    make("span", { class: `state state-${stateClass(it.state)}` }, it.state),
    count(it.turns) + (it.failed ? ` (${it.failed} failed)` : ""),
    count(it.usage.tokens),
    dollars(it.usage.cost_micros),
  ]));
}

export function openTurnRows(session, names, nowMs) {
  return session.open_turns.map((it) => row([
    `${it.turn}`,
    names.get(it.participant) ?? it.participant,
    make("span", { class: `state state-${stateClass(it.state)}` }, waitOf(it) ?? it.state),
    it.scope,
    it.attempt ? `${it.attempt}` : "–",
    it.began_ms ? duration(nowMs - it.began_ms) : it.queued_ms ? `queued ${duration(nowMs - it.queued_ms)}` : "–",
    it.lease_left_ms === null ? "–" : leaseLeft(it.lease_left_ms - (nowMs - session.now_ms)),
    it.fence ? `${it.fence}` : "–",
  ]));
}

function waitOf(turn) {
  if (turn.awaited_agent !== null) return `no worker knows agent ${turn.awaited_agent}`;
  return turn.waits_for_budget ? "waits for budget" : null;
}

function leaseLeft(ms) {
  return ms > 0 ? duration(ms) : "expired or renewed";
}

export function budgetItems(session) {
  return session.budget.map((it) => {
    const shown = (value) => (it.unit === "cost_micros" ? dollars(value) : it.unit === "seconds" ? duration(value * 1000) : count(value));
    const reserved = it.reserved ? `, ${shown(it.reserved)} reserved` : "";
    const text = `${shown(it.used)} of ${shown(it.limit)}${reserved}`;
    const label = `${UNITS[it.unit]}: ${text}`;
    return make("li", {}, make("span", { class: "budget-name" }, UNITS[it.unit]),
      make("progress", { max: it.limit, value: Math.min(it.used, it.limit), "aria-label": label }), make("span", {}, text));
  });
}

export function boardRows(session, names) {
  return session.board.map((it) => row([
    it.text,
    make("span", { class: `state state-${{ done: "completed", dropped: "cancelled", claimed: "active" }[it.status] ?? "suspended"}` }, it.status),
    it.participant ? names.get(it.participant) ?? it.participant : "–",
    it.role ?? "anyone",
    it.turn ? `${it.turn}` : "–",
    `${it.hand_offs}`,
    it.reason || "–",
  ]));
}

export function decisionItems(session) {
  const log = session.decisions;
  return [
    ...log.decisions.map((line) => make("li", {}, line)),
    ...log.hand_offs.map((line) => make("li", {}, `hand-off: ${line}`)),
    log.stalls || log.replans ? make("li", {}, `without progress in a row: ${log.stalls}; new plans: ${log.replans}`) : null,
    log.fault ? make("li", { class: "turn-error" }, `refused choice: ${log.fault}`) : null,
  ].filter((it) => it !== null);
}

export function tensionRows(session) {
  return session.ledger.tensions.map((it) => row([
    it.id,
    it.label,
    make("span", { class: `state state-${["RESOLVED", "DEFERRED"].includes(it.state.toUpperCase()) ? "completed" : "active"}` }, it.state),
    it.by,
  ]));
}

export function ledgerSummary(session) {
  const ledger = session.ledger;
  const scores = Object.entries(ledger.scores).map(([name, it]) => `${name} ${it.total}`);
  return [
    `Round ${ledger.round}`,
    ledger.converged ? "converged" : "not converged",
    countOf(ledger.perspectives.length, "perspective"),
    ...(ledger.rounds.length ? [`velocity ${ledger.rounds.at(-1).velocity}`] : []),
    ...(scores.length ? [`scores: ${scores.join(", ")}`] : []),
  ].join(" · ");
}

export function memoryRows(memory) {
  return memory.parameters.map((it) => row([
    it.service,
    it.name,
    typeof it.value === "string" ? it.value : JSON.stringify(it.value),
    it.source,
    `${Math.round(it.confidence * 100)} %`,
    it.turn ? `${it.turn}` : "–",
    duration(it.age_s * 1000),
  ]));
}

export function eventRow(event) {
  return row([moment(event.at_ms), event.type, event.participant ?? "–", event.turn ? `${event.turn}` : "–",
    make("code", { class: "event-data" }, event.data)]);
}

function stateClass(state) {
  return { speaking: "active", queued: "suspended", "waiting for an answer": "parked", "worker lost": "lost", held: "suspended", removed: "cancelled" }[state] ?? "completed";
}

function row(cells) {
  const [first, ...others] = cells;
  return make("tr", {}, make("th", { scope: "row" }, first), ...others.map((cell) => make("td", {}, cell)));
}
