"""From an original order and soft rules to scores."""
