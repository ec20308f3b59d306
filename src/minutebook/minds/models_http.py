"""Any endpoint that speaks OpenAI's form of chat: for who has one; nothing is sent anywhere without it."""

from __future__ import annotations

from typing import Any

from minutebook.minds.embedders import Endpoint
from minutebook.minds.http_door import Breaker, post, strange
from minutebook.model.asking import Answer, Question
from minutebook.model.errors import MinutebookError
from minutebook.policy.token_counts import estimate


class ChatModel:
    """Asks an endpoint one question at a time. After some failures it is not asked again for a while."""

    def __init__(self, endpoint: Endpoint, breaker: Breaker, *, tokens: int) -> None:
        self._endpoint, self._breaker, self._tokens = endpoint, breaker, tokens

    @property
    def name(self) -> str:
        return self._endpoint.model

    def ask(self, question: Question) -> Answer:
        """The answer to a question; an error where none came, or one that is no answer."""
        self._breaker.check()
        try:
            said = post(self._endpoint, "/chat/completions", self._body(question), self._endpoint.seconds)
            answer = self._answer(said, question)
        except MinutebookError as error:
            if error.code in ("no_model", "bad_model"):
                self._breaker.failed()
            raise
        self._breaker.answered()
        return answer

    def _body(self, question: Question) -> dict[str, Any]:
        return {
            "model": self._endpoint.model,
            "temperature": 0,
            "max_tokens": self._tokens,
            "messages": [
                {"role": "system", "content": question.task},
                {"role": "user", "content": question.material},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": question.form, "strict": True, "schema": question.schema},
            },
        }

    def _answer(self, said: Any, question: Question) -> Answer:
        try:
            choice = said["choices"][0]
            text = choice["message"]["content"]
            cut = choice.get("finish_reason") == "length"
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise strange() from error
        if not isinstance(text, str):
            raise strange()
        usage = said.get("usage") if isinstance(said.get("usage"), dict) else {}
        return Answer(
            text,
            count_of(usage.get("prompt_tokens"), f"{question.task}\n{question.material}"),
            count_of(usage.get("completion_tokens"), text),
            cut,
        )


def count_of(told: Any, text: str) -> int:
    """Tokens as the endpoint counts them; by our own estimate where it does not say."""
    return told if isinstance(told, int) and not isinstance(told, bool) and told >= 0 else estimate(text)
