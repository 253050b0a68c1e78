// Loads manifests, and tells which types of services there could be.

import { h, fill, badge, link, refused } from './dom.js';
import { call, get } from './api.js';
import { look } from './store.js';

export function show(main) {
  const text = h('textarea', { class: 'code', rows: '10', spellcheck: 'false', 'aria-label': 'Manifest', placeholder: '[[service]]\ntype = "sim-drive"\nat = "/drive"\npartners = { world = "/world" }' });
  const [out, types] = [h('div', { 'aria-live': 'polite' }), h('div')];
  const file = h('input', { type: 'file', accept: '.toml,.json', 'aria-label': 'Read a manifest from a file', onchange: async () => { if (file.files[0]) text.value = await file.files[0].text(); } });
  const load = async (event) => {
    event.preventDefault();
    try {
      const loaded = await call('/sys/manifests', 'load', [text.value]);
      fill(out, h('ul', { class: 'loaded' }, loaded.map(({ name, service, fault }) => h('li', null,
        service ? [link(service.path), ' ', badge(service.lifecycle)] : [h('b', null, name), h('p', { class: 'refused' }, fault.reason ?? JSON.stringify(fault))]))));
    } catch (error) { fill(out, refused(error)); }
    look();
  };
  fill(main, h('h1', null, 'Manifests'), h('section', { class: 'panel' },
    h('form', { onsubmit: load }, h('p', { class: 'pale' }, 'TOML or JSON. A record that fails does not keep the others.'), text,
      h('div', { class: 'send' }, h('button', { type: 'submit' }, 'Load'), file)), out),
    h('h2', null, 'Types of this node'), types);
  const record = (name, kind) => `[[service]]\ntype = "${name}"\nat = "/${name}"\n# contract ${kind.contract}\n`;
  (async () => {
    try {
      const { kinds } = await get('/sys/contracts');
      fill(types, h('div', { class: 'scroll' }, h('table', { class: 'cards' },
        h('thead', null, h('tr', null, ['type', 'contract', 'operations', ''].map((head) => h('th', { scope: 'col' }, head)))),
        h('tbody', null, Object.entries(kinds).map(([name, kind]) => h('tr', null, h('th', { scope: 'row' }, name), h('td', { 'data-label': 'contract' }, h('code', null, kind.contract)),
          h('td', { 'data-label': 'operations' }, kind.operations.map((one) => one.name).join(', ')),
          h('td', null, h('button', { type: 'button', class: 'plain', onclick: () => { text.value += `${text.value && !text.value.endsWith('\n') ? '\n' : ''}${record(name, kind)}`; text.focus(); } }, 'Add a record'))))))));
    } catch (error) { fill(types, refused(error)); }
  })();
  return () => {};
}
