import { browserTransport } from '../transport/index';
import { Client } from './client';
import type { ClientOptions } from './types';

export { Client } from './client';
export { Stream } from './stream';
export type * from './types';

/** Makes a client with the browser's ways out and no instruments: the smallest build. */
export function createClient(options: ClientOptions): Client {
  return new Client({ transport: browserTransport(options), ...options });
}
