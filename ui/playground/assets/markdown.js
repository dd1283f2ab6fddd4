// Markdown as answers use it, built as nodes: no markup is ever parsed from text.

const inline = /\*\*([^*]+)\*\*|`([^`]+)`|\*([^*\s][^*]*)\*|\[([^\]]+)\]\((https?:[^)\s]+)\)/g;

/** Appends text with its bold, italic, code and links. */
function spans(into, text) {
  let at = 0;
  for (const m of text.matchAll(inline)) {
    into.append(text.slice(at, m.index));
    const [tag, content] = m[1] ? ['strong', m[1]] : m[2] ? ['code', m[2]] : m[3] ? ['em', m[3]] : ['a', m[4]];
    const el = document.createElement(tag);
    el.textContent = content;
    if (tag === 'a') {
      el.href = m[5];
      el.rel = 'noopener noreferrer';
      el.target = '_blank';
    }
    into.append(el);
    at = m.index + m[0].length;
  }
  into.append(text.slice(at));
}

/** Cuts text into blocks: fenced code stays whole, else an empty line separates. */
export function blocks(text) {
  const out = [];
  let open = [];
  let fenced = false;
  for (const line of text.split('\n')) {
    const fence = line.startsWith('```');
    if (fence && !fenced && open.length) out.push(open.splice(0).join('\n'));
    if (fence) fenced = !fenced;
    if (!fenced && !fence && !line.trim()) {
      if (open.length) out.push(open.splice(0).join('\n'));
      continue;
    }
    open.push(line);
    if (fence && !fenced) out.push(open.splice(0).join('\n'));
  }
  if (open.length) out.push(open.join('\n'));
  return out;
}

/** One block as an element. */
export function block(text) {
  if (text.startsWith('```')) {
    const pre = document.createElement('pre');
    const code = document.createElement('code');
    code.textContent = text.replace(/^```[^\n]*\n?/, '').replace(/\n?```\s*$/, '');
    pre.append(code);
    return pre;
  }
  const heading = /^#{1,6} (.*)/.exec(text);
  if (heading && !text.includes('\n')) {
    const h = document.createElement('h3');
    spans(h, heading[1]);
    return h;
  }
  const lines = text.split('\n');
  for (const [mark, tag] of [[/^\s*[-*] /, 'ul'], [/^\s*\d+[.)] /, 'ol']]) {
    if (!lines.every((l) => mark.test(l))) continue;
    const list = document.createElement(tag);
    for (const l of lines) {
      const item = document.createElement('li');
      spans(item, l.replace(mark, ''));
      list.append(item);
    }
    return list;
  }
  const p = document.createElement('p');
  spans(p, text);
  return p;
}

/** Shows a growing answer: only the block that grows is made anew. */
export function renderer(el) {
  let done = 0;
  return (text) => {
    const all = blocks(text);
    while (el.children.length > done) el.lastElementChild.remove();
    for (const b of all.slice(done)) el.append(block(b));
    done = Math.max(all.length - 1, 0);
  };
}

/**
 * Shows it as pages do that suffer from it: everything anew with each piece, and in the middle a long piece of work, in a
 * few parts, before anything more is shown, as highlighters and typesetters do when they first meet their kind of content.
 */
export function heavyRenderer(el, { after = 300, parts = 3, partMs = 600 } = {}) {
  let latest = '';
  let left = parts;
  let working = false;
  const show = () => el.replaceChildren(...blocks(latest).map(block));
  const work = () => {
    const end = performance.now() + partMs;
    while (performance.now() < end) for (const b of blocks(latest)) block(b);
    working = --left > 0;
    if (working) setTimeout(work);
    else show();
  };
  return (text) => {
    latest = text;
    if (working) return;
    if (left > 0 && text.length >= after) {
      working = true;
      setTimeout(work);
    } else show();
  };
}
