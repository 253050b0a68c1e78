// Work that goes on after its caller was answered.

import { h, fill, link, short, refused } from './dom.js';
import { ask, call } from './api.js';
import { watch } from './store.js';

const WORDS = { running: 'running', waits_for_cores: 'starting', done: 'done', failed: 'failed', cancelled: 'dropped' };
const PARTS = ['computing', 'messaging', 'waiting'];

// Where the time of each rank went.
function profile(given) {
  const ranks = given.ranks.map(({ rank, stages }) => ({ rank, parts: PARTS.map((part) => stages.reduce((sum, stage) => sum + stage[part], 0)) }));
  const longest = Math.max(...ranks.map(({ parts }) => parts.reduce((a, b) => a + b, 0)), 1e-12);
  const computing = ranks.map(({ parts }) => parts[0]);
  const mean = computing.reduce((a, b) => a + b, 0) / computing.length;
  const imbalance = mean > 0 ? Math.max(...computing) / mean - 1 : 0;
  const bar = (parts) => {
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('class', 'bar');
    svg.setAttribute('viewBox', '0 0 1000 10');
    svg.setAttribute('preserveAspectRatio', 'none');
    parts.reduce((left, part, index) => {
      const rect = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
      const width = (part / longest) * 1000;
      for (const [name, value] of Object.entries({ x: left, y: 0, width, height: 10, class: `c${index}` })) rect.setAttribute(name, value);
      svg.append(rect);
      return left + width;
    }, 0);
    return svg;
  };
  return h('details', null, h('summary', null, `profile: ${given.ranks.length} ranks, ${short(given.seconds)} s, imbalance ${short(imbalance * 100)} %`),
    h('ul', { class: 'legend' }, PARTS.map((part, index) => h('li', null, h('i', { class: `c${index}` }), part))),
    h('table', { class: 'profile' }, h('tbody', null, ranks.map(({ rank, parts }) => h('tr', { title: PARTS.map((part, index) => `${part} ${short(parts[index] * 1000)} ms`).join(', ') },
      h('th', { scope: 'row' }, `rank ${rank}`), h('td', null, bar(parts)), h('td', { class: 'number' }, `${short(parts.reduce((a, b) => a + b, 0) * 1000)} ms`))))));
}

function card(path, job, again) {
  const goes = job.status === 'running' || job.status === 'waits_for_cores';
  const out = h('div');
  return h('section', { class: 'panel job', 'data-path': path },
    h('h2', null, link(path), ' ', h('small', null, link(job.service), ` ${job.operation}`), h('span', { class: `badge ${WORDS[job.status]}` }, job.status.replaceAll('_', ' '))),
    h('div', { class: 'progress' }, h('progress', { max: 1, value: job.progress, 'aria-label': `Progress of ${path}` }), h('span', { class: 'number' }, `${Math.round(job.progress * 100)} %`), h('span', { class: 'pale' }, job.note),
      goes && h('button', { type: 'button', class: 'danger', onclick: async () => {
        try { await call(path, 'cancel'); } catch (error) { fill(out, refused(error)); return; }
        again();
      } }, 'Cancel')),
    out,
    job.fault && h('p', { class: 'refused' }, job.fault.reason ?? JSON.stringify(job.fault)),
    h('details', null, h('summary', null, 'goal'), h('pre', null, JSON.stringify(job.goal, null, 1))),
    job.result !== null && job.result !== undefined && h('details', null, h('summary', null, 'result'), h('pre', null, JSON.stringify(job.result, null, 1))),
    job.profile && profile(job.profile));
}

export function show(main) {
  const list = h('div', { class: 'jobs' });
  fill(main, h('h1', null, 'Jobs'), list);
  const seen = new Map();
  const cards = new Map();
  let reading = false;
  const update = async (known) => {
    if (reading) return;
    reading = true;
    const jobs = known.services.filter(({ contract }) => contract === 'motet:job/1');
    for (const { path, version } of jobs) {
      if (seen.get(path)?.version === version) continue;
      const got = await ask('GET', path).catch(() => null);
      if (!got) continue;
      seen.set(path, { version: got.version });
      const open = new Set([...(cards.get(path)?.querySelectorAll('details[open] > summary') ?? [])].map((one) => one.textContent.split(':')[0]));
      const next = card(path, got.value, () => update(known));
      for (const details of next.querySelectorAll('details')) details.open = open.has(details.firstElementChild.textContent.split(':')[0]);
      cards.set(path, next);
    }
    const paths = jobs.map(({ path }) => path).sort((a, b) => Number(b.split('/').at(-1)) - Number(a.split('/').at(-1)));
    const nodes = paths.map((path) => cards.get(path)).filter(Boolean);
    if (nodes.length !== list.childElementCount || nodes.some((node, index) => list.children[index] !== node)) {
      fill(list, nodes.length ? nodes : h('p', { class: 'pale' }, 'There are no jobs. An operation that is a job begins one.'));
    }
    reading = false;
  };
  return watch(update);
}
