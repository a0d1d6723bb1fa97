// The key of this device: made here, kept where no script can read it out, and used to sign what this device shows.
//
// What is signed is hashed from the bytes that this script received and shows itself, and not from a number of the service: a relay
// that changes one of them gets a signature of something else.
"use strict";

// Opens the store, and does one thing in it.
function useStore(mode, work) {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("agentos", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("keys");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const asked = work(opening.result.transaction("keys", mode).objectStore("keys"));
      asked.onsuccess = () => resolve(asked.result);
      asked.onerror = () => reject(asked.error);
    };
  });
}

const findKey = () => useStore("readonly", (store) => store.get("device"));

async function makeKey() {
  const pair = await crypto.subtle.generateKey({ name: "Ed25519" }, false, ["sign", "verify"]);
  await useStore("readwrite", (store) => store.put(pair, "device"));
  return pair;
}

const toBase64 = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)));
const exportKey = async (pair) => toBase64(await crypto.subtle.exportKey("raw", pair.publicKey));
const toHex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

const hashText = async (text) => toHex(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
const addMember = (form, name, value) => {
  const member = form.elements.namedItem(name) ?? form.appendChild(Object.assign(document.createElement("input"), { type: "hidden", name }));
  member.value = value;
};

// Prepares the form by which this device asks to be paired, and shows the code of a pairing that waits. The code is computed here, from the
// key of this device and from what this page sent and received when it asked: what the service shows is not looked at.
async function preparePairing(panel) {
  const state = document.getElementById("pair-state");
  if (!isSecureContext) return void (state.textContent = "A browser keeps no key at this address. Use https, or a tunnel to localhost.");
  const pair = (await findKey()) ?? (await makeKey());
  const key = await exportKey(pair);
  const form = panel.querySelector("form");
  form.querySelector("[name=key]").value = key;
  const nonce = toHex(crypto.getRandomValues(new Uint8Array(32)));
  form.querySelector("[name=nonce]").value = nonce;
  const { service } = panel.dataset;
  form.addEventListener("submit", () => sessionStorage.setItem("pairing", JSON.stringify({ service, nonce })));
  form.hidden = false;
  state.textContent = "Its key is made, and never leaves this browser.";
  const asked = JSON.parse(sessionStorage.getItem("pairing") ?? "null");
  const place = document.getElementById("own-code");
  if (!place || !asked) return;
  const code = await hashText(`agentos pairing 1\nservice ${asked.service}\ndevice ${asked.nonce}\nkey ${key}\n`);
  place.textContent = code.slice(0, 16).match(/.{4}/g).join(" ");
}

// Signs a form when the person sends it: the session, a challenge that counts once, the path and every member.
async function prepareAction(form) {
  const pair = await findKey();
  if (!pair) return;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const pairs = [...new FormData(form)].filter(([name]) => !["device_key", "signature", "challenge"].includes(name));
    const body = await hashText(new URLSearchParams(pairs.map(([name, value]) => [name, value.replace(/\r\n?/g, "\n")])).toString());
    const { session, challenge } = document.body.dataset;
    const path = new URL(form.getAttribute("action"), location.href).pathname;
    const statement = `agentos action 1\nsession ${session}\nchallenge ${challenge}\npath ${path}\nbody ${body}\n`;
    const signature = await crypto.subtle.sign("Ed25519", pair.privateKey, new TextEncoder().encode(statement));
    addMember(form, "device_key", await exportKey(pair));
    addMember(form, "signature", toBase64(signature));
    addMember(form, "challenge", challenge);
    HTMLFormElement.prototype.submit.call(form);
  });
}

// Shows the review from its own bytes, and signs them when the person approves.
async function prepareApproval(form) {
  const button = form.querySelector("button");
  button.disabled = true;
  const pair = await findKey();
  if (!pair) return void (button.textContent = "Pair this device first");
  const { request } = form.dataset;
  const answer = await fetch(`/requests/${request}/review`);
  const bytes = await answer.arrayBuffer();
  document.querySelector("article.review").outerHTML = new TextDecoder().decode(bytes);
  const rendering = toHex(await crypto.subtle.digest("SHA-256", bytes));
  button.disabled = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { diff, base, policy, ref, writes } = form.dataset;
    const parts = { request, diff, base, policy, ref, writes, rendering };
    const lines = Object.entries(parts).map(([name, part]) => `${name} ${part}\n`);
    const statement = new TextEncoder().encode("agentos approval 1\n" + lines.join(""));
    const signature = await crypto.subtle.sign("Ed25519", pair.privateKey, statement);
    form.seen.value = rendering;
    form.device_key.value = await exportKey(pair);
    form.signature.value = toBase64(signature);
    form.submit();
  });
}

const panel = document.getElementById("pair");
if (panel) preparePairing(panel).catch((error) => (document.getElementById("pair-state").textContent = `This browser makes no key: ${error.message}`));
const approval = document.querySelector("form[data-diff]");
if (approval) prepareApproval(approval);
for (const form of document.querySelectorAll("form[method=post]")) {
  const needsNone = form === approval || form.getAttribute("action") === "/devices/ask" || (form.getAttribute("action") === "/signout" && !form.elements.namedItem("all"));
  if (!needsNone) prepareAction(form).catch(() => {});
}
