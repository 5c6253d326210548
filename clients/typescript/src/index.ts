/** Client of the HTTP API of Symposia. */
import { follow, type FollowOptions, type Message, type Question, type Result, type SessionEvent } from "./events.js";
import { Http, path, type ClientOptions } from "./http.js";
import type { components, paths } from "./schema.js";

export { SymposiaError, type ClientOptions, type FieldProblem } from "./http.js";
export type { Delta, End, FollowOptions, Message, Question, Result, SessionEvent, Status } from "./events.js";
export type { components, operations, paths } from "./schema.js";

type Query<P extends keyof paths> = paths[P] extends { get: { parameters: { query?: infer Q } } } ? NonNullable<Q> : never;
type Body<P extends keyof paths> = paths[P] extends { post: { requestBody?: { content: { "application/json": infer B } } } } ? B : never;
type Page<P extends keyof paths> = paths[P] extends { get: { responses: { 200: { content: { "application/json": infer A } } } } } ? A : never;

export type Session = components["schemas"]["SessionData"];
export type SessionFile = components["schemas"]["FileData"];
export type Submission = Body<"/v1/sessions">;
export type Reply = Body<"/v1/sessions/{session_id}/questions/{turn_id}/reply">;
export type Continuation = Body<"/v1/sessions/{session_id}/continue">;
export type SessionFilters = Query<"/v1/sessions">;
export type SessionPage = Page<"/v1/sessions">;
export type InboxFilters = Query<"/v1/questions">;
export type Inbox = Page<"/v1/questions">;
export type Attachment = components["schemas"]["Attachment"];

/**
 * A client of one server.
 *
 *     const client = new Symposia({ url: "http://127.0.0.1:8765", token });
 *     const session = await client.sessions.submit({ file: "haiku", inputs: { topic: "rain" } });
 *     for await (const event of client.events(session.id)) console.log(event.type);
 */
export class Symposia {
  readonly files: Files;
  readonly sessions: Sessions;
  private readonly http: Http;

  constructor(options: ClientOptions) {
    this.http = new Http(options);
    this.files = new Files(this.http);
    this.sessions = new Sessions(this.http);
  }

  /** Yield the events of a session until its end; a lost connection is made again, and none is lost or repeated. */
  events(id: string, options: FollowOptions = {}): AsyncGenerator<SessionEvent, void, undefined> {
    return follow(this.http, id, options);
  }

  /** The open questions of a session. */
  questions(sessionId: string): Promise<Question[]> {
    return this.http.json(path("sessions", sessionId, "questions"));
  }

  /** The open questions of all sessions that the token may see, oldest first. */
  inbox(filters: InboxFilters = {}): Promise<Inbox> {
    return this.http.json("questions", { query: filters });
  }

  /** Answer a question: `{ as: "ann", text: "Yes." }`, or `{ as: "ann", approve: true }`. */
  async reply(question: Pick<Question, "id" | "session_id" | "turn_id">, answer: Omit<Reply, "question">): Promise<void> {
    const { id, session_id, turn_id } = question;
    await this.http.json(path("sessions", session_id, "questions", turn_id, "reply"), { method: "POST", body: { ...answer, question: id } });
  }
}

/** The session files that the server offers. */
class Files {
  constructor(private readonly http: Http) {}

  list(): Promise<SessionFile[]> {
    return this.http.json("files");
  }

  get(name: string): Promise<SessionFile> {
    return this.http.json(path("files", name));
  }
}

/** Sessions: submit, read, control. */
class Sessions {
  constructor(private readonly http: Http) {}

  /** Submit a session file by name, or a session document. With a `collab_id`, a repeated request submits it once. */
  submit(submission: Submission): Promise<Session> {
    return this.http.json("sessions", { method: "POST", body: submission });
  }

  list(filters: SessionFilters = {}): Promise<SessionPage> {
    return this.http.json("sessions", { query: filters });
  }

  get(id: string): Promise<Session> {
    return this.http.json(path("sessions", id));
  }

  messages(id: string, query: Query<"/v1/sessions/{session_id}/messages"> = {}): Promise<Message[]> {
    return this.http.json(path("sessions", id, "messages"), { query });
  }

  /** The result of a session that has ended; waits up to `wait` seconds (at most 60) for its end, then fails with 409. */
  result(id: string, { wait = 0 }: { wait?: number } = {}): Promise<Result> {
    return this.http.json(path("sessions", id, "result"), { query: { wait } });
  }

  suspend(id: string): Promise<Session> {
    return this.control(id, "suspend");
  }

  resume(id: string): Promise<Session> {
    return this.control(id, "resume");
  }

  /** Let the session end after its open turns. */
  stop(id: string): Promise<Session> {
    return this.control(id, "stop");
  }

  cancel(id: string): Promise<Session> {
    return this.control(id, "cancel");
  }

  /** Start a session that was submitted as a draft. */
  activate(id: string): Promise<Session> {
    return this.control(id, "activate");
  }

  /** Start a session that continues one which has ended. */
  continue(id: string, changes: Continuation): Promise<Session> {
    return this.http.json(path("sessions", id, "continue"), { method: "POST", body: changes });
  }

  attachments(id: string): Promise<Attachment[]> {
    return this.http.json(path("sessions", id, "attachments"));
  }

  /** The bytes of an attachment, by its name or digest. */
  async attachment(id: string, name: string): Promise<Blob> {
    const response = await this.http.send(path("sessions", id, "attachments", name), { headers: { Accept: "*/*" } });
    return response.blob();
  }

  private control(id: string, verb: string): Promise<Session> {
    return this.http.json(path("sessions", id, verb), { method: "POST", body: {} });
  }
}
