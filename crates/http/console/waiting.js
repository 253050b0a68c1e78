// Who waits for whom: the partners of services, and the calls under way between them.

import { h, s, fill, link, span, refused } from './dom.js';
import { get } from './api.js';
import { watch, isOwn, known } from './store.js';

const WIDE = 150, HIGH = 34, GAP = 24, DOWN = 92;

// Levels from those that need others to those that are needed; a way that comes back is cut.
function levels(names, edges) {
  const level = new Map(names.map((name) => [name, 0]));
  for (let round = 0; round < names.length; round += 1) {
    let moved = false;
    for (const [from, to] of edges) {
      if (level.get(to) < level.get(from) + 1 && level.get(from) + 1 < names.length) { level.set(to, level.get(from) + 1); moved = true; }
    }
    if (!moved) break;
  }
  return level;
}

// The waits that are part of a ring.
function rings(waits) {
  const next = new Map();
  for (const { from, to } of waits) next.set(from, [...(next.get(from) ?? []), to]);
  const reaches = (from, to, seen = new Set()) => (next.get(from) ?? []).some((step) => step === to || (!seen.has(step) && seen.add(step) && reaches(step, to, seen)));
  return new Set(waits.filter(({ from, to }) => reaches(to, from) || from === to).map(({ from, to }) => `${from} ${to}`));
}

function drawing(services, waits, width) {
  const partners = services.flatMap(({ path, partners }) => Object.values(partners).map((to) => [path, to]));
  const busy = new Set(waits.flatMap(({ from, to }) => [from, to]));
  const names = [...new Set([...services.map(({ path }) => path).filter((path) => !isOwn(path) || busy.has(path)), ...busy])];
  const has = new Set(names);
  const edges = partners.filter(([from, to]) => has.has(from) && has.has(to));
  const level = levels(names, [...edges, ...waits.map(({ from, to }) => [from, to])]);
  const fits = Math.max(1, Math.floor((width + GAP) / (WIDE + GAP)));
  const place = new Map();
  let top = 0;
  for (let at = 0; at <= Math.max(0, ...level.values()); at += 1) {
    const row = names.filter((name) => level.get(name) === at);
    for (let first = 0; first < row.length; first += fits) {
      const part = row.slice(first, first + fits);
      const left = (width - part.length * WIDE - (part.length - 1) * GAP) / 2;
      part.forEach((name, index) => place.set(name, [Math.max(0, left) + index * (WIDE + GAP), top]));
      top += first + fits < row.length ? HIGH + GAP : DOWN;
    }
  }
  const height = Math.max(HIGH, top - DOWN + HIGH) + 4;
  const inRing = rings(waits);
  const curve = (from, to, attributes) => {
    const [[x, y], [u, v]] = [place.get(from), place.get(to)];
    const down = v >= y;
    const [a, b] = [[x + WIDE / 2, down ? y + HIGH : y], [u + WIDE / 2, down ? v : v + HIGH]];
    const bend = v === y ? 40 : (b[1] - a[1]) / 2;
    const path = v === y ? `M${x + WIDE / 2},${y + HIGH} C${x + WIDE / 2},${y + HIGH + bend} ${b[0]},${v + HIGH + bend} ${b[0]},${v + HIGH}`
      : `M${a} C${a[0]},${a[1] + bend} ${b[0]},${b[1] - bend} ${b}`;
    return s('path', { d: path, ...attributes });
  };
  const marker = (id) => s('marker', { id, viewBox: '0 0 8 8', refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto', class: id }, s('path', { d: 'M0,0 L8,4 L0,8 z' }));
  return s('svg', { class: 'graph', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'Partners and waits' },
    s('defs', {}, ['edge', 'wait', 'ring'].map(marker)),
    edges.map(([from, to]) => curve(from, to, { class: 'edge', 'marker-end': 'url(#edge)' })),
    waits.map(({ from, to }) => { const kind = inRing.has(`${from} ${to}`) ? 'ring' : 'wait'; return curve(from, to, { class: kind, 'marker-end': `url(#${kind})` }); }),
    names.map((name) => {
      const [x, y] = place.get(name);
      const text = name.length > 19 ? `…${name.slice(-18)}` : name;
      return s('a', { href: `#/service${name}` }, s('rect', { class: busy.has(name) ? 'busy' : 'calm', x, y: y + 1, width: WIDE, height: HIGH, rx: 6 }),
        s('text', { x: x + WIDE / 2, y: y + HIGH / 2 + 5, 'text-anchor': 'middle' }, text));
    }));
}

export function show(main) {
  const picture = h('div', { class: 'scroll bare' });
  const list = h('div');
  fill(main, h('h1', null, 'Waiting'),
    h('p', { class: 'pale' }, 'Lines lead from a service to its partners. Bold ones are calls under way; those of a ring are red.'),
    h('section', { class: 'panel' }, picture), h('h2', null, 'Calls under way'), list);
  let stopped = false, waits = [];
  const draw = () => {
    if (known.at) fill(picture, drawing(known.services, waits, Math.max(300, picture.clientWidth)));
  };
  const look = async () => {
    try {
      waits = await get('/sys/debug/-/waiting');
      const rows = waits.map((wait) => h('tr', null, h('td', { 'data-label': 'from' }, link(wait.from)), h('td', { 'data-label': 'for' }, link(wait.to)),
        h('td', { 'data-label': 'since', class: 'number' }, span(wait.for_ms)), h('td', { 'data-label': 'at most', class: 'number' }, span(wait.left_ms))));
      fill(list, rows.length ? h('div', { class: 'scroll' }, h('table', { class: 'cards' },
        h('thead', null, h('tr', null, ['from', 'for', 'since', 'still at most'].map((head) => h('th', { scope: 'col' }, head)))), h('tbody', null, rows)))
        : h('p', { class: 'pale' }, 'No service waits for another now.'));
    } catch (error) { fill(list, refused(error)); }
    if (!stopped) draw();
  };
  look();
  const timer = setInterval(() => { if (!document.hidden) look(); }, 1000);
  const end = watch(draw);
  return () => { stopped = true; clearInterval(timer); end(); };
}
