// A session with the TypeScript client 2 in one protocol era: sdk2.mjs TOOLS ERA URL | TOOLS ERA COMMAND...
import { createRequire } from "node:module";
import assert from "node:assert/strict";

const [tools, era, ...target] = process.argv.slice(2);
const require = createRequire(`${tools}/package.json`);
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const transport = target[0].startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target[0]))
  : new StdioClientTransport({ command: target[0], args: target.slice(1), stderr: "ignore" });
const mode = era === "legacy" ? era : { pin: era };
const client = new Client({ name: "sdk2", version: "1" }, { versionNegotiation: { mode } });
await client.connect(transport);
const { tools: listed } = await client.listTools();
assert.equal(listed.length, 5);
const found = await client.callTool({ name: "search", arguments: { query: "carrots", limit: 3, mode: "keyword" } });
assert.equal(found.structuredContent.hits.length, 3);
const { uri } = found.structuredContent.hits[0];
assert.ok((await client.readResource({ uri })).contents[0].text.includes("Carrots"));
const job = await client.callTool({ name: "index", arguments: { wait_seconds: 50 } });
assert.equal(job.structuredContent.state, "completed");
const refused = await client.callTool({ name: "get_content", arguments: { path: "/etc/passwd" } });
assert.equal(refused.isError, true);
const answers = await Promise.all(
  Array.from({ length: 20 }, () => client.callTool({ name: "search", arguments: { query: "ginger", mode: "keyword" } })),
);
assert.ok(answers.every((answer) => !answer.isError));
console.log(`session held by ${client.getNegotiatedProtocolVersion?.()}`);
await client.close();
process.exit(0);
