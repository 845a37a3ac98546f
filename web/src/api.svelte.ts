// The one way to the server: requests with their errors, the session, and the stream of what changes.

import { untrack } from "svelte";
import { early, forget } from "./early";

export type Job = {
  id: string; job_id: number; array_job_id: number; task: number | null; name: string; user: string; account: string;
  partition: string; qos: string; state: string; reason: string; submit: number; eligible: number; start: number;
  end: number; elapsed: number; limit_minutes: number | null; nodes: string; node_count: number; cpus: number;
  memory_mib: number; gpus: number; priority: number; exit_code: string;
};
export type Session = { user: string; csrf: string; version: string; uid: number };

export class ApiError extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

export const portal = $state({
  session: null as Session | null,
  /** Whether it is known that nobody is logged in. */
  isOut: false,
  /** The portal itself does not answer. */
  isAway: false,
  /** Why the cluster does not answer; empty: it does. */
  lost: "",
});

// What has no need of the cluster is answered while the cluster is lost, too: that says nothing of it.
const ofCluster = /^\/api\/v1\/(home|jobs|cluster|nodes|partitions|reservations|top|forecast|public)\b/;
let lostAt = "";

function noteCluster(path: string, lost: string) {
  if (lost) lostAt = path;
  else if (path !== lostAt && !ofCluster.test(path)) return;
  portal.lost = lost;
}

async function send(method: string, path: string, body?: unknown): Promise<unknown> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRF-Token"] = portal.session?.csrf ?? "";
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer: Response;
  try {
    answer = await ((method === "GET" && early(path)) || fetch(path, { method, headers, credentials: "same-origin", ...(body === undefined ? {} : { body: JSON.stringify(body) }) }));
  } catch {
    portal.isAway = true;
    throw new ApiError(0, "");
  }
  portal.isAway = false;
  if (answer.status === 401) {
    forget();
    portal.session = null;
    portal.isOut = true;
  }
  const value = await answer.json().catch(() => null);
  if (!answer.ok) {
    const message: string = value?.error?.message ?? answer.statusText;
    if (answer.status === 503) noteCluster(path, message);
    throw new ApiError(answer.status, message);
  }
  noteCluster(path, "");
  return value;
}

export const get = <T>(path: string) => send("GET", path) as Promise<T>;
export const post = <T>(path: string, body?: unknown) => send("POST", path, body) as Promise<T>;
export const remove = <T>(path: string) => send("DELETE", path) as Promise<T>;

// Whoever logs in again does so in one page; the others of his browser hear of it, and go on where they were.
const pages = new BroadcastChannel("minke");
pages.onmessage = () => {
  if (portal.isOut) void enter(false);
};

export async function enter(isFirst = true) {
  for (;;) {
    try {
      portal.session = await get<Session>("/api/v1/session");
      portal.isOut = false;
      if (isFirst) pages.postMessage("in");
      return;
    } catch (problem) {
      if (problem instanceof ApiError && problem.status === 401) return;
    }
    await new Promise((again) => setTimeout(again, 3000));
  }
}

// ---- what changes ---------------------------------------------------------------------------------------------------
type Changed = { changed: number; jobs: { job_id: number; array_job_id: number; state: string }[] };
const listeners = new Set<(changed: Changed) => void>();
let stream: EventSource | null = null;

function listen() {
  if (stream || document.hidden || listeners.size === 0) return;
  stream = new EventSource("/api/v1/events");
  stream.addEventListener("jobs", (event) => {
    const changed = JSON.parse((event as MessageEvent<string>).data) as Changed;
    for (const tell of listeners) tell(changed);
  });
  stream.addEventListener("lost", (event) => {
    portal.lost = (JSON.parse((event as MessageEvent<string>).data) as { message: string }).message;
  });
  stream.addEventListener("found", () => {
    portal.lost = "";
    for (const tell of listeners) tell({ changed: 0, jobs: [] });
  });
  // A browser comes back by itself when the connection is lost, but not when it is refused.
  stream.addEventListener("error", () => {
    if (stream?.readyState !== EventSource.CLOSED) return;
    stop();
    void get("/api/v1/session").catch(() => {});  // the session may have ended: then all pages say so
    setTimeout(() => {
      if (!portal.isOut) listen();
    }, 5000);
  });
}

function stop() {
  stream?.close();
  stream = null;
}

// A page that nobody sees asks for nothing; a portal without pages ends by itself.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return stop();
  listen();
  for (const tell of listeners) tell({ changed: 0, jobs: [] });
});

/** What an address answers, asked again when jobs change and every `seconds`. Call it where a component begins. */
export function live<T>(path: () => string | null, seconds = 15, concerns: (changed: Changed) => boolean = () => true) {
  const state = $state({ data: null as T | null, error: null as ApiError | null, reload: () => {} });
  $effect(() => {
    const asked = path();
    if (asked === null || portal.isOut) return;
    let isOver = false, timer: ReturnType<typeof setTimeout> | undefined, isAsking = false, askAgain = false, last = 0;
    const ask = async () => {
      if (isAsking) {
        askAgain = true;
        return;
      }
      clearTimeout(timer);
      isAsking = true;
      last = Date.now();
      try {
        const data = await get<T>(asked);
        if (isOver) return;
        state.data = data;
        state.error = null;
      } catch (problem) {
        if (isOver) return;
        state.error = problem instanceof ApiError ? problem : new ApiError(0, String(problem));
      } finally {
        isAsking = false;
      }
      if (isOver) return;
      // What does not answer is asked again soon; what is refused stays so for a while.
      const isAway = state.error !== null && (state.error.status === 0 || state.error.status >= 500);
      const pause = askAgain ? 1 : isAway ? 3 : seconds;
      askAgain = false;
      if (!document.hidden && !portal.isOut) timer = setTimeout(ask, pause * 1000);
    };
    // Many pages hear of a change at once, and some clusters change all the time.
    const told = (changed: Changed) => {
      if (changed.changed === 0) return void ask();
      if (isAsking || !concerns(changed)) return;
      clearTimeout(timer);
      timer = setTimeout(ask, Math.max(0, last + 3000 - Date.now()) + 500 * Math.random());
    };
    state.reload = () => void ask();
    listeners.add(told);
    listen();
    untrack(() => void ask());
    return () => {
      isOver = true;
      clearTimeout(timer);
      listeners.delete(told);
      if (listeners.size === 0) stop();
    };
  });
  return state;
}
