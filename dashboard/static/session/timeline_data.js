// Spans, waits and marks of a session, merged from pages and from the live stream, in any order.

export class TimelineData {
  constructor() {
    this.spans = new Map();
    this.marks = new Map();
    // Turn -> the waits for an answer: `{turn, from_ms, until_ms}`.
    this.parked = new Map();
  }

  addPage(page) {
    for (const span of page.spans) this.addSpan(span);
    for (const mark of page.marks) this.addMark(mark);
    for (const wait of page.waits) this.addWait(wait);
  }

  addChange(change) {
    if (change.span) this.addSpan(change.span);
    if (change.mark) this.addMark(change.mark);
    if (change.wait?.from_ms) this.addWait({ ...change.wait, until_ms: null });
    else if (change.wait) this.endWaits(change.wait.turn, change.wait.until_ms);
  }

  addSpan(patch) {
    this.spans.set(patch.key, { ...this.spans.get(patch.key), ...patch });
  }

  addMark(mark) {
    this.marks.set(`${mark.at_ms} ${mark.kind} ${mark.turn}`, mark);
  }

  addWait(wait) {
    const own = this.parked.get(wait.turn) ?? new Map();
    const known = own.get(wait.from_ms);
    own.set(wait.from_ms, { ...wait, until_ms: wait.until_ms ?? known?.until_ms ?? null });
    this.parked.set(wait.turn, own);
  }

  endWaits(turn, untilMs) {
    for (const wait of this.parked.get(turn)?.values() ?? []) {
      if (wait.until_ms === null && wait.from_ms <= untilMs) wait.until_ms = untilMs;
    }
  }

  waits() {
    return [...this.parked.values()].flatMap((own) => [...own.values()]);
  }

  // Whether a turn waits for an answer now.
  isParked(turn) {
    return [...(this.parked.get(turn)?.values() ?? [])].some((wait) => wait.until_ms === null);
  }

  // Whether the attempt of a turn has ended, so that its live output is no longer shown.
  hasEnded(turn, attempt) {
    return this.spans.get(`${turn}.${attempt}`)?.ended_ms !== undefined;
  }

  inOrder() {
    const begin = (span) => span.began_ms ?? span.ended_ms;
    return [...this.spans.values()].sort((a, b) => begin(a) - begin(b) || a.turn - b.turn || a.attempt - b.attempt);
  }
}
