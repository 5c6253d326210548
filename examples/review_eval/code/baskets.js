"use strict";

/** The total of a basket in cents. */
function total(lines) {
  return lines.reduce((sum, line) => sum + line.cents * line.count, 0);
}

/** The lines of a basket in pages of `size`. */
function pages(lines, size) {
  if (!Number.isInteger(size) || size < 1) throw new RangeError(`size must be a positive integer: ${size}`);
  const found = [];
  for (let first = 0; first < lines.length; first += size) {
    found.push(lines.slice(first, first + size));
  }
  return found;
}

/** A basket from its stored text. */
function parse(text) {
  const basket = JSON.parse(text);
  if (!Array.isArray(basket.lines)) throw new TypeError("a basket must have lines");
  return basket;
}

module.exports = { pages, parse, total };
