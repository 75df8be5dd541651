"""Statistics of judging: times, agreement, reliability, and tests between the two tools."""
