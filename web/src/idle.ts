// Work that nobody waits for: when the browser has shown what is there, or after half a second.
export function whenIdle(work: () => void) {
  if ("requestIdleCallback" in window) requestIdleCallback(work, { timeout: 500 });
  else setTimeout(work);
}
