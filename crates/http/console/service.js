// One service: its state, its operations, what it tells.

import { h, fill, badge, link, refused, short, micros } from './dom.js';
import { ask, call, get, subscribe } from './api.js';
import { watch, known as store, look } from './store.js';
import { form } from './forms.js';
import { merge, edited, tree } from './tree.js';
import { plot } from './plot.js';

// So many notifications are shown.
const SHOWN = 60;
const SECONDS = 60;

// The numbers of a state that can be drawn, by their places.
function numbers(value, place = '', found = new Map()) {
  if (found.size >= 12) return found;
  if (typeof value === 'number') found.set(place, value);
  else if (typeof value === 'boolean') found.set(place, Number(value));
  else if (value && typeof value === 'object' && !Array.isArray(value)) {
    for (const [name, inner] of Object.entries(value)) numbers(inner, place ? `${place}.${name}` : name, found);
  }
  return found;
}

function answered(value, path) {
  if (value === null) return h('p', { class: 'done' }, 'Done.');
  if (typeof value?.path === 'string' && value.path.startsWith('/jobs/')) {
    return h('p', { class: 'done' }, 'The job ', h('a', { href: `#/service${value.path}` }, value.path), ' has begun; ', h('a', { href: '#/jobs' }, 'all jobs'), '.');
  }
  return h('pre', { class: 'answer', 'aria-label': `Answer of ${path}` }, JSON.stringify(value, null, 1));
}

function operation(path, info) {
  const inputs = form(info.body);
  const out = h('div', { 'aria-live': 'polite' });
  const option = (label, attributes) => { const input = h('input', attributes); return [input, h('label', { class: 'option' }, label, input)]; };
  const [key, keyed] = option('key', { type: 'text', autocomplete: 'off', placeholder: 'none' });
  const [version, versioned] = option('if version', { type: 'text', inputmode: 'numeric', placeholder: 'any' });
  const [within, limited] = option('within ms', { type: 'text', inputmode: 'numeric', placeholder: '30000' });
  const [capture, captured] = option('capture', { type: 'checkbox' });
  // Of several calls on their way the outcome of the last is shown.
  let last = 0;
  const send = async (event) => {
    event.preventDefault();
    const number = (last += 1);
    const button = event.submitter ?? node.querySelector('[type=submit]');
    button.disabled = true;
    const headers = {};
    if (key.value) headers['idempotency-key'] = key.value;
    if (version.value) headers['if-match'] = `"v${version.value}"`;
    if (within.value) headers['motet-timeout'] = within.value;
    if (capture.checked) headers['motet-capture'] = '1';
    let outcome;
    try { outcome = answered(await call(path, info.name, inputs.read(), headers), info.name); } catch (error) { outcome = refused(error); }
    if (number === last) {
      fill(out, outcome);
      button.disabled = false;
    }
    look();
  };
  const node = h('form', { onsubmit: send, novalidate: true }, info.about && h('p', { class: 'pale' }, info.about), inputs.node,
    h('div', { class: 'send' }, h('button', { type: 'submit' }, info.job ? 'Begin the job' : 'Call'),
      h('details', { class: 'options' }, h('summary', null, 'options'), keyed, versioned, limited, captured)), out);
  return h('details', { class: 'operation', 'data-operation': info.name, name: 'operation' },
    h('summary', null, h('b', null, info.name), h('span', { class: 'verb' }, info.job ? 'job' : info.verb), h('span', { class: 'took' })), node);
}

function dropping(path) {
  const out = h('div');
  const name = h('input', { type: 'text', id: 'drop', autocomplete: 'off', placeholder: path, oninput: () => { button.disabled = name.value !== path; } });
  const button = h('button', { type: 'submit', class: 'danger', disabled: true }, 'Drop');
  return h('details', { class: 'operation' }, h('summary', null, h('b', null, 'drop'), h('span', { class: 'verb' }, 'ends the service')),
    h('form', { onsubmit: async (event) => {
      event.preventDefault();
      try { await call(path, 'drop'); location.hash = '#/services'; } catch (error) { fill(out, refused(error)); }
    } }, h('label', { for: 'drop' }, `Type ${path} to end it`), h('div', { class: 'send' }, name, button), out));
}

