// Runs one flow with the npm SDK, and prints what it called and saw.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.SDK}/package.json`);
const { default: Anthropic, toFile } = await import(pathToFileURL(require.resolve("@anthropic-ai/sdk")).href);

const methods = new Set();
const events = new Set();

// The client, or a resource of it; remembers by name what is called. The SDK's names are told as Python's.
function recorded(target, path) {
  return new Proxy(target, {
    get(object, name) {
      const found = Reflect.get(object, name);
      if (typeof name !== "string" || name.startsWith("_")) return found;
      const named = [...path, name.replace("OAuth", "Oauth").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
      if (typeof found === "function") {
        return (...args) => {
          methods.add(named.join("."));
          return found.apply(object, args);
        };
      }
      return found && typeof found === "object" && "_client" in found ? recorded(found, named) : found;
    },
  });
}

const client = new Anthropic({ baseURL: process.env.BASE_URL, apiKey: process.env.TOKEN });
const flow = await import(`./${process.argv[2]}.mjs`);
const saw = (event) => (events.add(event.type), event);
await flow.default(recorded(client, []), { ...JSON.parse(process.env.FACTS), Anthropic, toFile, saw });
console.log(JSON.stringify({ methods: [...methods].sort(), events: [...events].sort() }));
