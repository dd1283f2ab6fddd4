/** Hands bodies over by `sendBeacon`; false when the browser refuses, which it does beyond 64 KiB under way for one page. */
export const beaconSender = (url: string) => (body: string) => {
  try {
    return navigator.sendBeacon(url, body);
  } catch {
    return false;
  }
};
