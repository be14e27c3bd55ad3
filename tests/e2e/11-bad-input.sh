#!/bin/bash
# Bad input: what was given, the exit code, what is said, what is left: nothing.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"

run nacre sandbox list
is "$code" 75 "no gateway: try again"
like "$out" "nacre gateway start" "and says how to start one"

gateway_up
nacre image import tiny "$(tiny_image)" >/dev/null

# bad CODE REGEX TITLE COMMAND...: fails so, and leaves no sandbox.
bad() {
	local want=$1 regex=$2 title=$3
	shift 3
	run "$@"
	is "$code" "$want" "$title: exit $want"
	like "$out" "$regex" "$title: says why"
	is "$(nacre sandbox list)" "no sandboxes" "$title: nothing is left"
}

bad 2 'name' "an empty name" nacre sandbox create --name '' --from tiny
bad 2 'name' "a name of 20 characters" nacre sandbox create --name abcdefghijklmnopqrst --from tiny
bad 2 'name' "a capital in the name" nacre sandbox create --name Abc --from tiny
bad 2 'name' "two dashes in the name" nacre sandbox create --name a--b --from tiny
bad 2 'name' "a dash at the end" nacre sandbox create --name a- --from tiny
bad 4 'image' "an unknown image" nacre sandbox create --name x --from nothere
bad 2 'from' "no image" nacre sandbox create --name x
bad 2 'cpu' "no cpu" nacre sandbox create --name x --from tiny --cpus 9
bad 2 'memory' "too little memory" nacre sandbox create --name x --from tiny --memory 1
bad 2 'memory' "too much memory" nacre sandbox create --name x --from tiny --memory 9000
bad 2 'env' "an environment entry without a value" nacre sandbox create --name x --from tiny --env X
bad 2 'env' "an environment name that is none" nacre sandbox create --name x --from tiny --env 1X=1
bad 2 'OPENSHELL|NACRE|reserved' "a reserved environment name" nacre sandbox create --name x --from tiny --env NACRE_X=1
bad 2 'unknown option' "an unknown option" nacre sandbox create --name x --from tiny --nope
bad 2 'usage|unknown' "an unknown verb" nacre sandbox fly
bad 1 'no/such|not found' "an image without the program" nacre sandbox create --name x --from tiny -- /no/such/program
printf 'version: 1\nprocess: {run_as_user: root}\n' >"$work/root.yaml"
bad 2 'root' "a policy that asks for root" nacre sandbox create --name x --from tiny --policy "$work/root.yaml"
printf 'version: 1\nnope: 1\n' >"$work/nope.yaml"
bad 2 '2:1' "a policy with an unknown key" nacre sandbox create --name x --from tiny --policy "$work/nope.yaml"
bad 125 'No such file' "a policy file that is missing" nacre sandbox create --name x --from tiny --policy "$work/missing.yaml"

run nacre image import x "$work/missing.tar"
is "$code" 4 "an image path that is missing is not found"
run nacre image import Bad_Name "$work/tiny"
is "$code" 2 "an image name out of range is invalid"
head -c 1000 /dev/urandom >"$work/junk.tar"
run nacre image import junk "$work/junk.tar"
is "$code" 2 "a file that is no archive is invalid"
like "$(nacre image list)" '^NAME[^j]*tiny[^j]*$' "and no image is left of it"
run nacre image delete nothere
is "$code" 4 "deleting an unknown image is not found"
run nacre sandbox exec nothere -- true
is "$code" 125 "exec in an unknown sandbox is nacre's own failure"
like "$out" "not found" "and says so"
run nacre sandbox get nothere
is "$code" 4 "get of an unknown sandbox is not found"

# two gateways on one state folder
run "$NACRE_BIN/nacre-gateway" --state "$NACRE_STATE"
is "$code" 1 "a second gateway on the state folder is refused"
like "$out" "gateway" "and says why"
run nacre sandbox list
is "$out" "no sandboxes" "the first goes on"

# in use
nacre sandbox create --name u --from tiny >/dev/null
run nacre image delete tiny
is "$code" 1 "an image in use is not deleted"
like "$out" "use" "and says why"
nacre sandbox delete u >/dev/null
