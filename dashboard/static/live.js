// Live changes: an event stream, or polling with the same position where the browser has too many streams.
import { receive } from "./health.js";
import { base, getJson } from "./page.js";

const POLL_MS = 1000;
const RETRY_STREAM_MS = 30000;

/**
 * Follow the changes at `path` + "/stream", or poll `path` + "/changes".
 *
 * `options.position`: where to start. `options.query`: further arguments (URLSearchParams).
 * `options.events`: { kind: (data, position) => ... } for each kind of event of the stream.
 * `options.polled`: (answer) => ..., for an answer of "/changes"; it returns true at the end.
 * `options.state`: ("live" | "polling" | "lost" | "ended") => ...
 * `options.gone`: called once if what is followed no longer exists (status 404); without it, polling goes on.
 * Return an object with `close()`.
 */
export function follow(path, { position, query = new URLSearchParams(), events, polled, state, gone = null }) {
  let source = null;
  let timer = null;
  let streamAt = 0;
  let isClosed = false;

  const address = (end) => {
    const all = new URLSearchParams(query);
    all.set("after", position);
    return `${path}/${end}?${all}`;
  };

  function close(last = null) {
    isClosed = true;
    source?.close();
    clearTimeout(timer);
    if (last) state(last);
  }

  function open() {
    source = new EventSource(base + address("stream"));
    source.onopen = () => state("live");
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) {
        streamAt = Date.now() + RETRY_STREAM_MS;
        poll();
      } else {
        state("lost");
      }
    };
    for (const [kind, handle] of Object.entries(events)) {
      source.addEventListener(kind, (event) => {
        if (event.lastEventId) position = event.lastEventId;
        handle(JSON.parse(event.data), event.lastEventId);
      });
    }
    source.addEventListener("health", (event) => receive(JSON.parse(event.data)));
    source.addEventListener("end", () => close("ended"));
  }

  async function poll() {
    if (isClosed) return;
    if (Date.now() >= streamAt) {
      open();
      return;
    }
    try {
      const answer = await getJson(address("changes"));
      position = answer.position;
      state("polling");
      if (polled(answer)) {
        close("ended");
        return;
      }
    } catch (error) {
      if (gone && error.status === 404) {
        close();
        gone();
        return;
      }
      state("lost");
    }
    if (!isClosed) timer = setTimeout(poll, POLL_MS);
  }

  open();
  return { close };
}
