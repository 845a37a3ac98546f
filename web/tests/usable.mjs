// How long until pages are usable: until what they are about is shown, from the click on their address on, in a page of the
// portal. "arrival" is the last of them from elsewhere: the browser then starts a process of its own for the portal, whose
// pages share none with others (Cross-Origin-Opener-Policy). It prints milliseconds by page as one line of JSON.
//
//   node usable.mjs URL REPEATS PAGES
//
// PAGES: {"jobs": ["/jobs", "tbody tr"], …}: an address, and what must be there.
import { chromium } from "playwright-core";

const [url, repeats, pages] = process.argv.slice(2);
const origin = new URL(url).origin;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await (await browser.newContext({ locale: "en-CA" })).newPage();
page.setDefaultTimeout(120000);
await page.goto(url);
await page.waitForSelector("h1");
const times = {};
async function measure(name, from, path, there) {
  times[name] = [];
  for (let i = 0; i < Number(repeats); ++i) {
    await page.goto(from);
    if (from !== elsewhere) await page.waitForSelector("h1");
    const begin = performance.now();
    await page.goto(origin + path, { waitUntil: "commit" });
    await page.waitForSelector(there);
    times[name].push(Math.round(performance.now() - begin));
  }
}
const elsewhere = "about:blank", all = Object.entries(JSON.parse(pages));
for (const [name, [path, there]] of all) await measure(name, `${origin}/sessions`, path, there);
await measure("arrival", elsewhere, ...all.at(-1)[1]);
console.log(JSON.stringify(times));
await browser.close();
