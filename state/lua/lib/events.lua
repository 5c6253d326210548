--- lib/events: MAP events and journal entries.
--- USES: clock changes

--- Return a UUID in the form of version 4, the same for the same seed: scripts have no source of randomness,
--- and the session id in the seed is random.
local function uuid(seed)
  local hex = redis.sha1hex(seed)
  local variant = string.sub('89ab', tonumber(string.sub(hex, 17, 17), 16) % 4 + 1)
  return string.sub(hex, 1, 8) .. '-' .. string.sub(hex, 9, 12) .. '-4' .. string.sub(hex, 14, 16) .. '-' ..
    string.sub(variant, 1, 1) .. string.sub(hex, 18, 20) .. '-' .. string.sub(hex, 21, 32)
end

local function session_id()
  return string.match(KEYS[1], '{(.-)}')
end

local function append_event(stream, event, kind)
  event.timestamp = iso_time(NOW)
  -- The seed contains the time because an id may be used again after its session has expired.
  event.event_id = uuid(session_id() .. kind .. count_field(KEYS[1], kind, 1) .. event.timestamp)
  redis.call('XADD', stream, '*', 'e', cjson.encode(event))
end

--- Append a MAP event (mplp-map-event.schema.json).
local function emit(events, event_type, payload, initiator, targets)
  if targets and #targets == 0 then targets = nil end -- cjson would make it an object
  append_event(events, {
    event_type = event_type, session_id = session_id(), payload = payload,
    initiator_role = initiator, target_roles = targets,
  }, 'map_events')
end

--- Append an embedded event (common/events.schema.json) to the journal, for facts without a MAP event type.
local function write_journal(journal, event_type, data)
  append_event(journal, { event_type = event_type, source = 'collab', data = data }, 'notes')
end

--- Append the entries of a turn to the journal: pairs of a type and its data; nil or false: none.
local function write_journal_entries(journal, notes)
  for _, entry in ipairs(notes or {}) do write_journal(journal, entry[1], entry[2]) end
end
