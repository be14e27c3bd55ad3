# One make, no recursion into folders. `make` builds all that runs; `make demo`
# and `make test` also install what they need. V=1 shows commands.
#
#   MODE=release (default), debug     static musl programs, no interpreter
#   MODE=asan, fuzz, cov, analyze     glibc programs for tests; the guest file
#                                     stays what ships
#   BUILD=DIR                         where objects go (default build); the
#                                     libraries and the kernel stay in build/
#
# A room appears here by existing: src/ROOM/*.c. To work on one:
#   make room ROOM=json               compile it alone (both flavours)
#   make check ROOM=json              its tests/unit/json/test_*.c, under ASan
#   make fuzz FUZZ=json FUZZ_SECONDS=5   tests/fuzz/fuzz_json.c
#   make lint ROOM=json               format, floors, headers, tidy, cppcheck
# Figures, which nothing asserts:
#   make bench SECTIONS="exec list"   all of tests/bench/run, or some sections
#   make bench-mcp                    MCP beside the official SDK's server
#   make bench-grants                 creates, refusals, the door's reads
#   make bench-attack                 what others wait while one attacks
#   make bench-soak SOAK_SECONDS=120 SOAK_EXECS=10000
# A unit test is linked with its room and what src/FLOORS puts below it. Tests
# in property/, fault/ and fuzz/ name their rooms in the first line, like
# /* rooms: json policy */. tests/lib/*.c is there for all of them. What e2e
# scripts need compiled is tests/e2e/host/*.c and, for use inside, e2e/guest/*.c;
# they find it in $NACRE_BIN/../e2e.

ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif
MODE  ?= release
BUILD ?= build
B     := $(BUILD)/$(MODE)
DEPS  := build/deps
KERNEL := build/kernel
FUZZ_SECONDS ?= 30
SOAK_SECONDS ?= 120
SOAK_EXECS   ?= 10000

# --- the architecture: a program is its first room's main.c and these rooms
protocols := rpc http tls wire
rooms_nacre         := cli image $(protocols) grant prover region policy yaml json digest loop confine base
rooms_nacre-gateway := gateway mcp machine image store audit grant prover region policy identity $(protocols) yaml json digest loop confine base
rooms_nacre-keeper  := keeper machine egress policy identity $(protocols) yaml json digest loop confine base
rooms_nacre-image   := imager image json digest confine base
rooms_nacre-guest   := guest supervisor sandbox policy identity mcp $(protocols) yaml json digest loop confine base
host_programs  := nacre nacre-gateway nacre-keeper nacre-image
guest_programs := nacre-guest
guest_max      := 786432
libs := sqlite3 bearssl nghttp2 seccomp yaml nanopb

# --- compilers and flags
musl_cc  := $(DEPS)/musl/bin/musl-gcc
ships    := $(filter release debug analyze,$(MODE))
host_cc  := $(if $(ships),$(musl_cc),$(if $(filter fuzz,$(MODE)),clang,gcc))
guest_cc := $(musl_cc)

std  := -std=gnu11 -D_GNU_SOURCE -Isrc -I$(B)/gen
warn := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion \
	-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wundef -Wformat=2 \
	-Wswitch-enum -Wnull-dereference -Wdouble-promotion -Wimplicit-fallthrough \
	-Wredundant-decls -Werror
hard := -fstack-protector-strong -fstack-clash-protection -fcf-protection -fPIE \
	-fno-strict-aliasing -fno-delete-null-pointer-checks -fno-common \
	-ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(BUILD)=build
gcc_hard := -ftrivial-auto-var-init=zero
sections := -ffunction-sections -fdata-sections

opt_release := -O2 -g -D_FORTIFY_SOURCE=2 $(sections)
opt_debug   := -O1 -g3
opt_analyze := -O1 -g3 -fanalyzer
opt_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
opt_cov     := -O0 -g --coverage
opt_fuzz    := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
# What is set or copied whole, a struct fault first of all, is some hundred bytes:
# not by a string instruction, which TCG runs word by word.
strings     := -mmemset-strategy=unrolled_loop:512:noalign,libcall:-1:noalign \
	-mmemcpy-strategy=unrolled_loop:512:noalign,libcall:-1:noalign
