import { useCallback, useMemo, useRef } from 'react';
import type { Answer, AnswerOptions } from '../answer';
import type { Fermata } from '../index';

/** What {@link useAnswer} gives. All of it is stable across renders. */
export interface UseAnswer {
  /** Call it in the handler of the user's action. */
  submit(options?: AnswerOptions): Answer;
  /** Put it on the element of the answer that is being written: `<div ref={ref}>`. */
  ref(element: Element | null): void;
  /** `fetch` for the answer begun last, or a new one. Fits `new DefaultChatTransport({ fetch })`. */
  fetch: typeof globalThis.fetch;
}

/**
 * Measures the answers of one component, one after the other.
 *
 * @example
 * const { submit, ref, fetch } = useAnswer(fermata);
 */
export function useAnswer(fermata: Fermata): UseAnswer {
  const answer = useRef<Answer>(undefined);
  const element = useRef<Element | null>(null);
  const observed = useRef<[Answer, Element]>(undefined);

  const attach = useCallback(() => {
    const [a, el] = [answer.current, element.current];
    if (!a?.active || !el || (observed.current?.[0] === a && observed.current[1] === el)) return;
    observed.current = [a, el];
    a.observe(el);
  }, []);

  return useMemo<UseAnswer>(
    () => ({
      submit(options) {
        answer.current = fermata.submit(options);
        attach();
        return answer.current;
      },
      ref(el) {
        element.current = el;
        attach();
      },
      fetch: (input, init) => {
        const p = fermata.fetch(input, init);
        const a = fermata.current;
        if (a && a !== answer.current) {
          answer.current = a;
          attach();
        }
        return p;
      },
    }),
    [fermata, attach],
  );
}
