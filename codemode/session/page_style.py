"""How a page of a session looks: its style sheet, light and dark, for narrow and wide windows and for paper."""

__all__ = ["STYLE"]

STYLE = """
:root { color-scheme: light dark;
  --ground: #fff; --raised: #f6f7f9; --line: #d9dde3; --ink: #1b1f24; --faint: #5a6472;
  --link: #0a58c2; --ok: #1a7a3c; --bad: #b3261e; --open: #8a5a00; --bar: #4a7fd4; }
@media (prefers-color-scheme: dark) { :root {
  --ground: #14171b; --raised: #1d2127; --line: #363d47; --ink: #e4e7eb; --faint: #9aa5b3;
  --link: #7fb2ff; --ok: #6fcf8e; --bad: #ff8a80; --open: #f0b95a; --bar: #6c9bea; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem clamp(.75rem, 3vw, 2.5rem) 4rem; max-width: 76rem;
  background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
h2 { font-size: 1.15rem; margin: 0; }
h3 { font-size: .95rem; margin: 1rem 0 .35rem; }
a { color: var(--link); }
pre, code, ol.program, .name, .id {
  font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre, ol.program { margin: .25rem 0; padding: .6rem .8rem; background: var(--raised); border: 1px solid var(--line);
  border-radius: .35rem; font-size: .85rem; line-height: 1.45; max-height: 32rem; overflow: auto; tab-size: 4; }
pre { white-space: pre-wrap; unicode-bidi: isolate; }
ol.program { padding-left: 3.6rem; max-height: none; margin-bottom: .6rem; }
ol.program li { padding-left: .5rem; min-height: 1.45em; }
ol.program li::marker { color: var(--faint); font-size: .9em; }
ol.program li:target { background: color-mix(in srgb, var(--bar) 25%, transparent); }
ol.program code { white-space: pre; unicode-bidi: isolate; }
.hidden { color: var(--open); border-bottom: 1px dotted; }
.note, .facts, .empty { color: var(--faint); margin: .25rem 0; }
nav ol { margin: .5rem 0; padding-left: 2.6rem; }
nav li::marker { color: var(--faint); font-size: .9em; }
section { margin-top: 1.75rem; padding-top: 1.25rem; border-top: 1px solid var(--line); }
section.message { margin-top: 1rem; padding-top: 1rem; }
p.turn { margin: 1.75rem 0 0; color: var(--faint); font-weight: 600; }
.id { color: var(--faint); font-size: .85em; font-weight: normal; }
.state { font-weight: 600; white-space: nowrap; }
.state.ok { color: var(--ok); }
.state.failed, p.failed { color: var(--bad); }
.state.unfinished { color: var(--open); }
details > summary { cursor: pointer; }
.waterfall { margin-bottom: .6rem; border: 1px solid var(--line); border-radius: .35rem; overflow: hidden; }
.axis, .waterfall summary { display: grid; column-gap: .75rem; align-items: center; padding: .25rem .75rem;
  grid-template-columns: minmax(8rem, 15rem) minmax(0, 1fr) 9.5rem; }
.axis { background: var(--raised); color: var(--faint); font-size: .8rem; }
.axis .scale { display: flex; justify-content: space-between; }
.axis > :last-child, .took { text-align: right; }
.call { border-top: 1px solid var(--line); }
.call[open] > summary { background: var(--raised); }
.waterfall summary { list-style: none; font-size: .85rem; }
.waterfall summary::-webkit-details-marker { display: none; }
.waterfall summary:hover, .waterfall summary:focus-visible { background: var(--raised); }
.waterfall .name { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.waterfall .name::before { content: "▸ "; color: var(--faint); }
.call[open] .name::before { content: "▾ "; }
.call > div { padding: .25rem .75rem .75rem; }
svg.bar { display: block; width: 100%; height: .8rem; overflow: visible; }
svg.bar .track { fill: var(--line); opacity: .45; }
svg.bar .span { fill: var(--bar); }
.failed svg.bar .span { fill: var(--bad); }
.unfinished svg.bar .span { fill: var(--open); }
figure { margin: .5rem 0; }
img { max-width: 100%; height: auto; max-height: 32rem; }
footer { margin-top: 2.5rem; padding-top: 1rem; border-top: 1px solid var(--line);
  font-size: .9rem; color: var(--faint); }
@media (max-width: 40rem) {
  .axis, .waterfall summary { grid-template-columns: minmax(0, 1fr) auto; row-gap: .2rem; }
  .axis > :first-child, .axis > :last-child { display: none; }
  .axis .scale, .waterfall svg.bar { grid-column: 1 / -1; grid-row: 2; }
  ol.program { padding-left: 2.6rem; }
}
@media print { pre, ol.program { max-height: none; overflow: visible; } }
""".strip()