# Not -Os: it copies by "rep movsb", which TCG runs byte by byte.
opt_guest   := $(if $(filter debug,$(MODE)),-O1,-O2) -g $(sections)

flags_host  := $(std) $(hard) $(if $(filter fuzz,$(MODE)),,$(gcc_hard)) $(opt_$(MODE)) \
	$(if $(ships),,-isystem $(DEPS)/host/include)
flags_guest := $(std) $(hard) $(gcc_hard) $(strings) $(opt_guest)
static_pie  := -static-pie -Wl,-z,relro,-z,now,-z,noexecstack,--gc-sections,--build-id=none
link_host   := $(if $(ships),$(static_pie),-no-pie $(opt_$(MODE)) -L$(DEPS)/host/lib)
# At a fixed address: under TCG a program that moves is translated anew at each
# exec (measured: twice the time from launch to the agent's exec). Stack, heap,
# mappings and vdso still move.
link_guest  := $(static_pie:-static-pie=-static -no-pie)
libs_host   := $(libs:%=-l%) $(if $(ships),,-lm)
libs_guest  := $(libs:%=-l%)
banned      := $(if $(wildcard src/base/banned.h),-include src/base/banned.h)

# Tests see the same plain headers as sources, without the ban on setjmp.
test_include := -Itests/lib -DTEST_DATA='"tests/data"' -include stdio.h -include stdlib.h -include string.h

Q := $(if $(V),,@)
quote = '$(subst ','\'',$(1))'
say = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2))

