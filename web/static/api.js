// The HTTP API: requests with the token of this tab, and the events of a session, resumed after a lost connection.

const ROOT = new URL("v1/", document.baseURI);
const KEY = "symposia-token";
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const SILENCE_MS = 40_000; // the server writes a comment each 15 s

export const token = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (text) => (text ? sessionStorage.setItem(KEY, text) : sessionStorage.removeItem(KEY)),
};

// An answer that is no success: its problem has `detail` and, for wrong fields, `errors` of `{field, value, rule}`.
export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `The server answered ${status}.`);
    this.status = status;
    this.errors = problem.errors ?? [];
  }
}

export class ConnectionLost extends Error {
  constructor() {
    super("The server does not answer. Nothing was lost: try again.");
  }
}

async function send(path, { method = "GET", body, headers = {}, signal } = {}) {
  const all = { Accept: "application/json", ...headers };
  if (token.get()) all.Authorization = `Bearer ${token.get()}`;
  if (body !== undefined) all["Content-Type"] = "application/json";
  const options = { method, headers: all, signal, cache: "no-store", credentials: "same-origin" };
  let response;
  try {
    response = await fetch(new URL(path, ROOT), { ...options, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    throw error.name === "AbortError" ? error : new ConnectionLost();
  }
  if (response.ok) return response;
  throw new ApiError(response.status, await response.json().catch(() => ({})));
}

export async function request(path, options) {
  const response = await send(path, options);
  return response.status === 204 ? null : response.json();
}

export const get = (path, options) => request(path, options);
export const post = (path, body = {}) => request(path, { method: "POST", body });
export const download = async (path) => (await send(path, { headers: { Accept: "*/*" } })).blob();

// Yield `{name, id, data}` of one answer with server-sent events.
async function* read(response, signal) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const close = () => reader.cancel().catch(() => {});
  signal.addEventListener("abort", close);
  let timer;
  try {
    for (let rest = ""; ; ) {
      const silent = new Promise((_, reject) => (timer = setTimeout(() => reject(new ConnectionLost()), SILENCE_MS)));
      const { done, value } = await Promise.race([reader.read(), silent]);
      clearTimeout(timer);
      if (done) return;
      const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const event = { name: "message", id: null, data: [] };
        for (const line of block.split("\n")) {
          const [, field, text] = /^([^:]*):? ?(.*)$/s.exec(line);
          if (field === "event") event.name = text;
          else if (field === "id") event.id = text;
          else if (field === "data") event.data.push(text);
        }
        if (event.data.length) yield { ...event, data: JSON.parse(event.data.join("\n")) };
      }
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", close);
    close();
  }
}

const pause = (ms, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });

// Yield the events of a session until `end`. `onState` gets "live" or "lost".
export async function* events(id, { signal, onState }) {
  let last = null;
  let wait = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      const headers = { Accept: "text/event-stream", ...(last === null ? {} : { "Last-Event-ID": last }) };
      const response = await send(`sessions/${encodeURIComponent(id)}/events`, { headers, signal });
      onState("live");
      wait = FIRST_PAUSE_MS;
      yield { name: "connected", id: null, data: null };
      for await (const event of read(response, signal)) {
        last = event.id ?? last;
        yield event;
        if (event.name === "end") return;
      }
    } catch (error) {
      if (signal.aborted) return;
      const isRefusal = error instanceof ApiError && error.status < 500 && error.status !== 429;
      if (isRefusal) throw error;
    }
    if (signal.aborted) return;
    onState("lost");
    await pause(wait, signal);
    wait = Math.min(2 * wait, LONGEST_PAUSE_MS);
  }
}
