/** UTF-8 bytes of s from index `from` to `to`; a lone surrogate counts 3, as the replacement character does. */
export function utf8(s: string, from = 0, to = s.length): number {
  let n = to - from;
  for (let i = from; i < to; i++) {
    const c = s.charCodeAt(i);
    if (c > 0x7f) {
      if (c > 0x7ff) n++;
      n++;
      if (c >= 0xd800 && c < 0xdc00 && i + 1 < to && (s.charCodeAt(i + 1) & 0xfc00) === 0xdc00) i++;
    }
  }
  return n;
}
