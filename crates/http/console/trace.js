// Which calls a captured call has made, and when: a tree for each that nobody captured has made.

import { h, s, fill, link, micros, refused } from './dom.js';
import { get } from './api.js';

const MOST = 40;

// The calls below one, in the order in which they were posted, each with its depth.
function below(one, children, depth = 0) {
  const inner = (children.get(one.id) ?? []).toSorted((a, b) => a.began_us - b.began_us);
  return [[one, depth], ...inner.flatMap((next) => below(next, children, depth + 1))];
}

function row([one, depth], begin, whole) {
  const [from, wide] = [(one.began_us - begin) / whole, one.took_us / whole];
  const bar = s('svg', { viewBox: '0 0 1000 10', preserveAspectRatio: 'none', role: 'img', 'aria-label': `after ${micros(one.began_us - begin)}, for ${micros(one.took_us)}` },
    s('rect', { class: one.fault ? 'failed' : 'done', x: 1000 * from, width: Math.max(3, 1000 * wide), y: 1, height: 8 }));
  return h('li', { 'data-depth': depth, 'data-trace': one.id },
    h('span', { class: 'what' }, '\u2003'.repeat(depth), depth > 0 && '\u2514 ', link(one.service), ' ', h('b', null, one.operation)),
    bar, h('span', { class: 'number' }, micros(one.took_us)), one.fault && h('span', { class: 'why' }, one.fault));
}

function panel(root, children) {
  const rows = below(root, children);
  const begin = root.began_us;
  // A job goes on after it was answered.
  const end = Math.max(...rows.map(([one]) => one.began_us + one.took_us));
  return h('section', { class: 'panel' }, h('h2', null, link(root.service), ` ${root.operation} `,
    h('small', { title: root.trace_parent }, `${rows.length} ${rows.length === 1 ? 'call' : 'calls'} in ${micros(end - begin)}`)),
  h('ol', { class: 'spans' }, rows.map((one) => row(one, begin, Math.max(1, end - begin)))));
}

export function show(main) {
  const list = h('div');
  fill(main, h('h1', null, 'Trace'), h('p', { class: 'pale' },
    'Calls that were sent with the option “capture” (header Motet-Capture: 1), newest first, with the calls that their handlers and jobs have made.'), list);
  let stopped = false;
  const look = async () => {
    try {
      const { captured } = await get('/sys/debug');
      if (stopped) return;
      const known = new Set(captured.map(({ id }) => id));
      const children = new Map();
      for (const one of captured) children.set(one.parent, [...(children.get(one.parent) ?? []), one]);
      // What has called them may still run, or is forgotten.
      const roots = captured.filter(({ parent }) => parent === null || !known.has(parent)).toSorted((a, b) => b.began_us - a.began_us);
      fill(list, roots.length ? roots.slice(0, MOST).map((root) => panel(root, children)) : h('p', { class: 'pale' }, 'No request has been captured.'));
    } catch (error) { if (!stopped) fill(list, refused(error)); }
  };
  look();
  const timer = setInterval(() => { if (!document.hidden) look(); }, 2000);
  return () => { stopped = true; clearInterval(timer); };
}
