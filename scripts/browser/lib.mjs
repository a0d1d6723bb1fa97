// What all browser tests need: the browser, signing in, axe, pictures, and the list of checks.
//
// Owns: how the browser is started. Never: weakens the page under test, as by switching its content policy off.

import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

// From the test that starts this program: secrets come over standard input, because others can read arguments.
export const input = JSON.parse(readFileSync(0, "utf8"));
const require = createRequire(join(input.tools, "package.json"));
const { chromium } = require("playwright-core");
const axeSource = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const UPNG = require("upng-js");

// Views in which every page is examined.
export const VIEWS = {
  light: { viewport: { width: 1440, height: 900 }, colorScheme: "light" },
  dark: { viewport: { width: 1440, height: 900 }, colorScheme: "dark" },
  narrow: { viewport: { width: 360, height: 740 }, colorScheme: "light" },
};

// Starts the browser without anything that reaches the network by itself.
export function startBrowser(more = []) {
  return chromium.launch({
    executablePath: input.chromium,
    headless: true,
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--disable-lcd-text", "--font-render-hinting=none",
      ...more,
    ],
  });
}

// Calls the API as a program of the user does: over the Unix socket, without a token. Returns the status and the JSON.
export async function callApi(method, path, body) {
  const text = body && JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const headers = { host: "localhost", "content-type": "application/json", "content-length": Buffer.byteLength(text ?? "") };
    const sent = httpRequest({ socketPath: input.socket, method, path, headers }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () => {
        const read = Buffer.concat(parts).toString();
        resolve({ status: answer.statusCode, json: read && JSON.parse(read) });
      });
    });
    sent.on("error", reject);
    sent.end(text);
  });
}

// Returns a link that signs one browser in, once.
export async function makeLink() {
  const { json } = await callApi("POST", "/service/join", { folder: input.repository, policies: [] });
  return json.link;
}

// Proposes a diff as a program does. Returns the run.
export async function propose(answer, message) {
  const { status, json } = await callApi("POST", "/api/proposals", { answer, message });
  assert.equal(status, 200, JSON.stringify(json));
  return json.run;
}

// Opens a browser of its own for a person, signed in by a link.
export async function signIn(browser, view = VIEWS.light, options = {}) {
  const context = await browser.newContext({ ...view, timezoneId: "UTC", locale: "en-GB", ...options });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("console", (line) => line.type() === "error" && page.faults.push(line.text()));
  const link = await makeLink();
  if (options.javaScriptEnabled === false) {
    // Without a script, a person copies the code.
    await page.goto(`${input.url}/signin`);
    await page.getByLabel("Code").fill(link.split("#")[1]);
    await page.getByRole("button", { name: "Sign in" }).click();
  } else {
    await page.goto(link);
  }
  await page.waitForURL(`${input.url}/`);
  return page;
}

// Examines a page with axe: WCAG 2.2 A and AA, and its best practices. Of a large change, the first five files: the others have
// the same elements, and axe needs a tenth of a second for each.
export async function examine(page, name) {
  // By the debugger: the page's content policy lets no script of others in, and stays as it is.
  const debug = await page.context().newCDPSession(page);
  await debug.send("Runtime.evaluate", { expression: axeSource });
  await debug.detach();
  const { violations, passes } = await page.evaluate(() => window.axe.run({ exclude: ["section.file:nth-of-type(n+6)"] }, { resultTypes: ["violations"] }));
  assert.ok(passes.length >= 10, `${name}: axe examined nothing`);
  const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" | ")}`);
  assert.deepEqual(told, [], `${name}: axe`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${name}: the page is ${wide} pixels wider than the screen`);
}

// Pictures of the documents. The others are for whoever works on the page, with `AGENTOS_ALL_PICTURES`.
const KEPT = ["request-light", "request-dark", "request-narrow", "run-light", "inbox-dark"];

// Writes a picture of what the screen shows, if somebody wants pictures.
export async function takePicture(page, name) {
  if (!process.env.AGENTOS_PICTURES || !(process.env.AGENTOS_ALL_PICTURES || KEPT.includes(name))) return;
  mkdirSync(process.env.AGENTOS_PICTURES, { recursive: true });
  const raw = UPNG.decode(await page.screenshot({ animations: "disabled", caret: "hide" }));
  // 64 colours are enough for text on plain ground, and make the file a quarter as large.
  const small = UPNG.encode(UPNG.toRGBA8(raw), raw.width, raw.height, 64);
  writeFileSync(join(process.env.AGENTOS_PICTURES, `${name}.png`), Buffer.from(small));
}

// Reads a file of the repository.
export function readSource(path) {
  const file = join(input.repository, path);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

const checks = [];

// Adds a check.
export function check(name, work) {
  checks.push([name, work]);
}

// Runs the checks in order, and ends with 1 if one failed. Later ones build on earlier ones, so the first failure is the end.
export async function runChecks(more = []) {
  const browser = await startBrowser(more);
  let failed = false;
  for (const [name, work] of checks) {
    const began = performance.now();
    try {
      const said = await work(browser);
      const time = `${Math.round(performance.now() - began)} ms`;
      console.log(`ok      ${name} (${time})${said ? `: ${said}` : ""}`);
    } catch (error) {
      console.log(`FAILED  ${name}: ${error.stack}`);
      failed = true;
      break;
    }
  }
  await browser.close();
  process.exit(failed ? 1 : 0);
}
