// The style sheet of all pages, in light and dark.
#ifndef PARTITA_RUN_HTML_STYLE_H_
#define PARTITA_RUN_HTML_STYLE_H_

namespace partita {

// Okabe and Ito's colours, which also readers without green or red receptors can tell apart; on white the darker ones,
// on black the lighter ones. Waiting is a pale or dark form of the collectives' colour. A section with the class
// `scales` shows its `linear` pictures, and the `log` ones while the page's fragment names the section.
inline constexpr char kPageStyle[] = R"(:root { color-scheme: light dark;
--paper: #ffffff; --ink: #222222; --dim: #595959; --rule: #d0d0d0; --shade: #eeeeee; --limit: #222222; --link: #005a8c;
--line0: #0072b2; --line1: #d55e00; --line2: #00795a; --line3: #a34d7d; --line4: #8a5a00;
--forward: #56b4e9; --backward: #0072b2; --update: #009e73; --collective: #d55e00; --waiting: #f3cdb5; }
@media (prefers-color-scheme: dark) { :root {
--paper: #15181c; --ink: #e4e4e4; --dim: #a8a8a8; --rule: #454b52; --shade: #2a2f35; --limit: #ffffff; --link: #7cc4f0;
--line0: #56b4e9; --line1: #e69f00; --line2: #2bbf95; --line3: #d98fb8; --line4: #f0e442;
--forward: #9bd4f5; --backward: #0a7fc4; --update: #00a87a; --collective: #e0660a; --waiting: #6e4a33; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: var(--ink);
background: var(--paper); overflow-wrap: anywhere; }
a { color: var(--link); }
h2 { margin: 1.6em 0 .4em; }
pre { font-size: 13px; overflow-x: auto; overflow-wrap: normal; }
svg { display: block; width: 100%; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
.picture { overflow-x: auto; max-width: 100%; }
.axis { stroke: var(--rule); } .limit { stroke: var(--limit); stroke-dasharray: 5 4; }
.line { fill: none; stroke-width: 1.8; }
.line0 { stroke: var(--line0); } .line1 { stroke: var(--line1); stroke-dasharray: 7 3; }
.line2 { stroke: var(--line2); stroke-dasharray: 2 3; } .line3 { stroke: var(--line3); stroke-dasharray: 9 3 2 3; }
.point0 { fill: var(--line0); } .point1 { fill: var(--line1); } .point2 { fill: var(--line2); }
.point3 { fill: var(--line3); }
.forward { fill: var(--forward); } .backward { fill: var(--backward); } .update { fill: var(--update); }
.collective { fill: var(--collective); } .waiting { fill: var(--waiting); } .unused { fill: var(--shade); }
.legend svg { display: inline; width: 22px; height: 10px; }
.charts { display: grid; gap: 1em; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24em), 1fr)); }
figure { margin: 0; } figcaption { font-weight: 600; } figure p { margin: 0; }
.log, .scales:target .linear { display: none; } .scales:target .log { display: block; }
table { border-collapse: collapse; margin: .4em 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--dim); white-space: nowrap; }
th, td { padding: .15em .9em .15em 0; white-space: nowrap; font-weight: normal; text-align: right; }
.text { text-align: left; } th[scope=col] { font-weight: 600; border-bottom: 1px solid var(--rule); }
progress { width: 100%; max-width: 30em; }
)";

}  // namespace partita

#endif  // PARTITA_RUN_HTML_STYLE_H_
