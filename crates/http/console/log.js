// What services say, and requests that were captured.

import { h, fill, link, refused } from './dom.js';
import { ask, get, subscribe } from './api.js';

const MOST = 1024;
const LEVELS = ['info', 'warning', 'error'];

const time = (ms) => {
  const two = (number) => String(number).padStart(2, '0');
  return `${two(Math.floor(ms / 3600000))}:${two(Math.floor(ms / 60000) % 60)}:${two(Math.floor(ms / 1000) % 60)}.${String(ms % 1000).padStart(3, '0')}`;
};

export function show(main) {
  const level = h('select', { 'aria-label': 'Level', onchange: () => render() }, LEVELS.map((word) => h('option', { value: word }, `${word}${word === 'error' ? '' : ' and above'}`)));
  const text = h('input', { type: 'search', class: 'filter', placeholder: 'Filter by text, category or service', 'aria-label': 'Filter', oninput: () => render() });
  const live = h('span', { class: 'link' }, 'connecting');
  const list = h('ol', { class: 'log' });
  fill(main, h('h1', null, 'Log ', live), h('div', { class: 'filters' }, level, text), list,
    h('p', { class: 'pale' }, 'Newest first. Times are since the node has started.'));
  let entries = [];
  const wanted = (entry) => LEVELS.indexOf(entry.level) >= LEVELS.indexOf(level.value)
    && `${entry.text} ${entry.category} ${entry.service} ${entry.trace_parent ?? ''}`.toLowerCase().includes(text.value.toLowerCase());
  const line = (entry) => h('li', { class: entry.level, title: entry.trace_parent }, h('time', null, time(entry.at_ms)), h('span', { class: 'level' }, entry.level), link(entry.service), h('span', { class: 'pale' }, entry.category), h('span', { class: 'text' }, entry.text));
  const render = () => {
    const shown = entries.filter(wanted);
    fill(list, shown.length ? shown.toReversed().map(line) : h('li', null, h('span', { class: 'pale' }, entries.length ? 'No entry fits the filter.' : 'Nothing has been said yet.')));
  };
  let stream, stopped = false;
  (async () => {
    try { 
      const { value, version } = await ask('GET', '/sys/log');
      entries = value.entries;
      render();
      if (stopped) return;
      stream = subscribe('/sys/log', `since=${version}`, ({ event, body }) => {
        if (event === 'replace') entries = body.entries;
        else if (event === 'write') entries.push(body);
        else return;
        if (entries.length > MOST) entries.splice(0, entries.length - MOST);
        if (event === 'write' && wanted(body) && entries.filter(wanted).length > 1) {
          list.prepend(line(body));
          while (list.childElementCount > MOST) list.lastElementChild.remove();
        } else render();
      }, (isOpen) => { live.textContent = isOpen ? 'live' : 'broken off'; live.className = `link ${isOpen ? 'on' : 'off'}`; });
    } catch (error) { fill(list, h('li', null, refused(error))); }
  })();
  return () => { stopped = true; stream?.close(); };
}

export function showCaptured(main) {
  const list = h('div');
  fill(main, h('h1', null, 'Captured requests'), h('p', { class: 'pale' }, 'Calls that were sent with the option “capture” (header Motet-Capture: 1), newest first.'), list);
  const look = async () => {
    try {
      const { captured } = await get('/sys/debug');
      fill(list, captured.length ? captured.toReversed().map((one) => h('section', { class: 'panel' },
        h('h2', null, link(one.service), ` ${one.operation} `, h('small', null, time(one.at_ms))),
        h('pre', null, JSON.stringify(one.body, null, 1)),
        one.fault ? h('p', { class: 'refused' }, one.fault) : h('pre', { class: 'answer' }, JSON.stringify(one.answer, null, 1))))
        : h('p', { class: 'pale' }, 'No request has been captured.'));
    } catch (error) { fill(list, refused(error)); }
  };
  look();
  const timer = setInterval(() => { if (!document.hidden) look(); }, 2000);
  return () => clearInterval(timer);
}
