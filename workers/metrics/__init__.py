"""Export of the metrics to Prometheus: read from Redis in the background, served from memory."""
