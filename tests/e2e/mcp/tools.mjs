// The official SDK v1, unchanged: every tool of a side is listed and called,
// and a refusal is shown in full. tools.mjs URL PACKAGES sandbox|host, with the
// host's token in $TOKEN. There must be a root 'lead'; from inside it is the
// caller. TAP out.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { tap } from './tap.mjs';

const [, , url, packages, side] = process.argv;
const require = createRequire(`${packages}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
const inside = side === 'sandbox';
const headers = inside ? {} : { authorization: `Bearer ${process.env.TOKEN}` };
const client = new Client({ name: 'sdk', version: '1' }, { capabilities: {} });
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
const called = new Set();
let listed = [];
const { ok, end } = tap('');

// The client checks structured content against the schema that was listed.
async function call(name, args = {}) {
	for (;;) {
		const r = await client.callTool({ name, arguments: args });
		called.add(name);
		if (!r.isError) return r.structuredContent;
		const refusal = JSON.parse(r.content[0].text);
		if (refusal.code !== 'RATE_LIMITED') return refusal;
		await new Promise((wake) => setTimeout(wake, refusal.retry_after_ms));
	}
}
const its = (more) => (inside ? more : { ...more, parent: 'lead' });
const named = (name) => (inside ? name : `lead/${name}`);

await ok('connects', async () => {
	await client.connect(transport);
	return client.getServerVersion().name === 'nacre';
});
await ok('lists all tools', async () => {
	listed = (await client.listTools()).tools.map((t) => t.name);
	return listed.length === (inside ? 10 : 14) || listed;
});
if (!inside) {
	await ok('create_grant', async () => {
		const r = await call('create_grant', { sandbox: 'lead', max_depth: 1, max_breadth: 2, max_total: 3, programs: [process.argv[5]] });
		return r.grant?.state === 'live' || r;
	});
	await ok('list_grants', async () => {
		const r = await call('list_grants');
		return r.grants?.length === 1 || r;
	});
	await ok('update_grant', async () => {
		const r = await call('update_grant', { sandbox: 'lead', max_total: 4 });
		return r.grant?.total.max === 4 || r;
	});
}
await ok('get_grant', async () => {
	const r = await call('get_grant', inside ? {} : { sandbox: 'lead' });
	return r.granted === true || r;
});
await ok('get_sandbox', async () => {
	const r = await call('get_sandbox', inside ? {} : { id: 'lead' });
	return r.sandbox?.name === 'lead' || r;
});
await ok('get_policy, and check_policy of it', async () => {
	const { policy } = await call('get_policy', inside ? {} : { id: 'lead' });
	const r = await call('check_policy', its({ policy }));
	return r.allowed === true || r;
});
await ok('create_sandbox, an agent', async () => {
	const r = await call('create_sandbox', its({ name: 'worker', command: ['sh', '-c', 'echo result >/tmp/x; mv /tmp/x /tmp/done; sleep 1000'] }));
	return r.sandbox?.state === 'running' || r;
});
await ok('create_sandbox, a tool', async () => {
	const r = await call('create_sandbox', its({ name: 'box', kind: 'tool' }));
	return r.sandbox?.state === 'running' || r;
});
await ok('list_sandboxes', async () => {
	const names = (await call('list_sandboxes')).sandboxes.map((s) => s.name);
	return (names.includes('box') && names.includes('worker')) || names;
});
await ok('exec', async () => {
	const r = await call('exec', { id: named('box'), argv: ['echo', 'hi'] });
	return (r.exit_code === 0 && r.stdout === 'hi\n') || r;
});
await ok('get_file', async () => {
	for (;;) {
		const r = await call('get_file', { id: named('worker'), path: '/tmp/done' });
		if (r.code !== 'NOT_FOUND') return r.data === 'result\n' || r;
	}
});
const policy = { version: 1, network_policies: { a: { endpoints: [{ host: 'api.test', port: 443 }], binaries: [{ path: '/bin/x' }] } } };
await ok('is shown code, counterexample and hint of a refusal', async () => {
	const r = await call('create_sandbox', its({ name: 'wide', command: ['true'], policy }));
	return (r.code === 'POLICY_EXCEEDS_PARENT' && /api\.test/.test(r.counterexample?.witness) && !!r.hint && !!r.message) || r;
});
await ok('and limit, used, max and who may raise it of a limit', async () => {
	const r = await call('create_sandbox', its({ name: 'third', kind: 'tool' }));
	return (r.code === 'LIMIT_REACHED' && r.limit === 'breadth' && r.used === 2 && r.max === 2 && !!r.hint) || r;
});
await ok('stop_sandbox', async () => {
	const r = await call('stop_sandbox', { id: named('box') });
	return r.sandbox?.state === 'stopped' || r;
});
await ok('delete_sandbox', async () => {
	const r = [await call('delete_sandbox', { id: named('box') }), await call('delete_sandbox', { id: named('worker') })];
	return r.every((d) => d.deleted?.length === 1) || r;
});
if (!inside)
	await ok('revoke_grant', async () => {
		const r = await call('revoke_grant', { sandbox: 'lead' });
		return r.grant?.state === 'revoked' || r;
	});
await ok('has called each that was listed', async () => {
	const left = listed.filter((name) => !called.has(name));
	return left.length === 0 || left;
});
await ok('ends', async () => {
	await transport.terminateSession();
	await client.close();
	return true;
});
end();
