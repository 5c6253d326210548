--- lib/turns: the records of turns.
--- USES:
---
--- Fields of the turns hash, for every turn that is open or not yet consumed by a plan:
---   N         the record: scalars only, because cjson returns those unchanged
---   N:plan    the planned turn as the planner wrote it (never decoded here)
---   N:result  the result as the worker wrote it (never decoded here)
---   N:held    a commit that arrived while the session was suspended
---   N:wait    what a parked turn waits for, with the answers so far (never decoded here)
--- `queued_ms` of a record: since when a message of the turn waits for a worker; absent: no message waits.
--- `waited_ms` of a record: how long its message waited before the newest grant; absent: no message waited.
--- `lacks` of a record: the agent of a turn that no worker can run (`turns/await_agent`).
--- `took_over` of a record: true if its newest grant followed an expired lease.
--- `process` of a record: token of its newest grant, and the process of the worker that got it. An earlier release that
--- grants the turn again leaves it as it is: it then names an earlier token.
--- `lost_worker` of a record: that process, if the lease was ended because the process was lost.
--- `child` of a record: id of the sub-session that the turn waits for, or waited for when it was dropped.
--- `batch` of a record: handle of the provider's batch that the turn waits for, or waited for when it was dropped.
--- A turn number below `next` without a record has been closed and consumed. Exactly-once needs no
--- more memory than this, so the hash stays small in any session.

local function save_turn(turns, number, turn)
  redis.call('HSET', turns, number, cjson.encode(turn))
end

local function read_turn(turns, number)
  local raw = redis.call('HGET', turns, number)
  return raw and cjson.decode(raw) or nil
end

local function is_open(turn)
  return turn.status ~= 'closed' and turn.status ~= 'dropped'
end

--- Call `visit(number, turn)` for every existing record, in the order of the turn numbers.
local function each_turn(turns, visit)
  local flat, numbers, records = redis.call('HGETALL', turns), {}, {}
  for i = 1, #flat, 2 do
    if not string.find(flat[i], ':', 1, true) then
      numbers[#numbers + 1], records[flat[i]] = flat[i], flat[i + 1]
    end
  end
  table.sort(numbers, function(a, b) return #a < #b or (#a == #b and a < b) end)
  for _, number in ipairs(numbers) do visit(number, cjson.decode(records[number])) end
end
