"""Tasks and conversations, all methods in one place."""

from __future__ import annotations

from ...models.tasks.values import read_agent
from ...state.notices import BEGINNING, Told
from .managing import ManagingConversations
from .managing_tasks import ManagingTasks
from .requests import Requests
from .taking_part import TakingPart


class Conversations(Requests, ManagingConversations, ManagingTasks, TakingPart):
    """Tasks, each with a task-manager, and the conversations inside them.

    Every method takes the id of the agent that acts, and checks it. All raise ArchiveUnavailable when the database
    does not answer: then nothing was changed.
    """

    def notices(self, agent: str, *, after: str = BEGINNING, limit: int = 100) -> list[Told]:
        """What an agent was told since a cursor, oldest first: best effort, and for a week.

        Raises:
            InvalidInput: a bad cursor.
            RedisUnavailable.
        """
        if self._board is None:
            return []
        return self._board.read(read_agent(agent), after=after, limit=limit)
