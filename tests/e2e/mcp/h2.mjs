// What is HTTP/2's own at the endpoint: many requests of one connection, how
// one ends, what is refused and how. h2.mjs URL [BEARER] [--socket PATH]; TAP
// out. Over the socket a sandbox named lead must run.
import http2 from 'node:http2';
import { transport } from './transport.mjs';

const { constants } = http2;
const argv = [...process.argv.slice(2), '--http2'];
const { at, session, ask, close, servesGrpc } = transport(argv);
const bearer = process.argv.slice(3).find((a, i, all) => !a.startsWith('--') && all[i - 1] !== '--socket');
const P = 'io.modelcontextprotocol/';
let count = 0;
let failed = 0;

function ok(good, title, why = '') {
	count++;
	if (!good) failed++;
	console.log(`${good ? 'ok' : 'not ok'} ${count} - ${title}`);
	if (!good) console.log(`# ${typeof why === 'string' ? why : JSON.stringify(why)}`.replaceAll('\n', '\n# '));
}

const envelope = { [`${P}protocolVersion`]: '2026-07-28', [`${P}clientCapabilities`]: {} };
const both = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const text = (id, method, params) => Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
const modern = (id, name, args, token) => ({
	headers: { ...both, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name },
	body: text(id, 'tools/call', { name, arguments: args, _meta: { ...envelope, ...(token === undefined ? {} : { progressToken: token }) } }),
});
const read = (id) => modern(id, 'get_policy', { id: 'nobody' });
const fields = ({ headers, path = '/mcp', method = 'POST' }) => ({
	':method': method, ':path': path, ':authority': at.host, ...headers, ...(bearer ? { authorization: `Bearer ${bearer}` } : {}),
});

// A stream in the making: its status, its bytes and its end as they come.
function open(on, request, options = {}) {
	const stream = on.request(fields(request), options);
	const s = { stream, body: '', status: undefined };
	s.answered = new Promise((resolve) => {
		stream.on('response', (h) => { s.status = h[':status']; s.headers = h; resolve(); });
		stream.on('close', resolve);
	});
	s.ended = new Promise((resolve) => { stream.on('close', () => { s.code = stream.rstCode; resolve(s); }); });
	s.until = (word) => new Promise((resolve) => {
		const look = () => { if (s.body.includes(word)) resolve(true); };
		stream.on('data', look);
		stream.on('close', () => resolve(s.body.includes(word)));
		look();
	});
	stream.on('data', (d) => { s.body += d; });
	stream.on('error', () => {});
	return s;
}
const again = () => transport(argv);

// --- one connection, many requests
const ids = Array.from({ length: 32 }, (_, i) => i);
const answers = await Promise.all(ids.map((id) => ask(read(id))));
ok(answers.every((a, id) => a.status === 200 && JSON.parse(a.body).id === id), 'thirty-two calls of one connection are answered, each with its own',
	answers.map((a) => a.body.slice(0, 60)));

const slow = open(session, read(40));
for (const byte of read(40).body) slow.stream.write(Buffer.of(byte));
slow.stream.end();
await slow.ended;
ok(slow.status === 200 && JSON.parse(slow.body).id === 40, 'a body of one byte a frame is read', slow.body);

let went;
const polite = open(session, { headers: { ...read(41).headers, expect: '100-continue' } });
polite.stream.on('continue', () => { went = true; polite.stream.end(read(41).body); });
await polite.ended;
ok(went && polite.status === 200, 'who waits for 100 is told to go on');

// --- refused
const cases = [
	[{ ...read(1), path: '/other' }, 404, 'another path is not there'],
	[{ ...read(1), headers: { ...read(1).headers, host: 'evil.test' } }, 403, 'a name that is not ours is refused'],
	[{ ...read(1), headers: { ...read(1).headers, origin: 'http://evil.test' } }, 403, 'a page of another site is refused'],
	[{ method: 'GET' }, 405, 'GET is not allowed'],
	[{ ...read(1), headers: { ...read(1).headers, 'content-type': 'text/plain' } }, 415, 'another type is refused'],
];
for (const [request, status, title] of cases) {
	const a = await ask(request);
	ok(a.status === status, title, a);
}
const head = open(session, { method: 'HEAD' }, { endStream: true });
await head.ended;
ok(head.status === 405 && head.body === '' && head.code === 0, 'HEAD is answered without a body', head.body);

const declared = open(session, { ...read(1), headers: { ...read(1).headers, 'content-length': String((1 << 20) + 1) } });
await declared.ended;
ok(declared.status === 413 && declared.code === constants.NGHTTP2_NO_ERROR, 'a body over 1 MiB is refused by its head', declared.code);
const grown = open(session, read(1));
for (let i = 0; i < 17; i++) grown.stream.write(Buffer.alloc(1 << 16, 32));
await grown.ended;
ok(grown.status === 413, 'and one that grows so while it comes', grown.status);
const wide = open(session, { ...read(1), headers: { ...read(1).headers, x: 'a'.repeat(20000) } });
await wide.ended;
ok(wide.status === undefined && wide.code === constants.NGHTTP2_ENHANCE_YOUR_CALM, 'a head over 16 KiB is reset', wide.code);
const many = open(session, { ...read(1), headers: { ...read(1).headers, ...Object.fromEntries(Array.from({ length: 105 }, (_, i) => [`x-${i}`, 'a'])) } });
await many.ended;
ok(many.status === 431, 'so is one of over 100 fields, by name', many.status);
ok((await ask(read(2))).status === 200, 'and the connection goes on');

