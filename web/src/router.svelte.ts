// Where the reader is: the path and the query of the address, which are all the state that pages keep.
const place = $state({ path: location.pathname, query: new URLSearchParams(location.search) });

function read() {
  place.path = location.pathname;
  place.query = new URLSearchParams(location.search);
}
addEventListener("popstate", read);

export const path = () => place.path;
export const query = (name: string) => place.query.get(name) ?? "";

export function go(where: string) {
  history.pushState(null, "", where);
  read();
  scrollTo(0, 0);
  document.getElementById("content")?.focus();
}

/** Changes some of the query; an empty value removes it. */
export function turn(changes: Record<string, string | number>) {
  const next = new URLSearchParams(place.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") next.delete(name);
    else next.set(name, String(value));
  }
  const text = next.toString();
  history.replaceState(null, "", place.path + (text ? `?${text}` : ""));
  read();
}

/** Links of our own change the page without loading it anew. */
export function follow(event: MouseEvent) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element).closest?.("a");
  if (!link || link.getAttribute("href")?.startsWith("#") || link.target || link.origin !== location.origin || link.hasAttribute("download")) return;
  event.preventDefault();
  go(link.pathname + link.search);
}
