// What the console knows of the node: read each second while somebody looks.

import { get } from './api.js';

// So many seconds are kept.
export const KEPT = 120;

export const known = { node: 'motet', services: [], figures: new Map(), latencies: new Map(), rates: new Map(), at: 0, linked: null };
const listeners = new Set();

// Has `told` called after each look, and now if there was one; gives what ends that.
export function watch(told) {
  listeners.add(told);
  if (known.at) told(known);
  return () => listeners.delete(told);
}

export const service = (path) => known.services.find((service) => service.path === path);
export const isOwn = (path) => path.startsWith('/sys/');

function note(figures, now) {
  const seconds = known.at ? (now - known.at) / 1000 : 0;
  const paths = new Set();
  for (const { path, figures: next, latencies } of figures) {
    paths.add(path);
    // By operation; the empty one is all of them.
    known.latencies.set(path, new Map(latencies.map((one) => [one.operation, one])));
    const before = known.figures.get(path);
    const calls = before && seconds > 0 ? Math.max(0, next.calls - before.calls) / seconds : 0;
    const rates = known.rates.get(path) ?? [];
    rates.push({ at: now, calls, waiting: next.reads_waiting + next.changes_waiting });
    if (rates.length > KEPT) rates.shift();
    known.rates.set(path, rates);
    known.figures.set(path, next);
  }
  for (const path of known.figures.keys()) {
    if (!paths.has(path)) { known.figures.delete(path); known.rates.delete(path); known.latencies.delete(path); }
  }
  known.at = now;
}

// Looks once.
export async function look() {
  try {
    const [directory, figures] = await Promise.all([get('/'), get('/sys/diagnostics/-/figures')]);
    known.node = directory.node;
    known.services = directory.services;
    note(figures, performance.now());
    known.linked = true;
  } catch (error) {
    known.linked = false;
    known.why = error.message;
  }
  for (const told of listeners) told(known);
}

export async function begin() {
  for (;;) {
    if (!document.hidden) await look();
    await new Promise((done) => setTimeout(done, known.linked ? 1000 : 2000));
  }
}
