"""Twins of what a client offers besides sessions and reviews: schedules, dialog memory, tasks and conversations."""

from __future__ import annotations

from ...reviews.schedules.schedules import Schedules
from ...state.memory.rooms import DialogMemory
from ...tasks.workspace.service import Conversations
from .twins import Asynchronous, awaited


class AsyncSchedules(Asynchronous[Schedules]):
    """`Schedules` for asyncio."""

    add = awaited(Schedules.add)
    put = awaited(Schedules.put)
    sync = awaited(Schedules.sync)
    entries = awaited(Schedules.entries)
    get = awaited(Schedules.get)
    pause = awaited(Schedules.pause)
    resume = awaited(Schedules.resume)
    remove = awaited(Schedules.remove)
    run_now = awaited(Schedules.run_now)
    history = awaited(Schedules.history)


class AsyncDialogMemory(Asynchronous[DialogMemory]):
    """`DialogMemory` for asyncio."""

    get = awaited(DialogMemory.get)
    recall = awaited(DialogMemory.recall)
    merge = awaited(DialogMemory.merge)
    store = awaited(DialogMemory.store)
    show = awaited(DialogMemory.show)
    export = awaited(DialogMemory.export)
    forget = awaited(DialogMemory.forget)
    forget_all = awaited(DialogMemory.forget_all)
    rooms = awaited(DialogMemory.rooms)
    share = awaited(DialogMemory.share)
    unshare = awaited(DialogMemory.unshare)
    shared = awaited(DialogMemory.shared)
    counts = awaited(DialogMemory.counts)


class AsyncConversations(Asynchronous[Conversations]):
    """`Conversations` for asyncio."""

    request_task = awaited(Conversations.request_task)
    task_list = awaited(Conversations.task_list)
    task_add_participant = awaited(Conversations.task_add_participant)
    task_remove_participant = awaited(Conversations.task_remove_participant)
    task_leave = awaited(Conversations.task_leave)
    task_close = awaited(Conversations.task_close)
    conversation_create = awaited(Conversations.conversation_create)
    conversation_get = awaited(Conversations.conversation_get)
    conversation_list = awaited(Conversations.conversation_list)
    conversation_update = awaited(Conversations.conversation_update)
    participants_add = awaited(Conversations.participants_add)
    participants_remove = awaited(Conversations.participants_remove)
    archive = awaited(Conversations.archive)
    unarchive = awaited(Conversations.unarchive)
    send = awaited(Conversations.send)
    history = awaited(Conversations.history)
    mark_read = awaited(Conversations.mark_read)
    notices = awaited(Conversations.notices)
    left_waiting = awaited(Conversations.left_waiting)
    fail_left_waiting = awaited(Conversations.fail_left_waiting)
