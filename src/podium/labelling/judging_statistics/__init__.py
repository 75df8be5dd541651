"""Statistics of judging by people: times, agreement, reliability, and tests between the two tools.

`summary` makes them all of a store, `drawings` draws them. `shared_judgments` finds what several assessors
judged, `agreement` says how their answers agree, `kappa_alpha` how far beyond chance, and `reliability` how
far assessors agree with themselves. `machine_agreement` beside this package is about machines.
"""
