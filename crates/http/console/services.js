// All services, and how they are.

import { h, fill, short, badge, link, micros } from './dom.js';
import { watch, isOwn } from './store.js';
import { spark } from './plot.js';

const tile = (label, value, mood) => h('li', { class: mood }, h('strong', null, value), label);

const cell = (label, ...inner) => h('td', { 'data-label': label }, inner);
const figure = (label, number, mood) => h('td', { 'data-label': label, class: `number ${number ? mood ?? '' : 'nothing'}` }, short(number ?? 0));

function row(service, known) {
  const figures = known.figures.get(service.path) ?? {};
  const rates = known.rates.get(service.path) ?? [];
  const took = known.latencies.get(service.path)?.get('');
  const time = (label, us) => h('td', { 'data-label': label, class: `number ${took ? '' : 'nothing'}` }, took ? micros(us) : '–');
  const rate = rates.at(-1)?.calls ?? 0;
  return h('tr', { 'data-path': service.path },
    h('th', { scope: 'row' }, link(service.path), h('small', null, service.kind)),
    cell('lifecycle', badge(service.lifecycle)),
    cell('calls/s', h('span', { class: 'rate' }, spark(rates.map(({ calls }) => calls)), h('span', { class: 'number' }, short(+rate.toPrecision(3))))),
    time('p50', took?.p50_us), time('p99', took?.p99_us),
    figure('calls', figures.calls), figure('faults', figures.faults, 'bad'),
    figure('waiting', (figures.reads_waiting ?? 0) + (figures.changes_waiting ?? 0), 'warn'),
    figure('refused', figures.refused, 'bad'), figure('restarts', figures.restarts, 'warn'),
    figure('version', service.version));
}

const HEADS = ['service', 'lifecycle', 'calls/s', 'p50', 'p99', 'calls', 'faults', 'waiting', 'refused', 'restarts', 'version'];

function table(services, known, label) {
  return h('div', { class: 'scroll' }, h('table', { class: 'cards', 'aria-label': label },
    h('thead', null, h('tr', null, HEADS.map((head) => h('th', { scope: 'col' }, head)))),
    h('tbody', null, services.map((service) => row(service, known)))));
}

export function show(main) {
  const tiles = h('ul', { class: 'tiles' });
  const filter = h('input', { type: 'search', placeholder: 'Filter by path, type or contract', 'aria-label': 'Filter', class: 'filter', oninput: () => render() });
  const [ours, own] = [h('div'), h('div')];
  const details = h('details', null, h('summary', null, 'The node’s own services'), own);
  fill(main, h('h1', null, 'Services'), tiles, filter, ours, details);
  let last;
  const render = () => {
    if (!last) return;
    const known = last;
    const all = known.services.filter((service) => !isOwn(service.path));
    const wanted = filter.value.toLowerCase();
    const fits = ({ path, kind, contract }) => `${path} ${kind} ${contract}`.toLowerCase().includes(wanted);
    const sum = (read) => all.reduce((total, { path }) => total + read(known.figures.get(path) ?? {}), 0);
    const running = all.filter(({ lifecycle }) => lifecycle === 'running').length;
    const rate = all.reduce((total, { path }) => total + (known.rates.get(path)?.at(-1)?.calls ?? 0), 0);
    const faults = sum((f) => f.faults ?? 0), refused = sum((f) => f.refused ?? 0);
    fill(tiles,
      tile(`of ${all.length} running`, running, running < all.length ? 'warn' : 'good'),
      tile('calls/s', short(+rate.toPrecision(3))),
      tile('waiting', short(sum((f) => (f.reads_waiting ?? 0) + (f.changes_waiting ?? 0)))),
      tile('faults', short(faults), faults ? 'bad' : ''),
      tile('refused', short(refused), refused ? 'bad' : ''),
      tile('jobs', all.filter(({ contract }) => contract === 'motet:job/1').length));
    const shown = all.filter(fits);
    fill(ours, shown.length ? table(shown, known, 'Services') : h('p', { class: 'pale' }, all.length ? 'No service fits the filter.' : 'There are no services yet; load a manifest.'));
    fill(own, table(known.services.filter(({ path }) => isOwn(path)).filter(fits), known, 'The node’s own services'));
  };
  return watch((known) => { last = known; render(); });
}
