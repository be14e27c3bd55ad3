// One face for clients that others wrote. open(NAME, WHERE) gives
//   list()                    names of the tools
//   call(name, args, more)    what the tool gave, as an object; throws Refused
//                             with its object, or what the client throws.
//                             more: { signal, onprogress }
//   close()
// WHERE: { url, headers, sdks, clients (folders of packages), home }
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export class Refused extends Error {
	constructor(text) {
		super(text);
		this.why = JSON.parse(text);
	}
}

const loader = (packages) => {
	const require = createRequire(`${packages}/`);
	return (name) => import(pathToFileURL(require.resolve(name)));
};

function result(r) {
	if (r.isError === true) throw new Refused(r.content[0].text);
	if (JSON.stringify(JSON.parse(r.content[0].text)) !== JSON.stringify(r.structuredContent))
		throw new Error('text and structuredContent differ');
	return r.structuredContent;
}

async function over(client, transport, call) {
	await client.connect(transport);
	return {
		list: async () => (await client.listTools()).tools.map((t) => t.name),
		call: async (name, args, more) => result(await call(client, { name, arguments: args }, more)),
		close: async () => {
			await transport.terminateSession?.();
			await client.close();
		},
	};
}

const callV1 = (client, ask, more) => client.callTool(ask, undefined, more);
const callV2 = (client, ask, more) => client.callTool(ask, more);

async function sdkV1({ url, headers, sdks }) {
	const load = loader(sdks);
	const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
	const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
	const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
	return over(new Client({ name: 'v1', version: '1' }, { capabilities: {} }), transport, callV1);
}

async function sdkV2({ url, headers, sdks }, mode) {
	const { Client, StreamableHTTPClientTransport } = await import(pathToFileURL(`${sdks}/node_modules/@modelcontextprotocol/client/dist/index.mjs`));
	const versionNegotiation = { mode: mode === 'pin' ? { pin: '2026-07-28' } : mode };
	const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
	return over(new Client({ name: 'v2', version: '1' }, { versionNegotiation }), transport, callV2);
}

async function aiSdk({ url, headers, clients }) {
	const { createMCPClient } = await import(pathToFileURL(`${clients}/node_modules/@ai-sdk/mcp/dist/index.js`));
	const client = await createMCPClient({ transport: { type: 'http', url, headers } });
	const tools = await client.tools();
	return {
		list: async () => Object.keys(tools),
		call: async (name, args, more) =>
			result(await tools[name].execute(args, { messages: [], toolCallId: 'x', abortSignal: more?.signal })),
		close: () => client.close(),
	};
}

async function langchain({ url, headers, clients }) {
	const { MultiServerMCPClient } = await loader(clients)('@langchain/mcp-adapters');
	const client = new MultiServerMCPClient({ mcpServers: { nacre: { url, headers, transport: 'http', automaticSSEFallback: false } } });
	const tools = await client.getTools();
	return {
		list: async () => tools.map((t) => t.name),
		call: async (name, args, more) => {
			try {
				const block = await tools.find((t) => t.name === name).invoke(args, { signal: more?.signal });
				return result({ content: [block], structuredContent: block.structuredContent });
			} catch (e) {
				const told = e.name === 'ToolException' && e.message.indexOf('returned an error: {');
				if (!told || told < 0) throw e;
				throw new Refused(e.message.slice(e.message.indexOf('{')));
			}
		},
		close: () => client.close(),
	};
}

// What it writes to its standard error is shown only when it does not start.
async function remote({ url, headers, sdks, clients, home }) {
	const load = loader(sdks);
	const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
	const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js');
	const args = [join(clients, 'node_modules/mcp-remote/dist/proxy.js'), url, '--transport', 'http-only'];
	for (const [name, value] of Object.entries(headers)) args.push('--header', `${name}: ${value}`);
	if (new URL(url).hostname === 'openshell.local') args.push('--allow-http'); // a name that is not this host's
	const transport = new StdioClientTransport({ command: process.execPath, args, stderr: 'pipe', env: { PATH: process.env.PATH, HOME: home } });
	let said = '';
	transport.stderr.on('data', (d) => (said += d));
	try {
		return await over(new Client({ name: 'remote', version: '1' }, { capabilities: {} }), transport, callV1);
	} catch (e) {
		throw new Error(`${e.message}\n${said}`);
	}
}

// One process a call: 0, or 5 when the tool refused. A signal ends it.
export function inspect({ url, headers, clients, home }, era, args, signal) {
	const all = ['--cli', url, '--transport', 'http', '--protocol-era', era, '--format', 'json', '--stored-auth-only'];
	for (const [name, value] of Object.entries(headers)) all.push('--header', `${name}: ${value}`);
	const program = join(clients, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js');
	const child = spawn(process.execPath, [program, ...all, ...args], { env: { PATH: process.env.PATH, HOME: home, NO_COLOR: '1' }, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
	let out = '';
	let said = '';
	child.stdout.on('data', (d) => (out += d));
	child.stderr.on('data', (d) => (said += d));
	signal?.addEventListener('abort', () => process.kill(-child.pid, 'SIGKILL'));
	return new Promise((resolve) => child.on('close', (code, by) => resolve({ code: code ?? by, out, said })));
}

async function inspector(where, era) {
	const ask = async (args, signal) => {
		const r = await inspect(where, era, args, signal);
		if (r.code !== 0 && r.code !== 5) throw new Error(`inspector ended with ${r.code}: ${r.said}${r.out}`);
		return r;
	};
	const payload = (r) => JSON.parse(r.out).result ?? JSON.parse(r.out);
	return {
		list: async () => payload(await ask(['--method', 'tools/list'])).tools.map((t) => t.name),
		call: async (name, args, more) => {
			const r = await ask(['--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args)], more?.signal);
			if ((r.code === 5) !== (payload(r).isError === true)) throw new Error(`inspector ended with ${r.code}: ${r.out}`);
			return result(payload(r));
		},
		close: async () => {},
	};
}

export function open(name, where) {
	const [kind, mode] = name.split('-');
	switch (kind) {
	case 'v1': return sdkV1(where);
	case 'v2': return sdkV2(where, mode);
	case 'ai': return aiSdk(where);
	case 'langchain': return langchain(where);
	case 'remote': return remote(where);
	case 'inspector': return inspector(where, mode);
	default: throw new Error(`no client '${name}'`);
	}
}
