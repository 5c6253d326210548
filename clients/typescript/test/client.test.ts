/** The client against a running server: run by tests/web/test_typescript.py, which sets SYMPOSIA_URL. */
import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { test } from "node:test";

import { Symposia, SymposiaError, type SessionEvent } from "../src/index.js";

const url = process.env["SYMPOSIA_URL"] ?? "";
const client = new Symposia({ url });
const session = (agents: string[], options: Record<string, unknown> = {}) => ({
  title: "From TypeScript",
  purpose: "See that it works.",
  mode: "round_robin",
  participants: agents.map((agent, index) => ({ participant_id: `p${index}`, agent })),
  stop: { max_turns: agents.length },
  ...options,
});

/** A proxy on TCP that cuts its connections: what a reader of events must survive. */
async function cuttingProxy(): Promise<{ url: string; cut: () => number; server: Server }> {
  const sockets = new Set<Socket>();
  const { hostname, port } = new URL(url);
  const server = createServer();
  server.removeAllListeners("connection");
  server.on("connection", (from: Socket) => {
    const to = connect(Number(port), hostname);
    for (const [one, other] of [[from, to], [to, from]] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => (sockets.delete(one), other.destroy()));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): number => {
    const count = sockets.size;
    for (const it of sockets) it.destroy();
    return count;
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut, server };
}

test("a session file is listed, submitted and followed to its result", async () => {
  const file = await client.files.get("haiku");
  assert.deepEqual(file.inputs.map((it) => it.name), ["topic", "lines"]);
  const { id, title } = await client.sessions.submit({ file: "haiku", inputs: { topic: "rain" } });
  assert.equal(title, "A haiku");
  const messages: string[] = [];
  let end: SessionEvent | undefined;
  for await (const event of client.events(id)) {
    if (event.type === "message") messages.push(event.data.content);
    end = event;
  }
  assert.ok(end?.type === "end" && end.data.status === "completed");
  assert.equal(messages.length, end.data.result?.turns);
  assert.equal((await client.sessions.result(id)).text, messages.at(-1));
  assert.deepEqual((await client.sessions.messages(id)).map((it) => it.content), messages);
  assert.equal((await client.sessions.get(id)).is_final, true);
});

test("a question is followed, listed and answered", async () => {
  const people = [{ participant_id: "ann", agent: "careful" }, { participant_id: "ben", kind: "human" }];
  const { id } = await client.sessions.submit({ session: session([], { participants: people, stop: { max_turns: 1 } }) as never });
  for await (const event of client.events(id, { deltas: false })) {
    if (event.type !== "question") continue;
    assert.deepEqual(event.data.choices, ["yes", "no"]);
    const [question] = await client.questions(id);
    assert.equal(question?.id, event.data.id);
    await client.reply(event.data, { as: "ben", text: "yes" });
  }
  assert.equal((await client.sessions.result(id)).text, "ben said yes");
  await assert.rejects(client.reply({ id: "0".repeat(32), session_id: id, turn_id: 1 }, { as: "ben", text: "no" }), { status: 409 });
});

test("a wrong value is named", async () => {
  await assert.rejects(client.sessions.submit({ file: "haiku", inputs: { topic: "rain", lines: "three" } }), (error) => {
    assert.ok(error instanceof SymposiaError);
    assert.equal(error.status, 422);
    assert.deepEqual(error.errors.map((it) => it.field), ["inputs.lines"]);
    return true;
  });
});

test("events continue after each lost connection, none twice", async () => {
  const { id } = await client.sessions.submit({ session: session(Array(20).fill("say")) as never });
  const proxy = await cuttingProxy();
  try {
    const follower = new Symposia({ url: proxy.url });
    const ids: string[] = [];
    let losses = 0;
    for await (const event of follower.events(id, { onConnection: (it) => void (it === "lost" && (losses += 1)) })) {
      if (!("id" in event) || event.id === undefined) continue;
      ids.push(event.id);
      if (event.type === "message" && ids.length % 3 === 0 && losses < 3) proxy.cut();
    }
    const all: string[] = [];
    for await (const event of client.events(id)) if ("id" in event && event.id !== undefined) all.push(event.id);
    assert.deepEqual(ids, all);
    assert.ok(losses >= 1, "the connection was cut");
  } finally {
    proxy.cut();
    proxy.server.close();
  }
});

test("a follower stops when its signal is aborted", { timeout: 20_000 }, async () => {
  const { id } = await client.sessions.submit({ session: session(["say"], { draft: true }) as never });
  const abort = new AbortController();
  const follow = async (): Promise<void> => {
    for await (const _ of client.events(id, { signal: abort.signal })) void _;
  };
  setTimeout(() => abort.abort(), 200);
  await assert.rejects(follow(), { name: "AbortError" });
  await client.sessions.cancel(id);
});

test("an unknown session is refused at once", async () => {
  const events = client.events("3f0c4a52-7f0e-4d7c-8a3e-111111111111");
  await assert.rejects(events.next(), { status: 404 });
});

test("a token is sent with each request", async () => {
  const seen: (string | undefined)[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    seen.push(request.headers.authorization);
    response.setHeader("Content-Type", "application/json");
    response.end("[]");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const own = new Symposia({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/below`, token: async () => "sym_1_secret" });
  await own.files.list();
  server.close();
  assert.deepEqual(seen, ["Bearer sym_1_secret"]);
});
