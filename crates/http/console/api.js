// The node's public interface: requests, and streams of events.

// Why a request was refused: the members of the problem (RFC 9457).
export class Fault extends Error {
  constructor(status, problem) {
    super(problem?.detail ?? `the node answers ${status}`);
    this.status = status;
    this.title = problem?.title ?? `Status ${status}`;
  }
}

// The token is kept for this origin and this tab. A cookie would go to all ports of the host, and so to its other nodes.
const KEY = 'motet-token';
let onUnknown = async () => false;

// What asks for a token when the node wants one: gives whether to try again.
export function whenUnknown(ask) { onUnknown = ask; }
export function setToken(token) { sessionStorage.setItem(KEY, token); }

function heads(more) {
  const token = sessionStorage.getItem(KEY);
  return token ? { ...more, authorization: `Bearer ${token}` } : { ...more };
}

// Whether numbers here hold all whole numbers of a JSON text as they are: beyond 2^53 they do not.
export function exact(text) {
  const bare = text.replace(/"(?:[^"\\]|\\.)*"/g, '');
  const numbers = bare.match(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g) ?? [];
  return numbers.every((number) => !/^-?\d+$/.test(number) || Number.isSafeInteger(Number(number)));
}

const encoded = (path) => path.split('/').map(encodeURIComponent).join('/');

async function sent(path, init) {
  for (;;) {
    const token = sessionStorage.getItem(KEY);
    const response = await fetch(path, { ...init, headers: heads(init.headers), cache: 'no-store' });
    if (response.status !== 401) return response;
    // Another request may have asked for one meanwhile.
    if (sessionStorage.getItem(KEY) === token && !(await onUnknown())) return response;
  }
}

// Sends a request: its answer as JSON, whether that is exact, and the version if there is one.
export async function ask(method, path, { body, headers, kind = 'application/json', signal } = {}) {
  const has = body !== undefined;
  const response = await sent(encoded(path), {
    method,
    signal,
    headers: has ? { ...headers, 'content-type': kind } : headers,
    body: has ? JSON.stringify(body) : undefined,
  });
  const text = await response.text();
  let value = null;
  try { value = text ? JSON.parse(text) : null; } catch { value = { detail: text }; }
  if (!response.ok) throw new Fault(response.status, value);
  const tag = /^"v(\d+)"$/.exec(response.headers.get('etag') ?? '');
  return { value, exact: exact(text), version: tag ? Number(tag[1]) : null, status: response.status };
}

export const get = async (path, signal) => (await ask('GET', path, { signal })).value;

export const call = async (path, operation, body = null, headers = {}) =>
  (await ask('POST', `${path}/-/${operation}`, { body, headers })).value;

// Tells what a service tells, until it is closed. A stream that fails is made again, behind the last version.
export function subscribe(path, query, tell, said = () => {}) {
  const stop = new AbortController();
  let last = null;
  const once = async () => {
    const headers = last === null ? {} : { 'last-event-id': last };
    const response = await sent(`${encoded(path)}/-/events?${query}`, { method: 'GET', headers, signal: stop.signal });
    if (!response.ok) throw new Fault(response.status, await response.json().catch(() => null));
    said(true);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ''; ;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value;
      const events = rest.split('\n\n');
      rest = events.pop();
      for (const event of events) {
        const fields = Object.fromEntries(event.split('\n').map((line) => {
          const colon = line.indexOf(': ');
          return [line.slice(0, colon), line.slice(colon + 2)];
        }));
        if (fields.id) last = fields.id;
        if (fields.event) tell({ event: fields.event, ...JSON.parse(fields.data) });
      }
    }
  };
  (async () => {
    for (let pause = 500; !stop.signal.aborted; pause = Math.min(pause * 2, 8000)) {
      try { await once(); } catch (error) {
        if (stop.signal.aborted) return;
        said(false);
        // What the node refuses it will refuse again.
        if (error instanceof Fault && error.status < 500) return;
      }
      await new Promise((done) => setTimeout(done, pause * (0.5 + Math.random() / 2)));
    }
  })();
  return { close: () => stop.abort() };
}
