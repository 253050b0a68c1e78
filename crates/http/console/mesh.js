// The mesh: who can be reached, what is published, and who is slow.

import { h, fill, short, refused } from './dom.js';
import { get } from './api.js';
import { known, watch } from './store.js';

const table = (heads, rows) => h('div', { class: 'scroll' }, h('table', { class: 'cards' },
  h('thead', null, h('tr', null, heads.map((head) => h('th', { scope: 'col' }, head)))), h('tbody', null, rows)));
const cell = (head, value) => h('td', { 'data-label': head, class: typeof value === 'number' ? 'number' : null }, typeof value === 'number' ? short(value) : value);
const row = (heads, ...values) => h('tr', null, values.map((value, at) => cell(heads[at], value)));
const part = (title, heads, rows, none) => [h('h2', null, title), rows.length ? table(heads, rows) : h('p', { class: 'pale' }, none)];

const PEERS = ['node', 'link', 'subscribes to', 'answers'];
const TOPICS = ['topic', 'class', 'samples', 'a second', 'subscriber', 'waiting', 'under way', 'dropped', 'is'];
const SUBSCRIPTIONS = ['pattern', 'publishers', 'samples', 'a second', 'missed', 'unreadable'];

// Samples of a second, by the count of an earlier look.
function rate(before, list, name, count, at) {
  const old = before?.[list][at];
  return old && old[name] === before.now[list][at][name] ? Math.max(0, before.now[list][at][count] - old[count]) / before.seconds : 0;
}

export function show(main) {
  const body = h('div');
  fill(main, h('h1', null, 'Mesh'), h('p', { class: 'pale' }, 'Nodes that this one has had links to, what it publishes, and what comes.'), body);
  let before = null, when = 0, stopped = false;
  const look = async () => {
    if (!known.at) return;
    if (!known.services.some(({ path }) => path === '/sys/mesh')) { fill(body, h('p', { class: 'pale' }, 'This node is in no mesh.')); return; }
    try {
      const now = await get('/sys/mesh/-/status');
      const time = performance.now();
      const past = before && { ...before, now, seconds: (time - when) / 1000 };
      const peers = now.peers.map(({ name, up, subscriptions, servers }) => row(PEERS, name,
        h('span', { class: `badge ${up ? 'running' : 'failed'}` }, up ? 'up' : 'down'), subscriptions.join(', '), servers.join(', ')));
      const topics = now.topics.flatMap(({ key, class: kind, published, subscribers }, at) => {
        const own = [key, kind, published, rate(past, 'topics', 'key', 'published', at)];
        return subscribers.length ? subscribers.map(({ node, waiting, in_flight, dropped, slow }) => row(TOPICS, ...own, node, waiting, in_flight, dropped,
          h('span', { class: `badge ${slow ? 'failed' : 'running'}` }, slow ? 'slow' : 'in time'))) : [row(TOPICS, ...own, 'nobody', '', '', '', '')];
      });
      const subscriptions = now.subscriptions.map(({ pattern, publishers, came, missed, unreadable }, at) => row(SUBSCRIPTIONS, pattern, publishers, came,
        rate(past, 'subscriptions', 'pattern', 'came', at), missed, unreadable));
      if (stopped) return;
      fill(body, h('p', null, 'This node is ', h('strong', null, now.node), '.'), part('Peers', PEERS, peers, 'No other node has been seen.'),
        part('Topics', TOPICS, topics, 'It publishes nothing.'), part('Subscriptions', SUBSCRIPTIONS, subscriptions, 'It subscribes to nothing.'));
      [before, when] = [now, time];
    } catch (error) { if (!stopped) fill(body, refused(error)); }
  };
  look();
  const timer = setInterval(() => { if (!document.hidden) look(); }, 1000);
  const end = watch(() => { if (!before) look(); });
  return () => { stopped = true; clearInterval(timer); end(); };
}
