// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "page_style.hpp"

namespace perf::report {

const char* const page_style = R"css(
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --ink: #1c2128; --soft: #59626d; --edge: #d5dae0; --grid: #e6e9ed;
  --good: #0a6e4f; --bad: #b03a00; --link: #0060a0;
  --c0: #0072b2; --c1: #6b7580; --c2: #d55e00; --c3: #00906a; --c4: #b0468b; --c5: #a87b00;
  --c6: #2a9fc9; --c7: #6a4c3a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --card: #1c2026; --ink: #e4e8ec; --soft: #a0a9b4; --edge: #363d46; --grid: #2b3139;
    --good: #4fd1a5; --bad: #ff9a66; --link: #79bff5;
    --c0: #5ab4f0; --c1: #a3adb8; --c2: #ff8a4c; --c3: #3ccba0; --c4: #ee9bcb; --c5: #f0c242;
    --c6: #8fe3f5; --c7: #d9bfa9;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px 20px 48px; max-width: 1280px; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.75rem; margin: 0 0 4px; }
h2 { font-size: 1.3rem; margin: 40px 0 12px; overflow-wrap: anywhere; }
h3 { font-size: 1.1rem; margin: 0 0 6px; }
p { margin: 4px 0 8px; max-width: 75ch; }
a { color: var(--link); }
.lead { color: var(--soft); }
.card { background: var(--card); border: 1px solid var(--edge); border-radius: 10px; padding: 16px 18px;
  margin: 14px 0; }
.cards { display: grid; gap: 14px; align-items: start; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); }
.cards .card { margin: 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 3px 16px; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.charts { display: grid; gap: 8px 28px; margin: 8px 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); }
.chart { display: block; width: 100%; max-width: 640px; height: auto; overflow: visible; touch-action: pan-y; }
.c0 { --c: var(--c0); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); }
.c4 { --c: var(--c4); } .c5 { --c: var(--c5); } .c6 { --c: var(--c6); } .c7 { --c: var(--c7); }
.line { fill: none; stroke: var(--c); stroke-width: 1.6; stroke-linejoin: round; }
.heddle .line { stroke-width: 2.6; }
.limit .line { stroke-dasharray: 5 4; }
use { fill: var(--c); stroke: var(--c); stroke-width: 1.4; }
.chart use { stroke: var(--c); }
.chart use.near { stroke: var(--ink); stroke-width: 2.2; }
.grid path { stroke: var(--grid); fill: none; }
.chart text { font-size: 11.5px; fill: var(--soft); }
.chart .names text { fill: var(--ink); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 8px 0; padding: 0; }
.legend li { display: flex; align-items: center; gap: 7px; }
.legend svg { width: 34px; height: 14px; flex: none; }
.links { display: flex; flex-wrap: wrap; gap: 4px 22px; list-style: none; margin: 0; padding: 0; }
details { margin-top: 8px; }
summary { cursor: pointer; color: var(--link); width: max-content; max-width: 100%; }
.scroll { overflow-x: auto; margin: 8px 0 2px; }
table { border-collapse: collapse; font-size: .87rem; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 10px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--grid); }
thead th { color: var(--soft); font-weight: 600; vertical-align: bottom; white-space: normal; }
thead .group { text-align: center; border-left: 1px solid var(--edge); border-right: 1px solid var(--edge); }
tbody th { font-weight: 600; }
tr > :first-child { padding-left: 0; }
tr > th:first-child { position: sticky; left: 0; background: var(--card); text-align: left; }
thead tr + tr > th:first-child { position: static; text-align: right; padding-left: 10px; }
.text td, .text th { text-align: left; white-space: normal; min-width: 12ch; vertical-align: top; }
.text th { font-weight: 400; }
td.none { color: var(--soft); }
small { color: var(--soft); }
.good { color: var(--good); } .bad { color: var(--bad); } .skip { color: var(--soft); }
.warn { border-left: 4px solid var(--bad); }
#tip { position: absolute; display: none; pointer-events: none; z-index: 2; max-width: 260px; padding: 5px 9px;
  border-radius: 6px; background: var(--ink); color: var(--page); font-size: .85rem; line-height: 1.35; }
@media (max-width: 560px) {
  body { padding: 16px 10px 32px; }
  .card { padding: 12px; }
  .chart text { font-size: 14px; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 6px; }
  .text th:first-child, .single th:first-child { max-width: 38vw; white-space: normal; }
}
@media print { body { max-width: none; } .card { break-inside: avoid; } }
)css";

const char* const page_script = R"js(
const tip = document.getElementById('tip');
for (const chart of document.querySelectorAll('.chart')) {
  const [title, desc] = [chart.querySelector(':scope > title'), chart.querySelector(':scope > desc')];
  chart.removeAttribute('aria-labelledby');
  chart.setAttribute('aria-label', `${title.textContent}. ${desc.textContent}`);
  title.remove();
  const points = [...chart.querySelectorAll('use')].map(mark => {
    const text = mark.querySelector('title');
    text.remove();
    return {mark, text: text.textContent, x: mark.x.baseVal.value, y: mark.y.baseVal.value};
  });
  let near = null;
  const show = event => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse());
    let least = 30 * 30, found = null;
    for (const each of points) {
      const far = (each.x - at.x) ** 2 + (each.y - at.y) ** 2;
      if (far < least) [least, found] = [far, each];
    }
    if (near) near.mark.classList.remove('near');
    near = found;
    tip.style.display = found ? 'block' : 'none';
    if (!found) return;
    found.mark.classList.add('near');
    tip.textContent = found.text;
    const edge = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(event.pageX + 14, scrollX + edge))}px`;
    tip.style.top = `${event.pageY - tip.offsetHeight - 12}px`;
  };
  const hide = () => {
    if (near) near.mark.classList.remove('near');
    near = null;
    tip.style.display = 'none';
  };
  chart.addEventListener('pointermove', show);
  chart.addEventListener('pointerdown', show);
  chart.addEventListener('pointerleave', hide);
}
)js";

}  // namespace perf::report
