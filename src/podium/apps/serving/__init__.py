"""The ranking service: models and rules over HTTP, or as a filter without a web server."""
