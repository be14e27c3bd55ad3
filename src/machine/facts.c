/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this host is: its VMM, its time stamp counter, whether KVM works. Each
 * is costly to find out, so it is kept in a small JSON file of the cache
 * beside what it was true for, and looked at again when that has changed.
 */
#include <sys/stat.h>
#include <sys/utsname.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "machine/inner.h"

enum {
	FACTS_BYTES = 4096,
	VERSION_MS = 20000,
	SAMPLES = 64,
	MEASURE_MS = 60,
	TSC_ROUND_KHZ = 10, /* 4 ppm at 2.5 GHz; the samples' own error is 1 */
	TSC_SAME_PPM = 50, /* nearer to the remembered one than this: keep it */
};

bool
facts_get(const char *cache, const char *file, const char *key, char *out,
    size_t size)
{
	char path[512];
	struct fault f = { 0 };
	const struct json_value *root = NULL;
	struct span text = { 0 };
	struct arena a;
	struct buf b;
	bool found = false;

	buf_init(&b, FACTS_BYTES);
	arena_init(&a, 65536);
	if (text_fmt(path, sizeof(path), "%s/%s", cache, file) &&
	    file_read(AT_FDCWD, path, &b, &f) == 0 &&
	    json_parse(buf_span(&b), &a, &root, &f) == 0 &&
	    json_str(json_get(root, key), &text))
		found = text_copy(out, size, text);
	arena_release(&a);
	buf_release(&b);
	return found;
}

/* pairs: key, value, key, value ..., NULL. */
static int
write_facts(const char *cache, const char *file, const char *const *pairs,
    struct fault *f)
{
	char path[512];
	struct json_out o;
	struct buf b;
	int r;

	buf_init(&b, FACTS_BYTES);
	json_out_init(&o, &b);
	json_out_object(&o);
	for (; pairs[0]; pairs += 2) {
		json_out_key(&o, pairs[0]);
		json_out_text(&o, pairs[1]);
	}
	json_out_end(&o);
	r = json_out_done(&o, f);
	if (r == 0 && !text_fmt(path, sizeof(path), "%s/%s", cache, file))
		r = fault_set(f, FAULT_INVALID, "the cache path is too long");
	if (r == 0)
		r = file_write_atomic(AT_FDCWD, path, buf_span(&b), 0600, f);
	buf_release(&b);
	return r;
}

/* What cannot be remembered is found out again. */
static void
facts_put(const char *cache, const char *file, const char *const *pairs)
{
	struct fault f = { 0 };

	if (write_facts(cache, file, pairs, &f) != 0)
		log_debug("%s", f.text);
}

/* "QEMU emulator version 7.2.22 (Debian ...": the number. */
static int
vmm_version(char *path, char *out, size_t size, struct fault *f)
{
	static char flag[] = "--version";
	char *argv[] = { path, flag, NULL };
	static const char mark[] = "version ";
	struct buf b;
	const char *at;
	int r;

	buf_init(&b, 4096);
	r = machine_run(argv, -1, &b, VERSION_MS, f);
	if (r == 0)
		r = buf_add(&b, "", 1, f);
	at = r == 0 ? strstr((const char *)buf_ptr(&b), mark) : NULL;
	if (r == 0 && !at)
		r = fault_set(f, FAULT_START_FAILED,
		    "'%s' does not say its version", path);
	if (r == 0) {
		struct span s = span_str(at + sizeof(mark) - 1);

		s.len = strspn((const char *)s.ptr, "0123456789.");
		if (!text_copy(out, size, s) || s.len == 0)
			r = fault_set(f, FAULT_START_FAILED,
			    "'%s' has a strange version", path);
	}
	buf_release(&b);
	return r;
}

static int
file_digest(const char *path, char digest[MACHINE_KEY], struct fault *f)
{
	static uint8_t bytes[256 << 10];
	uint8_t sum[DIGEST_SIZE];
	with_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	struct digest d;
	ssize_t n;

	if (fd < 0)
		return fault_sys(f, "cannot open '%s'", path);
	digest_init(&d);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		digest_update(&d, span_of(bytes, (size_t)n));
	if (n < 0)
		return fault_sys(f, "cannot read '%s'", path);
	digest_final(&d, sum);
	hex_format(sum, sizeof(sum), digest);
	return 0;
}

static int
locate_vmm(const char *wanted, char *out, size_t size, struct fault *f)
{
	if (wanted && access(wanted, X_OK) != 0)
		return fault_sys(f, "cannot use the VMM '%s'", wanted);
	if (wanted && wanted[0] != '/')
		return fault_set(f, FAULT_INVALID,
		    "the VMM's path must be absolute");
	if (wanted ? text_copy(out, size, span_str(wanted))
		   : machine_find_program("qemu-system-x86_64", out, size))
		return 0;
	return fault_set(f, FAULT_START_FAILED,
	    "qemu-system-x86_64 is not installed (apt-get install "
	    "qemu-system-x86)");
}

