/** Client of the HTTP API of Symposia. */
import { follow, type FollowOptions, type Message, type Question, type Result, type SessionEvent } from "./events.js";
import { Http, path, type ClientOptions } from "./http.js";
import type { components, operations } from "./schema.js";

export { SymposiaError, type ClientOptions, type FieldProblem } from "./http.js";
export type { Delta, End, FollowOptions, Message, Question, Result, SessionEvent, Status } from "./events.js";
export type * from "./schema.js";

type Schemas = components["schemas"];
export type Session = Schemas["SessionData"];
export type SessionFile = Schemas["FileData"];
export type Submission = Schemas["SubmissionBody"];
export type Reply = Schemas["ReplyBody"];
type Query<Name extends keyof operations> = operations[Name] extends { parameters: { query?: infer Q } } ? NonNullable<Q> : never;
type Body<Name extends keyof operations> = operations[Name] extends { requestBody?: { content: { "application/json": infer B } } } ? B : never;
type Answer<Name extends keyof operations> = operations[Name] extends { responses: { 200: { content: { "application/json": infer A } } } } ? A : never;
