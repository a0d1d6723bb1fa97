// A second device: paired, approving with a signature, attacked by a relay, and revoked.
//
// Owns: the relay, which changes what passes between the device and the service. Never: has the key of the device.

import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";

import { VIEWS, callApi, check, examine, input, propose, readSource, runChecks, signIn, takePicture } from "./lib.mjs";

const FIX = `--- a/src/total.rs
+++ b/src/total.rs
@@ -4,3 +4,3 @@
     for price in prices {
-        sum -= price;
+        sum += price;
     }
`;
const LANDED = "sum += price";

let first;
let device;

// Opens a browser of another device by the link that the first browser shows.
async function openDevice(browser, view) {
  await first.goto(`${input.url}/devices`);
  await first.getByRole("button", { name: "Add a device" }).click();
  const link = await first.locator("#link").textContent();
  assert.ok((await first.locator(".qr svg").count()) === 1);
  const context = await browser.newContext(view);
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  await page.goto(link);
  await page.waitForURL(`${input.device}/`);
  return page;
}

check("another device is paired after a person has compared the codes", async (browser) => {
  first = await signIn(browser);
  device = await openDevice(browser, VIEWS.narrow);
  await takePicture(first, "devices-light");
  await examine(first, "the link for a device");
  const early = await propose(FIX, "Add up the prices of an order");
  await device.goto(`${input.device}/requests/${early}`);
  await device.getByRole("button", { name: "Pair this device first" }).waitFor();
  await device.goto(`${input.device}/devices`);
  await device.getByLabel("Name of this device").fill("phone <b>");
  await device.getByRole("button", { name: "Ask to be paired" }).click();
  const shown = await device.locator("#own-code:not(:empty)").textContent();
  // A device never confirms itself.
  assert.equal(await device.getByRole("button", { name: "The codes are equal" }).count(), 0);
  await examine(device, "a device that asks");
  await first.goto(`${input.url}/devices`);
  assert.equal(await first.locator(".paircode").textContent(), shown);
  assert.match(shown, /^[0-9a-f]{4}( [0-9a-f]{4}){3}$/);
  await examine(first, "a device asks");
  await first.getByRole("button", { name: "The codes are equal" }).click();
  await first.getByText("phone <b>", { exact: true }).waitFor();
  await examine(first, "paired devices");
  await callApi("POST", `/api/requests/${early}/deny`, {});
});

// Approves a request on the device while a relay is at work. Returns the status of the answer.
async function approveBehind(relay, run) {
  await device.context().route("**/*", relay);
  await device.goto(`${input.device}/requests/${run}`);
  const answer = device.waitForResponse((one) => one.request().method() === "POST" && one.url().includes("/approve"));
  await device.getByRole("button", { name: "Sign and approve" }).click();
  const status = (await answer).status();
  await device.context().unroute("**/*");
  return status;
}

// Sends a request on. By hand: Node does not know that names below `localhost` are this machine.
async function passOn(request) {
  const headers = { ...(await request.allHeaders()), host: new URL(request.url()).host };
  const [host, port] = input.address.split(":");
  return new Promise((resolve, reject) => {
    const path = new URL(request.url()).pathname;
    const sent = httpRequest({ host, port, path, headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(":"))) }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () => resolve({ headers: answer.headers, text: Buffer.concat(parts).toString() }));
    });
    sent.on("error", reject);
    sent.end();
  });
}

// Makes a relay that changes what fits in answers, and forms on their way back.
function makeRelay({ path, from, to, form = (body) => body }) {
  return async (route) => {
    const request = route.request();
    if (request.method() === "POST") return route.continue({ postData: form(request.postData() ?? "") });
    if (!path?.test(new URL(request.url()).pathname)) return route.continue();
    const { headers, text } = await passOn(request);
    if (!text.includes(from)) return route.abort();
    return route.fulfill({ status: 200, headers: { "content-type": headers["content-type"] }, body: text.replace(from, to) });
  };
}

check("a relay that pairs a key of its own shows another code", async (browser) => {
  const relayed = await openDevice(browser, VIEWS.narrow);
  // The relay puts its own key, and its own contribution, in the place of the device's.
  await relayed.context().route("**/devices/ask", async (route) => {
    const pairs = new URLSearchParams(route.request().postData());
    pairs.set("key", Buffer.alloc(32, 1).toString("base64"));
    pairs.set("nonce", "0".repeat(64));
    await route.continue({ postData: pairs.toString() });
  });
  await relayed.goto(`${input.device}/devices`);
  await relayed.getByLabel("Name of this device").fill("relayed");
  await relayed.getByRole("button", { name: "Ask to be paired" }).click();
  const own = await relayed.locator("#own-code:not(:empty)").textContent();
  await first.goto(`${input.url}/devices`);
  const shown = await first.locator(".paircode").textContent();
  assert.match(own, /^[0-9a-f]{4}( [0-9a-f]{4}){3}$/);
  assert.notEqual(own, shown);
  await first.getByRole("button", { name: "Refuse" }).click();
  // A relay that changes the code that the service shows changes nothing: the device shows its own.
  await relayed.context().unroute("**/devices/ask");
  await relayed.context().close();
});

