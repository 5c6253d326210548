"""Loopback servers of model providers' APIs that check each request as the provider does, and record it.

A request that breaks a rule of its API is refused with status 400 and the reason.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any, Self

from servers.model_stub import completion, response

#: Answer to a request by its number: text, or a tool call as name and arguments.
Reply = Callable[[int, dict[str, Any]], "str | tuple[str, dict[str, Any]]"]
Problems = Iterator[str]


def _texts(content: Any, where: str) -> Problems:
    """Yield problems of content that is a text or a list of blocks."""
    if isinstance(content, str):
        if not content.strip():
            yield f"{where}: blank text"
        return
    if not content:
        yield f"{where}: no content"
    for block in content or ():
        text = block.get("text")
        if "text" in block and not str(text).strip():
            yield f"{where}: blank block"


def check_chat(body: dict[str, Any]) -> Problems:
    """Yield the broken rules of OpenAI's chat API, and of chat templates that want strict alternation."""
    messages = body["messages"]
    roles = [message["role"] for message in messages]
    talk = [role for role in roles if role not in ("system", "developer")]
    if any(role in ("system", "developer") for role in roles[len(roles) - len(talk) :]):
        yield "system message after the first message"
    if not talk or talk[0] != "user" or talk[-1] not in ("user", "tool"):
        yield f"the messages do not begin and end with the user: {talk[:1]} {talk[-1:]}"
    for one, two in pairwise(role for role in talk if role != "tool"):
        if one == two == "user":
            yield "two messages of the user in a row"
    for at, message in enumerate(messages):
        if not (message["role"] == "assistant" and message.get("tool_calls")):
            yield from _texts(message.get("content"), f"message {at}")
        if "name" in message and not message["name"].replace("_", "").replace("-", "").isalnum():
            yield f"message {at}: invalid name"
    yield from _unpaired(messages)


def _unpaired(messages: list[dict[str, Any]]) -> Problems:
    """Yield calls without results and results without calls."""
    pending: list[str] = []
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] in pending:
                pending.remove(message["tool_call_id"])
            else:
                yield f"message {at}: result of an unknown call"
        elif pending:
            yield f"message {at}: a call has no result"
        if message["role"] == "assistant":
            pending = [call["id"] for call in message.get("tool_calls", ())]
    if pending:
        yield "the last call has no result"


def check_responses(body: dict[str, Any]) -> Problems:
    """Yield the broken rules of OpenAI's Responses API."""
    items = body["input"]
    pending: list[str] = []
    for at, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "function_call":
            pending.append(item["call_id"])
        elif kind == "function_call_output":
            if item["call_id"] not in pending:
                yield f"item {at}: output of an unknown call"
            else:
                pending.remove(item["call_id"])
        else:
            if pending:
                yield f"item {at}: a call has no output"
            yield from _texts(item["content"], f"item {at}")
    roles = [item.get("role") for item in items if item.get("role") in ("user", "assistant")]
    if not roles or roles[0] != "user":
        yield "the first message is not the user's"
    if items[-1].get("role") == "assistant" or pending:
        yield "the input ends with the assistant"