// The state, as it is now, and its plot.
function stateOf(path, info) {
  const out = h('div', { 'aria-live': 'polite' });
  const tag = h('span', { class: 'version' });
  const drawings = h('div', { class: 'numbers' });
  const plots = new Map();
  const series = new Map();
  let state, version, isExact = true;
  const edit = async (at, value) => {
    if (!isExact) {
      fill(out, refused(new Error('The state has whole numbers that this page does not hold exactly; change it by its operations.')));
      return;
    }
    const headers = { 'if-match': `"v${version}"` };
    try {
      if (info.patch) await ask('PATCH', path, { body: merge(state, at, value), headers, kind: 'application/merge-patch+json' });
      else await ask('PUT', path, { body: edited(state, at, value), headers });
      fill(out);
    } catch (error) {
      if (error.status === 412) error.message = 'The state has changed meanwhile; look at it and try again.';
      fill(out, refused(error));
    }
    await read();
  };
  const view = tree(info.patch || info.replace ? edit : null);
  const read = async () => {
    const got = await ask('GET', path);
    if (got.version === version) return;
    state = got.value;
    version = got.version;
    isExact = got.exact;
    tag.textContent = `v${version}`;
    view.show(state);
    sample();
  };
  const sample = () => {
    const now = performance.now();
    for (const [place, value] of numbers(state)) {
      if (!series.has(place)) series.set(place, []);
      const points = series.get(place);
      // The value held until now.
      if (points.length) points.push([now, points.at(-1)[1]]);
      points.push([now, value]);
      if (points.length > 2000) points.splice(0, 200);
    }
  };
  const draw = () => {
    const now = performance.now();
    const held = (points) => [...points, [now, points.at(-1)[1]]];
    // What never moved says nothing. Each has a scale of its own.
    const moved = [...series].filter(([, points]) => points.some(([, value]) => value !== points[0][1]));
    for (const [name, points] of moved) {
      if (!plots.has(name)) {
        plots.set(name, plot(`${name} of ${path}`, SECONDS, 92));
        drawings.append(plots.get(name).node);
      }
      plots.get(name).draw([{ name, points: held(points) }], now);
    }
  };
  const can = info.patch || info.replace ? h('small', null, 'choose a value to edit it') : h('small', null, 'changed by its operations only');
  const node = h('section', { class: 'panel state' }, h('h2', null, 'State ', tag, ' ', can), out, view.node, drawings);
  return { node, read, draw };
}

export function show(main, path) {
  let stopped = false, ends = [];
  const head = h('div', { class: 'about' });
  const body = h('div', { class: 'columns' });
  fill(main, h('p', { class: 'crumbs' }, h('a', { href: '#/services' }, 'Services'), ' / '), h('h1', { class: 'path' }, path), head, body);
  const heading = () => {
    const service = store.services.find((service) => service.path === path);
    const figures = store.figures.get(path);
    if (!service) return store.at ? fill(head, h('p', { class: 'refused' }, 'There is no such service now.')) : head;
    const partners = Object.entries(service.partners);
    return fill(head, badge(service.lifecycle), h('span', null, service.kind), h('code', null, service.contract),
      partners.length > 0 && h('span', null, 'partners ', partners.map(([name, to], index) => [index ? ', ' : '', name === to.slice(1) ? '' : `${name} `, link(to)])),
      figures && h('span', { class: 'pale' }, `${short(figures.calls)} calls, ${short(figures.faults)} faults, ${short(figures.restarts)} restarts`));
  };
  ends.push(watch(heading));
  (async () => {
    let info;
    try { info = await get(`${path}/-/lookup`); } catch (error) { fill(body, refused(error)); return; }
    if (stopped) return;
    const state = stateOf(path, info);
    const told = h('ol', { class: 'told', 'aria-live': 'off' });
    const live = h('span', { class: 'link' }, 'connecting');
    const operations = h('section', { class: 'panel' }, h('h2', null, 'Operations'),
      info.operations.map((one) => operation(path, one)), dropping(path));
    const events = h('section', { class: 'panel' }, h('h2', null, 'Notifications ', live), told);
    fill(body, state.node, h('div', null, operations, events));
    ends.push(watch(() => {
      for (const [name, one] of store.latencies.get(path) ?? []) {
        const told = operations.querySelector(`[data-operation="${name}"] .took`);
        if (told) told.textContent = `p50 ${micros(one.p50_us)} · p99 ${micros(one.p99_us)}`;
      }
    }));
    const first = operations.querySelector('details');
    if (first) first.open = true;
    let due = null;
    const soon = () => { due ??= setTimeout(async () => { due = null; await state.read().catch(() => {}); }, 100); };
    await state.read().catch((error) => fill(told, h('li', null, refused(error))));
    if (stopped) return;
    const stream = subscribe(path, 'sync=0', (event) => {
      soon();
      const text = JSON.stringify(event.body) ?? '';
      const line = h('li', null, h('span', { class: 'pale' }, `v${event.version}`), h('b', null, event.event), event.body !== null && h('code', null, text.length > 200 ? `${text.slice(0, 200)} …` : text));
      told.prepend(line);
      while (told.childElementCount > SHOWN) told.lastElementChild.remove();
    }, (isOpen) => {
      // What changed before it was open was not told.
      if (isOpen) soon();
      live.textContent = isOpen ? 'live' : 'broken off'; live.className = `link ${isOpen ? 'on' : 'off'}`;
    });
    const timer = setInterval(state.draw, 500);
    ends.push(() => stream.close(), () => clearInterval(timer), () => clearTimeout(due));
  })();
  return () => { stopped = true; ends.forEach((end) => end()); };
}