check("what a device did not sign has no effect", async () => {
  const run = await propose(FIX, "Add up the prices of an order");
  const asked = (path, members, strip) => device.evaluate(async ([to, more, without]) => {
    const form = document.createElement("form");
    form.method = "post";
    form.setAttribute("action", to);
    const own = { form: document.querySelector("[name=form]").value, ...more };
    for (const [name, value] of Object.entries(own)) form.append(Object.assign(document.createElement("input"), { name, value }));
    document.body.append(form);
    if (!without) await prepareAction(form);
    const body = await new Promise((resolve) => {
      if (without) return resolve(new URLSearchParams(new FormData(form)));
      HTMLFormElement.prototype.submit = function () { resolve(new URLSearchParams(new FormData(this))); };
      form.requestSubmit();
    });
    const send = (text) => fetch(to, { method: "POST", redirect: "manual", headers: { "content-type": "application/x-www-form-urlencoded" }, body: text }).then((answer) => answer.status);
    return { unchanged: body.toString(), statuses: [await send(body.toString().replace("first-comment", "other-comment")), await send(body.toString())] };
  }, [path, members, strip]);
  await device.goto(`${input.device}/runs`);
  const unsigned = await asked(`/requests/${run}/deny`, { comment: "x" }, true);
  assert.deepEqual(unsigned.statuses, [403, 403]);
  // Signed, and changed on the way: refused, and the signature is used up.
  await device.goto(`${input.device}/runs`);
  const changed = await asked(`/requests/${run}/deny`, { comment: "first-comment" }, false);
  assert.deepEqual(changed.statuses, [409, 409]);
  assert.equal((await callApi("GET", "/api/requests")).json.requests.length, 1);
  await device.goto(`${input.device}/requests/${run}`);
  await device.getByRole("button", { name: "Deny" }).click();
  await device.waitForURL(`${input.device}/`);
  assert.equal((await callApi("GET", "/api/requests")).json.requests.length, 0);
});

check("a relay that changes one byte of what is shown lands nothing", async () => {
  const run = await propose(FIX, "Add up the prices of an order");
  const { json } = await callApi("GET", `/api/requests/${run}`);
  const part = new RegExp(`^/requests/${run}/review$`);
  const whole = new RegExp(`^/requests/${run}$`);
  let seen;
  await device.goto(`${input.device}/requests/${run}`);
  seen = await device.locator("[name=seen]").inputValue();
  const set = (name, value) => (body) => {
    const pairs = new URLSearchParams(body);
    pairs.set(name, value);
    return pairs.toString();
  };
  const { diff_sha256: diff } = json.hashes;
  const otherDiff = diff.replace(/^./, diff[0] === "0" ? "1" : "0");
  const relays = {
    "one letter of a line": { path: part, from: LANDED, to: "sum -= price" },
    "a blank": { path: part, from: "sum += price;", to: "sum +=  price;" },
    "a byte that nobody sees": { path: part, from: "</article>", to: "</article> " },
    "a letter, and the number of what was shown": { path: part, from: LANDED, to: "sum *= price", form: set("seen", seen) },
    "the hash of the diff": { path: whole, from: `data-diff="${diff}"`, to: `data-diff="${otherDiff}"` },
    "the run": { path: whole, from: "data-ref=\"refs/heads/main\"", to: "data-ref=\"refs/heads/other\"" },
    "the signature": { form: set("signature", "AAAA") },
    "no signature": { form: (body) => set("signature", "")(set("device_key", "")(body)) },
    "a key of its own": { form: set("device_key", Buffer.alloc(32, 1).toString("base64")) },
  };
  for (const [name, relay] of Object.entries(relays)) {
    const status = await approveBehind(makeRelay(relay), run);
    assert.ok(status >= 400, `${name}: ${status}`);
    assert.ok(!readSource("src/total.rs").includes(LANDED), name);
  }
  await callApi("POST", `/api/requests/${run}/deny`, {});
  return `${Object.keys(relays).length} relays, 0 landings`;
});

check("a signed approval lands, and its signature is on the tape", async () => {
  const run = await propose(FIX, "Add up the prices of an order");
  // The same relay, that changes nothing: it is what it changed that lands nothing above.
  const honest = makeRelay({ path: new RegExp(`^/requests/${run}(/review)?$`), from: LANDED, to: LANDED });
  assert.equal(await approveBehind(honest, run), 303);
  assert.ok(readSource("src/total.rs").includes(LANDED));
  const { json } = await callApi("GET", "/api/evidence");
  assert.equal(json.ok, true, JSON.stringify(json.findings));
  // The pairing is on the tape as well, so nobody has to ask whose key it is.
  assert.ok(!json.notes.some((note) => note.includes("whose it is")), JSON.stringify(json.notes));
  await first.goto(`${input.url}/runs`);
  await first.getByText("pair the device phone <b>").waitFor();
  await device.waitForURL(/\/runs\//);
  await device.getByText("signed on phone <b>").waitFor();
  await device.getByRole("button", { name: "Undo" }).click();
});

check("a revoked device is signed out, and its signature counts no more", async (browser) => {
  await first.goto(`${input.url}/devices`);
  await first.getByRole("button", { name: "Revoke phone" }).click();
  await first.getByText("revoked").first().waitFor();
  await first.goto(`${input.url}/runs`);
  await first.getByText("revoke the device phone <b>").waitFor();
  await device.goto(`${input.device}/`);
  await device.waitForURL(`${input.device}/signin`);
  // Signed in again, the browser still has its key.
  await first.goto(`${input.url}/devices`);
  await first.getByRole("button", { name: "Add a device" }).click();
  await device.goto("about:blank");
  await device.goto(await first.locator("#link").textContent());
  await device.waitForURL(`${input.device}/`);
  const run = await propose(FIX, "Add up the prices of an order");
  assert.equal(await approveBehind(makeRelay({}), run), 409);
  assert.ok(!readSource("src/total.rs").includes(LANDED));
  // A session is ended from the first browser.
  await first.goto(`${input.url}/devices`);
  await first.getByRole("button", { name: "End" }).first().click();
  await device.goto(`${input.device}/`);
  await device.waitForURL(`${input.device}/signin`);
});

await runChecks();
