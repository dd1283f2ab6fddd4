import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Page } from '../src/instrument/page';
import { observeElement } from '../src/instrument/paint';
import { rig } from './rig';

// What a page offers, as far as counting what the SDK leaves on it needs; what is painted when is tested in a real browser.

const running = new Set<Observer>();

class Observer {
  constructor(readonly tell: (records: unknown) => void) {}
  observe(): void {
    running.add(this);
  }
  disconnect(): void {
    running.delete(this);
  }
  takeRecords(): unknown[] {
    return [];
  }
}

class Mutations extends Observer {}

class Entries extends Observer {
  static supportedEntryTypes = ['element', 'long-animation-frame'];
}

class El {
  nodeType = 1;
  isConnected = true;
  parentNode: El | undefined;
  lastChild: El | undefined;
  textContent = '';
  readonly attributes = new Set<string>();
  hasAttribute = (n: string) => this.attributes.has(n);
  setAttribute = (n: string) => this.attributes.add(n);
  removeAttribute = (n: string) => this.attributes.delete(n);
  checkVisibility = () => true;
}

let visibility: 'visible' | 'hidden';

beforeEach(() => {
  visibility = 'visible';
  running.clear();
  const document = Object.defineProperty(new EventTarget(), 'visibilityState', { get: () => visibility });
  vi.stubGlobal('document', document);
  vi.stubGlobal('addEventListener', () => {});
  vi.stubGlobal('MutationObserver', Mutations);
  vi.stubGlobal('PerformanceObserver', Entries);
  // No frames: as in a hidden tab.
  vi.stubGlobal('requestAnimationFrame', () => 0);
});
afterEach(() => vi.unstubAllGlobals());

test('a hidden tab that renders anew each time: elements that are gone are not kept', () => {
  visibility = 'hidden';
  const { client, errors } = rig();
  const page = new Page(client);
  const s = client.stream();
  const el = new El();
  observeElement(s, page, el as unknown as Element);
  const made: El[] = [];
  let text = '';
  for (let i = 0; i < 200; i++) {
    text += `word${i} `;
    s.pieces([{ kind: 'content', text: `word${i} ` }]);
    const p = new El();
    p.parentNode = el;
    el.lastChild = p;
    el.textContent = text;
    made.push(p);
    // All of the element's children were replaced.
    const record = { type: 'childList', target: el, removedNodes: made.slice(-2, -1), addedNodes: [p] };
    for (const o of running) if (o instanceof Mutations) o.tell([record]);
  }
  const marked = made.filter((e) => e.attributes.size);
  expect(marked.length).toBeGreaterThan(0);
  expect(marked.length).toBeLessThan(12);
  expect(made.at(-1)?.attributes.size, 'the text that stands there now').toBe(1);
  expect(el.attributes.size).toBe(1);
  s._finish();
  expect([...made, el].filter((e) => e.attributes.size)).toEqual([]);
  expect(errors).toEqual([]);
});

test('consent withdrawn with several answers under way: no observer is left', () => {
  const { client } = rig();
  const page = new Page(client);
  for (let i = 0; i < 3; i++) observeElement(client.stream(), page, new El() as unknown as Element);
  expect([...running].some((o) => o instanceof Entries)).toBe(true);
  client.setConsent(false);
  expect([...running]).toEqual([]);
});

test('an answer that is over keeps no element', async () => {
  setFlagsFromString('--expose_gc');
  const collect = runInNewContext('gc') as () => void;
  const { client } = rig();
  const page = new Page(client);
  const s = client.stream();
  let el: El | undefined = new El();
  const kept = new WeakRef(el);
  const observation = observeElement(s, page, el as unknown as Element);
  el = undefined;
  s._finish();
  await vi.waitFor(
    () => {
      collect();
      expect(kept.deref() === undefined).toBe(true);
    },
    { timeout: 30_000 },
  );
  expect(observation).toBeDefined();
});
