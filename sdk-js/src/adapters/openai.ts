/** The parts of the `openai` client in use. */
interface OpenAILike<C> {
  withOptions(options: { fetch: typeof fetch }): C;
}

/** What measures: a `Fermata` for every answer of the client, or one `Answer` for one call. */
export interface HasFetch {
  readonly fetch: typeof fetch;
}

/**
 * A copy of an `openai` client (version 4 or later) whose answers are measured. Works for chat completions,
 * completions and responses, streamed or not, since they all go through the client's `fetch`.
 *
 * @example
 * const answer = fermata.submit({ element: '#answer' });
 * const stream = await observeOpenAI(openai, answer).chat.completions.create({ stream: true, … });
 */
export function observeOpenAI<C extends OpenAILike<C>>(client: C, measure: HasFetch): C {
  return client.withOptions({ fetch: measure.fetch });
}
