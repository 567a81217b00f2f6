workers 4
threads 2, 2
# A phased restart needs it so.
preload_app! false
bind "tcp://127.0.0.1:#{ENV.fetch("PORT")}"
worker_shutdown_timeout 4
