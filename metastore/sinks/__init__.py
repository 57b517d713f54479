"""The destinations of events: webhooks and Kafka. They know nothing of the log, the database and positions."""
