"""Tasks and conversations: one class with all methods."""

from __future__ import annotations

from ...models.workspace.values import read_agent
from ...state.notifications import BEGINNING, ReceivedNotification
from .managing import ConversationManagement
from .managing_tasks import TaskManagement
from .members import ParticipantMethods
from .requests import TaskRequests


class WorkspaceService(TaskRequests, ConversationManagement, TaskManagement, ParticipantMethods):
    """Tasks, each with a task-manager, and the conversations inside them.

    Every method takes the id of the calling agent, and checks it. All raise ArchiveUnavailable if the database
    does not answer: then nothing was changed.
    """

    def notices(self, agent: str, *, after: str = BEGINNING, limit: int = 100) -> list[ReceivedNotification]:
        """Return the notifications of an agent after a cursor, oldest first: best effort, kept for a week.

        Raises:
            InvalidInput: a bad cursor.
            RedisUnavailable.
        """
        if self._board is None:
            return []
        return self._board.read(read_agent(agent), after=after, limit=limit)
