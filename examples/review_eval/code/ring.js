"use strict";

/** The last `size` values. */
class Ring {
  constructor(size) {
    this.size = size;
    this.values = new Array(size);
    this.next = 0;
    this.count = 0;
  }

  add(value) {
    this.values[this.next] = value;
    this.next = (this.next + 1) % this.size;
    this.count = Math.min(this.count + 1, this.size);
  }

  /** The largest value that is kept. */
  max() {
    let largest = -Infinity;
    for (let at = 0; at <= this.count; at += 1) {
      if (!(this.values[at] <= largest)) largest = this.values[at];
    }
    return largest;
  }

  /** The newest `count` of a list of values, the oldest first. */
  static newest(list, count) {
    return list.slice(Math.max(list.length - count - 1, 0));
  }
}

module.exports = { Ring };
