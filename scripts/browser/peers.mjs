// The same questions to local services of others: does a request that only a hostile web page sends have an effect, or an answer
// that the page may read?
//
//     node scripts/browser/peers.mjs --agentos target/debug/agentos-server [--everything FOLDER] [--litellm PROGRAM]
//
// FOLDER is one in which `npm install @modelcontextprotocol/server-everything` ran; PROGRAM is LiteLLM's `litellm`. Each service is
// started as its documentation says for a local start, on loopback if it can be told so, and asked over plain HTTP with the
// headers that browsers send. Prints a table in Markdown. Nothing leaves the machine. Never run by a test.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const options = Object.fromEntries(process.argv.slice(2).join(" ").split("--").filter(Boolean).map((part) => part.trim().split(" ")));
const PROTOCOL = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "page", version: "1" } } });
const CHAT = JSON.stringify({ model: "peer-coder", messages: [{ role: "user", content: "hi" }] });

const CONTROL = "the same call by its own page or program (no attack)";

// It does not start without one. No browser adds it by itself.
const LITELLM_KEY = "sk-local-master-0123456789";

function findPort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

// Asks the service over its Unix socket for a link to the page of a repository.
function joinService(socketPath, folder) {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify({ folder, policies: [] });
    const headers = { host: "localhost", "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const sent = httpRequest({ socketPath, method: "POST", path: "/service/join", headers }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () => resolve(JSON.parse(Buffer.concat(parts).toString()).link));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

// Asks once. Returns status, headers and text; status 0 if nobody answers.
function askAt(port, { method = "GET", path = "/", headers = {}, body = "" }) {
  return new Promise((resolve) => {
    const length = body ? { "content-length": Buffer.byteLength(body) } : {};
    const sent = httpRequest({ host: "127.0.0.1", port, method, path, agent: false, headers: { host: `127.0.0.1:${port}`, ...length, ...headers } }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      const end = () => resolve({ status: answer.statusCode, headers: answer.headers, text: Buffer.concat(parts).toString() });
      answer.on("end", end);
      answer.on("error", end);
      // A stream of events has no end, and its beginning says enough.
      setTimeout(end, 2_000).unref();
    });
    sent.on("error", () => resolve({ status: 0, headers: {}, text: "" }));
    sent.end(body);
  });
}

async function awaitStart(port, path) {
  for (let round = 0; round < 1_500; round += 1) {
    if ((await askAt(port, { path })).status > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`nothing listens on ${port}`);
}

const started = [];
function start(program, args, more = {}) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"], ...more });
  started.push(child);
  return child;
}

const SERVICES = {
  async agentos(program) {
    const home = mkdtempSync(join(tmpdir(), "peers-"));
    const git = (...args) => execFileSync("git", ["-C", home, ...args], { stdio: "ignore" });
    git("init", "-q", "-b", "main");
    writeFileSync(join(home, "a.txt"), "one\n");
    git("add", ".");
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "begin");
    const env = { PATH: process.env.PATH, HOME: home };
    const child = start(program, ["--listen", "127.0.0.1:0", "--repo", home], { env });
    const said = await new Promise((resolve) => {
      let text = "";
      child.stdout.on("data", (part) => {
        text += part;
        if (text.includes("Ctrl-C")) resolve(text);
      });
    });
    const port = Number(/http:\/\/127\.0\.0\.1:(\d+),/.exec(said)[1]);
    const link = await joinService(join(home, ".local/state/agentos/server/socket"), home);
    const [origin, code] = link.split("/signin#");
    const { host } = new URL(origin);
    const type = "application/x-www-form-urlencoded";
    const signed = await askAt(port, { method: "POST", path: "/signin", headers: { host, "content-type": type, origin }, body: `code=${code}` });
    // The browser of a person who is signed in adds this by itself, in the worst case.
    const cookie = signed.headers["set-cookie"][0].split(";")[0];
    const page = await askAt(port, { path: "/propose", headers: { host, cookie } });
    const form = /name="form" value="([0-9a-f]+)"/.exec(page.text)[1];
    const body = new URLSearchParams({ form, answer: "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n" }).toString();
    // The program of the attacker knows the name of the page, which is a secret of its own.
    return { port, host, effect: { path: "/propose", body }, data: "/api/requests", page: "/", riding: { cookie }, token: form, own: { origin, "sec-fetch-site": "same-origin" }, ownType: type };
  },
  async everything(folder) {
    const port = await findPort();
    const script = join(folder, "node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    start("node", [script, "streamableHttp"], { env: { ...process.env, PORT: String(port) } });
    await awaitStart(port, "/mcp");
    return { port, effect: { path: "/mcp", body: PROTOCOL, accept: "application/json, text/event-stream" }, data: "/mcp", page: "/", riding: {} };
  },
  async litellm(program) {
    const port = await findPort();
    const config = join(import.meta.dirname ?? ".", "../servers/litellm_config.yaml");
    start(program, ["--config", config, "--port", String(port), "--host", "127.0.0.1"], { env: { ...process.env, LLAMA_BASE_URL: "http://127.0.0.1:9/v1", LITELLM_MASTER_KEY: LITELLM_KEY } });
    await awaitStart(port, "/health/liveliness");
    return { port, effect: { path: "/v1/chat/completions", body: CHAT }, data: "/v1/models", page: "/", riding: {}, own: { authorization: `Bearer ${LITELLM_KEY}` }, token: LITELLM_KEY };
  },
};

// Each question, and what an attack of this kind gets. `true` is an effect, or data that the page may read.
function list({ port, host = `127.0.0.1:${port}`, effect, data, page, riding, token, own = {}, ownType }) {
  const ask = (at, what) => askAt(at, { ...what, headers: { host, ...what.headers } });
  const send = (headers, type = "application/json") =>
    ask(port, { method: "POST", path: effect.path, body: effect.body, headers: { "content-type": type, accept: effect.accept ?? "*/*", ...riding, ...headers } });
  const has = async (asked) => {
    const { status } = await asked;
    return status > 0 && status < 400;
  };
  const evil = { origin: "http://evil.example", "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" };
  const form = "application/x-www-form-urlencoded";
  const may = (answer, origin) => [origin, "*"].includes(answer.headers["access-control-allow-origin"]);
  const read = async (origin, path = data) => {
    const answer = await ask(port, { path, headers: { ...evil, origin, ...riding } });
    return may(answer, origin);
  };
  const preflight = async (origin) =>
    may(await ask(port, { method: "OPTIONS", path: effect.path, headers: { ...evil, origin, "access-control-request-method": "POST", "access-control-request-headers": "content-type,authorization" } }), origin);
  return {
    // Without anything hostile the call must work, or the others would prove nothing.
    [CONTROL]: () => has(send(own, ownType)),
    "rebinding: a name of the attacker": () => has(send({ host: `evil.example:${port}`, origin: `http://evil.example:${port}`, "sec-fetch-site": "same-origin" })),
    "rebinding, as a form": () => has(send({ host: `evil.example:${port}`, origin: `http://evil.example:${port}`, "sec-fetch-site": "same-origin" }, form)),
    "rebinding: `127.0.0.1.nip.io`": () => has(send({ host: `127.0.0.1.nip.io:${port}`, origin: `http://127.0.0.1.nip.io:${port}` })),
    "rebinding: reading": async () => (await ask(port, { path: data, headers: { host: `evil.example:${port}`, ...riding } })).status === 200,
    "another site: JSON": () => has(send(evil)),
    "another site: form": () => has(send(evil, form)),
    "another site: plain text": () => has(send(evil, "text/plain")),
    "a sandboxed frame (`Origin: null`)": () => has(send({ ...evil, origin: "null" }, "text/plain")),
    "another port of this machine": () => has(send({ origin: "http://127.0.0.1:3000", "sec-fetch-site": "same-site" }, "text/plain")),
    "no origin": () => has(send({}, "text/plain")),
    "preflight: another site may send JSON": () => preflight("http://evil.example"),
    "preflight: `null` may": () => preflight("null"),
    "another site may read": () => read("http://evil.example"),
    "a page in a frame": async () => {
      const { status, headers } = await ask(port, { path: page, headers: { ...riding, "sec-fetch-dest": "iframe" } });
      const guarded = /frame-ancestors/.test(headers["content-security-policy"] ?? "") || headers["x-frame-options"];
      return status === 200 && !guarded;
    },
    "a token in the address": async () => token !== undefined && (await ask(port, { path: `${data}?token=${token}` })).status === 200,
  };
}

process.on("exit", () => started.forEach((child) => child.kill()));

const columns = {};
for (const [name, begin] of Object.entries(SERVICES)) {
  if (!options[name]) continue;
  const service = await begin(options[name]);
  columns[name] = {};
  for (const [question, put] of Object.entries(list(service))) columns[name][question] = await put();
}
const names = Object.keys(columns);
console.log(`| attack | ${names.join(" | ")} |\n|---|${names.map(() => "---").join("|")}|`);
for (const question of Object.keys(columns[names[0]])) {
  const word = question === CONTROL ? "works" : "**effect**";
  console.log(`| ${question} | ${names.map((name) => (columns[name][question] ? word : "none")).join(" | ")} |`);
}
const sums = names.map((name) => Object.entries(columns[name]).filter(([question, had]) => had && question !== CONTROL).length);
console.log(`| all | ${sums.join(" | ")} |`);
process.exit(0);
