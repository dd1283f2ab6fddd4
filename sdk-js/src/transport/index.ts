import type { ClientOptions, Transport } from '../core/types';
import { beaconSender } from './beacon';
import { fetchSender } from './fetch';

export { beaconSender } from './beacon';
export { fetchSender } from './fetch';

/** `fetch` while the page lives, `sendBeacon` when it goes. The write key travels as a query parameter. */
export function browserTransport(options: Pick<ClientOptions, 'url' | 'key'>): Transport {
  const url = options.key ? `${options.url}${options.url.includes('?') ? '&' : '?'}key=${encodeURIComponent(options.key)}` : options.url;
  return { post: fetchSender(url), beacon: beaconSender(url) };
}
