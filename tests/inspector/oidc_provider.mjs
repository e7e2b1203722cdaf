// An OpenID provider on loopback. Prints its issuer; reads one line of JSON with its configuration; prints "ready".
// Any login name is a user; its e-mail address is at example.com, its group is what follows a dash in the name.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { default: Provider } = await import(pathToFileURL(`${process.argv[2]}/node_modules/oidc-provider/lib/index.js`));
const server = createServer();
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const issuer = `http://127.0.0.1:${server.address().port}`;
console.log(issuer);

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { client, verified } = JSON.parse((await lines.next()).value);
const provider = new Provider(issuer, {
  clients: [client],
  cookies: { keys: ["a key for tests"] },
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["groups"] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: verified, groups: [id.split("-")[1] ?? "none"] }),
  }),
});
server.on("request", provider.callback());
console.log("ready");
await lines.next(); // until the test ends
process.exit(0);
