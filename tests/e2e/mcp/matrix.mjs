// tests/data/mcp/matrix.jsonl over HTTP, then what takes time: streams,
// cancels, sessions. matrix.mjs URL [BEARER] [--time] and how to get there, as
// transport.mjs has it; TAP out.
import { readFileSync } from 'node:fs';
import { transport } from './transport.mjs';

const { ask: askOnce, at: url, close, http2, servesGrpc, side } = transport(process.argv.slice(2));
const data = new URL('../../data/mcp/matrix.jsonl', import.meta.url);
let count = 0;
let failed = 0;

function ok(good, title, why = '') {
	count++;
	if (!good) failed++;
	console.log(`${good ? 'ok' : 'not ok'} ${count} - ${title}`);
	if (!good) console.log(`# ${why}`.replaceAll('\n', '\n# '));
}

const isLimited = (a) => a.status === 200 && a.body.includes('\\"code\\":\\"RATE_LIMITED\\"');

// Calls are metered, and the matrix has many: what is told to wait does.
async function ask(request) {
	for (;;) {
		const a = await askOnce(request);
		if (!isLimited(a)) return a;
	}
}

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const rpc = (method, params, id) => Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), method, params }));

async function session() {
	const body = rpc('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'matrix', version: '1' } }, 0);
	return (await ask({ headers: json, body })).headers['mcp-session-id'];
}

const isPart = (part, whole) =>
	part !== null && typeof part === 'object'
		? whole !== null && typeof whole === 'object' && Array.isArray(part) === Array.isArray(whole) &&
			(!Array.isArray(part) || part.length === whole.length) &&
			Object.entries(part).every(([k, v]) => isPart(v, whole[k]))
		: part === whole;

function events(body) {
	return body.split('\n\n').filter((e) => e.startsWith('event:'))
		.map((e) => e.split('\n').filter((l) => l.startsWith('data:')).map((l) => l.slice(5)).join('\n'));
}

function response(row, m) {
	if (m.jsonrpc !== '2.0' || ('result' in m) === ('error' in m)) return 'no response';
	if ('id' in row ? m.id !== row.id : 'id' in m) return 'another id';
	if (row.error !== undefined) return m.error?.code === row.error && !!m.error.data === !!row.data ? '' : 'another error';
	if (!m.result) return 'an error';
	const text = m.result.content?.[0]?.text;
	if (row.result && !isPart(row.result, m.result)) return 'another result';
	if (row.tools && m.result.tools.length < row.tools) return 'too few tools';
	if (row.host_tools && side === 'host' && m.result.tools.length < row.host_tools) return 'too few tools of the host';
	if (row.structured && !isPart(m.result.structuredContent, JSON.parse(text))) return 'text and structuredContent differ';
	if (row.refusal && !(m.result.isError && !m.result.structuredContent && JSON.parse(text).code === row.refusal)) return 'another refusal';
	return '';
}

// HTTP/2 resets what HTTP/1.1 trims or refuses (RFC 9113 8.1.1, 8.2.1, 8.3.1).
const isMalformed = (row) => http2 && (row.headers.host?.includes('@') || Object.values(row.headers).some((v) => v !== v.trim()));

function judge(row, a) {
	// Where gRPC is served it is answered as such; the door knows one path.
	if (row.headers['content-type']?.startsWith('application/grpc') && (servesGrpc || side === 'sandbox'))
		return (servesGrpc ? a.headers['content-type'] === 'application/grpc' : a.status === 404) ? '' : 'no answer of gRPC';
	// HTTP/1.1 itself may find such a Host malformed.
	if (row.status === 403 && 'host' in row.headers && a.status === 400) return '';
	if (a.status !== row.status) return 'another status';
	for (const [k, v] of Object.entries(row.answer_headers ?? {}))
		if (v === '*' ? !a.headers[k] : a.headers[k] !== v) return `header ${k}`;
	if (row.type && a.headers['content-type'] !== row.type) return 'another type';
	if (row.body_is !== undefined) return a.body === row.body_is ? '' : 'another body';
	if (row.method === 'HEAD' || !('error' in row || 'id' in row || 'batch' in row)) return a.body === '' ? '' : 'a body';
	const list = a.headers['content-type'] === 'text/event-stream' ? events(a.body) : [a.body];
	if (row.events && list.length !== row.events) return 'other events';
	const m = JSON.parse(list.at(-1));
	if (row.batch) return Array.isArray(m) && m.length === row.batch ? '' : 'another batch';
	return response(row, m);
}

async function rows() {
	const ids = { $SESSION: await session(), $SPARE: await session(), $ENDED: await session() };
	await ask({ method: 'DELETE', headers: { 'mcp-session-id': ids.$ENDED } });
	for (const line of readFileSync(data, 'utf8').trimEnd().split('\n')) {
		const row = JSON.parse(line);
		const headers = Object.fromEntries(Object.entries(row.headers).map(([k, v]) => [k, ids[v] ?? v]));
		// Needs a second user, or a client that sends no Host: the unit test has both.
		if ((row.side ?? side) !== side || headers['mcp-session-id'] === '$OTHER' || headers.host === '') continue;
		const body = row.body_hex !== undefined ? Buffer.from(row.body_hex, 'hex')
			: row.body !== undefined ? Buffer.from(row.body) : undefined;
		let why;
		let a = {};
		try {
			a = await ask({ method: row.method, path: row.path ?? url.pathname, headers, body });
			why = judge(row, a);
		} catch (e) {
			why = isMalformed(row) && e.message.includes('PROTOCOL_ERROR') ? '' : e.message;
		}
		ok(why === '', row.case, `${why}: ${a.status} ${a.body}`);
	}
}

async function time() {
	const id = await session();
	const headers = { ...json, 'mcp-session-id': id };
	const wait = (ms, n) => ask({ headers, body: rpc('tools/call', { name: 'test_wait', arguments: { ms } }, n) });
	const cancel = (n, sid = id) => ask({ headers: { ...json, 'mcp-session-id': sid }, body: rpc('notifications/cancelled', { requestId: n }) });

	let a = await wait(50, 1);
	ok(a.headers['content-type'] === 'application/json' && JSON.parse(a.body).id === 1, 'a quick call is JSON', a.body);
	a = await wait(2500, 2);
	ok(a.headers['content-type'] === 'text/event-stream' && a.body.startsWith(': keepalive\n\n') && JSON.parse(events(a.body)[0]).id === 2,
		'a call of 2.5 s is streamed', a.body);
	a = await ask({ headers: { ...headers, accept: 'application/json' }, body: rpc('tools/call', { name: 'test_wait', arguments: { ms: 2000 } }, 3) });
	ok(a.headers['content-type'] === 'application/json', 'a client without streams waits for JSON', a.body);

	a = await ask({ headers, body: rpc('tools/call', { name: 'test_tool_with_progress', _meta: { progressToken: 0 } }, 4) });
	const told = events(a.body).map((e) => JSON.parse(e));
	ok(told.length === 4 && told.slice(0, 3).every((m, i) => m.method === 'notifications/progress' && m.params.progressToken === 0 && m.params.progress === i * 50) && told[3].id === 4,
		'progress comes before the response', a.body);
	a = await ask({ headers, body: rpc('tools/call', { name: 'test_tool_with_progress' }, 5) });
	ok(a.headers['content-type'] === 'application/json', 'no token, no progress', a.body);

	// The call is known to run once its stream has opened: no sleep is needed.
	const other = await session();
	const open = ask({ headers, body: rpc('tools/call', { name: 'test_wait', arguments: { ms: 40000 } }, '6') });
	const shown = ask({ headers, body: rpc('tools/call', { name: 'test_wait', arguments: { ms: 40000 } }, 7), until: 'keepalive' });
	await shown;
	ok((await cancel('6', other)).status === 202, 'a cancel of another session is taken');
	ok((await cancel(6)).status === 202, 'a cancel of a number is taken');
	const still = await Promise.race([open.then(() => 'over'), ask({ headers, body: rpc('ping', undefined, 8) }).then(() => 'open')]);
	ok(still === 'open', 'neither stops the call of that string');
	ok((await cancel('6')).status === 202, 'a cancel of it is taken');
	a = await open;
	ok(a.status === 200 && events(a.body).length === 0, 'and the call ends without a response', a.body);

	const ended = ask({ headers, body: rpc('tools/call', { name: 'test_wait', arguments: { ms: 40000 } }, 9) });
	await ask({ headers, body: rpc('tools/call', { name: 'test_wait', arguments: { ms: 40000 } }, 10), until: 'keepalive' });
	a = await ask({ method: 'DELETE', headers: { 'mcp-session-id': id } });
	ok(a.status === 204, 'a session with calls is deleted');
	ok(events((await ended).body).length === 0, 'which stops them');
	ok((await ask({ headers, body: rpc('ping', undefined, 11) })).status === 404, 'and it is gone');
}

await rows();
if (process.argv.includes('--time')) await time();
close();
console.log(`1..${count}`);
process.exit(failed ? 1 : 0);
