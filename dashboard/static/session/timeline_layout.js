// Layout of the timeline: lanes, rows and the scale of time. Pure: no DOM, so that tests can run it alone.
//
// Each participant has a lane. Spans of one lane that overlap in time are in different rows of it.

// Return the scale from milliseconds to pixels. It is linear, so lengths compare.
export function makeScale(fromMs, untilMs, width) {
  const length = Math.max(untilMs - fromMs, 1);
  return (ms) => ((Math.min(Math.max(ms, fromMs), fromMs + length) - fromMs) / length) * width;
}

// Return the first and the last instant of the spans, waits and marks.
export function extentOf(spans, marks, nowMs) {
  const begins = [];
  const ends = [];
  for (const span of spans) {
    begins.push(span.began_ms ?? span.ended_ms);
    ends.push(endOf(span, nowMs));
  }
  for (const mark of marks) {
    begins.push(mark.at_ms);
    ends.push(mark.at_ms);
  }
  if (!begins.length) return { fromMs: nowMs - 1, untilMs: nowMs };
  return { fromMs: least(begins), untilMs: Math.max(greatest(ends), least(begins) + 1) };
}

// Return lanes in the order of `names`, then of their first span: `{participant, first, rows}`, and items
// `{span, row, beginMs, endMs, isOpenLeft, isOpenRight}` with the row counted over all lanes.
export function layOut(spans, names, fromMs, nowMs) {
  const byLane = new Map(names.map((name) => [name, []]));
  for (const span of spans) {
    if (!byLane.has(span.participant)) byLane.set(span.participant, []);
    byLane.get(span.participant).push(span);
  }
  const lanes = [];
  const items = [];
  let first = 0;
  for (const [participant, own] of byLane) {
    const rows = placeInRows(own.map((span) => itemOf(span, fromMs, nowMs)));
    for (const item of rows.items) items.push({ ...item, row: first + item.row });
    lanes.push({ participant, first, rows: rows.count });
    first += rows.count;
  }
  return { lanes, items, rows: first };
}

function itemOf(span, fromMs, nowMs) {
  const beginMs = span.began_ms ?? fromMs;
  return {
    span,
    beginMs,
    endMs: Math.max(endOf(span, nowMs), beginMs),
    isOpenLeft: span.began_ms === undefined,
    isOpenRight: span.ended_ms === undefined,
  };
}

// Put each item into the first row whose last item has ended.
function placeInRows(items) {
  const ends = [];
  const placed = [];
  for (const item of [...items].sort((a, b) => a.beginMs - b.beginMs || a.endMs - b.endMs)) {
    let row = ends.findIndex((endMs) => endMs <= item.beginMs);
    if (row < 0) row = ends.length;
    ends[row] = item.endMs;
    placed.push({ ...item, row });
  }
  return { items: placed, count: Math.max(ends.length, 1) };
}

// Return for each span since when it waited for a worker: since the attempt before it ended, or since the task that
// planned it ended. Key -> milliseconds; spans without a known wait are absent.
export function waitsForWorkers(spans, openedMs) {
  const planned = new Map();
  for (const span of spans.values()) {
    if (!span.task_id || span.ended_ms === undefined) continue;
    planned.set(span.task_id, [...(planned.get(span.task_id) ?? []), span.ended_ms]);
  }
  const waits = new Map();
  for (const span of spans.values()) {
    if (span.began_ms === undefined) continue;
    const since = span.attempt > 1 ? spans.get(`${span.turn}.${span.attempt - 1}`)?.ended_ms : plannedMs(span);
    if (since !== undefined && since <= span.began_ms) waits.set(span.key, since);
  }
  return waits;

  function plannedMs(span) {
    const ends = (planned.get(span.parent_id) ?? []).filter((endMs) => endMs <= span.began_ms);
    return ends.length ? greatest(ends) : span.turn === 1 ? openedMs : undefined;
  }
}

function endOf(span, nowMs) {
  return span.ended_ms ?? Math.max(nowMs, span.began_ms ?? 0);
}

// `Math.min(...list)` fails for long lists.
function least(numbers) {
  return numbers.reduce((a, b) => (a < b ? a : b));
}

function greatest(numbers) {
  return numbers.reduce((a, b) => (a > b ? a : b));
}
