// A client that others wrote does what an agent does, against a gateway:
// clients.mjs URL SDKS CLIENTS HOME PARENT NAME, with the token in $TOKEN.
// NAME is of peers.mjs; PARENT has a grant, and is '' inside of it. TAP out.
import { setTimeout } from 'node:timers/promises';
import { inspect, open, Refused } from './peers.mjs';
import { tap } from './tap.mjs';

const [, , url, sdks, clients, home, parent, name] = process.argv;
const inside = parent === '';
const where = { url, sdks, clients, home, headers: inside ? {} : { Authorization: `Bearer ${process.env.TOKEN}` } };
const child = name.slice(0, 13);
const id = inside ? child : `${parent}/${child}`;
const under = inside ? {} : { parent };
const wide = { version: 1, network_policies: { a: { endpoints: [{ host: 'api.test', port: 443 }], binaries: [{ path: '/bin/x' }] } } };
const { ok, end } = tap(`${name}: `);

async function refusal(...ask) {
	try {
		return { gave: await client.call(...ask) };
	} catch (e) {
		if (e instanceof Refused) return e.why;
		throw e;
	}
}

// Is the command in the child? Another client looks.
async function runs() {
	const r = await watcher.call('exec', { id, argv: ['ps', '-o', 'args'] });
	if (r.exit_code !== 0) throw new Error(JSON.stringify(r));
	return /^sleep 1000$/m.test(r.stdout);
}
// The watcher looks twice a second: what it asks is counted with what the
// client asks, which would be told that it asks too often.
async function until(test) {
	const end = Date.now() + 60000;
	while (Date.now() < end) {
		const got = await test();
		if (got) return got;
		await setTimeout(500);
	}
	return 'not in 60 s';
}

const watcher = await open('v1', where);
let client;
await ok('connects', async () => !!(client = await open(name, where)));
if (!client) process.exit(1);
await ok('lists the tools', async () => {
	const tools = await client.list();
	return ['create_sandbox', 'list_sandboxes', 'exec', 'get_file', inside ? 'get_grant' : 'create_grant'].every((t) => tools.includes(t)) || tools;
});
await ok('creates a sandbox', async () => {
	const { sandbox } = await client.call('create_sandbox', { name: child, kind: 'tool', ...under });
	return (sandbox.state === 'running' && sandbox.name === child) || sandbox;
});
await ok('lists it', async () => {
	const { sandboxes } = await client.call('list_sandboxes', {});
	return sandboxes.some((s) => s.name === child) || sandboxes;
});
await ok('runs a command in it', async () => {
	const r = await client.call('exec', { id, argv: ['sh', '-c', 'cat; echo no >&2; exit 7'], stdin: 'é\u2028\n' });
	return (r.exit_code === 7 && r.stdout === 'é\u2028\n' && r.stderr === 'no\n') || r;
});
await ok('reads a file of it', async () => {
	const r = await client.call('get_file', { id, path: '/etc/passwd', limit: 4 });
	return (r.encoding === 'utf-8' && r.data === 'root' && r.eof === false) || r;
});
await ok('is refused a wider child with code, counterexample and hint', async () => {
	const o = await refusal('create_sandbox', { kind: 'tool', ...under, policy: wide });
	return (o.code === 'POLICY_EXCEEDS_PARENT' && /api\.test/.test(JSON.stringify(o.counterexample)) && !!o.hint && !!o.message) || o;
});
// One process a call: inside, each takes its time.
if (!inside || !name.startsWith('inspector-')) await ok('is told what is not there', async () => {
	const o = await refusal('get_file', { id, path: '/nope' });
	return (o.code === 'NOT_FOUND' && !!o.hint) || o;
});
// In the first era one that goes away leaves its call running: it sends no
// cancel, so its command ends at its own time.
await ok('is cancelled', async () => {
	const timeout_ms = name === 'inspector-legacy' ? 8000 : 45000;
	const stop = new AbortController();
	let early;
	const ended = client.call('exec', { id, argv: ['sleep', '1000'], timeout_ms }, { signal: stop.signal })
		.then((r) => r, (e) => e).finally(() => (early = { ended }));
	const began = await until(async () => early ?? (await runs()));
	if (began !== true) return { began, told: early && String(await ended) };
	stop.abort();
	const e = await ended;
	if (!(e instanceof Error) || e instanceof Refused) return { told: e };
	return until(async () => !(await runs()));
});
if (name.startsWith('inspector-') && !inside) {
	const era = name.slice('inspector-'.length);
	await ok('finds no schema that would not travel', async () => {
		const r = await inspect(where, era, ['--method', 'tools/list', '--strict']);
		return r.code === 0 || r;
	});
	await ok('loads it without an error', async () => {
		const r = await inspect(where, era, ['--method', 'tools/call', '--tool-name', 'get_policy', '--tool-args-json', JSON.stringify({ id: parent }),
			'--load', '--load-requests', '60', '--load-concurrency', '12', '--load-rate', '40']);
		return r.code === 0 || r;
	});
}
await ok('deletes it', async () => (await client.call('delete_sandbox', { id })).deleted.length === 1);
await ok('ends', async () => {
	await client.close();
	await watcher.close();
	return true;
});
end();
