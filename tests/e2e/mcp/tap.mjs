// Tests that say TAP: const { ok, end } = tap('prefix: ').
export function tap(prefix) {
	let count = 0;
	let failed = 0;

	// test() is true, or what was got, or throws.
	async function ok(title, test) {
		let why;
		try {
			const r = await test();
			why = r === true ? undefined : JSON.stringify(r) ?? 'nothing';
		} catch (e) {
			why = e.stack;
		}
		count++;
		if (why !== undefined) failed++;
		console.log(`${why === undefined ? 'ok' : 'not ok'} ${count} - ${prefix}${title}`);
		if (why !== undefined) console.log(`# ${why}`.replaceAll('\n', '\n# '));
	}

	function end() {
		console.log(`1..${count}`);
		process.exit(failed ? 1 : 0);
	}
	return { ok, end };
}
