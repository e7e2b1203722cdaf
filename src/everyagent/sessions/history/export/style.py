"""The style sheet of the HTML export."""

STYLE = """
:root {
  --paper: #fff; --ink: #1c1e21; --soft: #65676b; --line: #e3e5e8; --shade: #f6f7f8;
  --user: #0b57d0; --bad: #b3261e; --added: #e6f4ea; --removed: #fce8e6;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #16181b; --ink: #e4e6e9; --soft: #9aa0a6; --line: #2d3136; --shade: #1f2226;
    --user: #8ab4f8; --bad: #f28b82; --added: #12351f; --removed: #4a1f1c;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
header, main { max-width: 56rem; margin: 0 auto; padding: 1rem 1.25rem; }
header { border-bottom: 1px solid var(--line); }
h1 { font-size: 1.5rem; margin: .5rem 0; overflow-wrap: anywhere; }
h2, h3, summary { font-size: .875rem; margin: 0 0 .25rem; font-weight: 600; overflow-wrap: anywhere; }
h3, summary { color: var(--soft); }
summary { cursor: pointer; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0; font-size: .875rem; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
article { margin: 1rem 0; }
time { float: right; color: var(--soft); font-size: .75rem; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.user { border-left: 3px solid var(--user); padding-left: .75rem; }
.user h2 { color: var(--user); }
.thought .text { color: var(--soft); font-style: italic; }
.failed h3, .failed summary { color: var(--bad); }
pre, code { font: .8125rem/1.5 ui-monospace, monospace; }
pre {
  background: var(--shade); border: 1px solid var(--line); border-radius: 6px; margin: .25rem 0;
  padding: .5rem .75rem; overflow: auto; max-height: 32rem;
}
.diff > * { display: block; text-decoration: none; }
ins { background: var(--added); }
del { background: var(--removed); }
img { max-width: 100%; }
.deep1 { margin-left: 1.5rem; } .deep2 { margin-left: 3rem; } .deep3 { margin-left: 4.5rem; }
.deep4 { margin-left: 6rem; } .deep5 { margin-left: 7.5rem; } .deep6 { margin-left: 9rem; }
@media print { pre { max-height: none; white-space: pre-wrap; } }
"""
