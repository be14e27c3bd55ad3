/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this room say to each other. An import is two passes:
 *
 *	 source -> tar ---\
 *	 (per layer)       merge -> tree       pass one: names only
 *	 folder ----------/
 *
 *	 tree + source -> emit -> squash       pass two: content, streamed
 *
 * tar, pax, tree, merge, emit, users and config are pure: bytes and values.
 */
#ifndef IMAGE_INNER_H
#define IMAGE_INNER_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "digest/digest.h"
#include "image/image.h"
#include "json/json.h"

enum {
	IMAGE_TAR_BLOCK = 512,
	IMAGE_TAR_EXTRA = 1 << 20,     /* one extended header (as in Go) */
	IMAGE_TAR_EXTRAS = 16,         /* extended headers of one entry */
	IMAGE_TAR_STRETCHES = 1 << 16, /* pieces of one sparse file */
	IMAGE_XATTRS = 65535,          /* bytes of records of one entry */
	IMAGE_XATTR_NAME = 255,        /* XATTR_NAME_MAX */
	IMAGE_COMPONENT = 255,         /* NAME_MAX */
	IMAGE_PATH = LIMIT_PATH - 1,   /* without the NUL */
	IMAGE_DEPTH = LIMIT_PATH / 2,  /* components of a path */
	IMAGE_LINKS = 255,             /* symlinks followed for one path */
	IMAGE_ENTRIES = 1000000,       /* of all layers together */
	IMAGE_NODES = 1 << 20,         /* names, implicit folders too */
	IMAGE_TEXT = 96 << 20,         /* bytes of names, targets, xattrs */
	IMAGE_STEPS = 32 << 20,        /* components of all paths, links too */
	IMAGE_STEP = 16,               /* bytes that count as one more */
	IMAGE_LAYERS = 512,
	IMAGE_TAIL = 16 << 20,   /* unpacked bytes behind a tar's end mark */
	IMAGE_CHUNK = 256 << 10, /* one read of a source */
};

/* tar2sqfs looks through a folder for each name that it adds to it: so many
 * looks take some minutes, a folder of 227 000 names alone. */
#define IMAGE_CROWD (UINT64_C(48) << 30)

#define IMAGE_CPU    "amd64"          /* the only one nacre runs */
#define IMAGE_ID_MAX (UINT32_MAX - 1) /* of uid and gid; -1 is none, chown(2) */

enum image_kind {
	IMAGE_NONE,
	IMAGE_FILE,
	IMAGE_DIR,
	IMAGE_SYMLINK,
	IMAGE_FIFO,
	IMAGE_DEVICE, /* known, merged, never written */
	IMAGE_SOCKET, /* likewise; folders only */
	IMAGE_LINK,   /* a hard link, in archives only */
};

/* PAX records of one entry. */
struct image_stretch {
	uint64_t at;
	uint64_t len;
};

struct image_pax {
	struct buf path;
	struct buf link;
	struct buf xattrs; /* whole records, ready to be written again */
	struct buf map;    /* struct image_stretch */
	size_t map_count;
	uint32_t xattrs_dropped;
	uint32_t uid;
	uint32_t gid;
	uint32_t mtime;
	uint64_t size;
	uint64_t sparse_size;
	uint64_t sparse_offset;
	unsigned sparse_major;
	bool has_uid;
	bool has_gid;
	bool has_mtime;
	bool has_size;
	bool has_sparse;
};

void image_pax_init(struct image_pax *p);
void image_pax_clear(struct image_pax *p);
void image_pax_release(struct image_pax *p);
/* Take the records of one header that began at byte `at` of the archive. */
int image_pax_parse(struct image_pax *p, struct span text, uint64_t at,
    struct fault *f) MUST_CHECK;
struct span image_pax_path(const struct image_pax *p);
struct span image_pax_link(const struct image_pax *p);
int image_pax_stretch(struct image_pax *p, uint64_t at, uint64_t len,
    struct fault *f) MUST_CHECK;
struct image_stretch image_pax_map(const struct image_pax *p, size_t i);

/* One entry of an archive or a folder. Spans live until the next call. */
struct image_tar_entry {
	enum image_kind kind;
	struct span path; /* as written */
	struct span link; /* as written */
	struct span xattrs;
	uint64_t size;   /* content of a file, holes included */
	uint64_t holes;  /* bytes of it that no stretch fills */
	uint64_t offset; /* of the body in the archive */
	uint32_t uid;
	uint32_t gid;
	uint32_t mtime;
	uint32_t xattrs_dropped;
	uint16_t mode; /* 07777 */
};

