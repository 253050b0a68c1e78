// What all services do now.

import { h, fill } from './dom.js';
import { watch, isOwn, KEPT } from './store.js';
import { plot } from './plot.js';

export function show(main) {
  const calls = plot('Calls per second', KEPT, 240);
  const waiting = plot('Operations that wait', KEPT, 190);
  const own = h('input', { type: 'checkbox', id: 'own' });
  fill(main, h('h1', null, 'Live'),
    h('p', null, h('label', { class: 'option' }, own, ' with the node’s own services')),
    h('section', { class: 'panel' }, h('h2', null, 'Calls per second'), calls.node),
    h('section', { class: 'panel' }, h('h2', null, 'Operations that wait'), waiting.node));
  return watch((known) => {
    const total = (read) => ([, rates]) => rates.reduce((sum, one) => sum + read(one), 0);
    const shown = [...known.rates].filter(([path]) => own.checked || !isOwn(path));
    // The eight busiest: more lines nobody can tell apart.
    const top = (read) => [...shown].sort((a, b) => total(read)(b) - total(read)(a)).slice(0, 8)
      .map(([name, rates]) => ({ name, points: rates.map((one) => [one.at, read(one)]) }));
    calls.draw(top((one) => one.calls), known.at);
    waiting.draw(top((one) => one.waiting), known.at);
  });
}
