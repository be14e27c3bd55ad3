/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the bytes of a caller must look like before anything is done with
 * them. Pure; every refusal is INVALID with the field named.
 */
#ifndef GATEWAY_CHECK_H
#define GATEWAY_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

/* An entry of any protobuf map of texts. */
struct pair {
	char *key;
	char *value;
};

int check_name(const char *name, const char *field, struct fault *f) MUST_CHECK;
/* Environment: names are identifiers, none of ours, no newline in values. */
int check_environment(const struct pair *env, size_t n, const char *field,
    struct fault *f) MUST_CHECK;
int check_labels(const struct pair *labels, size_t n, const char *field,
    struct fault *f) MUST_CHECK;
int check_annotations(const struct pair *notes, size_t n, const char *field,
    struct fault *f) MUST_CHECK;
/* max_args, and LIMIT_ARGS_BYTES together; the first is not empty. */
int check_command(char *const *argv, size_t n, size_t max_args,
    const char *field, struct fault *f) MUST_CHECK;
/* Absolute, or empty; no newline. */
int check_folder(const char *path, const char *field,
    struct fault *f) MUST_CHECK;
/* An empty workspace is "default"; there is no other. */
int check_workspace(const char *workspace, struct fault *f) MUST_CHECK;
/* "k=v,k=v" into at most 64 spans of text. */
#define CHECK_SELECTORS 64
int check_selector(const char *selector, struct span out[CHECK_SELECTORS],
    size_t *n, struct fault *f) MUST_CHECK;

/* cpus and memory as asked for: 0 means not said. */
struct resources {
	uint32_t cpus;
	uint32_t memory_mib;
};
/*
 * template.resources, an encoded google.protobuf.Struct: {limits: {cpu,
 * memory}}, quantities as Kubernetes writes them. requests may repeat what
 * limits say; any other key is refused by name.
 */
int check_resources(struct span bytes, struct resources *r,
    struct fault *f) MUST_CHECK;
/* In range, memory rounded up to 64, 128 ... 8192 MiB; defaults where 0. */
int check_size(struct resources *r, struct fault *f) MUST_CHECK;

#endif
