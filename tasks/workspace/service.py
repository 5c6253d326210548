"""Tasks and conversations: one class with all methods."""

from __future__ import annotations

from ...models.workspace.values import read_agent
from ...state.notifications import BEGINNING, Told
from .managing import ManagingConversations
from .managing_tasks import ManagingTasks
from .members import TakingPart
from .requests import Requests


class Conversations(Requests, ManagingConversations, ManagingTasks, TakingPart):
    """Tasks, each with a task-manager, and the conversations inside them.

    Every method takes the id of the calling agent, and checks it. All raise ArchiveUnavailable if the database
    does not answer: then nothing was changed.
    """

    def notices(self, agent: str, *, after: str = BEGINNING, limit: int = 100) -> list[Told]:
        """Return the notifications of an agent after a cursor, oldest first: best effort, kept for a week.

        Raises:
            InvalidInput: a bad cursor.
            RedisUnavailable.
        """
        if self._board is None:
            return []
        return self._board.read(read_agent(agent), after=after, limit=limit)