def check_anthropic(body: dict[str, Any]) -> Problems:
    """Yield the broken rules of Anthropic's messages API."""
    messages = body["messages"]
    if [m["role"] for m in messages] != ["user", "assistant"] * (len(messages) // 2) + ["user"]:
        yield "the messages do not alternate, beginning and ending with the user"
    system = body.get("system") or []
    points = [tool["cache_control"] for tool in body.get("tools", ()) if "cache_control" in tool]
    if not isinstance(system, str):
        yield from _texts(system, "system") if system else ()
        points += [block["cache_control"] for block in system if "cache_control" in block]
    pending: list[str] = []
    for at, message in enumerate(messages):
        blocks = message["content"]
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        yield from _texts(blocks, f"message {at}")
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(results) != sorted(pending):
            yield f"message {at}: has the results {results} of the calls {pending}"
        if any(block["type"] == "tool_result" for block in blocks[len(results) :]):
            yield f"message {at}: a result stands after text"
        pending = [block["id"] for block in blocks if block["type"] == "tool_use"]
        points += [block["cache_control"] for block in blocks if "cache_control" in block]
    if len(points) > 4:
        yield f"{len(points)} cache points"
    lives = [point.get("ttl", "5m") for point in points]
    if lives != sorted(lives):  # "1h" before "5m"
        yield "a cache point of an hour after one of five minutes"
    if not body.get("max_tokens"):
        yield "no max_tokens"


def check_gemini(body: dict[str, Any]) -> Problems:
    """Yield the broken rules of Gemini's API."""
    contents = body["contents"]
    roles = [content["role"] for content in contents]
    if roles != ["user", "model"] * (len(roles) // 2) + ["user"]:
        yield f"the contents do not alternate, beginning and ending with the user: {roles[-5:]}"
    calls: list[str] = []
    for at, content in enumerate(contents):
        parts = content.get("parts") or []
        if not parts:
            yield f"content {at}: no parts"
        for part in parts:
            if not part or ("text" in part and not part["text"].strip()):
                yield f"content {at}: an empty part"
        results = [part["functionResponse"]["name"] for part in parts if "functionResponse" in part]
        if results != calls:
            yield f"content {at}: has responses of {results} to calls of {calls}"
        calls = [part["functionCall"]["name"] for part in parts if "functionCall" in part]


def _anthropic_answer(reply: str | tuple[str, dict[str, Any]], number: int) -> dict[str, Any]:
    if isinstance(reply, str):
        block: dict[str, Any] = {"type": "text", "text": reply}
    else:
        block = {"type": "tool_use", "id": f"call-{number}", "name": reply[0], "input": reply[1]}
    return {
        "id": f"message-{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5-5",
        "content": [block],
        "stop_reason": "end_turn" if isinstance(reply, str) else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 7},
    }


def _gemini_answer(reply: str | tuple[str, dict[str, Any]], number: int) -> dict[str, Any]:
    is_text = isinstance(reply, str)
    part = {"text": reply} if is_text else {"functionCall": {"name": reply[0], "args": reply[1]}}
    return {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18},
        "modelVersion": "gemini-2.5-pro",
        "responseId": f"response-{number}",
    }


def _chat_answer(reply: str | tuple[str, dict[str, Any]], number: int) -> Any:
    if isinstance(reply, str):
        return completion(reply).body
    return completion(tool=reply, call=f"call-{number}").body


def _responses_answer(reply: str | tuple[str, dict[str, Any]], number: int) -> Any:
    return response(_chat_answer(reply, number))


#: By the end of the path: the check of a request, and the form of an answer.
APIS: dict[str, tuple[Callable[[dict[str, Any]], Problems], Callable[..., Any]]] = {
    "/chat/completions": (check_chat, _chat_answer),
    "/responses": (check_responses, _responses_answer),
    "/v1/messages": (check_anthropic, _anthropic_answer),
    ":generateContent": (check_gemini, _gemini_answer),
}


class StrictApis:
    """The server: all APIs on one port. `bodies` are the requests, `problems` what was refused."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.bodies: list[dict[str, Any]] = []
        self.problems: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.apis = self  # type: ignore[attr-defined]
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the status and the body of an answer."""
        check, form = next(api for end, api in APIS.items() if path.partition("?")[0].endswith(end))
        self.bodies.append(body)
        problems = list(check(body))
        if problems:
            self.problems += problems
            return 400, {"error": {"type": "invalid_request_error", "message": "; ".join(problems)}}
        number = len(self.bodies)
        return 200, form(self.reply(number, body), number)


class _Handler(BaseHTTPRequestHandler):
    """Closes the connection after each answer, so that clients leave none open."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status, answer = self.server.apis.answer(self.path, body)  # type: ignore[attr-defined]
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Log nothing."""
