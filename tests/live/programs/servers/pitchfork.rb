worker_processes 3
listen "127.0.0.1:#{ENV.fetch("PORT")}"
# A worker that has served so many requests becomes the parent of a new generation.
refork_after [40, 80]
