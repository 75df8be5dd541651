"""What each command does; a module is imported when its command runs."""