enum image_tar_event {
	IMAGE_TAR_AGAIN, /* inner: never returned */
	IMAGE_TAR_MORE,  /* all input was used */
	IMAGE_TAR_ENTRY, /* t->entry */
	IMAGE_TAR_DATA,  /* t->data, part of the input */
	IMAGE_TAR_HOLE,  /* t->hole zero bytes */
	IMAGE_TAR_END,   /* the end mark; what follows is ignored */
};

struct image_tar {
	int state;
	bool sparse;
	uint8_t block[IMAGE_TAR_BLOCK];
	size_t have;
	uint64_t at;        /* bytes of the archive consumed */
	uint64_t header_at; /* of the last header block */
	uint64_t left;      /* stored bytes of the body to come */
	uint64_t done;      /* content bytes told so far */
	uint32_t pad;
	unsigned extras;
	size_t stretch;
	uint64_t map_want;
	uint64_t map_got;
	uint64_t map_number;
	uint64_t map_offset;
	unsigned map_digits;
	struct buf extra;
	struct buf name;
	struct buf long_path;
	struct buf long_link;
	struct image_pax pax;
	struct image_tar_entry entry;
	struct span data;
	uint64_t hole;
};

/* The header block at hand. */
enum {
	IMAGE_AT_TYPE = 156
};

struct image_field {
	size_t at;
	size_t len;
};

extern const struct image_field image_field_size;

bool image_block_is_zero(const struct image_tar *t);
int image_block_sum(const struct image_tar *t, struct fault *f) MUST_CHECK;
/* Octal or base-256; FAULT_INVALID over max, `what` names it. */
int image_block_number(const struct image_tar *t, struct image_field at,
    const char *what, uint64_t max, uint64_t *out, struct fault *f) MUST_CHECK;
/* Fill t->entry from it and from the extended headers before it. */
int image_block_entry(struct image_tar *t, struct fault *f) MUST_CHECK;

void image_tar_init(struct image_tar *t);
void image_tar_release(struct image_tar *t);
/*
 * Go on with the bytes of `in`; *used of them are done with. Call again with
 * the rest until IMAGE_TAR_MORE asks for new ones. FAULT_INVALID for bytes
 * that are no tar, FAULT_LIMIT past a cap: the reader is of no use then.
 */
int image_tar_next(struct image_tar *t, struct span in, size_t *used,
    enum image_tar_event *event, struct fault *f) MUST_CHECK;
/* After IMAGE_TAR_ENTRY: stored bytes that may be jumped over instead. */
uint64_t image_tar_skippable(const struct image_tar *t);
void image_tar_skip(struct image_tar *t, uint64_t n);
/* The input is at its end: was the archive? */
int image_tar_finish(const struct image_tar *t, struct fault *f) MUST_CHECK;

/*
 * The tree of names. Nodes are names, inodes are what they name; a hard link
 * is a second node of an inode. A node is alive while its `born` equals its
 * parent's `gen`: removing a whole folder is one assignment, and a removed
 * name is revived in place, so no input makes removal slow.
 * Ids are indexes; 0 is none, node 1 is the root.
 */
#define IMAGE_ROOT 1u

struct image_node {
	uint32_t parent;
	uint32_t child;
	uint32_t next;
	uint32_t chain; /* next node in the hash bucket */
	uint32_t name;  /* in the text */
	uint32_t inode; /* 0 is an implicit folder */
	uint32_t gen;
	uint32_t born;
	uint16_t touched; /* last layer that named it or something below */
	uint16_t swept;   /* last layer whose whiteout went through it */
};

struct image_inode {
	uint64_t size;
	uint64_t offset; /* body in its layer; files only */
	uint32_t uid;
	uint32_t gid;
	uint32_t mtime;
	uint32_t xattrs; /* in the text; 0 is none */
	uint32_t text;   /* symlink: target in the text; file: number of hash */
	uint32_t node;   /* first live name, once frozen; 0 is unused */
	uint16_t mode;
	uint16_t layer;
	uint8_t kind;
};

struct image_tree {
	struct buf nodes;
	struct buf inodes;
	struct buf text; /* 16-bit length, bytes */
	uint32_t *buckets;
	uint32_t mask;
	uint64_t key[2];
};

/* key: 16 random bytes against chosen collisions. */
void image_tree_init(struct image_tree *t, const uint8_t key[16]);
void image_tree_release(struct image_tree *t);
/* Pointers are good until the next add. */
struct image_node *image_tree_node(const struct image_tree *t, uint32_t id);
struct image_inode *image_tree_inode(const struct image_tree *t, uint32_t id);
uint32_t image_tree_inodes(const struct image_tree *t); /* ids are below it */
enum image_kind image_tree_kind(const struct image_tree *t, uint32_t node);
/* The live child of that name, or 0. */
uint32_t image_tree_find(const struct image_tree *t, uint32_t parent,
    struct span name);
