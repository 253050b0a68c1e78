// Lines over time.

import { h, s, fill, short } from './dom.js';

// Steps of 1, 2 or 5 that divide a range into about so many.
function steps(low, high, parts) {
  const rough = (high - low) / parts || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough);
  const first = Math.floor(low / step) * step;
  const all = [];
  for (let at = first; ; at += step) {
    all.push(+at.toPrecision(12));
    if (at >= high - step * 1e-9) return all;
  }
}

// A line of the size of a word.
export function spark(values) {
  const width = 88, height = 20, most = Math.max(...values, 1e-9);
  const at = (value, index) => `${(width - (values.length - 1 - index) * (width / 59)).toFixed(1)},${(height - 1 - (value / most) * (height - 3)).toFixed(1)}`;
  return s('svg', { class: 'spark', width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' },
    s('polyline', { points: values.slice(-60).map(at).join(' ') }));
}

let plots = 0;

// A picture that is drawn anew with `draw(series)`, each `{name, points: [[ms, value]]}`.
export function plot(label, seconds, height = 190) {
  const picture = h('div', { class: 'plot' });
  const legend = h('ul', { class: 'legend' });
  const inside = `inside-${(plots += 1)}`;
  const node = h('figure', { 'aria-label': label }, picture, legend);
  const draw = (series, now = performance.now()) => {
    const width = Math.max(240, picture.clientWidth || 600);
    const [left, right, top, bottom] = [46, 8, 8, 22];
    const begin = now - seconds * 1000;
    const shown = series.map((one) => ({ ...one, points: one.points.filter(([at]) => at >= begin - 1500) }));
    const values = shown.flatMap((one) => one.points.map(([, value]) => value));
    let [low, high] = [Math.min(...values), Math.max(...values)];
    if (low > 0 && low < high / 2) low = 0;
    if (!values.length) [low, high] = [0, 1];
    if (low === high) high = low + 1;
    const ticks = steps(low, high, height > 120 ? 4 : 2);
    [low, high] = [ticks[0], ticks.at(-1)];
    const x = (at) => left + ((at - begin) / (seconds * 1000)) * (width - left - right);
    const y = (value) => height - bottom - ((value - low) / (high - low)) * (height - top - bottom);
    const grid = ticks.map((tick) => [
      s('line', { class: 'grid', x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
      s('text', { x: left - 6, y: y(tick) + 4, 'text-anchor': 'end' }, short(tick)),
    ]);
    const times = [seconds, seconds / 2, 0].map((ago) => s('text', {
      x: x(now - ago * 1000), y: height - 5, 'text-anchor': ago === 0 ? 'end' : ago === seconds ? 'start' : 'middle',
    }, ago === 0 ? 'now' : `−${ago} s`));
    const clip = s('clipPath', { id: inside }, s('rect', { x: left, y: 0, width: width - left - right, height }));
    const lines = shown.map((one, index) => s('polyline', {
      class: `line c${index % 8}`, 'clip-path': `url(#${inside})`,
      points: one.points.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(' '),
    }));
    fill(picture, s('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label }, clip, grid, times, lines));
    fill(legend, shown.map((one, index) => h('li', null, h('i', { class: `c${index % 8}` }), one.name, ' ',
      h('b', null, one.points.length ? short(+one.points.at(-1)[1].toPrecision(3)) : '–'))));
  };
  return { node, draw };
}
