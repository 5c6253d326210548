--- due_index/list: adds sessions to the list by opening time, at the present time.
--- KEYS: due
--- ARGV: most members*
--- USES:
--- ANSWERS: listed(now_ms, members_before)
--- GUARANTEE: a member that was listed before keeps its time. The newest `most` are kept.
--- `members_before`: the members that were listed before. Sent as text, so it is short.
local t = redis.call('TIME')
local now, before = t[1] * 1000 + math.floor(t[2] / 1000), {}
for _, member in ipairs(members) do
  if redis.call('ZADD', due, 'NX', now, member) == 0 then before[#before + 1] = member end
end
redis.call('ZREMRANGEBYRANK', due, 0, -most - 1)
return { 'listed', now, before }
