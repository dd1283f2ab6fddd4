/**
 * UTF-8 bytes of s from index `from` to `to`; a lone surrogate counts 3, as the replacement character does. A pair
 * that `from` cuts in two counts 4 for both parts together.
 */
export function utf8(s: string, from = 0, to = s.length): number {
  let n = to - from;
  for (let i = from; i < to; i++) {
    const c = s.charCodeAt(i);
    if (c > 0x7f) {
      if (c > 0x7ff) n++;
      n++;
      if (isHigh(c) && i + 1 < to && isLow(s.charCodeAt(i + 1))) i++;
    }
  }
  return from > 0 && from < to && isLow(s.charCodeAt(from)) && isHigh(s.charCodeAt(from - 1)) ? n - 2 : n;
}

const isHigh = (c: number) => (c & 0xfc00) === 0xd800;
const isLow = (c: number) => (c & 0xfc00) === 0xdc00;
