"""What the commands that run a web server share: access, the store that is locked, links."""
