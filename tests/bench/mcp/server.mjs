// The official SDK's server on node, with two of our tools and nothing behind
// them: server.mjs PACKAGES PLACE, a socket's path or 0 for a free port. Prints
// the port or the path; ends with its input. Sessions and JSON answers, which is
// the faster of what it offers.
import { createRequire } from 'node:module';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { pathToFileURL } from 'node:url';

const [, , packages, place] = process.argv;
const require = createRequire(`${packages}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { McpServer } = await load('@modelcontextprotocol/sdk/server/mcp.js');
const { StreamableHTTPServerTransport } = await load('@modelcontextprotocol/sdk/server/streamableHttp.js');
const { isInitializeRequest } = await load('@modelcontextprotocol/sdk/types.js');
const z = await load('zod');

const sandbox = { id: '0d1f6c34-6f1e-4d2b-9a57-0a8f4f7f6f11', name: 'lead', kind: 'agent', state: 'running', depth: 0, created_at: '2026-01-01T00:00:00Z' };
const refusal = JSON.stringify({ code: 'NOT_ALLOWED', message: 'the sandbox has no grant', hint: 'ask the user for one', why: 'no_grant' });

function server() {
	const s = new McpServer({ name: 'peer', version: '1' });
	const out = { sandbox: z.object({ id: z.string(), name: z.string(), kind: z.string(), state: z.string(), depth: z.number(), created_at: z.string() }) };
	s.registerTool('get_sandbox', { description: 'Describe a sandbox.', inputSchema: { id: z.string() }, outputSchema: out }, async ({ id }) => {
		const structuredContent = { sandbox: { ...sandbox, name: id } };
		return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
	});
	s.registerTool('create_sandbox', { description: 'Create a sandbox.', inputSchema: { name: z.string().optional(), kind: z.enum(['agent', 'tool']).optional(), parent: z.string().optional() } }, async () =>
		({ content: [{ type: 'text', text: refusal }], isError: true }));
	return s;
}

const sessions = new Map();
async function begin() {
	const transport = new StreamableHTTPServerTransport({
		sessionIdGenerator: () => randomUUID(),
		enableJsonResponse: true,
		onsessioninitialized: (id) => sessions.set(id, transport),
	});
	await server().connect(transport);
	return transport;
}

const listener = http.createServer((req, res) => {
	const parts = [];
	req.on('data', (d) => parts.push(d));
	req.on('end', async () => {
		const body = JSON.parse(Buffer.concat(parts).toString());
		const transport = sessions.get(req.headers['mcp-session-id']) ?? (isInitializeRequest(body) ? await begin() : undefined);
		if (transport) await transport.handleRequest(req, res, body);
		else res.writeHead(404).end();
	});
});
listener.listen(place === '0' ? { port: 0, host: '127.0.0.1' } : { path: place }, () => {
	console.log(place === '0' ? listener.address().port : place);
});
process.stdin.on('end', () => process.exit(0)).resume();
