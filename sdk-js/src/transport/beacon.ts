import { utf8 } from '../core/bytes';
import { type Budget, keepaliveBytes } from './fetch';

/** Sends bodies by `sendBeacon`; false when the browser refused, or surely would. */
export function beaconSender(url: string, budget: Budget): (body: string) => boolean {
  let inTurn = 0;
  return (body) => {
    const size = utf8(body);
    try {
      // Beacons give no sign when they are through: what was handed over in this turn counts until it ends.
      if (budget._used + inTurn + size > keepaliveBytes || !navigator.sendBeacon(url, body)) return false;
      inTurn += size;
      setTimeout(() => {
        inTurn -= size;
      }, 1000);
      return true;
    } catch {
      return false;
    }
  };
}
