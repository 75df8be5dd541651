"""Engines that models go to, a file each."""
