const encoder = /* @__PURE__ */ new TextEncoder();

/**
 * UTF-8 bytes of s from index `from`; a lone surrogate counts 3, as the replacement character does. A pair that
 * `from` cuts in two counts 4 for both parts together.
 */
export function utf8(s: string, from = 0): number {
  return encoder.encode(s).length - (from && utf8(s.slice(0, from)));
}