/* A child without an inode: a folder of which nothing is said yet. */
int image_tree_add(struct image_tree *t, uint32_t parent, struct span name,
    uint32_t *node, struct fault *f) MUST_CHECK;
int image_tree_add_inode(struct image_tree *t, const struct image_inode *i,
    uint32_t *id, struct fault *f) MUST_CHECK;
int image_tree_add_text(struct image_tree *t, struct span s, uint32_t *at,
    struct fault *f) MUST_CHECK;
struct span image_tree_text(const struct image_tree *t, uint32_t at);
struct span image_tree_name(const struct image_tree *t, uint32_t node);
void image_tree_drop(struct image_tree *t, uint32_t node);  /* with all below */
void image_tree_empty(struct image_tree *t, uint32_t node); /* all below */
/* Live children, in no order until the tree is frozen; 0 ends. */
uint32_t image_tree_child(const struct image_tree *t, uint32_t node);
uint32_t image_tree_sibling(const struct image_tree *t, uint32_t node);
/* Parents before children; start with IMAGE_ROOT; 0 ends. */
uint32_t image_tree_walk(const struct image_tree *t, uint32_t node);
/* Path without a leading slash, NUL-terminated; out holds LIMIT_PATH. */
struct span image_tree_path(const struct image_tree *t, uint32_t node,
    char *out);
/* Sort all children by name and give each inode its first live name. */
void image_tree_freeze(struct image_tree *t);
/* The squares of how many names each folder holds, together. */
uint64_t image_tree_crowd(const struct image_tree *t);

/* Umoci's rules: one layer entry after the other onto the tree. */
struct image_merge {
	struct image_tree *tree;
	uint16_t layer;   /* counts from 1; the caller raises it */
	bool whiteouts;   /* false: `.wh.` is an ordinary name */
	uint64_t entries; /* of all layers */
	uint64_t bytes;   /* content of all layers */
	uint64_t bytes_max;
	uint64_t holes; /* of them, in sparse files */
	uint64_t xattrs_dropped;
	uint64_t steps; /* of all paths resolved */
	/* The path that is being resolved. */
	char out[LIMIT_PATH]; /* so far, without links */
	size_t out_len;
	uint32_t known[IMAGE_DEPTH]; /* its nodes; 0 does not exist */
	size_t depth;
	char rest[4 * LIMIT_PATH]; /* still to do, at the end of the room */
	size_t rest_at;
};

void image_merge_init(struct image_merge *m, struct image_tree *t,
    uint64_t bytes_max);
/* FAULT_INVALID or FAULT_LIMIT, the sentence begins with the entry's name. */
int image_merge_entry(struct image_merge *m, const struct image_tar_entry *e,
    struct fault *f) MUST_CHECK;
/* The node a path leads to inside the tree, last link followed too, or 0. */
uint32_t image_merge_lookup(struct image_merge *m, struct span path);

/*
 * The tar writer. Appends one entry's headers to b (its content and padding
 * are the caller's); e->path is relative and clean.
 */
int image_emit_entry(struct buf *b, const struct image_tar_entry *e,
    struct fault *f) MUST_CHECK;
int image_emit_zeros(struct buf *b, size_t n, struct fault *f) MUST_CHECK;
/* One extended attribute as a record, for e->xattrs. */
int image_emit_xattr(struct buf *b, const char *name, struct span value,
    struct fault *f) MUST_CHECK;
size_t image_emit_pad(uint64_t size); /* zeros after that much content */

/*
 * A child process of fixed arguments that filters bytes; dies with us. What
 * it says on stderr is kept for the fault when it fails.
 */
struct image_child {
	pid_t pid;    /* 0: none */
	int complain; /* memory file that is its stderr */
	const char *what;
};

/* in and out become its stdin and stdout and stay the caller's. */
int image_child_start(struct image_child *c, const char *path,
    const char *const *args, int in, int out, struct fault *f) MUST_CHECK;
/* Wait for it; anything but exit 0 is a fault of that code. */
int image_child_wait(struct image_child *c, enum fault_code code,
    struct fault *f) MUST_CHECK;
void image_child_stop(struct image_child *c); /* kill, if it is there */

