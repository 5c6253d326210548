/** Server-sent events of one answer: https://html.spec.whatwg.org/multipage/server-sent-events.html */

export interface ServerSentEvent {
  name: string;
  /** undefined: the event has none, so a reader cannot resume after it. */
  id: string | undefined;
  data: string;
}

const LINE = /\r\n|\n|\r(?!$)/;

/** Yield the events of an answer; an event that was cut off is dropped. Fails if nothing arrives for `silenceMs`. */
export async function* readEvents(body: ReadableStream<Uint8Array>, silenceMs: number): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let event = { name: "message", id: undefined as string | undefined, data: [] as string[] };
  try {
    for (;;) {
      const chunk = await withTimeout(reader.read(), silenceMs);
      if (chunk.done) return;
      const lines = (rest + decoder.decode(chunk.value, { stream: true })).split(LINE);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "") {
          if (event.data.length > 0) yield { ...event, data: event.data.join("\n") };
          event = { name: "message", id: undefined, data: [] };
          continue;
        }
        const colon = line.indexOf(":");
        const field = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (field === "event") event.name = value;
        else if (field === "id") event.id = value;
        else if (field === "data") event.data.push(value);
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no data for ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
