"""What both web apps share about HTTP: who may ask, how often, and with which headers and bodies."""
