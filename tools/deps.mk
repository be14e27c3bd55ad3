# One flavour of the pinned libraries, straight from their sources:
#   make -f tools/deps.mk SRC=unpacked OUT=folder CC=compiler OPT=flags
# tools/deps-build calls it, once with musl and once with glibc.

libs := sqlite3 bearssl nghttp2 seccomp yaml nanopb
obj  := $(OUT)/.obj

src_sqlite3 := sqlite3/sqlite3.c
src_bearssl := $(patsubst $(SRC)/%,%,$(sort $(wildcard $(SRC)/bearssl/src/*.c $(SRC)/bearssl/src/*/*.c)))
src_nghttp2 := $(patsubst $(SRC)/%,%,$(sort $(wildcard $(SRC)/nghttp2/lib/*.c)))
src_seccomp := $(filter-out %/arch-syscall-dump.c,$(patsubst $(SRC)/%,%,$(sort $(wildcard $(SRC)/libseccomp/src/*.c))))
src_yaml    := $(patsubst $(SRC)/%,%,$(sort $(wildcard $(SRC)/libyaml/src/*.c)))
src_nanopb  := $(addprefix nanopb/pb_,common.c encode.c decode.c)

flags_sqlite3 := -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_DQS=0 \
	-DSQLITE_OMIT_DEPRECATED -DSQLITE_OMIT_SHARED_CACHE -DSQLITE_OMIT_DECLTYPE \
	-DSQLITE_OMIT_PROGRESS_CALLBACK -DSQLITE_LIKE_DOESNT_MATCH_BLOBS \
	-DSQLITE_MAX_EXPR_DEPTH=64 -DSQLITE_DEFAULT_FOREIGN_KEYS=1 -DSQLITE_TEMP_STORE=3 \
	-DSQLITE_DEFAULT_SYNCHRONOUS=2 -DSQLITE_DEFAULT_WAL_SYNCHRONOUS=2 \
	-DSQLITE_TRUSTED_SCHEMA=0 -DSQLITE_DEFAULT_MEMSTATUS=0 -DHAVE_USLEEP -DHAVE_FDATASYNC -DSQLITE_MAX_MMAP_SIZE=0
flags_bearssl := -I$(SRC)/bearssl/inc -I$(SRC)/bearssl/src
flags_nghttp2 := -I$(SRC)/nghttp2/lib/includes -I$(SRC)/nghttp2/lib -DNGHTTP2_STATICLIB \
	-DHAVE_ARPA_INET_H -DHAVE_NETINET_IN_H -DHAVE_CLOCK_GETTIME -DHAVE_DECL_CLOCK_MONOTONIC=1 \
	-DNDEBUG
flags_seccomp := -I$(SRC)/libseccomp -I$(SRC)/libseccomp/include
flags_yaml    := -I$(SRC)/libyaml/include -DYAML_VERSION_MAJOR=0 -DYAML_VERSION_MINOR=2 \
	-DYAML_VERSION_PATCH=5 -DYAML_VERSION_STRING='"0.2.5"'
flags_nanopb  := -I$(SRC)/nanopb

headers := sqlite3/sqlite3.h jsmn/jsmn.h libyaml/include/yaml.h \
	$(addprefix nanopb/,pb.h pb_common.h pb_encode.h pb_decode.h) \
	$(addprefix libseccomp/include/,seccomp.h seccomp-syscalls.h) \
	$(patsubst $(SRC)/%,%,$(wildcard $(SRC)/bearssl/inc/*.h))

common := -std=gnu11 -D_GNU_SOURCE -w -fPIE -fstack-protector-strong -fno-strict-aliasing $(OPT)

all: $(libs:%=$(OUT)/lib/lib%.a)
	mkdir -p $(OUT)/include/nghttp2
	cp $(addprefix $(SRC)/,$(headers)) $(OUT)/include
	cp $(SRC)/nghttp2/lib/includes/nghttp2/*.h $(OUT)/include/nghttp2
	rm -rf $(obj)

define library
$(OUT)/lib/lib$(1).a: $$(src_$(1):%.c=$(obj)/$(1)/%.o)
	mkdir -p $$(@D)
	rm -f $$@
	ar rcsD $$@ $$^
$(obj)/$(1)/%.o: $(SRC)/%.c
	@mkdir -p $$(@D)
	$(CC) $(common) $$(flags_$(1)) -c -o $$@ $$<
endef
$(foreach l,$(libs),$(eval $(call library,$(l))))
