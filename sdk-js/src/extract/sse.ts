/** Characters of one unfinished event or line after which reading is given up. */
export const maxPending = 1 << 20;

/** Told about each event's data, each comment, and nothing else. */
export interface SseSink {
  data(data: string): void;
  comment(): void;
}

/**
 * Reads server-sent events bit by bit, by the rules of the HTML standard (all three line ends, several data
 * lines, comments). Event names and ids are not needed to find text.
 *
 * @returns a function that takes the next piece of text and says false once an event is too long
 */
export function sseReader(sink: SseSink): (text: string) => boolean {
  let rest = '';
  let data: string[] = [];
  let size = 0;
  return (text) => {
    const s = rest + text;
    let from = 0;
    for (let i = rest.length ? rest.length - 1 : 0; i < s.length; i++) {
      const c = s.charCodeAt(i);
      if (c !== 10 && c !== 13) continue;
      // A CR at the very end may be half of a CRLF: wait for what follows.
      if (c === 13 && i + 1 === s.length) break;
      const line = s.slice(from, i);
      if (c === 13 && s.charCodeAt(i + 1) === 10) i++;
      from = i + 1;
      if (!line) {
        if (data.length) sink.data(data.join('\n'));
        data = [];
        size = 0;
      } else if (line[0] === ':') {
        sink.comment();
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line[5] === ' ' ? 6 : 5));
        size += line.length;
      }
    }
    rest = s.slice(from);
    return rest.length + size < maxPending;
  };
}
