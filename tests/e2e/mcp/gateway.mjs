// The official SDKs, unchanged, against a gateway: gateway.mjs URL PACKAGES
// v1|legacy|auto|pin SANDBOX, with the token in $TOKEN. TAP out.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { tap } from './tap.mjs';

const [, , url, packages, mode, sandbox] = process.argv;
const require = createRequire(`${packages}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const headers = { authorization: `Bearer ${process.env.TOKEN}` };
const { ok, end } = tap(`${mode}: `);

let client;
let transport;
if (mode === 'v1') {
	const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
	const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
	client = new Client({ name: 'sdk', version: '1' }, { capabilities: {} });
	transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
} else {
	const { Client, StreamableHTTPClientTransport } = await import(pathToFileURL(`${packages}/node_modules/@modelcontextprotocol/client/dist/index.mjs`));
	const versionNegotiation = { mode: mode === 'pin' ? { pin: '2026-07-28' } : mode };
	client = new Client({ name: 'sdk', version: '1' }, { versionNegotiation });
	transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
}
const call = (name, args) => (mode === 'v1' ? client.callTool({ name, arguments: args }, undefined) : client.callTool({ name, arguments: args }));
const refusal = async (name, args) => {
	const r = await call(name, args);
	return r.isError === true ? JSON.parse(r.content[0].text) : r;
};

await ok('connects', async () => {
	await client.connect(transport);
	return client.getServerVersion().name === 'nacre';
});
await ok('lists every tool of a host', async () => {
	const { tools } = await client.listTools();
	return tools.length === 14 && tools.every((t) => t.outputSchema?.type === 'object');
});
await ok('gets the policy in force', async () => {
	const r = await call('get_policy', { id: sandbox });
	return r.structuredContent.policy.version === 1 && /^[0-9a-f]{64}$/.test(r.structuredContent.policy_hash);
});
await ok('takes that policy to check_policy as it is', async () => {
	const { policy } = (await call('get_policy', { id: sandbox })).structuredContent;
	const r = await call('check_policy', { policy, parent: sandbox });
	return r.structuredContent.allowed === true || r;
});
await ok('is shown the counterexample and the hint of a wider one', async () => {
	const policy = { version: 1, network_policies: { a: { endpoints: [{ host: 'api.test', port: 443 }], binaries: [{ path: '/bin/x' }] } } };
	const s = (await call('check_policy', { policy, parent: sandbox })).structuredContent;
	return (s.allowed === false && s.code === 'POLICY_EXCEEDS_PARENT' && /api\.test/.test(s.counterexample.witness) && !!s.hint) || s;
});
await ok('is shown code, message and hint of a refusal', async () => {
	const o = await refusal('get_policy', { id: 'nobody' });
	return (o.code === 'NOT_FOUND' && !!o.message && !!o.hint) || o;
});
await ok('is shown the field of a bad argument', async () => {
	const o = await refusal('create_sandbox', { wait_ms: 45001 });
	return (o.code === 'INVALID_ARGUMENT' && o.field === 'wait_ms') || o;
});
await ok('may not set a grant with a token that was not given the scope', async () => {
	const o = await refusal('create_grant', { sandbox, max_depth: 1, max_breadth: 1, max_total: 1, programs: ['/bin/a'] });
	return (o.code === 'NOT_ALLOWED' && o.why === 'scope') || o;
});
await ok('fails on an unknown tool', async () => {
	try {
		return await call('nope', {});
	} catch (e) {
		return e.code === -32602 || e;
	}
});
await ok('ends', async () => {
	await transport.terminateSession?.();
	await client.close();
	return true;
});
end();
