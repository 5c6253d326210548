/** The events of a session, resumed after a lost connection. */
import { path, SymposiaError, type Http } from "./http.js";
import type { components } from "./schema.js";
import { readEvents } from "./sse.js";

export type Message = components["schemas"]["MessageData"];
export type Question = components["schemas"]["QuestionData"];
export type Result = components["schemas"]["ResultData"];

/** The next words of a running turn. They are for display: the message at the end of the turn is what counts. */
export interface Delta {
  turn_id: number;
  speaker: string;
  /** The words of an earlier attempt will not be written. */
  attempt: number;
  /** Characters (not UTF-16 units) of this attempt before these; 0: the output starts, or restarts. */
  offset: number;
  text: string;
}

/** What happened to the session or to a turn. */
export interface Status {
  type: string;
  at: string;
  data: Record<string, unknown>;
}

/** The end of a session; the result is null if its record is not complete. */
export interface End {
  status: string;
  result: Result | null;
}

export type SessionEvent =
  | { type: "message"; id: string; data: Message }
  | { type: "status"; id: string; data: Status }
  | { type: "question"; data: Question }
  | { type: "delta"; data: Delta }
  | { type: "end"; data: End };

export interface FollowOptions {
  /** `id` of an event: only later ones are yielded. */
  after?: string;
  /** false: no `delta`. */
  deltas?: boolean;
  signal?: AbortSignal;
  /** Called when the connection is lost, before each pause, and when it is there again. */
  onConnection?: (state: "connected" | "lost", error?: unknown) => void;
  /** Milliseconds without any data after which the connection counts as lost (default 40,000; the server writes each 15 s). */
  silenceMs?: number;
}

const TYPES = new Set<string>(["message", "delta", "question", "status", "end"]);
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 10_000;

/**
 * Yield the events of a session until `end`. A lost connection is made again, and continues after the last event with an
 * id, so each of those is yielded once. Fails with `SymposiaError` if the server refuses the request.
 */
export async function* follow(http: Http, id: string, options: FollowOptions = {}): AsyncGenerator<SessionEvent, void, undefined> {
  const { deltas = true, signal, onConnection, silenceMs = 40_000 } = options;
  const asked = new Set<string>();
  let last = options.after;
  let pause = FIRST_PAUSE_MS;
  for (;;) {
    let failure: unknown;
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (last !== undefined) headers["Last-Event-ID"] = last;
      const response = await http.send(path("sessions", id, "events"), { headers, signal, query: deltas ? {} : { deltas } });
      if (response.body === null) throw new Error("the answer has no body");
      onConnection?.("connected");
      for await (const event of readEvents(response.body, silenceMs)) {
        pause = FIRST_PAUSE_MS;
        last = event.id ?? last;
        if (!TYPES.has(event.name)) continue; // of a later version
        const known = { type: event.name, id: event.id, data: JSON.parse(event.data) } as SessionEvent;
        if (known.type === "question") {
          if (asked.has(known.data.id)) continue;
          asked.add(known.data.id);
        }
        yield known;
        if (known.type === "end") return;
      }
    } catch (error) {
      const isFinal = error instanceof SymposiaError && error.status < 500 && error.status !== 429;
      if (isFinal || signal?.aborted) throw error;
      failure = error;
    }
    onConnection?.("lost", failure);
    await sleep(pause, signal);
    pause = Math.min(2 * pause, MAX_PAUSE_MS);
  }
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
