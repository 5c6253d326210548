--- lib/starting: the start of a session.
--- USES: clock events transitions

--- Start a session: it becomes active, and its first two events are written. `roles`: `roles_document` of its collab;
--- `deadline_ms`: milliseconds that it may take; 0: no limit.
local function start_session(keys, roles, deadline_ms, request, by)
  if tonumber(deadline_ms) > 0 then redis.call('HSET', keys.session, 'deadline_ms', NOW + deadline_ms) end
  set_status(keys, 'active', 'active', request, by)
  local assigned = cjson.decode(roles)
  emit(keys.events, 'MAPSessionStarted', assigned.started, nil, nil)
  emit(keys.events, 'MAPRolesAssigned', { assignments = assigned.assignments }, nil, assigned.targets)
end
