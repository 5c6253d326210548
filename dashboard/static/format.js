// Texts for numbers and times.
import { make } from "./page.js";

/** Return a span of time in one unit, such as "5m". */
export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86400)}d`;
}

/** Return a duration in two units, such as "5 min 3 s". */
export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s.toFixed(1)} s`;
  const minutes = Math.floor(s / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(s % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Return the time of day of an instant. */
export function clock(ms) {
  return new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

/** Return the date and time of an instant. */
export function moment(ms) {
  return ms ? new Date(ms).toLocaleString() : "–";
}

/** Return an element with the date and time of an instant, in the zone of the browser or in another one. */
export function timeElement(ms, zone = undefined) {
  const text = new Intl.DateTimeFormat([], { dateStyle: "medium", timeStyle: "medium", timeZone: zone }).format(ms);
  return make("time", { datetime: new Date(ms).toISOString(), title: zone }, text);
}

/** Return a cost in US dollars from millionths. */
export function dollars(micros) {
  return micros ? `$${(micros / 1e6).toFixed(micros < 1e6 ? 4 : 2)}` : "–";
}

/** Return a number with its noun, as `count_of` of the server: "1 turn", "2 turns". */
export function countOf(value, noun) {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** Return a number with separators. */
export function count(value) {
  return Number(value).toLocaleString("en");
}
