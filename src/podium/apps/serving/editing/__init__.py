"""Editing of rules in the service: editors, saves, history, drafts and previews."""
