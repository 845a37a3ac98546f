// How long until pages are usable: until what they are about is shown, from the click on their address on, in a page of the
// portal. The page itself tells when: what drives the browser takes its time to see it. "arrival" is the last of them from
// elsewhere: the browser then starts a process of its own for the portal, whose pages share none with others
// (Cross-Origin-Opener-Policy). It prints milliseconds by page as one line of JSON.
//
//   node usable.mjs URL REPEATS PAGES
//
// PAGES: {"jobs": ["/jobs", "tbody tr"], …}: an address, and what must be there.
import { chromium } from "playwright-core";

const [url, repeats, pages] = process.argv.slice(2);
const origin = new URL(url).origin, elsewhere = "about:blank", all = Object.entries(JSON.parse(pages));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await (await browser.newContext({ locale: "en-CA" })).newPage();
page.setDefaultTimeout(120000);
// Marks the first moment after the browser has drawn it.
await page.addInitScript((wanted) => {
  const there = wanted[location.pathname + location.search];
  if (!there) return;
  const look = () => {
    if (!document.querySelector(there)) return;
    seen.disconnect();
    requestAnimationFrame(() => setTimeout(() => performance.mark("usable")));
  };
  const seen = new MutationObserver(look);
  seen.observe(document, { childList: true, subtree: true });
  look();
}, Object.fromEntries(all.map(([, one]) => one)));
await page.goto(url);
await page.waitForSelector("h1");
const times = {};
async function measure(name, from, path) {
  times[name] = [];
  for (let i = 0; i < Number(repeats); ++i) {
    await page.goto(from);
    if (from !== elsewhere) await page.waitForSelector("h1");
    await page.goto(origin + path, { waitUntil: "commit" });
    const mark = await page.waitForFunction(() => performance.getEntriesByName("usable")[0]?.startTime);
    times[name].push(Math.round(await mark.jsonValue()));
  }
}
for (const [name, [path]] of all) await measure(name, `${origin}/sessions`, path);
await measure("arrival", elsewhere, all.at(-1)[1][0]);
console.log(JSON.stringify(times));
await browser.close();
