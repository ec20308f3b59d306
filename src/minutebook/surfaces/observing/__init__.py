"""What is told of requests: counts, traces, the log, who was seen."""
