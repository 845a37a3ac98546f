// The addresses of what pages ask, of which a few are asked before the page's program is there (early.ts). Pure but for
// the time of the last visit, which the browser keeps.

export function address(path: string, values: Record<string, string | number | undefined | null>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== undefined && value !== null && value !== "") query.set(name, String(value));
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

const visited = Number(localStorage.getItem("visited") ?? 0);

/** Seconds; 0: what ended in the last day. Who loads the page again still sees what ended, so at least a day is shown. */
export const sinceVisit = visited && Date.now() / 1000 - visited > 86400 ? visited : 0;
export const homeAddress = () => address("/api/v1/home", { since: sinceVisit || "" });

export const jobAddress = (id: string) => `/api/v1/jobs/${encodeURIComponent(id)}`;
export const personAddress = (name: string) => address("/api/v1/jobs/ended", { user: name, limit: 20 });
export const nodeAddress = (name: string) => `/api/v1/nodes/${encodeURIComponent(name)}`;

/** Rows of a page of jobs. */
export const rows = 50;

/** A list of jobs by what the address of its page asks for. */
export function jobsAddress(query: (name: string) => string): string {
  const filters = {
    user: query("user") || (query("all") ? "" : "me"), search: query("search"), state: query("state"), partition: query("partition"),
    account: query("account"),
  };
  if (query("list") !== "ended")
    return address("/api/v1/jobs", { ...filters, offset: Number(query("offset")) || "", sort: query("sort") || "-id", limit: rows });
  const since = query("since") && Math.floor(new Date(`${query("since")}T00:00:00`).getTime() / 1000);
  return address("/api/v1/jobs/ended", { ...filters, since, before: query("before"), before_id: query("before_id"), limit: rows });
}

/** A part of an address as it was meant; what cannot be read stays as it is. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