/* A range of a file, unpacked if it is gzip or zstd. */
struct image_blob {
	int fd; /* borrowed */
	uint64_t at;
	uint64_t size;
	uint8_t want[DIGEST_SIZE];
	bool check_raw;   /* want is of the bytes in the file */
	bool check_plain; /* want is of the unpacked bytes */
};

enum image_packing {
	IMAGE_PLAIN,
	IMAGE_GZIP,
	IMAGE_ZSTD,
};

/* What may be read by all the sources that have it, one after the other. */
struct image_budget {
	uint64_t max;  /* of each of them */
	uint64_t read; /* bytes of blobs */
	uint64_t told; /* unpacked bytes given out */
};

struct image_source {
	const struct image_blob *blob;
	struct image_budget *budget;
	enum image_packing packing;
	bool hashing;
	uint64_t at; /* next byte of the blob to read */
	struct image_child child;
	int to;
	int from;
	uint8_t *raw; /* on its way to the child */
	size_t raw_at;
	size_t raw_len;
	struct digest digest;
};

/* xz and bzip2 are refused by name. hashing: check blob->want at the end. The
 * budget is borrowed; over it reads are LIMIT. */
int image_source_open(struct image_source *s, const struct image_blob *b,
    const struct image_tools *tools, bool hashing, struct image_budget *budget,
    struct fault *f) MUST_CHECK;
/* *got is 0 at the end; by then packing and digest were found right. */
int image_source_read(struct image_source *s, void *p, size_t size, size_t *got,
    struct fault *f) MUST_CHECK;
/* Jump over n bytes without reading them, if that is possible. */
bool image_source_skip(struct image_source *s, uint64_t n);
void image_source_close(struct image_source *s);

/* A source read as tar: the events of its reader, one after the other. */
struct image_stream {
	struct image_source source;
	struct image_tar tar;
	uint8_t *chunk;
	struct span left; /* of the chunk */
};

int image_stream_open(struct image_stream *s, const struct image_blob *b,
    const struct image_tools *tools, bool hashing, struct image_budget *budget,
    struct fault *f) MUST_CHECK;
/* IMAGE_TAR_END only when the source is at its good end too. */
int image_stream_next(struct image_stream *s, enum image_tar_event *event,
    struct fault *f) MUST_CHECK;
/* The content of the entry just told is not wanted. */
void image_stream_skip(struct image_stream *s);
void image_stream_close(struct image_stream *s);

/* tar2sqfs writing an unnamed file of the store. */
struct image_squash {
	struct image_child child;
	int file;
	int pipe;
	struct buf out;
};

int image_squash_open(struct image_squash *q, int dir,
    const struct image_tools *tools, struct fault *f) MUST_CHECK;
int image_squash_entry(struct image_squash *q, const struct image_tar_entry *e,
    struct fault *f) MUST_CHECK;
int image_squash_data(struct image_squash *q, struct span s,
    struct fault *f) MUST_CHECK;
int image_squash_zeros(struct image_squash *q, uint64_t n,
    struct fault *f) MUST_CHECK;
/* End of the archive: wait, sync; q->file is the squashfs. */
int image_squash_finish(struct image_squash *q, struct fault *f) MUST_CHECK;
void image_squash_close(struct image_squash *q);

/*
 * Pass two: the frozen tree and its content into a squash. names, then each
 * file (begin, data and holes in order, end), then links.
 */
struct image_write {
	struct image_squash *squash;
	struct image_tree *tree;
	const struct image_import *ask;
	struct buf digests; /* of programs, DIGEST_SIZE each */
	struct buf passwd;
	struct buf group;
	uint32_t passwd_inode;
	uint32_t group_inode;
	uint64_t bytes;
	uint64_t entries;
	uint64_t dropped; /* devices and sockets */
	/* Of the index, as far as names and content are known. */
	struct buf line;
	uint64_t symlinks;
	uint64_t programs;
	uint64_t index_bytes; /* as they are limited */
	/* The file at hand. */
	uint32_t inode;
	uint64_t left;
	struct digest digest;
	uint8_t head[4];
	size_t head_len;
};

void image_write_init(struct image_write *w, struct image_tree *t,
    struct image_squash *q, const struct image_import *ask);
void image_write_release(struct image_write *w);
int image_write_names(struct image_write *w, struct fault *f) MUST_CHECK;
int image_write_begin(struct image_write *w, uint32_t inode,
    struct fault *f) MUST_CHECK;
int image_write_data(struct image_write *w, struct span s,
    struct fault *f) MUST_CHECK;
int image_write_hole(struct image_write *w, uint64_t n,
    struct fault *f) MUST_CHECK;
int image_write_end(struct image_write *w, struct fault *f) MUST_CHECK;
int image_write_links(struct image_write *w, struct fault *f) MUST_CHECK;

