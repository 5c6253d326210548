/** Requests: the token, the problem of an answer, and one answer with server-sent events. */

/** A field of a request that breaks a rule. */
export interface FieldProblem {
  field: string;
  value?: unknown;
  rule: string;
}

/** An answer that is no success (`application/problem+json`). */
export class SymposiaError extends Error {
  override readonly name = "SymposiaError";

  constructor(
    readonly status: number,
    /** Kind of the problem. */
    readonly type: string,
    message: string,
    readonly errors: readonly FieldProblem[] = [],
  ) {
    super(message);
  }
}

export interface ClientOptions {
  /** Address of the server, such as `http://127.0.0.1:8765`. */
  url: string | URL;
  /** A token of `symposia token create`, or a function that returns one for each request. */
  token?: string | (() => string | Promise<string>);
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch;
}

export interface RequestOptions {
  method?: string;
  query?: object;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

export class Http {
  private readonly root: URL;

  constructor(private readonly options: ClientOptions) {
    const url = new URL(options.url);
    this.root = new URL("v1/", url.pathname.endsWith("/") ? url : `${url.href}/`);
  }

  async send(path: string, { method = "GET", query = {}, body, headers = {}, signal }: RequestOptions): Promise<Response> {
    const url = new URL(path, this.root);
    for (const [name, value] of Object.entries(query)) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one !== undefined && one !== null) url.searchParams.append(name, String(one));
      }
    }
    const { token, fetch: own } = this.options;
    const secret = typeof token === "function" ? await token() : token;
    const all: Record<string, string> = { Accept: "application/json", ...headers };
    if (secret) all["Authorization"] = `Bearer ${secret}`;
    const request: RequestInit = { method, headers: all, signal: signal ?? null };
    if (body !== undefined) {
      all["Content-Type"] = "application/json";
      request.body = JSON.stringify(body);
    }
    const response = await (own ?? fetch)(url, request);
    if (!response.ok) throw await problemOf(response);
    return response;
  }

  async json<T>(path: string, options: RequestOptions = {}): Promise<T> {
    const response = await this.send(path, options);
    return (response.status === 204 ? undefined : await response.json()) as T;
  }
}

async function problemOf(response: Response): Promise<SymposiaError> {
  const problem = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  const text = problem["detail"] ?? problem["title"] ?? `the server answered ${response.status}`;
  const errors = Array.isArray(problem["errors"]) ? (problem["errors"] as FieldProblem[]) : [];
  return new SymposiaError(response.status, String(problem["type"] ?? "about:blank"), String(text), errors);
}

/** Join the path of a resource; each part is escaped. */
export function path(...parts: (string | number)[]): string {
  return parts.map((part) => encodeURIComponent(part)).join("/");
}
