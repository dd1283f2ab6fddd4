import { type Browser, chromium, type Page } from 'playwright-core';

/** Debian's Chromium; another one by FERMATA_CHROMIUM. */
export const executable = process.env.FERMATA_CHROMIUM ?? '/usr/bin/chromium';

export const flags = [
  '--no-sandbox',
  '--disable-gpu',
  // Containers often have 64 MB there, which tabs side by side use up.
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const launch = (): Promise<Browser> => chromium.launch({ executablePath: executable, args: flags });

/** Opens a page of its own context, with the CPU slowed down so many times. */
export async function open(browser: Browser, url: string, slow = 1): Promise<Page> {
  const context = await browser.newContext();
  context.setDefaultTimeout(90_000);
  const page = await context.newPage();
  page.on('pageerror', (e) => {
    throw e;
  });
  if (slow > 1) {
    const cdp = await context.newCDPSession(page);
    await cdp.send('Emulation.setCPUThrottlingRate', { rate: slow });
  }
  await page.goto(url);
  return page;
}

/** Waits until an expression holds in the page, by means that a strict CSP allows. */
export async function until(page: Page, expression: string, ms = 90_000): Promise<void> {
  const end = Date.now() + ms;
  while (!(await page.evaluate(expression))) {
    if (Date.now() > end) throw new Error(`timed out waiting for ${expression}`);
    await new Promise((r) => setTimeout(r, 20));
  }
}

/** What a probe of the page says of one update. Times are ms since the page's time origin. */
export interface Probe {
  id: string;
  /** Bytes of the answer that it showed. */
  bytes: number;
  /** When the page's own part of its frame was over, and when the frame was on the screen. */
  painted: number;
  t: number;
  /** When the browser told. */
  told: number;
  /** When the main thread was free again after the frame. */
  free?: number;
}

/** What a page of the test knows itself. Times are ms since its time origin. */
export interface Seen {
  /** The answer as the page got it. */
  text: string;
  /** The answer as it stands on the page. */
  html: string;
  /** When the page had each chunk, and the bytes of answer text by then. */
  got: [t: number, bytes: number][];
  /** Each update of the page by its own probe. */
  shown: Probe[];
  /** When the user's click was handled. */
  clicked: number;
  /** First visible reaction, by a probe of the page. */
  feedback?: Probe;
  error?: string;
}