// --- how many at once
const first = Array.from({ length: 128 }, () => open(session, read(3)));
const over = open(session, read(3));
await over.ended;
ok(over.code === constants.NGHTTP2_REFUSED_STREAM, 'the 129th request of a connection may be sent again', over.code);
first.slice(1).forEach((s) => s.stream.close(constants.NGHTTP2_CANCEL));
first[0].stream.end(read(3).body);
await first[0].ended;
ok(first[0].status === 200, 'the 128 are served');

const other = again();
const full = Array.from({ length: 36 }, () => open(other.session, read(4)));
full.forEach((s) => s.stream.write(Buffer.alloc(1000000, 32)));
await Promise.race(full.map((s) => s.answered));
ok(full.some((s) => s.status === 503), 'bodies over 32 MiB in all are unavailable', full.map((s) => s.status));
full.forEach((s) => s.stream.close(constants.NGHTTP2_CANCEL));
other.close();
ok((await ask(read(5))).status === 200, 'and the room comes back');

// --- a body that does not come
const late = open(session, read(6));
late.stream.write('{');
await late.ended;
ok(late.status === 408, 'a body that does not come is given up', late.status);

// --- what nobody may do for long
const stormy = again();
const over2 = new Promise((resolve) => {
	stormy.session.on('goaway', resolve);
	stormy.session.on('close', () => resolve(-1));
});
for (let i = 0; i < 5000 && !stormy.session.destroyed; i++) {
	const s = stormy.session.request(fields(read(i)), { endStream: false });
	s.on('error', () => {});
	s.close(constants.NGHTTP2_CANCEL);
	if (i % 100 === 0) await new Promise(setImmediate);
}
const code = await over2;
ok([constants.NGHTTP2_ENHANCE_YOUR_CALM, constants.NGHTTP2_INTERNAL_ERROR].includes(code), 'a storm of resets ends its connection', code);
stormy.close();
ok((await ask(read(7))).status === 200, 'and no other');

if (servesGrpc) {
	// --- beside gRPC
	const health = open(session, { path: '/openshell.v1.OpenShell/Health', headers: { 'content-type': 'application/grpc', te: 'trailers' } });
	let trailers = {};
	health.stream.on('trailers', (t) => { trailers = t; });
	health.stream.end(Buffer.alloc(5));
	const mcp = await ask(read(8));
	await health.ended;
	ok(trailers['grpc-status'] === '0' && mcp.status === 200, 'gRPC and MCP share a connection', trailers);

	// --- streams and cancels
	const create = (name, token) => modern(9, 'create_sandbox', { name, kind: 'tool', parent: 'lead' }, token);
	const seen = open(session, create('seen2', 5));
	seen.stream.end(create('seen2', 5).body);
	await seen.ended;
	ok(seen.headers?.['content-type'] === 'text/event-stream' && seen.body.includes('notifications/progress') &&
		seen.body.includes('\\"state\\":\\"running\\"'), 'a create is streamed: progress, then its result', seen.body);
	for (const [name, error] of [['none', constants.NGHTTP2_NO_ERROR], ['cancel', constants.NGHTTP2_CANCEL]]) {
		const gone = open(session, create(`gone-${name}`, 6));
		gone.stream.end(create(`gone-${name}`, 6).body);
		ok(await gone.until('notifications/progress'), `a create is under way (${name})`, gone.body);
		gone.stream.close(error);
		await gone.ended;
	}
	const lost = again();
	const cut = open(lost.session, create('gone-cut', 7));
	cut.stream.end(create('gone-cut', 7).body);
	ok(await cut.until('notifications/progress'), 'another is, on a connection that is cut', cut.body);
	lost.close();

	const init = await ask({ headers: both, body: text(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'h2', version: '1' } }) });
	const legacy = { headers: { ...both, 'mcp-session-id': init.headers['mcp-session-id'] } };
	const stays = open(session, legacy);
	stays.stream.end(text(10, 'tools/call', { name: 'create_sandbox', arguments: { name: 'stays', kind: 'tool', parent: 'lead' }, _meta: { progressToken: 1 } }));
	ok(await stays.until('notifications/progress'), 'a create of the first era is under way', stays.body);
	stays.stream.close(constants.NGHTTP2_CANCEL);
	await stays.ended;
	const told = open(session, legacy);
	told.stream.end(text(11, 'tools/call', { name: 'create_sandbox', arguments: { name: 'gone-told', kind: 'tool', parent: 'lead' }, _meta: { progressToken: 2 } }));
	ok(await told.until('notifications/progress'), 'and another', told.body);
	const cancel = await ask({ ...legacy, body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 11 } })) });
	await told.ended;
	ok(cancel.status === 202 && told.code === 0 && !told.body.includes('"result"'), 'a cancelled one of the first era ends without a response',
		[cancel.status, cancel.body, told.code, told.body]);
} else {
	// --- the port
	const grpc = open(session, { path: '/openshell.v1.OpenShell/Health', headers: { 'content-type': 'application/grpc' } });
	grpc.stream.end(Buffer.alloc(5));
	await grpc.ended;
	ok(grpc.status === 415, 'gRPC is told so', grpc.status);
	const tunnel = session.request({ ':method': 'CONNECT', ':authority': 'localhost:22' });
	tunnel.on('error', () => {});
	ok(await new Promise((resolve) => { tunnel.on('response', (h) => resolve(h[':status'] === 501)); }), 'there are no tunnels');
	const nobody = transport([argv[0], '--http2']);
	const a = await nobody.ask(read(12));
	ok(a.status === 401 && a.headers['www-authenticate'].startsWith('Bearer realm="nacre"'), 'without a token there is no answer but 401', a);
	nobody.close();
}
close();
console.log(`1..${count}`);
process.exit(failed ? 1 : 0);
