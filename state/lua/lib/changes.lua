--- lib/changes: fields of the session hash that a script reads once and writes in one command.
--- USES:
---
--- `view` writes the changes; a script that records an event and answers without a view writes them itself. After a change, a
--- script reads the field here only. Other fields are read and written directly.

--- Known fields by name (false: there is none), and the new values of those to be written.
local KNOWN, CHANGES = {}, {}

--- Read fields in one command.
local function know_fields(session, ...)
  local values = redis.call('HMGET', session, ...)
  for i = 1, #values do KNOWN[select(i, ...)] = values[i] end
end

--- Return a field, or false.
local function known_field(session, name)
  local value = KNOWN[name]
  if value == nil then
    value = redis.call('HGET', session, name)
    KNOWN[name] = value
  end
  return value
end

--- Change a field.
local function change_field(name, value)
  KNOWN[name], CHANGES[name] = value, value
end

--- Add to a counter, and return the sum.
local function count_field(session, name, amount)
  local sum = tonumber(known_field(session, name) or 0) + amount
  change_field(name, sum)
  return sum
end

--- Write the changes.
local function write_changes(session)
  if not next(CHANGES) then return end
  local flat = {}
  for name, value in pairs(CHANGES) do flat[#flat + 1], flat[#flat + 2] = name, value end
  redis.call('HSET', session, unpack(flat))
  CHANGES = {}
end
