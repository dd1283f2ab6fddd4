import { describe, expect, test } from 'vitest';
import { retracted } from '../src/instrument/retraction';
import { Rope, samePrefix } from '../src/instrument/rope';
import { Ruler } from '../src/instrument/ruler';

const bytes = (s: string) => new TextEncoder().encode(s).length;

/** Feeds source text in steps and shows what `render` makes of it. */
function follow(source: string, render: (s: string) => string, step = 7): { shown: number[]; ruler: Ruler } {
  const ruler = new Ruler();
  ruler._restart(0);
  let before = '';
  const shown: number[] = [];
  const units = [...source];
  for (let i = step; i < units.length + step; i += step) {
    ruler._receive(units.slice(i - step, i).join(''));
    const text = render(units.slice(0, i).join(''));
    ruler._show(new Rope(text), samePrefix(before, text));
    before = text;
    shown.push(ruler._shown);
  }
  return { shown, ruler };
}

const markdown = `# Three lamps

The **first** lamp is [red](https://example.com/a-long/address?with=query), the *second* is green.

1. one item
2. another \`piece of code\`

| a | b |
|---|---|
| x | y |

\`\`\`python
print("hello")
\`\`\`
Konec: žluťoučký kůň 日本語 🙂 done.`;

/** Rough rendering, of the kind that changes text already shown once a sign is closed. */
const rendered = (s: string) =>
  s
    .replace(/```\w*\n?([\s\S]*?)```/g, '$1')
    .replace(/\*\*([^*]+)\*\*/g, '$1')
    .replace(/\*([^*]+)\*/g, '$1')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/`([^`\n]+)`/g, '$1')
    .replace(/^#+ /gm, '')
    .replace(/^\d+\. /gm, '')
    .replace(/^\|[-|]+\|$/gm, '')
    .replace(/\|/g, '')
    .replace(/\n/g, '');

describe('Ruler', () => {
  test.each([1, 3, 7, 40])('plain text: every byte, as it comes (%i at a time)', (step) => {
    const { shown } = follow('Dobrý den, světe. 日本語 🙂 and so on.', (s) => s, step);
    expect(shown.at(-1)).toBe(bytes('Dobrý den, světe. 日本語 🙂 and so on.'));
    expect(shown.every((v, i) => i === 0 || v >= (shown[i - 1] as number))).toBe(true);
  });

  test.each([1, 5, 13, 60])('rendered Markdown reaches the end without counting twice (%i at a time)', (step) => {
    const { shown } = follow(markdown, rendered, step);
    expect(shown.at(-1)).toBe(bytes(markdown));
    // Never ahead of what was received.
    shown.forEach((v, i) => {
      expect(v).toBeLessThanOrEqual(bytes([...markdown].slice(0, (i + 1) * step).join('')));
    });
  });

  test('a cursor, a label and a counter around the answer', () => {
    const { ruler } = follow('An answer of some words.', (s) => `Assistant${s}▍${s.length} characters`, 2);
    expect(ruler._shown).toBe(bytes('An answer of some words.'));
  });

  test('text that has not been shown is not counted', () => {
    const ruler = new Ruler();
    ruler._receive('one two three four five six seven');
    ruler._show(new Rope('one two'), 0);
    expect(ruler._shown).toBe('one two '.length);
    expect(ruler._sure).toBe(true);
    ruler._show(new Rope('one two three fo'), 7);
    expect(ruler._shown).toBe('one two three fo'.length);
  });

  test('a spinner is not the answer', () => {
    const ruler = new Ruler();
    ruler._receive('Tokyo is the capital.');
    ruler._show(new Rope('Thinking…'), 0);
    expect(ruler._sure).toBe(false);
    ruler._show(new Rope('Tok'), 0);
    expect(ruler._sure).toBe(true);
    expect(ruler._shown).toBe(3);
  });

  test('text that is translated or worked up on the page counts by itself', () => {
    const ruler = new Ruler();
    ruler._receive('x'.repeat(600));
    ruler._show(new Rope('wholly different words '.repeat(20)), 0);
    expect(ruler._shown).toBe(460);
  });

  test('linear in what is added', () => {
    const ruler = new Ruler();
    const text = new Rope();
    const t = process.hrtime.bigint();
    for (let i = 0; i < 60_000; i++) {
      const delta = `w${i} `;
      ruler._receive(delta);
      const same = text._length;
      text._add(delta);
      ruler._show(text, same);
    }
    expect(ruler._shown).toBe(text._length);
    // Not a speed limit: a quadratic one would take minutes.
    expect(Number(process.hrtime.bigint() - t) / 1e9).toBeLessThan(30);
  });
});

describe('retracted', () => {
  test.each([
    ['The answer is forty two.', "I can't help with that.", '', 19],
    ['Some long sentence here. And another one.', 'Some long sentence here.', '', 13],
    ['All of it', '', '', 7],
    ['Ok', '', '', 2],
  ])('%j → %j', (before, after, placeholder, want) => {
    expect(retracted(before, after, placeholder)).toBeGreaterThanOrEqual(want);
  });
  test.each([
    ['**bol', 'bold', ''],
    ['1. fo', 'foo', ''],
    ['see [docs](https://example.com/very/long/address)', 'see docs', ''],
    ['| a | b |\n|---|', 'ab', ''],
    ['```python\nprint(1)', 'print(1)', ''],
    ['text▍', 'text more▍', ''],
    ['Thinking about itHello', 'Hello there', 'Thinking about it'],
    ['Hello wor', 'Hello world', ''],
  ])('rendering is none: %j → %j', (before, after, placeholder) => {
    expect(retracted(before, after, placeholder)).toBe(0);
  });
});

test('samePrefix', () => {
  for (const [a, b] of [
    ['', ''],
    ['a', ''],
    ['abc', 'abd'],
    ['abc', 'abcdef'],
    ['xbc', 'abc'],
    ['a'.repeat(1000), `${'a'.repeat(999)}b`],
  ] as const) {
    let n = 0;
    while (n < Math.min(a.length, b.length) && a[n] === b[n]) n++;
    expect(samePrefix(a, b)).toBe(n);
  }
});

test('Rope is the text it was made of', () => {
  const r = new Rope();
  let s = '';
  for (let i = 0; i < 3000; i++) {
    const part = `${i}č🙂 `.repeat(i % 5);
    s += part;
    r._add(part);
  }
  expect(r._length).toBe(s.length);
  expect(r._slice(0, s.length)).toBe(s);
  for (const [a, b] of [
    [0, 1],
    [4090, 4100],
    [4096, 4096],
    [8191, 12289],
    [s.length - 3, s.length + 9],
  ] as const)
    expect(r._slice(a, b)).toBe(s.slice(a, b));
  for (let i = 0; i <= s.length; i += 37) expect(r._at(i)).toBe(s.charCodeAt(i));
  for (const cut of [0, 1, 4095, 4096, 4097, 9000]) expect(samePrefix(s, `${s.slice(0, cut)}\u0001`)).toBe(cut);
  expect(samePrefix(s, s)).toBe(s.length);
  expect(samePrefix(s, `${s}more`)).toBe(s.length);
});
