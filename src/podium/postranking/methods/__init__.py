"""Methods: turn an original order and soft rules into scores."""
