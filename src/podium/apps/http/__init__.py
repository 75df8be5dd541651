"""The HTTP layer of both web apps: refusals, headers, bodies, limits, connections, OpenAPI."""
