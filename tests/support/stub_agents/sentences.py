"""Parsers of the sentences in the documented examples: a function, a scripted model, and the endpoint of a model."""

from __future__ import annotations

import json
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from servers.model_stub import Answer, StubModel, completion
from symposia.agents.kinds.object import agent
from symposia.models.memory.learned import Learned
from symposia.models.memory.sentences import Sentence

#: Sentence -> its parameters as a model answers them.
SENTENCES: dict[str, dict[str, Any]] = {
    "Find me flights from Nairobi to London next week": {
        "set": {"from": "Nairobi", "to": "London", "departure_date": "2026-02-10", "passenger_count": None}
    },
    "What about returning on Feb 20?": {"set": {"return_date": "2026-02-20"}},
    "Show me business class options": {"set": {"cabin_class": "Business"}},
    "Send 5000 shillings to +254712345678": {
        "service": "payment",
        "set": {"amount": 5000, "recipient": "+254712345678"},
    },
    "Send another 3000 to the same person": {"set": {"amount": 3000}},
    "From Nairobi to London, return Feb 20": {
        "service": "travel",
        "set": {"from": "Nairobi", "to": "London", "return_date": "2026-02-20"},
    },
    "Take me to Paris, and forget my dates": {
        "set": {"to": "Paris"},
        "forget": ["departure_date", "return_date"],
    },
    "Send it to ann@example.org": {"set": {"to": "ann@example.org"}},
    "Fly to Rome next Friday": {"set": {"from": "Oslo", "to": "Rome", "departure_date": "next Friday"}},
    "Thank you!": {"set": {}},
}


def answer_of(text: str) -> dict[str, Any]:
    """Return the answer for the sentence in a prompt."""
    return next(answer for sentence, answer in SENTENCES.items() if sentence in text)


def parse(sentence: Sentence) -> Learned:
    """Read a sentence, as a program would."""
    assert sentence.today.year > 2000
    answer = answer_of(sentence.text)
    return Learned(
        service=answer.get("service"),
        parameters={name: value for name, value in answer["set"].items() if value is not None},
        forget=tuple(answer.get("forget", ())),
    )


async def parse_later(sentence: Sentence) -> dict[str, Any] | None:
    """Read a sentence with a coroutine that returns parameters by name."""
    return answer_of(sentence.text)["set"] or None


def fail(sentence: Sentence) -> None:
    """Fail as a program with a defect."""
    raise RuntimeError(f"cannot read {sentence.text!r}")


def _reply(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    prompt = "\n".join(str(getattr(part, "content", "")) for message in messages for part in message.parts)
    return ModelResponse(parts=[TextPart(f"```json\n{json.dumps(answer_of(prompt))}\n```")])


scripted_model = agent("scripted_model")(Agent(FunctionModel(_reply)))


class SentenceModel(StubModel):
    """An endpoint in OpenAI's form whose model reads the documented sentences."""

    def next_answer(self, body: dict[str, Any]) -> Answer:
        text = next(
            str(message["content"]) for message in reversed(body["messages"]) if message["role"] == "user"
        )
        everything = "\n".join(str(message["content"]) for message in body["messages"])
        answer = answer_of(everything)
        if "must be a date such as" in text:  # asked again
            answer = {**answer, "set": {**answer["set"], "departure_date": "2026-02-13"}}
        if tools := body.get("tools"):
            return completion(tool=(tools[0]["function"]["name"], answer))
        return completion(json.dumps(answer))
