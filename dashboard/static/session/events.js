// The list of events, newest first: new ones from the stream, older ones on request.

import { setHidden } from "../page.js";
import { cursorWith } from "./event_cursor.js";
import { eventRow } from "./panels.js";

// Events that a long-lived page keeps; older ones are loaded again on request.
const KEPT = 500;

export class EventsView {
  // `list`: element of the rows; `older`: the button; `scroller`: element around the rows; `load`: (before) -> page.
  constructor({ list, older, scroller, load }) {
    Object.assign(this, { list, older, scroller, load });
    this.ids = []; // in the order of the rows
    this.before = null;
  }

  async loadNewest() {
    this.list.replaceChildren();
    this.ids = [];
    this.before = null;
    await this.loadOlder();
  }

  async loadOlder() {
    const page = await this.load(this.before);
    const missing = page.events.filter((event) => !this.ids.includes(event.id));
    this.list.append(...missing.map(eventRow));
    this.ids.push(...missing.map((event) => event.id));
    this.before = page.before;
    this.showOlder();
  }

  // Add a new event; one that is shown already changes nothing.
  add(event) {
    if (this.ids.includes(event.id)) return;
    this.list.prepend(eventRow(event));
    this.ids.unshift(event.id);
    if (this.ids.length <= KEPT) return;
    this.list.lastElementChild.remove();
    this.before = cursorWith(this.before, this.ids.pop());
    this.showOlder();
  }

  showOlder() {
    setHidden(this.older, this.before === null, this.scroller);
  }
}
