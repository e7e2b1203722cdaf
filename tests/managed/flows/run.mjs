// Runs one flow with the npm SDK, and prints the called methods and seen events.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.SDK}/package.json`);
const { default: Anthropic, toFile } = await import(pathToFileURL(require.resolve("@anthropic-ai/sdk")).href);

const methods = new Set();
const events = new Set();

// Attributes of SDK resources that are not API methods.
const notCalls = ["constructor", "poller", "worker", "toolRunner"];
const named = (name) => name.replace("OAuth", "Oauth").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

// Records every method of a resource as called.
function callEverything(resource, path) {
  for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(resource))) {
    if (!notCalls.includes(name) && !name.startsWith("_")) methods.add([...path, named(name)].join("."));
  }
  for (const [name, below] of Object.entries(resource)) {
    if (below && typeof below === "object" && "_client" in below) callEverything(below, [...path, named(name)]);
  }
}

// Wraps the client or one of its resources, and records the names of called methods, spelled as in Python.
function recorded(target, path) {
  return new Proxy(target, {
    get(object, name) {
      const found = Reflect.get(object, name);
      if (name === "call_everything") return () => callEverything(object, path);
      if (typeof name !== "string" || name.startsWith("_")) return found;
      const below = [...path, named(name)];
      if (typeof found === "function") {
        return (...args) => {
          methods.add(below.join("."));
          return found.apply(object, args);
        };
      }
      return found && typeof found === "object" && "_client" in found ? recorded(found, below) : found;
    },
  });
}

const client = new Anthropic({ baseURL: process.env.BASE_URL, apiKey: process.env.TOKEN });
const flow = await import(`./${process.argv[2]}.mjs`);
const saw = (event) => (events.add(event.type), event);
await flow.default(recorded(client, []), { ...JSON.parse(process.env.FACTS), Anthropic, toFile, saw });
console.log(JSON.stringify({ methods: [...methods].sort(), events: [...events].sort() }));
