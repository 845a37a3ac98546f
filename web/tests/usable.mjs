// How long until pages are usable: until what they are about is shown, from the click on their address on. It prints
// milliseconds by page as one line of JSON.
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
for (const [name, [path, there]] of Object.entries(JSON.parse(pages))) {
  times[name] = [];
  for (let i = 0; i < Number(repeats); ++i) {
    await page.goto("about:blank");
    const begin = performance.now();
    await page.goto(origin + path, { waitUntil: "commit" });
    await page.waitForSelector(there);
    times[name].push(Math.round(performance.now() - begin));
  }
}
console.log(JSON.stringify(times));
await browser.close();
