"""Twins of what a client offers besides sessions and reviews: schedules, dialog memory, tasks and conversations."""

from __future__ import annotations

from ...reviews.schedules.schedules import Schedules
from ...state.memory.rooms import DialogMemory
from ...tasks.workspace.service import WorkspaceService
from .twins import AsyncWrapper, async_method


class AsyncSchedules(AsyncWrapper[Schedules]):
    """`Schedules` for asyncio."""

    add = async_method(Schedules.add)
    put = async_method(Schedules.put)
    sync = async_method(Schedules.sync)
    entries = async_method(Schedules.entries)
    get = async_method(Schedules.get)
    pause = async_method(Schedules.pause)
    resume = async_method(Schedules.resume)
    remove = async_method(Schedules.remove)
    run_now = async_method(Schedules.run_now)
    history = async_method(Schedules.history)


class AsyncDialogMemory(AsyncWrapper[DialogMemory]):
    """`DialogMemory` for asyncio."""

    get = async_method(DialogMemory.get)
    recall = async_method(DialogMemory.recall)
    merge = async_method(DialogMemory.merge)
    store = async_method(DialogMemory.store)
    show = async_method(DialogMemory.show)
    export = async_method(DialogMemory.export)
    forget = async_method(DialogMemory.forget)
    forget_all = async_method(DialogMemory.forget_all)
    rooms = async_method(DialogMemory.rooms)
    share = async_method(DialogMemory.share)
    unshare = async_method(DialogMemory.unshare)
    shared = async_method(DialogMemory.shared)
    counts = async_method(DialogMemory.counts)


class AsyncConversations(AsyncWrapper[WorkspaceService]):
    """`WorkspaceService` for asyncio."""

    request_task = async_method(WorkspaceService.request_task)
    task_list = async_method(WorkspaceService.task_list)
    task_add_participant = async_method(WorkspaceService.task_add_participant)
    task_remove_participant = async_method(WorkspaceService.task_remove_participant)
    task_leave = async_method(WorkspaceService.task_leave)
    task_close = async_method(WorkspaceService.task_close)
    conversation_create = async_method(WorkspaceService.conversation_create)
    conversation_get = async_method(WorkspaceService.conversation_get)
    conversation_list = async_method(WorkspaceService.conversation_list)
    conversation_update = async_method(WorkspaceService.conversation_update)
    participants_add = async_method(WorkspaceService.participants_add)
    participants_remove = async_method(WorkspaceService.participants_remove)
    archive = async_method(WorkspaceService.archive)
    unarchive = async_method(WorkspaceService.unarchive)
    send = async_method(WorkspaceService.send)
    history = async_method(WorkspaceService.history)
    mark_read = async_method(WorkspaceService.mark_read)
    notices = async_method(WorkspaceService.notices)
    left_waiting = async_method(WorkspaceService.count_abandoned)
    fail_left_waiting = async_method(WorkspaceService.fail_abandoned)