/* open(2) that does not leave dir, nor follow links unless told; or -1. */
int image_folder_open(int dir, const char *path, int flags, bool links);
/* A folder of the host as source: names into m, content into w. */
int image_folder_index(int dir, struct image_merge *m,
    const struct image_import *ask, struct fault *f) MUST_CHECK;
int image_folder_write(int dir, struct image_write *w,
    struct fault *f) MUST_CHECK;

/* One name of the tree, if the index will have it; LIMIT when that gets too
 * long. */
int image_index_count(struct image_write *w, uint32_t node,
    struct fault *f) MUST_CHECK;
/* The sorted index of a written tree, appended to the file fd. */
int image_index_write(int fd, const struct image_write *w,
    struct fault *f) MUST_CHECK;

/* One line, "l PATH TARGET" or "x PATH HEX"; its texts are in the arena. */
struct image_line {
	bool is_link;
	struct span path;
	struct span target;          /* of a link */
	uint8_t digest[DIGEST_SIZE]; /* of a program */
};
bool image_index_line(struct span line, struct arena *a,
    struct image_line *out);
/* image_index_find() in the index that fd is. INVALID: it is damaged. */
int image_index_search(int fd, struct span path, uint8_t digest[DIGEST_SIZE],
    bool *found, struct fault *f) MUST_CHECK;

int image_index_parse(struct span text, struct arena *a,
    struct image_index *out, struct fault *f) MUST_CHECK;

/* passwd(5) and group(5); lines of another form are passed over. */
int image_users_parse(struct span text, struct arena *a,
    const struct image_account **out, size_t *count,
    struct fault *f) MUST_CHECK;
int image_groups_parse(struct span text, struct arena *a,
    const struct image_account **out, size_t *count,
    struct fault *f) MUST_CHECK;

/*
 * An archive's image: its layers, lowest first, and its configuration. Texts
 * live in the arena of the plan.
 */
struct image_plan {
	struct arena arena;
	const char *kind; /* "docker", "oci" */
	struct image_blob *layers;
	int *files; /* descriptors that layers borrow, -1 where shared */
	size_t count;
	struct image_config config;
	uint8_t config_digest[DIGEST_SIZE];
};

/* Where the members of an archive or layout are found, by path. */
typedef int (*image_member)(void *arg, const char *path, struct image_blob *out,
    int *owned, struct fault *f);

void image_plan_init(struct image_plan *p);
void image_plan_release(struct image_plan *p);
int image_plan_docker(struct image_plan *p, image_member find, void *arg,
    const char *ref, struct fault *f) MUST_CHECK;
int image_plan_oci(struct image_plan *p, image_member find, void *arg,
    const char *ref, struct fault *f) MUST_CHECK;

/* The image configuration, of OCI or Docker: pure, texts into the arena. */
int image_config_parse(struct span text, struct arena *a,
    struct image_config *out, const struct json_value **root,
    struct fault *f) MUST_CHECK;
/* Of one of its lists, with what ends each text. */
size_t image_config_bytes(const char *const *list);
void image_config_write(struct json_out *o, const struct image_config *c);
/* As written by image_config_write(). */
int image_config_read(const struct json_value *v, struct arena *a,
    struct image_config *out, struct fault *f) MUST_CHECK;
/* "sha256:HEX" of a descriptor. */
int image_digest_parse(const struct json_value *v, uint8_t out[DIGEST_SIZE],
    struct fault *f) MUST_CHECK;

/* Put a finished import into the store; the name comes last. */
int image_publish(const struct image_store *s, const struct image_write *w,
    int sqfs, const struct image_plan *plan, struct image_result *out,
    struct fault *f) MUST_CHECK;

/* Waits for an import that is being published. */
int image_store_lock(const struct image_store *s, struct fault *f) MUST_CHECK;
/* FAULT_BUSY instead of waiting: for those who are in a loop. */
int image_store_try_lock(const struct image_store *s,
    struct fault *f) MUST_CHECK;
void image_store_unlock(const struct image_store *s);
int image_not_found(const char *name, struct fault *f); /* sets it; -1 */
/* "NAME.json" -> NAME; false for anything else that lies about. */
bool image_name_of_file(const char *file, char name[LIMIT_NAME + 1]);
/* All names, sorted, in the arena. */
int image_names(const struct image_store *s, struct arena *a,
    char (**out)[LIMIT_NAME + 1], size_t *count, struct fault *f) MUST_CHECK;
void image_blob_remove(const struct image_store *s, const char *digest);

#endif
