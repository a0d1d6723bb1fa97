// The page in a real browser: a person proposes, reads, denies, approves, undoes and verifies, with keys, without a script, and
// on a narrow screen.
//
// Owns: the order of the steps, and the pictures of the documents. Never: asserts a time; it reports what it measured.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { gzipSync } from "node:zlib";

import {
  VIEWS, check, examine, input, makeLink, propose, readSource, runChecks, signIn, takePicture,
} from "./lib.mjs";

// Files of the large change; the test that starts this program made them.
const MANY = 200;
// Largest weight of a page with everything that it loads, compressed.
const LARGEST_PAGE = 30 * 1024;

const FIX = `Here is the change.

\`\`\`diff
--- a/src/total.rs
+++ b/src/total.rs
@@ -1,7 +1,10 @@
 /// Sums the prices of an order, in cents.
 pub fn total(prices: &[u64]) -> u64 {
     let mut sum = 0;
     for price in prices {
-        sum -= price;
+        sum += price;
     }
+    // An order is never free of charge by mistake.
+    debug_assert!(prices.is_empty() || sum > 0);
+
     sum
\`\`\`
`;

// A change as a model writes it: a wrong line number, a new file, and a workflow, about which policy asks.
const RICH = `I moved the sum to cents and added a test.

\`\`\`diff
--- a/src/total.rs
+++ b/src/total.rs
@@ -40,4 +40,4 @@
     for price in prices {
-        sum -= price;
+        sum += price;
     }
     sum
--- /dev/null
+++ b/tests/total.rs
@@ -0,0 +1,6 @@
+use shop::total;
+
+#[test]
+fn the_prices_of_an_order_are_added() {
+    assert_eq!(total(&[250, 199]), 449);
+}
--- a/.github/workflows/ci.yml
+++ b/.github/workflows/ci.yml
@@ -4,3 +4,4 @@
   test:
     steps:
       - run: cargo build
+      - run: cargo test
\`\`\`
`;

function makeLargeDiff() {
  let diff = "";
  for (let at = 0; at < MANY; at += 1) {
    const path = `src/parts/part_${String(at).padStart(3, "0")}.rs`;
    diff += `--- a/${path}\n+++ b/${path}\n@@ -1,8 +1,9 @@\n // Part ${at}.\n pub fn value() -> u64 {\n`;
    diff += `-    let base = ${at};\n+    let base: u64 = ${at};\n+    let more = base + 1;\n`;
    diff += "     let one = 1;\n     let two = 2;\n-    base + one + two\n+    more + one + two\n }\n // End.\n";
  }
  return diff;
}

let page;

check("a link signs in once, and leaves the code in no address", async (browser) => {
  const link = await makeLink();
  const context = await browser.newContext(VIEWS.light);
  const first = await context.newPage();
  await first.goto(link);
  await first.waitForURL(`${input.url}/`);
  const seen = await first.evaluate(() => [location.href, document.referrer, history.length]);
  assert.ok(!seen.join(" ").includes(link.split("#")[1]));
  const again = await (await browser.newContext()).newPage();
  await again.goto(link);
  await again.getByRole("alert").waitFor();
  await examine(again, "a wrong code");
  page = await signIn(browser);
});

check("an empty inbox says what to do", async () => {
  await page.getByText("Nothing waits for you.").waitFor();
  await examine(page, "an empty inbox");
});

