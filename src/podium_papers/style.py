"""How a paper's page looks in a browser: light and dark, wide tables and figures that scroll."""

STYLE = """
:root { color-scheme: light dark; --text: #1b1b1b; --back: #fff; --line: #d5d5d5; --soft: #f4f4f4;
  --link: #0b5cad; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e6e6; --back: #16181b; --line: #3a3d42;
  --soft: #202327; --link: #7db4f0; } }
body { margin: 0; background: var(--back); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-top: 1px solid var(--line);
  padding-top: 1.25rem; }
p, li { max-width: 46rem; } a { color: var(--link); }
code { background: var(--soft); padding: .1em .3em; border-radius: 3px; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: 1rem 0; } .wide:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left;
  vertical-align: top; }
thead th { background: var(--soft); } tbody tr:hover { background: var(--soft); }
img { max-width: 100%; height: auto; background: #fff; border-radius: 6px; }
"""