# --- what exists: a room whose folder is not there yet is skipped
room_srcs = $(sort $(wildcard $(foreach r,$(1),src/$(r)/*.c)))
not_main  = $(filter-out $(addsuffix /main.c,$(addprefix src/,$(1))),$(2))
objs      = $(2:%.c=$(B)/obj/$(1)/%.o)
program_srcs = $(call not_main,$(wordlist 2,99,$(rooms_$(1))),$(call room_srcs,$(rooms_$(1))))
exists    = $(foreach p,$(1),$(if $(wildcard src/$(firstword $(rooms_$(p)))/main.c),$(p)))
programs  := $(call exists,$(host_programs))
guests    := $(call exists,$(guest_programs))
protos    := $(sort $(wildcard proto/*.proto))
gen       := $(protos:%.proto=$(B)/gen/%.pb.c)

host_files  := $(programs:%=$(B)/bin/%)
guest_files := $(guests:%=$(B)/guest/%) $(if $(guests),$(B)/guest/initramfs.cpio) $(B)/guest/vmlinux

all: $(host_files) $(guest_files)
.DEFAULT_GOAL := all

-include $(BUILD)/floors.mk
$(BUILD)/floors.mk: src/FLOORS tools/floors-mk
	$(Q)mkdir -p $(@D) && tools/floors-mk >$@.part && mv $@.part $@

# --- libraries and kernel: made by scripts, once; touched only when changed
build/.deps: tools/deps tools/deps-build tools/deps.mk tools/musl.specs tools/pins tools/lib.sh
	$(Q)tools/deps && touch $@
$(DEPS)/.id: build/.deps
	@test -e $@
build/.kernel: tools/kernel tools/lib.sh vm/kernel.fragment
	$(Q)tools/kernel && touch $@
$(KERNEL)/vmlinux $(KERNEL)/config: build/.kernel
	@test -e $@
deps: $(DEPS)/.id
kernel: $(KERNEL)/vmlinux

# --- messages: all .proto files in one run; unchanged output keeps its time
$(B)/gen/.stamp: $(protos) $(wildcard proto/*.options) $(DEPS)/.id
	$(if $(protos),$(call say,PROTO,'$(notdir $(protos))'))
	$(Q)tools/gen-proto $(@D) $(protos) && touch $@
$(gen) $(gen:.c=.h): $(B)/gen/.stamp
	@test -e $@

# --- the guest's system call filters: compiled here, not there
filters := $(B)/gen/confine/filters.h
$(B)/tools/mkfilter: tools/mkfilter.c src/confine/newer.h $(wildcard src/confine/*.def) $(DEPS)/.id
	$(call say,HOSTCC,$<)
	$(Q)mkdir -p $(@D) && gcc -std=gnu11 -D_GNU_SOURCE -O1 $(filter-out -Wnull-dereference,$(warn)) -Isrc -isystem $(DEPS)/host/include -o $@ $< $(DEPS)/host/lib/libseccomp.a
$(filters): $(B)/tools/mkfilter
	$(Q)mkdir -p $(@D) && $< >$@.part && mv $@.part $@
$(B)/obj/%/libproto.a: $(gen:$(B)/gen/%.c=$(B)/obj/%/gen/%.o)

# --- compile: $(1) is the flavour, host or guest; other flags, other objects
all_flags := $(host_cc) $(flags_host) $(flags_guest) $(banned) $(warn) $(test_include) $(CFLAGS)
$(B)/.flags: force
	@mkdir -p $(@D) && printf '%s\n' $(call quote,$(all_flags)) | cmp -s - $@ || printf '%s\n' $(call quote,$(all_flags)) >$@
define flavour
$(B)/obj/$(1)/src/%.o: src/%.c $(B)/.flags $(DEPS)/.id | $(B)/gen/.stamp $(filters)
	$$(call say,CC,$$(if $$(filter guest,$(1)),$$<' (guest)',$$<))
	$$(Q)mkdir -p $$(@D) && $$($(1)_cc) $$(flags_$(1)) $(banned) $$(warn) $$(CFLAGS) -MMD -MP -c -o $$@ $$<
$(B)/obj/$(1)/tests/%.o: tests/%.c $(B)/.flags $(DEPS)/.id | $(B)/gen/.stamp $(filters)
	$$(call say,CC,$$<)
	$$(Q)mkdir -p $$(@D) && $$($(1)_cc) $$(flags_$(1)) $$(warn) $$(test_include) $$(CFLAGS) -MMD -MP -c -o $$@ $$<
$(B)/obj/$(1)/gen/%.o: $(B)/gen/%.c $(B)/.flags
	$$(call say,CC,$$<)
	$$(Q)mkdir -p $$(@D) && $$($(1)_cc) $$(flags_$(1)) -w -MMD -MP -c -o $$@ $$<
$(B)/obj/$(1)/libproto.a: $(gen:$(B)/gen/%.c=$(B)/obj/$(1)/gen/%.o)
	$$(Q)mkdir -p $$(@D) && rm -f $$@ && ar rcsD $$@ $$^
endef
$(foreach f,host guest,$(eval $(call flavour,$(f))))

# --- link: what ships keeps its symbols beside it, in NAME.debug
define program
$(B)/$(2)/$(1): $$(call objs,$(3),$$(call program_srcs,$(1)) $(if $(filter asanhost,$(MODE)$(3)),tests/asan/options.c)) $(B)/obj/$(3)/libproto.a
	$$(call say,LINK,$$@)
	$$(Q)mkdir -p $$(@D) && $$($(3)_cc) $$(link_$(3)) -o $$@.debug $$^ $$(libs_$(3))
	$$(Q)tools/finish-program $$@ $$(if $$(ships)$$(filter guest,$(3)),static,shared) $(4)
endef
$(foreach p,$(programs),$(eval $(call program,$(p),bin,host)))
$(foreach p,$(guests),$(eval $(call program,$(p),guest,guest,$(guest_max))))

$(BUILD)/tools/mkcpio: tools/mkcpio.c
	$(call say,HOSTCC,$<)
	$(Q)mkdir -p $(@D) && gcc -std=gnu11 -D_GNU_SOURCE -O1 $(filter-out -Wnull-dereference,$(warn)) -o $@ $<
$(B)/guest/initramfs.cpio: initramfs/files $(BUILD)/tools/mkcpio $(guests:%=$(B)/guest/%)
	$(call say,CPIO,$@)
	$(Q)$(BUILD)/tools/mkcpio $< $(@D) >$@.part && mv $@.part $@
$(B)/guest/vmlinux: $(KERNEL)/vmlinux
	$(Q)mkdir -p $(@D) && cp $< $@.part && mv $@.part $@

# --- tests: programs are built in their own mode by a second make
floor_of  = $(or $(floor_$(1)),$(1) base)
rooms_line = $(shell sed -n '1,3s|.*rooms: *\([a-z ]*\).*|\1|p' $(1))
test_rooms = $(sort $(foreach r,$(if $(filter tests/unit/%,$(1)),$(word 3,$(subst /, ,$(1))),$(call rooms_line,$(1))),$(call floor_of,$(r))))
test_objs  = $(call objs,$(or $(2),host),$(1) $(foreach s,$(call room_srcs,$(call test_rooms,$(1))),$(if $(filter %/main.c,$(s)),,$(s))))
test_srcs := $(sort $(wildcard tests/unit/$(or $(ROOM),*)/test_*.c $(if $(ROOM),,tests/property/test_*.c tests/fault/test_*.c)))
fuzz_srcs := $(sort $(wildcard tests/fuzz/fuzz_$(or $(FUZZ),*).c))
test_bins := $(test_srcs:tests/%.c=$(B)/test/%)
fuzz_bins := $(fuzz_srcs:tests/fuzz/%.c=$(B)/fuzz/%)

# What ships is built with musl, and cmocka is not.
test_lib := $(filter-out $(if $(ships),$(shell grep -l '"unit.h"' tests/lib/*.c)),$(sort $(wildcard tests/lib/*.c)))
$(B)/obj/host/libtest.a: $(call objs,host,$(test_lib))
	$(Q)mkdir -p $(@D) && rm -f $@ && ar rcsD $@ $^
define test_program
$(2): $$(call test_objs,$(1)) $(B)/obj/host/libtest.a $(B)/obj/host/libproto.a
	$$(call say,LINK,$$@)
	$$(Q)mkdir -p $$(@D) && $$(host_cc) $$(link_host) $(3) -o $$@ $$^ $$(libs_host) $(if $(3),,-lcmocka)
endef
$(foreach s,$(test_srcs),$(eval $(call test_program,$(s),$(s:tests/%.c=$(B)/test/%))))
$(if $(filter fuzz,$(MODE)),$(foreach s,$(fuzz_srcs),$(eval $(call test_program,$(s),$(s:tests/fuzz/%.c=$(B)/fuzz/%),-fsanitize=fuzzer))))

# --- small programs of the end-to-end tests, for the host and for use in guests
e2e_of = $(sort $(wildcard tests/e2e/$(1)/*.c))
define e2e_program
$(B)/e2e/$(basename $(notdir $(2))): $$(call test_objs,$(2),$(1)) $(B)/obj/$(1)/libproto.a
	$$(call say,LINK,$$@)
	$$(Q)mkdir -p $$(@D) && $$($(1)_cc) $$(link_$(1)) -s -o $$@ $$^ $$(libs_$(1))
endef
$(foreach f,host guest,$(foreach s,$(call e2e_of,$(f)),$(eval $(call e2e_program,$(f),$(s)))))
# The guest in which an agent may be root: one object differs.
root_srcs := $(filter-out src/sandbox/identity.c,$(call program_srcs,nacre-guest)) tests/e2e/root/identity.c
$(B)/e2e/root/nacre-guest: $(call objs,guest,$(root_srcs)) $(B)/obj/guest/libproto.a
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(guest_cc) $(link_guest) -s -o $@ $^ $(libs_guest)
e2e-programs: $(B)/e2e/root/nacre-guest $(foreach f,host guest,$(addprefix $(B)/e2e/,$(basename $(notdir $(call e2e_of,$(f)))))) $(BUILD)/tools/mkcpio

$(eval $(call test_program,tests/z3/pairs.c,$(B)/test/z3/pairs,-g))

# --- bench-mcp: its load, and a gateway that meters nobody: one object differs
unmetered := $(filter-out src/grant/rate.c,$(call program_srcs,nacre-gateway)) tests/bench/mcp/rate.c
$(B)/bench/nacre-gateway: $(call objs,host,$(unmetered))
$(B)/bench/load: $(call test_objs,tests/bench/mcp/load.c)
$(B)/bench/%: $(B)/obj/host/libproto.a
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D) && $(host_cc) $(link_host) -s -o $@ $(filter %.o,$^) $(filter %.a,$^) $(libs_host)

sub = $(Q)+$(MAKE) --no-print-directory
tool_tests := $(sort $(wildcard tests/tools/*.sh))
vm_tests   := $(sort $(wildcard tests/e2e/[0-9]*.sh))
test_env   := NACRE_BIN=$(abspath $(B))/bin NACRE_GUEST=$(abspath $(B))/guest
asan_bins   = $(test_srcs:tests/%.c=$(BUILD)/asan/test/%)
run_fuzz    = $(fuzz_srcs:tests/fuzz/%.c=$(BUILD)/fuzz/fuzz/%)

test-programs: $(test_bins)
fuzz-programs: $(fuzz_bins)
host-programs: $(host_files)
asan-bins:
	$(sub) MODE=asan test-programs
asan-programs:
	$(sub) MODE=asan host-programs
# Two makes at work in one folder would undo each other's files.
ifneq ($(and $(filter asan-bins,$(MAKECMDGOALS)),$(filter asan-programs,$(MAKECMDGOALS))),)
asan-programs: | asan-bins
endif
fuzz-bins:
	$(sub) MODE=fuzz fuzz-programs
host-setup:
	$(Q)tools/host-setup build run test

test: host-setup
	$(sub) all e2e-programs asan-bins asan-programs fuzz-bins
	$(Q)$(test_env) FUZZ_SECONDS=$(FUZZ_SECONDS) tools/run-tests -j2 $(tool_tests) $(asan_bins) $(run_fuzz) -- -j2 $(vm_tests)
check: asan-bins
	$(Q)$(test_env) tools/run-tests -j2 $(asan_bins) $(if $(ROOM),,$(tool_tests))
check-vm: all e2e-programs asan-programs
	$(Q)$(test_env) tools/run-tests -j2 $(vm_tests)
test-z3 bench-prover: host-setup
	$(sub) MODE=release $(BUILD)/release/test/z3/pairs
	$(Q)tests/$(if $(filter test-z3,$@),z3/agree.py,bench/prover/run.py) $(BUILD)/release/test/z3/pairs
test-mutants:
	$(Q)BUILD=$(BUILD) tests/mutants/run
test-boots: all e2e-programs
	$(Q)$(test_env) tools/run-tests tests/e2e/boots.sh
fuzz: fuzz-bins
	$(Q)FUZZ_SECONDS=$(FUZZ_SECONDS) tools/run-tests -j2 $(run_fuzz)
cov:
	$(sub) MODE=cov test-programs
	$(Q)find $(BUILD)/cov -name '*.gcda' -delete
	$(Q)tools/run-tests -j2 $(test_srcs:tests/%.c=$(BUILD)/cov/test/%)
	$(Q)tools/coverage $(BUILD)/cov
analyze:
	$(sub) MODE=analyze all
demo: host-setup
	$(sub) all e2e-programs
	$(Q)$(test_env) tests/e2e/demo.sh
bench: all e2e-programs
	$(Q)$(test_env) tests/bench/run $(SECTIONS)
bench-grants: all e2e-programs
	$(Q)$(test_env) tests/bench/grants
bench-mcp: all e2e-programs $(B)/bench/nacre-gateway $(B)/bench/load
	$(Q)$(test_env) tests/bench/mcp/run
bench-attack: all e2e-programs
	$(Q)for a in 43-attack 44-attack-frames 44-attack-door; do $(test_env) bash tests/e2e/$$a.sh figures || exit; done
bench-soak: all e2e-programs
	$(Q)$(test_env) SOAK_SECONDS=$(SOAK_SECONDS) tests/bench/soak
	$(Q)$(test_env) EXECS=$(SOAK_EXECS) tools/run-tests tests/e2e/69-leak.sh
# Long ones: 10 000 execs leave nothing behind, 100 000 files both ways.
test-execs: all e2e-programs
	$(Q)$(test_env) EXECS=$(SOAK_EXECS) bash tests/e2e/69-leak.sh
test-files-big: all
	$(Q)$(test_env) FILES=100000 bash tests/e2e/69-files.sh
bench-build reproduce deps-archive check-offline:
	$(Q)tools/$@
room: $(foreach f,host guest,$(call objs,$(f),$(call room_srcs,$(ROOM))))

# --- lint: the tools of Debian 12; elsewhere it says so, unless LINT=strict
lint_srcs = $(sort $(wildcard $(addprefix src/$(or $(ROOM),*)/*,.c .h)))
c_files   = $(filter %.c,$(lint_srcs))
headers   = $(filter %.h,$(lint_srcs))
tidy_ok   = $(c_files:src/%.c=$(BUILD)/lint/%.tidy)
lint_std  = $(std) -isystem $(DEPS)/host/include
lint: floors $(if $(ROOM),,roles) sizes headers lint-clang
floors:
	$(Q)tools/check-floors . $(ROOM)
roles: $(call objs,guest,$(call room_srcs,supervisor sandbox))
	$(Q)tools/check-roles $(B)/obj/guest/src
sizes:
	$(Q)tools/check-sizes
headers: | $(B)/gen/.stamp $(filters)
	$(Q)for h in $(headers); do $(host_cc) $(flags_host) $(warn) -x c -fsyntax-only $$h || exit 1; done
lint-clang: | $(B)/gen/.stamp $(filters)
	$(Q)+if tools/have-lint $(LINT); then $(MAKE) --no-print-directory -k format tidy cppcheck; fi
format:
	$(Q)clang-format-14 --dry-run -Werror $(lint_srcs) $(wildcard $(if $(ROOM),,tests/*/*.[ch] tools/*.c) tests/unit/$(or $(ROOM),*)/*.[ch])
tidy: $(tidy_ok)
$(BUILD)/lint/%.tidy: src/%.c $(wildcard src/*/*.h) .clang-tidy | $(B)/gen/.stamp $(filters)
	@printf '  %-7s %s\n' TIDY $<
	$(Q)mkdir -p $(@D) && clang-tidy-14 --quiet $< -- $(lint_std) $(banned) 2>$@.log || { cat $@.log; exit 1; }
	$(Q)touch $@
cppcheck:
	$(Q)cppcheck --enable=warning,performance,portability,style --inline-suppr --std=c11 --quiet \
		--error-exitcode=1 --suppress=missingIncludeSystem --suppress=clarifyCalculation --suppress=unusedStructMember -Isrc $(c_files)

clean:
	$(Q)rm -rf $(BUILD)/release $(BUILD)/debug $(BUILD)/asan $(BUILD)/fuzz $(BUILD)/cov $(BUILD)/analyze $(BUILD)/lint

.DELETE_ON_ERROR:
force:
.SECONDARY:
.PHONY: force all e2e-programs deps kernel test test-z3 test-mutants bench-prover check check-vm test-boots test-execs test-files-big fuzz cov analyze demo bench bench-grants bench-mcp bench-attack bench-soak bench-build reproduce deps-archive check-offline \
	room lint floors roles sizes headers lint-clang format tidy cppcheck clean host-setup host-programs asan-programs test-programs fuzz-programs asan-bins fuzz-bins
-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
