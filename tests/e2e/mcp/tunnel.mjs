// A port of this host that leads to a unix socket, byte for byte, for clients
// that know of no sockets: tunnel.mjs SOCKET. Prints the port; ends when its
// input ends.
import net from 'node:net';

const server = net.createServer((near) => {
	const far = net.connect(process.argv[2]);
	near.pipe(far);
	far.pipe(near);
	near.on('error', () => far.destroy());
	far.on('error', () => near.destroy());
	near.on('close', () => far.destroy());
	far.on('close', () => near.destroy());
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().on('end', () => process.exit());
