// The console: which view is shown, and whether the node answers.

import { h, fill } from './dom.js';
import { setToken, whenUnknown } from './api.js';
import { begin, watch } from './store.js';
import { show as services } from './services.js';
import { show as service } from './service.js';
import { show as live } from './live.js';
import { show as waiting } from './waiting.js';
import { show as jobs } from './jobs.js';
import { show as log, showCaptured as captured } from './log.js';
import { show as trace } from './trace.js';
import { show as mesh } from './mesh.js';
import { show as manifests } from './manifests.js';

const VIEWS = { services, live, waiting, jobs, log, captured, trace, mesh, manifests };
const main = document.getElementById('main');
let end = () => {};

function route() {
  const [, name = 'services'] = location.hash.split('/');
  end();
  window.scrollTo(0, 0);
  if (name === 'service') end = service(main, location.hash.slice('#/service'.length));
  else end = (VIEWS[name] ?? services)(main);
  const current = name === 'service' ? 'services' : name;
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === `#/${current}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  document.title = `${name === 'service' ? location.hash.slice('#/service'.length) : current} · ${document.getElementById('node').textContent}`;
}

// Asks for a token, once for all requests that want one.
let asking = null;
whenUnknown(() => (asking ??= new Promise((done) => {
  const input = h('input', { type: 'password', id: 'token', autocomplete: 'current-password', required: true });
  const dialog = h('dialog', { class: 'panel' }, h('form', { method: 'dialog', onsubmit: () => { setToken(input.value.trim()); } },
    h('h2', null, 'Who is there?'), h('label', { for: 'token' }, 'Token of this node'), input, h('div', { class: 'send' }, h('button', { type: 'submit' }, 'Go on'))));
  dialog.addEventListener('close', () => { dialog.remove(); asking = null; done(true); });
  document.body.append(dialog);
  dialog.showModal();
})));

addEventListener('hashchange', () => { route(); main.focus({ preventScroll: true }); });
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target.closest('input, textarea, select')) return;
  const filter = document.querySelector('.filter');
  if (filter) { event.preventDefault(); filter.focus(); }
});

const [node, link] = [document.getElementById('node'), document.getElementById('link')];
watch((known) => {
  node.textContent = known.node;
  link.className = `link ${known.linked ? 'on' : 'off'}`;
  link.textContent = known.linked ? 'connected' : `no answer: ${known.why}`;
});
if (location.hash.startsWith('#token=')) {
  setToken(decodeURIComponent(location.hash.slice('#token='.length)));
  history.replaceState(null, '', '#/services');
}
route();
begin().catch((error) => fill(main, h('p', { class: 'refused' }, error.message)));
