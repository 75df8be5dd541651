"""From scores and hard rules to places."""
