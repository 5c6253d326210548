// Changes of a session: by a stream of server-sent events, or by polling where the server grants no stream.

const POLL_MS = 1_000;
// Polls until the stream is tried again.
const RETRY_POLLS = 30;

// `since`: position to start after; `take`: gets each change; `show`: shows the state of the connection;
// `hasEnded`: whether the session has ended, so that nothing more can come.
export function follow({ url, since, take, show, hasEnded }) {
  let position = since;

  function open() {
    const source = new EventSource(`${url}/stream?since=${position}`);
    source.addEventListener("open", () => show("Live", "live"));
    source.addEventListener("message", (event) => {
      position = event.lastEventId || position;
      take(JSON.parse(event.data));
    });
    source.addEventListener("error", () => {
      if (hasEnded()) {
        source.close();
        show("Ended", "ended");
      } else if (source.readyState === EventSource.CLOSED) poll(RETRY_POLLS);
      else show("Reconnecting…", "lost");
    });
  }

  async function poll(left) {
    if (left === 0) {
      open();
      return;
    }
    try {
      const answer = await fetch(`${url}/changes?since=${position}`, { headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error(`${answer.status}`);
      const page = await answer.json();
      position = page.position;
      for (const change of page.changes) take(change);
      show("Live, every second", "live");
      if (hasEnded()) {
        show("Ended", "ended");
        return;
      }
    } catch {
      show("Reconnecting…", "lost");
    }
    setTimeout(() => poll(left - 1), POLL_MS);
  }

  open();
}
