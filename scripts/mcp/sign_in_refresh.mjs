// Gives the demo authorization server of the protocol's SDK what it lacks: refresh tokens, each of which counts once. The rest is its own.
// SIGUSR2 ends all access tokens, as their end would, and prints a line when it has.
//
// Loaded with `node --import`. `SIGN_IN_SDK` is the folder of the SDK's modules.
import { randomUUID } from "node:crypto";
import { pathToFileURL } from "node:url";

const module = `${process.env.SIGN_IN_SDK}/examples/server/demoInMemoryOAuthProvider.js`;
const { DemoInMemoryAuthProvider } = await import(pathToFileURL(module).href);
const { InvalidGrantError } = await import(pathToFileURL(`${process.env.SIGN_IN_SDK}/server/auth/errors.js`).href);
const exchange = DemoInMemoryAuthProvider.prototype.exchangeAuthorizationCode;
const refreshable = new Map();
const ended = new Map();
let known = new Map();

function addRefreshToken(provider, answer) {
  known = provider.tokens;
  const token = randomUUID();
  refreshable.set(token, provider.tokens.get(answer.access_token));
  return { ...answer, refresh_token: token };
}

DemoInMemoryAuthProvider.prototype.exchangeAuthorizationCode = async function (...all) {
  return addRefreshToken(this, await exchange.apply(this, all));
};

DemoInMemoryAuthProvider.prototype.exchangeRefreshToken = async function (client, refreshToken) {
  const granted = refreshable.get(refreshToken);
  refreshable.delete(refreshToken);
  if (granted?.clientId !== client.client_id) throw new InvalidGrantError("the refresh token is not known");
  const token = randomUUID();
  this.tokens.set(token, { ...granted, token, expiresAt: Date.now() + 3600000 });
  console.log("refreshed");
  return addRefreshToken(this, { access_token: token, token_type: "bearer", expires_in: 3600 });
};

// The example answers a token that it does not know with HTTP 500, and one whose time is over with 401, as the standard says.
const verify = DemoInMemoryAuthProvider.prototype.verifyAccessToken;
DemoInMemoryAuthProvider.prototype.verifyAccessToken = async function (token) {
  const past = ended.get(token);
  return past ? { ...past, expiresAt: 1 } : verify.call(this, token);
};

process.on("SIGUSR2", () => {
  for (const [token, granted] of known) ended.set(token, granted);
  console.log("ended");
});
