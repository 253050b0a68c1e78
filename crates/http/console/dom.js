// Makes elements.

const SVG = 'http://www.w3.org/2000/svg';

function made(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== 'string' && !name.startsWith('aria')) element[name] = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// An element of HTML. An attribute `onclick` is a listener.
export function h(tag, attributes, ...children) {
  return made(document.createElement(tag), attributes, children);
}

// An element of SVG.
export function s(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes ?? {})) element.setAttribute(name, value);
  element.append(...children.flat(Infinity));
  return element;
}

// Puts these in place of what an element holds.
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// A number for people: at most four digits that mean something.
export function short(number) {
  if (!Number.isFinite(number)) return String(number);
  const size = Math.abs(number);
  if (size >= 1e6) return `${+(number / 1e6).toPrecision(3)} M`;
  if (size >= 1e4) return `${+(number / 1e3).toPrecision(3)} k`;
  return String(+number.toPrecision(4));
}

// Milliseconds for people.
export function span(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60000);
  return `${minutes} min ${Math.floor((ms % 60000) / 1000)} s`;
}

// Microseconds for people.
export function micros(us) {
  if (us < 1000) return `${+us.toPrecision(3)} \u00b5s`;
  return us < 1e6 ? `${+(us / 1000).toPrecision(3)} ms` : `${+(us / 1e6).toPrecision(3)} s`;
}

// The lifecycle, which is a word or an object of one word.
export function life(lifecycle) {
  const [word, more] = typeof lifecycle === 'string' ? [lifecycle, null] : Object.entries(lifecycle)[0];
  const why = more?.why ?? (more?.waits_for ? `waits for ${more.waits_for.join(', ') || 'its start'}` : null);
  return { word, why };
}

export function badge(lifecycle) {
  const { word, why } = life(lifecycle);
  return h('span', { class: `badge ${word}`, title: why }, word);
}

// A line that says why something was refused.
export function refused(error) {
  return h('p', { class: 'refused', role: 'alert' }, h('strong', null, error.title ?? 'Refused'), ' ', error.message);
}

export const link = (path) => h('a', { href: `#/service${path}` }, path);
