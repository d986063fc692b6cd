// A session with the TypeScript SDK 1: sdk1.mjs TOOLS URL | TOOLS COMMAND...
import { createRequire } from "node:module";
import assert from "node:assert/strict";

const [tools, ...target] = process.argv.slice(2);
const require = createRequire(`${tools}/package.json`);
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");

const transport = target[0].startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target[0]))
  : new StdioClientTransport({ command: target[0], args: target.slice(1), stderr: "ignore" });
const client = new Client({ name: "sdk1", version: "1" });
await client.connect(transport);
const { tools: listed } = await client.listTools(); // from now on structured results are checked against the schemas
assert.equal(listed.length, 5);

const found = await client.callTool({ name: "search", arguments: { query: "carrots", limit: 3, mode: "keyword" } });
assert.equal(found.structuredContent.hits.length, 3);
assert.equal(found.content[0].type, "text");
const { path, uri } = found.structuredContent.hits[0];
const read = await client.callTool({ name: "get_content", arguments: { path } });
const resource = await client.readResource({ uri });
assert.equal(read.structuredContent.text, resource.contents[0].text);
await client.callTool({ name: "similar_files", arguments: { path } });
await client.callTool({ name: "server_info", arguments: {} });

let last = 0;
const job = await client.callTool({ name: "index", arguments: { wait_seconds: 50 } }, undefined, {
  onprogress: ({ progress }) => { assert.ok(progress > last); last = progress; },
  resetTimeoutOnProgress: true,
});
assert.equal(job.structuredContent.state, "completed");
const refused = await client.callTool({ name: "search", arguments: { query: "x", max_results: 3 } });
assert.equal(refused.isError, true);
await assert.rejects(client.readResource({ uri: "dirindex://file/..%2f..%2fetc/passwd" }));
await assert.rejects(client.callTool({ name: "nothing", arguments: {} }));

const abort = new AbortController();
setTimeout(() => abort.abort("stop"), 50);
await client.callTool({ name: "index", arguments: { wait_seconds: 50 } }, undefined, { signal: abort.signal }).catch(() => {});
await client.callTool({ name: "server_info", arguments: {} });
const started = Date.now();
await client.close();
console.log(`session held, closed in ${Date.now() - started} ms`);
process.exit(0);
