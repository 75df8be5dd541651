"""Rules as values: what they say, whom they name, and files of them."""
