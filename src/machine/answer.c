/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A template between two processes: one line of JSON and, beside it, the
 * descriptors that exist, named in the line in the order they are sent.
 */
#include <stdio.h>
#include <string.h>

#include "machine/inner.h"

struct named_fd {
	const char *name;
	size_t at; /* offset in struct machine_template */
};
static const struct named_fd fds[] = {
	{ "memory", offsetof(struct machine_template, memory_fd) },
	{ "state", offsetof(struct machine_template, state_fd) },
	{ "kernel", offsetof(struct machine_template, kernel_fd) },
	{ "initramfs", offsetof(struct machine_template, initramfs_fd) },
	{ "scrap_image", offsetof(struct machine_template, scrap_image_fd) },
	{ "scrap_disk", offsetof(struct machine_template, scrap_disk_fd) },
};

struct named_text {
	const char *name;
	size_t at;
	size_t size;
};
#define TEXT(field)                                 \
 {                                                  \
#  field, offsetof(struct machine_template, field), \
      sizeof(((struct machine_template *)0)->field) \
 }
static const struct named_text texts[] = {
	TEXT(key),
	TEXT(kernel_digest),
	TEXT(initramfs_digest),
	TEXT(vmm_digest),
	TEXT(vmm_version),
	TEXT(vmm_path),
	TEXT(accel_reason),
	TEXT(why_cold),
};
#undef TEXT

static void
write_numbers(struct json_out *o, const struct machine_template *t)
{
	json_out_key(o, "accelerator");
	json_out_text(o, machine_accel_name(t->shape.accel));
	json_out_key(o, "memory_mib");
	json_out_uint(o, t->shape.memory_mib);
	json_out_key(o, "vcpus");
	json_out_uint(o, t->shape.vcpus);
	json_out_key(o, "tsc_khz");
	json_out_uint(o, t->tsc_khz);
	json_out_key(o, "built");
	json_out_bool(o, t->built);
	json_out_key(o, "took_ms");
	json_out_uint(o, (uint64_t)t->took_ms);
}

int
machine_template_format(const struct machine_template *t, struct buf *b,
    struct fault *f)
{
	struct json_out o;

	json_out_init(&o, b);
	json_out_object(&o);
	for (size_t i = 0; i < NELEM(texts); i++) {
		json_out_key(&o, texts[i].name);
		json_out_text(&o, (const char *)t + texts[i].at);
	}
	write_numbers(&o, t);
	json_out_key(&o, "descriptors");
	json_out_array(&o);
	for (size_t i = 0; i < NELEM(fds); i++) {
		int fd;

		memcpy(&fd, (const char *)t + fds[i].at, sizeof(fd));
		if (fd >= 0)
			json_out_text(&o, fds[i].name);
	}
	json_out_end(&o);
	json_out_end(&o);
	if (json_out_done(&o, f) != 0)
		return -1;
	return buf_add(b, "\n", 1, f);
}

int
machine_template_send(const struct machine_template *t, int sock,
    struct fault *f)
{
	int sent[NELEM(fds)];
	size_t n = 0;
	struct buf b;
	int r;

	for (size_t i = 0; i < NELEM(fds); i++) {
		memcpy(&sent[n], (const char *)t + fds[i].at, sizeof(int));
		if (sent[n] >= 0)
			n++;
	}
	buf_init(&b, ANSWER_BYTES);
	r = machine_template_format(t, &b, f);
	if (r == 0)
		r = fd_send(sock, buf_ptr(&b), b.len, sent, n, f);
	buf_release(&b);
	return r;
}

static int
read_numbers(const struct json_value *v, struct machine_template *t)
{
	uint64_t memory = 0;
	uint64_t vcpus = 0;
	uint64_t khz = 0;
	uint64_t took = 0;
	struct span accel = { 0 };

	if (!json_uint(json_get(v, "memory_mib"), LIMIT_MEMORY_MIB, &memory) ||
	    !json_uint(json_get(v, "vcpus"), LIMIT_CPUS, &vcpus) ||
	    !json_uint(json_get(v, "tsc_khz"), UINT32_MAX, &khz) ||
	    !json_uint(json_get(v, "took_ms"), INT64_MAX, &took) ||
	    !json_bool(json_get(v, "built"), &t->built) ||
	    !json_str(json_get(v, "accelerator"), &accel) ||
	    !machine_accel_parse(accel, &t->shape.accel))
		return -1;
	t->shape.memory_mib = (unsigned)memory;
	t->shape.vcpus = (unsigned)vcpus;
	t->tsc_khz = (unsigned)khz;
	t->took_ms = (int64_t)took;
	return 0;
}

static int
read_texts(const struct json_value *v, struct machine_template *t)
{
	for (size_t i = 0; i < NELEM(texts); i++) {
		struct span s = { 0 };

		if (!json_str(json_get(v, texts[i].name), &s) ||
		    !text_copy((char *)t + texts[i].at, texts[i].size, s))
			return -1;
	}
	return 0;
}

static int
read_fds(const struct json_value *v, struct machine_template *t, int *got,
    size_t n)
{
	const struct json_value *name = json_first(json_get(v, "descriptors"));
	size_t used = 0;

	for (size_t i = 0; i < NELEM(fds) && name; i++) {
		if (!span_is(name->text, fds[i].name))
			continue;
		if (used == n)
			return -1;
		memcpy((char *)t + fds[i].at, &got[used], sizeof(int));
		got[used++] = -1;
		name = json_next(name);
	}
	return name || used != n ? -1 : 0;
}

int
machine_template_parse(struct span line, int *got, size_t n,
    struct machine_template *t, struct fault *f)
{
	const struct json_value *v = NULL;
	struct arena a;
	int r;

	machine_template_init(t);
	arena_init(&a, 1 << 20);
	r = json_parse(line, &a, &v, f);
	if (r == 0 &&
	    (read_numbers(v, t) != 0 || read_texts(v, t) != 0 ||
		read_fds(v, t, got, n) != 0))
		r = fault_set(f, FAULT_PROTOCOL,
		    "the template process gave a strange answer");
	arena_release(&a);
	if (r != 0)
		machine_template_release(t);
	return r;
}
