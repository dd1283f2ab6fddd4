import { type Fermata, init } from '@fermata/sdk';

interface Globals {
  seen: { text: string };
  finished: boolean;
  ready: boolean;
}

export const globals = globalThis as unknown as Globals;
globals.seen = { text: '' };

export const withSdk = new URLSearchParams(location.search).get('sdk') !== '0';

/** The SDK as a page would start it; undefined with sdk=0. */
export const fermata: Fermata | undefined = withSdk
  ? init({
      url: `${location.origin}/v1/rum`,
      app: 'e2e',
      flushInterval: 300,
      onError: (e) => {
        throw e;
      },
    })
  : undefined;

export const byId = (id: string): HTMLElement => document.getElementById(id) as HTMLElement;
