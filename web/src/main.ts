// Where the browser begins: it asks for the page's data, its program and what all pages share at once, not one after the other.
import { askEarly } from "./early";
import { pageAt } from "./pages";

const page = pageAt(location.pathname), query = new URLSearchParams(location.search);
const first = page?.first?.(page.what, (name) => query.get(name) ?? "");
if (location.pathname !== "/public") askEarly(["/api/v1/session", ...(first ? [first] : [])]);
void page?.program().catch(() => {});  // the frame tells
void import("./frame");
