"""The ranking service: models and rules over HTTP, or as a filter, which needs no web server."""
