threads 8, 8
bind "tcp://127.0.0.1:#{ENV.fetch("PORT")}"
