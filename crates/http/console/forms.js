// Forms for JSON of a schema (2020-12, as the node's contracts have it).

import { h, fill } from './dom.js';
import { exact } from './api.js';

const INEXACT = 'this page holds whole numbers up to 9007199254740991 only';

// What a field holds is not what its schema wants.
export class Unfit extends Error {
  constructor(place, why) {
    super(place ? `${place}: ${why}` : why);
    this.title = 'Not sent';
  }
}

function resolved(schema, root) {
  for (let deep = 0; schema?.$ref && deep < 16; deep += 1) {
    const { $ref, ...own } = schema;
    const target = $ref.replace(/^#\//, '').split('/').reduce((at, name) => at?.[name], root);
    schema = { ...target, ...own };
  }
  return schema;
}

// Takes the null out of what may be null.
function parted(given, root) {
  let schema = resolved(given, root);
  if (schema === true || schema === undefined) return { schema: {}, nullable: false };
  let nullable = false;
  if (Array.isArray(schema.type)) {
    nullable = schema.type.includes('null');
    const types = schema.type.filter((type) => type !== 'null');
    schema = { ...schema, type: types.length === 1 ? types[0] : undefined };
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) {
    const others = choices.filter((choice) => resolved(choice, root).type !== 'null');
    nullable ||= others.length < choices.length;
    if (others.length === 1) return { schema: { ...resolved(others[0], root), description: schema.description }, nullable };
    schema = { ...schema, anyOf: undefined, oneOf: others };
  }
  return { schema, nullable };
}

// The words of which one is to be chosen, if that is all.
function words(schema, root) {
  if (schema.enum) return schema.enum;
  if (!schema.oneOf) return null;
  const all = schema.oneOf.map((choice) => resolved(choice, root)).map((choice) => choice.enum ?? ('const' in choice ? [choice.const] : null));
  return all.every(Boolean) ? all.flat() : null;
}

// Whether there is nothing to say.
export const isUnit = (schema, root = schema) => resolved(schema, root)?.type === 'null';

let count = 0;
const fresh = () => `f${(count += 1)}`;

// The control for a value: `{node, read, id, whole}`; `whole` brings its own label.
function control(given, root, place, deep) {
  const { schema, nullable } = parted(given, root);
  const id = fresh();
  const choices = words(schema, root);
  if (choices) return choice(id, choices, nullable);
  if (schema.type === 'boolean' && !nullable) return flag(id, schema);
  if (schema.type === 'boolean') return choice(id, [true, false], true);
  if (schema.type === 'integer' || schema.type === 'number') return number(id, schema, nullable, place);
  if (schema.type === 'string') return text(id, schema, nullable);
  if (deep < 5 && !nullable && schema.type === 'object' && schema.properties) return fields(schema, root, place, deep);
  if (deep < 5 && !nullable && schema.type === 'array' && schema.items && schema.items !== true) return list(schema, root, place, deep);
  return json(id, schema, nullable, place);
}

function choice(id, choices, nullable) {
  const node = h('select', { id }, nullable && h('option', { value: 'null' }, '–'),
    choices.map((word) => h('option', { value: JSON.stringify(word) }, String(word))));
  return { id, node, read: () => JSON.parse(node.value) };
}

function flag(id, schema) {
  const node = h('input', { id, type: 'checkbox', checked: schema.default === true });
  return { id, node, read: () => node.checked };
}

function number(id, schema, nullable, place) {
  const step = schema.type === 'integer' ? '1' : 'any';
  const bounds = { min: schema.minimum, max: schema.maximum };
  const node = h('input', { id, type: 'number', step, inputmode: 'decimal', placeholder: nullable ? 'none' : null,
    min: bounds.min === undefined ? null : String(bounds.min), max: bounds.max === undefined ? null : String(bounds.max),
    value: schema.default === undefined ? null : String(schema.default) });
  const read = () => {
    if (node.value === '' && !node.validity.badInput) {
      if (nullable) return null;
      throw new Unfit(place, 'write a number');
    }
    const value = Number(node.value);
    if (!Number.isFinite(value) || node.validity.badInput) throw new Unfit(place, 'this is no number');
    if (schema.type === 'integer' && !Number.isInteger(value)) throw new Unfit(place, 'write a whole number');
    if (schema.type === 'integer' && !Number.isSafeInteger(value)) throw new Unfit(place, INEXACT);
    if (value < (bounds.min ?? -Infinity)) throw new Unfit(place, `at least ${bounds.min}`);
    if (value > (bounds.max ?? Infinity)) throw new Unfit(place, `at most ${bounds.max}`);
    return value;
  };
  return { id, node, read };
}

function text(id, schema, nullable) {
  const node = h('input', { id, type: 'text', autocomplete: 'off', spellcheck: 'false', placeholder: nullable ? 'none' : null,
    value: schema.default ?? null });
  return { id, node, read: () => (nullable && node.value === '' ? null : node.value) };
}

function json(id, schema, nullable, place) {
  const start = schema.default !== undefined ? schema.default : nullable ? null : schema.type === 'array' ? [] : schema.type === 'object' ? {} : null;
  const node = h('textarea', { id, rows: '3', spellcheck: 'false', class: 'code' });
  node.value = JSON.stringify(start, null, 1);
  const read = () => {
    let value;
    try { value = JSON.parse(node.value); } catch (error) { throw new Unfit(place, `this is no JSON: ${error.message}`); }
    if (!exact(node.value)) throw new Unfit(place, INEXACT);
    return value;
  };
  return { id, node, read };
}

function labelled(name, inner, schema, required) {
  if (inner.whole) return inner.node;
  return h('div', { class: 'field' },
    h('label', { for: inner.id }, name, required ? null : h('small', null, ' optional')),
    inner.node,
    schema?.description && h('small', { class: 'about' }, schema.description));
}

function fields(schema, root, place, deep) {
  const required = new Set(schema.required ?? []);
  // JSON has lost the order of the fields; that of the required ones is still there.
  const names = new Set([...required, ...Object.keys(schema.properties)]);
  const all = [...names].filter((name) => name in schema.properties).map((name) => {
    const own = schema.properties[name];
    const at = place ? `${place}.${name}` : name;
    const inner = control(own, root, at, deep + 1);
    const node = labelled(name, inner, resolved(own, root), required.has(name));
    return { name, inner, node: inner.whole ? h('div', { class: 'group' }, h('span', { class: 'label' }, name), node) : node };
  });
  const read = () => Object.fromEntries(all.map(({ name, inner }) => [name, inner.read()])
    // What may be absent and is empty is not sent.
    .filter(([name, value]) => required.has(name) || (value !== null && value !== '')));
  return { whole: true, node: h('div', { class: deep ? 'fields inner' : 'fields' }, all.map(({ node }) => node)), read };
}

function list(schema, root, place, deep) {
  const items = [];
  const body = h('div', { class: 'items' });
  const show = () => fill(body, items.map((item, index) => h('div', { class: 'item' }, item.node,
    h('button', { type: 'button', class: 'plain', 'aria-label': `Remove item ${index + 1}`, onclick: () => { items.splice(index, 1); show(); } }, '×'))));
  const add = () => { items.push(control(schema.items, root, `${place}[${items.length}]`, deep + 1)); show(); };
  const node = h('div', { class: 'list' }, body, h('button', { type: 'button', class: 'plain', onclick: add }, '+ item'));
  return { whole: true, node, read: () => items.map((item) => item.read()) };
}

// A form for a body of this schema: `{node, read}`; `read` gives the body, or throws.
export function form(schema) {
  if (isUnit(schema)) return { node: h('p', { class: 'pale' }, 'It takes nothing.'), read: () => null };
  const inner = control(schema, schema, '', 0);
  return { node: inner.whole ? inner.node : labelled('value', inner, schema, true), read: inner.read };
}
