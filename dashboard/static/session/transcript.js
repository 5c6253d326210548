// The transcript: written messages with rendered Markdown, and the live output of the turns that run.

import { clock, count, moment } from "../format.js";
import { make, runOnce, setHidden } from "../page.js";
import { Drafts } from "./drafts.js";
import { buildNodes } from "./markdown.js";

// Messages that a long-lived page keeps; older ones are loaded again on request.
const KEPT = 600;
const DROPPED = 200;

export class TranscriptView {
  // `list`: the ordered list; `live`: element of live output; `older`: the button; `load`: (before) -> page;
  // `loadWhole`: (id) -> the whole text of a message; `fileUrl`: (sha256) -> the URL of an attachment; `failed`: called
  // with the error of a click.
  constructor({ list, live, older, scroller, load, loadWhole, fileUrl, failed }) {
    Object.assign(this, { list, live, older, scroller, load, loadWhole, fileUrl, failed });
    this.ids = [];
    this.before = null;
    this.drafts = new Drafts();
    this.names = new Map();
    older.addEventListener("click", () => runOnce(older, () => this.loadOlder()).catch(failed));
  }

  async loadNewest() {
    const page = await this.load(null);
    this.before = page.before;
    for (const message of page.messages) this.append(message);
    this.showOlder();
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  async loadOlder() {
    const page = await this.load(this.before);
    const height = this.scroller.scrollHeight;
    this.list.prepend(...page.messages.map((message) => this.item(message)));
    this.ids.unshift(...page.messages.map((message) => message.id));
    this.before = page.before;
    this.scroller.scrollTop += this.scroller.scrollHeight - height;
    this.showOlder();
  }

  // Add a new message; one that is shown already changes nothing.
  append(message) {
    this.dropDraft(message.turn);
    if (this.ids.includes(message.id) || (this.ids.length && isBefore(message.id, this.ids[0]))) return;
    this.keepAtEnd(() => {
      this.list.append(this.item(message));
      this.ids.push(message.id);
      this.dropOldest();
    });
  }

  addPiece(piece) {
    const draft = this.drafts.add(piece);
    if (draft !== null) this.keepAtEnd(() => this.showDraft(draft));
  }

  dropDraft(turn) {
    this.drafts.remove(turn);
    this.draftNode(turn)?.remove();
  }

  dropOldest() {
    if (this.ids.length <= KEPT || !this.isAtEnd()) return;
    for (const node of [...this.list.children].slice(0, DROPPED)) node.remove();
    this.ids.splice(0, DROPPED);
    this.before = this.ids[0];
    this.showOlder();
  }

  showOlder() {
    setHidden(this.older, this.before === null, this.scroller);
  }

  showDraft(draft) {
    let node = this.draftNode(draft.turn);
    if (!node) {
      node = make("article", { class: "message message-draft", "data-turn": draft.turn },
        this.head(draft.participant, draft.turn, "speaking…"), make("pre", { class: "draft-text" }));
      this.live.append(node);
    }
    if (draft.text) node.querySelector(".draft-text").textContent = draft.text;
    else node.remove(); // the output so far was discarded
  }

  draftNode(turn) {
    return this.live.querySelector(`[data-turn="${Number(turn)}"]`);
  }

  item(message) {
    const name = message.participant || message.role;
    const at = { datetime: new Date(message.at_ms).toISOString(), title: moment(message.at_ms) };
    const time = make("time", at, clock(message.at_ms));
    const body = make("div", { class: "message-text" }, ...buildNodes(message.nodes));
    const kind = message.participant ? "message" : "message message-outside";
    return make("li", { class: kind }, this.head(name, message.turn, time, message.is_history), body,
      message.is_cut ? this.wholeButton(message, body) : null,
      message.cut_line ? make("div", { class: "text-warning-emphasis" }, message.cut_line) : null, this.fileList(message.attachments));
  }

  fileList(files) {
    if (!files.length) return null;
    return make("ul", { class: "message-files", "aria-label": "attachments" }, ...files.map((file) => make("li", {},
      make("a", { href: this.fileUrl(file.sha256), download: "" }, file.name),
      ` ${file.media_type}, ${count(file.size)} bytes`)));
  }

  head(name, turn, last, isHistory = false) {
    return make("div", { class: "message-head" },
      turn ? make("span", { class: "message-turn", title: `turn ${turn}` }, `${turn}`) : null,
      make("span", { class: "message-name" }, this.names.get(name) ?? name),
      isHistory ? make("span", { class: "badge text-bg-secondary" }, "from another dialog") : null,
      make("span", { class: "message-time" }, last));
  }

  wholeButton(message, body) {
    const label = `Show all ${count(message.characters)} characters`;
    const button = make("button", { type: "button", class: "btn btn-sm btn-link" }, label);
    button.addEventListener("click", () => runOnce(button, () => this.showWhole(message.id, body, button)).catch(this.failed));
    return button;
  }

  async showWhole(id, body, button) {
    const { text } = await this.loadWhole(id);
    const hadFocus = document.activeElement === button;
    const whole = make("pre", { class: "draft-text", tabindex: "0" }, text);
    body.replaceChildren(whole);
    button.remove();
    if (hadFocus) whole.focus({ preventScroll: true });
  }

  isAtEnd() {
    return this.scroller.scrollTop + this.scroller.clientHeight >= this.scroller.scrollHeight - 40;
  }

  keepAtEnd(change) {
    const wasAtEnd = this.isAtEnd();
    change();
    if (wasAtEnd) this.scroller.scrollTop = this.scroller.scrollHeight;
  }
}

// Whether the id of a stream entry is before another one.
export function isBefore(id, other) {
  const [ms, counter] = id.split("-").map(Number);
  const [otherMs, otherCounter] = other.split("-").map(Number);
  return ms < otherMs || (ms === otherMs && counter < otherCounter);
}
