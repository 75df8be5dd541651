"""Programs that models come from, a file each."""