int
facts_vmm(const char *cache, const char *wanted, struct vmm_facts *out,
    struct fault *f)
{
	static const char file[] = "vmm.json";
	char id[512];
	char known[512];
	struct stat st;

	if (locate_vmm(wanted, out->path, sizeof(out->path), f) != 0)
		return -1;
	if (stat(out->path, &st) != 0)
		return fault_sys(f, "cannot look at '%s'", out->path);
	(void)text_fmt(id, sizeof(id), "%s %llu:%llu %lld %lld.%ld %lld.%ld",
	    out->path, (unsigned long long)st.st_dev,
	    (unsigned long long)st.st_ino, (long long)st.st_size,
	    (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
	    (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	if (facts_get(cache, file, "id", known, sizeof(known)) &&
	    strcmp(id, known) == 0 &&
	    facts_get(cache, file, "sha256", out->digest,
		sizeof(out->digest)) &&
	    facts_get(cache, file, "version", out->version,
		sizeof(out->version)))
		return 0;
	if (file_digest(out->path, out->digest, f) != 0 ||
	    vmm_version(out->path, out->version, sizeof(out->version), f) != 0)
		return -1;
	facts_put(cache, file,
	    (const char *const[]){ "id", id, "sha256", out->digest, "version",
		out->version, NULL });
	return 0;
}

struct tick {
	uint64_t tsc;
	int64_t ns;
};

/* Both clocks at one moment: the closest pair of several tries. */
static struct tick
sample(void)
{
	struct tick best = { 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < SAMPLES; i++) {
		struct timespec t;
		uint64_t before = __builtin_ia32_rdtsc();
		uint64_t after;

		(void)clock_gettime(CLOCK_MONOTONIC_RAW, &t);
		after = __builtin_ia32_rdtsc();
		if (after - before >= least)
			continue;
		least = after - before;
		best.tsc = before + least / 2;
		best.ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	}
	return best;
}

int
facts_tsc_khz(const char *cache, unsigned *khz, struct fault *f)
{
	static const char file[] = "tsc.json";
	struct tick a = sample();
	struct tick b;
	char text[32];
	uint64_t known = 0;
	uint64_t now;

	/* Nothing happens in this wait but time. */
	(void)poll(NULL, 0, MEASURE_MS);
	b = sample();
	if (b.ns <= a.ns || b.tsc <= a.tsc)
		return fault_set(f, FAULT_START_FAILED,
		    "the time stamp counter does not run");
	now = (b.tsc - a.tsc) * 1000000 / (uint64_t)(b.ns - a.ns);
	if (facts_get(cache, file, "khz", text, sizeof(text)) &&
	    num_parse(span_str(text), UINT32_MAX, &known)) {
		uint64_t apart = known > now ? known - now : now - known;

		if (apart * 1000000 <= now * TSC_SAME_PPM) {
			*khz = (unsigned)known;
			return 0;
		}
	}
	now = (now + TSC_ROUND_KHZ / 2) / TSC_ROUND_KHZ * TSC_ROUND_KHZ;
	*khz = (unsigned)now;
	(void)text_fmt(text, sizeof(text), "%u", *khz);
	facts_put(cache, file, (const char *const[]){ "khz", text, NULL });
	return 0;
}

int
facts_kvm(const struct machine_paths *p, struct fault *f)
{
	const char *path = p->kvm ? p->kvm : "/dev/kvm";
	with_fd fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? fault_sys(f, "%s cannot be used", path) : 0;
}

/* What is remembered, and when: belongs into the id. */
#define ACCEL_FORMAT "2"

/* KVM works, or not, for a VMM and a kernel of the host. */
static void
accel_id(const struct vmm_facts *v, char *out, size_t size)
{
	struct utsname u;

	if (uname(&u) != 0)
		u.release[0] = '\0';
	(void)text_fmt(out, size, ACCEL_FORMAT " %s %s", v->digest, u.release);
}

bool
facts_accel(const char *cache, const struct vmm_facts *v, enum machine_accel *a,
    char *reason, size_t size)
{
	static const char file[] = "accel.json";
	char id[256];
	char known[256];
	char name[16];

	accel_id(v, id, sizeof(id));
	return facts_get(cache, file, "id", known, sizeof(known)) &&
	    strcmp(id, known) == 0 &&
	    facts_get(cache, file, "accel", name, sizeof(name)) &&
	    facts_get(cache, file, "reason", reason, size) &&
	    machine_accel_parse(span_str(name), a);
}

void
facts_accel_remember(const char *cache, const struct vmm_facts *v,
    enum machine_accel a, const char *reason)
{
	char id[256];

	accel_id(v, id, sizeof(id));
	facts_put(cache, "accel.json",
	    (const char *const[]){ "id", id, "accel", machine_accel_name(a),
		"reason", reason, NULL });
}
