// The pages of the portal: which one an address shows, where its program is, and what it asks first. Each page's program is
// a file of its own, so that a browser does not read all of them to show one.
import type { Component } from "svelte";
import { decoded, homeAddress, jobAddress, jobsAddress, nodeAddress, personAddress } from "./addresses";

type Query = (name: string) => string;
type Page = {
  program: () => Promise<{ default: Component<never> }>;
  /** The property that takes what the page is about: a job, a node, a person. */
  about?: string;
  /** What is asked before the program is there. */
  first?: (about: string, query: Query) => string;
};

const pages: [string, Page][] = [
  ["/", { program: () => import("./pages/Home.svelte"), first: homeAddress }],
  ["/jobs", { program: () => import("./pages/Jobs.svelte"), first: (_, query) => jobsAddress(query) }],
  ["/jobs/*", { program: () => import("./pages/Job.svelte"), about: "id", first: jobAddress }],
  ["/new", { program: () => import("./pages/New.svelte") }],
  ["/interactive", { program: () => import("./pages/Interactive.svelte") }],
  ["/compare", { program: () => import("./pages/Compare.svelte") }],
  ["/accounts", { program: () => import("./pages/Accounts.svelte"), first: () => "/api/v1/usage" }],
  ["/storage", { program: () => import("./pages/Storage.svelte") }],
  ["/cluster", { program: () => import("./pages/Cluster.svelte"), first: () => "/api/v1/cluster" }],
  ["/cluster/*", { program: () => import("./pages/Node.svelte"), about: "name", first: nodeAddress }],
  ["/people/*", { program: () => import("./pages/Person.svelte"), about: "name", first: personAddress }],
  ["/admin", { program: () => import("./pages/Admin.svelte") }],
  ["/sessions", { program: () => import("./pages/Sessions.svelte") }],
  ["/public", { program: () => import("./pages/Public.svelte") }],
];

export type Place = Page & { what: string };

/** The page of an address, with what it is about; null: there is none. */
export function pageAt(path: string): Place | null {
  for (const [pattern, page] of pages) {
    const before = pattern.slice(0, -1);
    if (!pattern.endsWith("*")) {
      if (path === pattern) return { ...page, what: "" };
    } else if (path.startsWith(before) && /^[^/]+$/.test(path.slice(before.length))) {
      return { ...page, what: decoded(path.slice(before.length)) };
    }
  }
  return null;
}

/** Fetches the others when nothing else is to be done: they are there when the reader goes on, and when the portal is away. */
export function fetchOthers() {
  for (const program of [...pages.map(([, page]) => page.program), () => import("./parts/plot")]) void program().catch(() => {});
}
