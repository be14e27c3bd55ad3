// The official SDKs, unchanged: sdk.mjs URL PACKAGES v1|legacy|auto|pin. The
// three last are how client 2.x settles the version. TAP out.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { tap } from './tap.mjs';

const [, , url, packages, mode] = process.argv;
const require = createRequire(`${packages}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { ok, end } = tap(`${mode}: `);

async function fails(call, code) {
	try {
		return await call();
	} catch (e) {
		return e.code === code || e;
	}
}

let client;
let transport;
if (mode === 'v1') {
	const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
	const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
	client = new Client({ name: 'sdk', version: '1' }, { capabilities: {} });
	transport = new StreamableHTTPClientTransport(new URL(url));
} else {
	const { Client, StreamableHTTPClientTransport } = await import(pathToFileURL(`${packages}/node_modules/@modelcontextprotocol/client/dist/index.mjs`));
	const versionNegotiation = { mode: mode === 'pin' ? { pin: '2026-07-28' } : mode };
	client = new Client({ name: 'sdk', version: '1' }, { versionNegotiation });
	transport = new StreamableHTTPClientTransport(new URL(url));
}
const noise = [];
client.onerror = (e) => noise.push(e.message);
const call = (name, args, options) =>
	mode === 'v1' ? client.callTool({ name, arguments: args }, undefined, options) : client.callTool({ name, arguments: args }, options);

await ok('connects', async () => {
	await client.connect(transport);
	return client.getServerVersion().name === 'nacre' && !!client.getServerCapabilities().tools;
});
await ok('lists tools', async () => {
	const { tools } = await client.listTools();
	return tools.some((t) => t.name === 'create_sandbox' && t.outputSchema?.type === 'object');
});
await ok('calls one', async () => (await call('test_simple_text', {})).content[0].type === 'text');
await ok('gets structured content', async () => Array.isArray((await call('list_sandboxes', {})).structuredContent.sandboxes));
await ok('is shown code, message and hint of a refusal', async () => {
	const r = await call('get_sandbox', { id: 'nobody' });
	const o = JSON.parse(r.content[0].text);
	return r.isError === true && o.code === 'NOT_FOUND' && !!o.message && !!o.hint;
});
await ok('is shown the field of a bad argument', async () => {
	const r = await call('create_sandbox', { wait_ms: 45001 });
	const o = JSON.parse(r.content[0].text);
	return o.code === 'INVALID_ARGUMENT' && o.field === 'wait_ms';
});
await ok('fails on an unknown tool', () => fails(() => call('nope', {}), -32602));
await ok('is told progress', async () => {
	const told = [];
	await call('test_tool_with_progress', {}, { onprogress: (p) => told.push(p.progress) });
	return told.join() === '0,50,100' || told;
});
await ok('cancels, and the server is free again', async () => {
	const abort = new AbortController();
	const running = call('test_wait', { ms: 40000 }, { signal: abort.signal }).then(() => 'answered', () => 'cancelled');
	await call('test_wait', { ms: 200 });
	abort.abort('enough');
	const how = await running;
	await call('test_simple_text', {});
	return how === 'cancelled' || how;
});
await ok('ends', async () => {
	await transport.terminateSession?.();
	await client.close();
	return noise.every((n) => /abort|cancel|enough/i.test(n)) || noise;
});
end();
