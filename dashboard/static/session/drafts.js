// Live output of the turns that run, until their messages are written.

const MISSED = "…";

export class Drafts {
  constructor() {
    // Turn -> `{turn, attempt, participant, text, end}`; `end` counts characters as the agent wrote them.
    this.byTurn = new Map();
  }

  // Add a piece of output; return the draft, or null if it belongs to an attempt that was replaced.
  add(piece) {
    let draft = this.byTurn.get(piece.turn);
    if (draft === undefined || piece.attempt > draft.attempt) {
      draft = { turn: piece.turn, attempt: piece.attempt, participant: piece.participant, text: "", end: 0 };
      this.byTurn.set(piece.turn, draft);
    }
    if (piece.attempt < draft.attempt) return null;
    if (piece.offset === 0) Object.assign(draft, { text: "", end: 0 }); // the output starts, or starts again
    if (piece.offset + piece.length <= draft.end) return draft; // known from before a reconnect
    if (piece.offset > draft.end) draft.text += MISSED;
    draft.text += piece.text;
    draft.end = piece.offset + piece.length;
    return draft;
  }

  remove(turn) {
    this.byTurn.delete(turn);
  }
}
