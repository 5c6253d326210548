// Cursors of pages of events. Pure.

const STREAMS = ["events", "journal"];
// Before the first entry of both streams: nothing is older.
const OLDEST = "0-1_0-1";

/**
 * Return the cursor of older events after an event was removed from the end of the list, so that it is loaded again.
 *
 * `before`: the cursor until now, a position in each stream; null: there are no older events. `id`: id of the event.
 */
export function cursorWith(before, id) {
  const [stream, entry] = id.split(":");
  const [ms, counter] = entry.split("-").map(Number);
  const positions = (before ?? OLDEST).split("_");
  positions[STREAMS.indexOf(stream)] = `${ms}-${counter + 1}`;
  return positions.join("_");
}
