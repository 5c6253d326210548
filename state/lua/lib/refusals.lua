--- lib/refusals: records of output that is not written.
--- USES: status events

--- Record that output was dropped.
local function record_dropped(journal, number, turn, token)
  write_journal(journal, 'turn.dropped', { turn_number = tonumber(number), participant_id = turn.participant, token_id = token })
end

--- Record that a stale writer was refused: in the events, or, after MAPSessionCompleted (the last event of a session),
--- in the journal only.
local function refuse_writer(session, events, journal, conflict, role)
  if FINAL[redis.call('HGET', session, 'status')] then
    write_journal(journal, 'turn.refused', conflict)
    return
  end
  conflict.conflict = 'stale_token'
  emit(events, 'MAPConflictDetected', conflict, role)
  conflict.resolution = 'refused'
  emit(events, 'MAPConflictResolved', conflict, role)
end
