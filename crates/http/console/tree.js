// A state as a tree. Leaves can be edited.

import { h, fill } from './dom.js';
import { exact } from './api.js';

// So many entries of a list are shown until more are asked for.
const MANY = 50;

const escaped = (name) => String(name).replaceAll('~', '~0').replaceAll('/', '~1');
const isTree = (value) => value !== null && typeof value === 'object';
const written = (value) => JSON.stringify(value) ?? 'null';

function summary(value) {
  if (Array.isArray(value)) return value.length === 1 ? '1 item' : `${value.length} items`;
  const names = Object.keys(value);
  return names.length ? `{ ${names.slice(0, 4).join(', ')}${names.length > 4 ? ', …' : ''} }` : '{ }';
}

// What an edit of the value at `path` makes of the state.
export function edited(state, path, value) {
  if (!path.length) return value;
  const [first, ...rest] = path;
  const copy = Array.isArray(state) ? [...state] : { ...state };
  copy[first] = edited(state[first], rest, value);
  return copy;
}

// The merge patch (RFC 7396) of that: it goes down to the last object before a list, which it holds whole.
export function merge(state, path, value) {
  if (!path.length || !isTree(state) || Array.isArray(state)) return edited(state, path, value);
  const [first, ...rest] = path;
  return { [first]: merge(state[first], rest, value) };
}

// A tree that shows a state by `show(state)`. `edit(path, value)` is called for a leaf that was edited.
export function tree(edit) {
  const node = h('div', { class: 'tree' });
  const opened = new Map([['', true]]);
  const limits = new Map();
  let state, before, editing = false;

  const leaf = (value, pointer, path) => {
    const changed = before !== undefined && written(at(before, path)) !== written(value);
    const kind = value === null ? 'null' : typeof value;
    const shown = typeof value === 'string' && value.length > 400 ? `${written(value.slice(0, 400))} …` : written(value);
    const look = `value ${kind}${changed ? ' changed' : ''}`;
    if (!edit) return h('span', { class: look }, shown);
    return h('button', { type: 'button', class: look, title: 'Edit', 'data-at': pointer, onclick: (event) => begin(event.currentTarget, value, path) }, shown);
  };

  const begin = (button, value, path) => {
    editing = true;
    const input = h('input', { type: 'text', class: 'edit', spellcheck: 'false', value: written(value), 'aria-label': `New value of ${path.join('.')}` });
    const end = () => { editing = false; render(); node.querySelector(`[data-at="${CSS.escape('/' + path.map(escaped).join('/'))}"]`)?.focus(); };
    const form = h('form', { class: 'editing', onsubmit: async (event) => {
      event.preventDefault();
      let next;
      // What is no JSON is a text, if it was one before.
      try {
        next = JSON.parse(input.value);
        if (!exact(input.value)) { input.setCustomValidity('A whole number of this size cannot be held here'); input.reportValidity(); return; }
      } catch {
        if (typeof value !== 'string') { input.setCustomValidity('Write JSON: a number, true, "text", null'); input.reportValidity(); return; }
        next = input.value;
      }
      await edit(path, next);
      end();
    } }, input, h('button', { type: 'submit' }, 'Set'), h('button', { type: 'button', class: 'plain', onclick: end }, 'Cancel'));
    input.addEventListener('input', () => input.setCustomValidity(''));
    input.addEventListener('keydown', (event) => { if (event.key === 'Escape') end(); });
    button.replaceWith(form);
    input.focus();
    input.select();
  };

  const entry = (name, value, path) => {
    const pointer = `/${path.map(escaped).join('/')}`;
    const label = h('span', { class: 'name' }, name);
    if (!isTree(value)) return h('li', null, label, leaf(value, pointer, path));
    const isSmall = JSON.stringify(value).length < 400;
    const open = opened.get(pointer) ?? (path.length < 3 && isSmall);
    return h('li', null, h('details', { open, ontoggle: (event) => {
      const now = event.currentTarget.open;
      if (now === (opened.get(pointer) ?? open)) return;
      opened.set(pointer, now);
      if (now && !editing) render();
    } }, h('summary', { 'data-at': pointer }, label, h('span', { class: 'pale' }, summary(value))), open && entries(value, path, pointer)));
  };

  const entries = (value, path, pointer) => {
    const all = Array.isArray(value) ? value.map((item, index) => [index, item]) : Object.entries(value);
    const most = limits.get(pointer) ?? MANY;
    return h('ul', null, all.slice(0, most).map(([name, item]) => entry(String(name), item, [...path, name])),
      all.length > most && h('li', null, h('button', { type: 'button', class: 'plain', onclick: () => { limits.set(pointer, most * 4); render(); } }, `${all.length - most} more`)));
  };

  const render = () => {
    const focused = document.activeElement?.dataset?.at;
    fill(node, isTree(state) ? (Object.keys(state).length ? entries(state, [], '') : h('p', { class: 'pale' }, 'The state is empty.')) : h('ul', null, h('li', null, leaf(state, '/', []))));
    if (focused) node.querySelector(`[data-at="${CSS.escape(focused)}"]`)?.focus();
  };

  return { node, show(next) { [before, state] = [state, next]; if (!editing) render(); } };
}

const at = (value, path) => path.reduce((inner, name) => inner?.[name], value);
