// What goes wrong while a person looks: each has its own plain words on the page, and the page recovers. It prints what it saw
// as one line of JSON.
//
//   node trouble.mjs URL JOB COMMANDS     and the portal's next address on standard input
//
// JOB runs. COMMANDS: {"lose": "…", "find": "…", "end": "…"}: for the shell, which lose the daemon, let it be found, end the job.
import { chromium } from "playwright-core";
import { execFileSync } from "node:child_process";
import { createInterface } from "node:readline/promises";

const [url, job, commands] = process.argv.slice(2);
const { lose, find, end } = JSON.parse(commands);
const origin = new URL(url).origin;
const next = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const seen = { said: [] };
const run = (command) => execFileSync("sh", ["-c", command]);

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const context = await browser.newContext({ locale: "en-CA" });
const page = await context.newPage();
page.setDefaultTimeout(120000);
page.on("pageerror", (problem) => seen.said.push(String(problem)));
await page.goto(url);
await page.waitForSelector("h1");

// Bad input.
async function heading(path) {
  await page.goto(origin + path);
  await page.waitForFunction(() => /^There is no /.test(document.querySelector("h1")?.textContent ?? ""));
  return page.textContent("h1");
}
seen.unknown = [];
for (const path of ["/jobs/999999", "/jobs/%3Cb%3Ebold", "/cluster/nosuch"]) seen.unknown.push(await heading(path));
await page.goto(`${origin}/jobs?state=NONSENSE`);
seen.bad_filter = await page.textContent("p.problem");
await page.selectOption("select", "RUNNING");
await page.waitForSelector(`a[href="/jobs/${job}"]`);
seen.filter_again = await page.locator("p.problem").count();

// The daemon is lost, and found.
await page.goto(`${origin}/jobs/${job}`);
await page.waitForSelector("h1 .badge.run");
run(lose);
seen.lost = await page.textContent(".banner");
seen.title_while_lost = await page.textContent("h1 bdi");
run(find);
await page.waitForSelector(".banner", { state: "detached" });

// The portal itself is away.
await context.setOffline(true);
await page.click("button.danger");
await page.click(".ask button");
seen.away = await page.textContent(".banner");
await context.setOffline(false);
await page.waitForSelector(".banner", { state: "detached" });
await page.waitForSelector("h1 .badge.run");

// A page's program cannot be had: another portal has come, say.
await page.goto(origin);
await page.waitForSelector("h1");
await context.route("**/assets/Compare-*", (route) => route.abort());
await page.click("nav a[href='/compare']");
await page.waitForSelector(".banner");
await context.unroute("**/assets/Compare-*");
await page.waitForFunction(() => location.pathname === "/compare" && document.querySelector("h1")?.textContent !== "Home" && !document.querySelector(".banner"));
seen.program_came = await page.textContent("h1");
await page.goto(`${origin}/jobs/${job}`);
await page.waitForSelector("h1 .badge.run");

// The session ends in another page of the browser; somebody logs in there again.
const other = await context.newPage();
other.setDefaultTimeout(120000);
await other.goto(origin);
await other.click("text=Log out");
await page.waitForSelector("text=Your session has ended.");
await other.goto((await next.next()).value);
await other.waitForSelector("nav");
await page.waitForSelector("h1 .badge.run");
seen.where_again = new URL(page.url()).pathname;

// The job ends.
run(end);
seen.ended = await page.textContent("p.note");
await page.waitForSelector("text=How it ended");
seen.state = await page.textContent("h1 .badge");
seen.can = await page.locator(".filters button").first().textContent();
console.log(JSON.stringify(seen));
await browser.close();
