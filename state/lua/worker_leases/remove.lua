--- worker_leases/remove: removes a lost worker process whose turns were taken over.
--- KEYS: leases lost sessions
--- ARGV: process
--- USES:
--- ANSWERS: removed
--- GUARANTEE: if the process has reported since, because it runs after all, its sessions stay.
redis.call('ZREM', lost, process)
if not redis.call('ZSCORE', leases, process) then redis.call('DEL', sessions) end
return { 'removed' }