check("a person proposes, reads and denies", async () => {
  await page.getByRole("link", { name: "Propose", exact: true }).click();
  await page.getByLabel("Commit message").fill("Add up the prices of an order");
  await page.getByLabel("Diff or reply").fill(FIX);
  await page.getByRole("button", { name: "Propose" }).click();
  await page.waitForURL(/\/requests\//);
  await page.getByText("sum += price;").waitFor();
  const run = page.url().split("/").pop();
  await page.getByLabel("Reason for a denial").fill("A price may be negative");
  await page.getByRole("button", { name: "Deny" }).click();
  await page.getByText("Nothing waits for you.").waitFor();
  await page.goto(`${input.url}/runs/${run}`);
  await page.getByText("declined: A price may be negative").waitFor();
  assert.ok(readSource("src/total.rs").includes("sum -= price"));
});

check("a change of 200 files is read whole", async () => {
  const run = await propose(makeLargeDiff(), "Widen the values of all parts");
  const times = [];
  for (let round = 0; round < 5; round += 1) {
    await page.goto(`${input.url}/requests/${run}`, { waitUntil: "load" });
    const { server, shown } = await page.evaluate(() => {
      const [timing] = performance.getEntriesByType("navigation");
      return { server: timing.responseStart - timing.requestStart, shown: timing.loadEventEnd - timing.responseStart };
    });
    times.push([server, shown]);
  }
  assert.equal(await page.locator("section.file").count(), MANY);
  assert.equal(await page.locator("tr.add").count(), 3 * MANY);
  await examine(page, "200 files");
  const middle = (at) => times.map((time) => time[at]).sort((one, other) => one - other)[2].toFixed(0);
  await page.getByRole("button", { name: "Deny" }).click();
  return `answered after ${middle(0)} ms, received and laid out in ${middle(1)} ms (median of 5)`;
});

let landed;

check("keys move, explain themselves, and approve", async () => {
  await propose(FIX, "Add up the prices of an order");
  await page.goto(input.url);
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  await examine(page, "the list of keys");
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/requests\//);
  await page.keyboard.press("a");
  // A key moves to the button; a person presses it.
  assert.ok(readSource("src/total.rs").includes("sum -= price"));
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Approve");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/runs\//);
  await page.getByText("landed", { exact: true }).first().waitFor();
  landed = new URL(page.url()).pathname;
  assert.ok(readSource("src/total.rs").includes("sum += price"));
});

check("a landed run is undone", async () => {
  await page.getByRole("button", { name: "Undo" }).click();
  await page.waitForURL((url) => url.pathname.startsWith("/runs/"));
  assert.ok(readSource("src/total.rs").includes("sum -= price"));
});

check("the evidence is whole", async () => {
  await page.getByRole("link", { name: "Evidence" }).click();
  await page.getByText("Whole.").waitFor();
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByText("Exported").waitFor();
  await examine(page, "an export");
  const folder = await page.locator("section pre").textContent();
  const files = readdirSync(folder);
  for (const name of ["index.html", "tape.jsonl", "head.json"]) assert.ok(files.includes(name), files.join());
});

check("reading and approving need no script", async (browser) => {
  const plain = await signIn(browser, VIEWS.light, { javaScriptEnabled: false });
  const open = await propose(FIX, "Add up the prices of an order");
  await plain.goto(`${input.url}/requests/${open}`);
  await plain.getByText("sum += price;").waitFor();
  await plain.getByRole("button", { name: "Approve" }).click();
  await plain.waitForURL(/\/runs\//);
  assert.ok(readSource("src/total.rs").includes("sum += price"));
  await plain.getByRole("button", { name: "Undo" }).click();
  await plain.context().close();
});

check("a person talks, and the answer arrives without a reload by hand", async () => {
  await page.goto(`${input.url}/sessions`);
  await page.getByLabel("Message").fill("Is the total right?");
  await page.getByLabel("Model, provider or pool").fill("both");
  await page.getByLabel("Name of the session").fill("totals");
  await page.getByRole("button", { name: "Begin" }).click();
  await page.getByText("I was sent 1 messages.").waitFor();
  await page.getByRole("button", { name: "Send" }).waitFor();
  assert.equal(await page.locator("b", { hasText: "Not bold" }).count(), 0);
  await page.getByLabel("Message").fill("Please wait with the end.");
  await page.keyboard.press("Control+Enter");
  // The second answer does not end by itself: it is shown while it is written.
  await page.locator("#answer", { hasText: "I was sent 3 messages." }).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Send" }).waitFor();
});

check("every page is right for everybody: axe, in light, dark and narrow", async (browser) => {
  const open = await propose(RICH, "Add up the prices of an order, and test it");
  await propose(makeLargeDiff(), "Widen the values of all parts");
  const pages = {
    inbox: "/", request: `/requests/${open}`, runs: "/runs", run: landed, sessions: "/sessions",
    session: "/sessions/conversation:totals", models: "/models", cost: "/cost", evidence: "/evidence", propose: "/propose", signin: "/signin", missing: "/runs/ffff",
  };
  for (const [view, options] of Object.entries(VIEWS)) {
    const person = await signIn(browser, options);
    for (const [name, path] of Object.entries(pages)) {
      await person.goto(input.url + path);
      if (name === "request") await person.getByText("placed exact-moved").first().waitFor();
      await examine(person, `${name}, ${view}`);
      await takePicture(person, `${name}-${view}`);
    }
    // The missing run is an answer with an error's status, which browsers report.
    assert.deepEqual(person.faults.filter((fault) => !fault.includes("status of 4")), [], view);
    await person.context().close();
  }
});

check("a page is light", async () => {
  const weights = [];
  const weigh = async (answer) => weights.push(gzipSync(await answer.body()).length);
  const waiting = [];
  const listen = (answer) => waiting.push(weigh(answer));
  page.on("response", listen);
  await page.goto(`${input.url}/`, { waitUntil: "load" });
  page.off("response", listen);
  await Promise.all(waiting);
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  assert.ok(all <= LARGEST_PAGE, `${all} bytes`);
  return `${all} bytes compressed, ${weights.length} files`;
});

await runChecks();
