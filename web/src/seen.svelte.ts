// What draws much comes after what a page is about has been seen.
import { whenIdle } from "./idle";

/** Whether there was time for more since `isThere` came true. Call it where a component begins. */
export function seenOnce(isThere: () => boolean) {
  const state = $state({ yes: false });
  $effect(() => {
    if (isThere()) whenIdle(() => (state.yes = true));
  });
  return state;
}
