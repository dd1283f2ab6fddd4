import { utf8 } from '../core/bytes';
import { samePrefix } from './rope';

/** Bytes of vanished text below which rendering, not retraction, is the likely cause. */
const least = 8;

const words = /[\p{L}\p{N}]+/gu;
/** What Markdown shows raw until its closing sign has come: link targets, languages of code fences. */
const syntax = /\]\([^)\s]*\)?|```\w*/g;

/**
 * Bytes of text that was in `before` and is no longer in `after`. Words that moved, split or lost their markup
 * are not gone; neither is what stood there before the answer.
 *
 * @internal
 */
export function retracted(before: string, after: string, placeholder: string): number {
  let from = samePrefix(before, after);
  // Not into the middle of a word.
  while (from > 0 && /[\p{L}\p{N}]/u.test(before[from - 1] as string)) from--;
  const rest = after.slice(from);
  let at = 0;
  let bytes = 0;
  for (const [word] of before.slice(from).replace(syntax, ' ').matchAll(words)) {
    const k = rest.indexOf(word, at);
    if (k >= 0) at = k + word.length;
    else if (!placeholder.includes(word)) bytes += utf8(word);
  }
  return bytes >= least || !after.trim() ? bytes : 0;
}
