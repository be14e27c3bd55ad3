// How a request gets to the endpoint: HTTP/1.1 or HTTP/2, over the port or the
// socket, or through the door of a sandbox, raw, by tests/e2e/guest/relay.c.
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import { spawn } from 'node:child_process';

// Fields of the answer and all of its body, or what came until `until`.
function collect(stream, head, until, stop, resolve) {
	const parts = [];
	const done = () => resolve({ ...head(), body: Buffer.concat(parts).toString() });
	stream.on('data', (d) => {
		parts.push(d);
		if (until && Buffer.concat(parts).includes(until)) {
			done();
			stop();
		}
	});
	stream.on('end', done);
	stream.on('error', () => {});
}

function overHttp1(url, socket) {
	const place = socket ? { socketPath: socket } : { host: url.hostname, port: url.port };
	return {
		ask: ({ method, path, headers, body, until }) => new Promise((resolve, reject) => {
			const req = http.request({ ...place, method, path, headers: { host: url.host, ...headers }, agent: false }, (res) =>
				collect(res, () => ({ status: res.statusCode, headers: res.headers }), until, () => req.destroy(), resolve));
			req.on('error', reject);
			req.end(body);
		}),
		close() {},
	};
}

function overHttp2(url, socket) {
	const session = http2.connect(url.origin, socket ? { createConnection: () => net.connect(socket) } : {});
	let broken;
	session.on('error', (e) => { broken = e; });
	return {
		session,
		ask: ({ method, path, headers: { host, ...headers }, body, until }) => new Promise((resolve, reject) => {
			const answer = {};
			const stream = session.request({ ':method': method, ':path': path, ':authority': host ?? url.host, ...headers },
				{ endStream: body === undefined });
			stream.on('response', (fields) => {
				answer.status = fields[':status'];
				answer.headers = fields;
			});
			stream.on('trailers', (fields) => { answer.trailers = fields; });
			stream.on('error', (e) => reject(broken ?? e));
			stream.on('close', () => reject(new Error(`closed with ${stream.rstCode}`)));
			collect(stream, () => answer, until, () => stream.close(http2.constants.NGHTTP2_CANCEL), resolve);
			if (body !== undefined) stream.end(body);
		}),
		close: () => session.destroy(),
	};
}

function unchunk(bytes) {
	const parts = [];
	for (let at = 0;;) {
		const line = bytes.indexOf('\r\n', at);
		const size = Number.parseInt(bytes.subarray(at, line).toString(), 16);
		if (!(size > 0)) return Buffer.concat(parts);
		parts.push(bytes.subarray(line + 2, line + 2 + size));
		at = line + 4 + size;
	}
}

function parse(bytes) {
	const end = bytes.indexOf('\r\n\r\n');
	const [first, ...lines] = bytes.subarray(0, end).toString().split('\r\n');
	const headers = Object.fromEntries(lines.map((l) => [l.slice(0, l.indexOf(':')).toLowerCase(), l.slice(l.indexOf(':') + 1).trim()]));
	const rest = bytes.subarray(end + 4);
	const body = headers['transfer-encoding'] === 'chunked' ? unchunk(rest) : rest;
	return { status: Number(first.split(' ')[1]), headers, body: body.toString() };
}

// command: the relay, wherever it runs; one request after another.
function overRelay(url, command) {
	const child = spawn(command[0], command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
	const waiting = [];
	let got = Buffer.alloc(0);
	child.stdin.on('error', () => {});
	child.stdout.on('data', (d) => {
		got = Buffer.concat([got, d]);
		while (got.length >= 4 && got.length >= 4 + got.readUInt32BE(0)) {
			const n = 4 + got.readUInt32BE(0);
			waiting.shift().resolve(parse(got.subarray(4, n)));
			got = got.subarray(n);
		}
	});
	child.on('close', (code) => waiting.forEach((w) => w.reject(new Error(`the relay ended with ${code}`))));
	return {
		ask: ({ method, path, headers, body }) => new Promise((resolve, reject) => {
			const all = { host: 'openshell.local', connection: 'close', ...headers };
			const head = `${method} ${path} HTTP/1.1\r\n${Object.entries(all).map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n`;
			const bytes = Buffer.concat([Buffer.from(head), body ?? Buffer.alloc(0)]);
			const size = Buffer.alloc(4);
			size.writeUInt32BE(bytes.length);
			waiting.push({ resolve, reject });
			child.stdin.write(Buffer.concat([size, bytes]));
		}),
		close: () => child.stdin.end(),
	};
}

// URL [BEARER] [--http2] [--socket PATH] [--relay COMMAND...]: what is left is the caller's.
export function transport(argv) {
	const args = [...argv];
	const relay = args.includes('--relay') ? args.splice(args.indexOf('--relay')).slice(1) : undefined;
	const http2 = args.includes('--http2');
	const socket = args.includes('--socket') ? args.splice(args.indexOf('--socket'), 2)[1] : undefined;
	const [url, bearer] = args.filter((a) => !a.startsWith('--'));
	const at = new URL(url);
	const place = relay ? overRelay(at, relay) : http2 ? overHttp2(at, socket) : overHttp1(at, socket);
	const ask = ({ method = 'POST', path = at.pathname, headers = {}, body, until }) => {
		const all = { ...headers };
		if (bearer) all.authorization = `Bearer ${bearer}`;
		if (body !== undefined) all['content-length'] = String(body.length);
		return place.ask({ method, path, headers: all, body, until });
	};
	return { ...place, ask, at, http2, servesGrpc: http2 && socket !== undefined, side: relay ? 'sandbox' : 'host' };
}
