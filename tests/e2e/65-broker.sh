#!/bin/bash
# Connects of agent programs in a real VM: the door, everything else, and who
# the supervisor is told to have knocked. SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/e2e.sh"
host=$NACRE_BIN/../e2e/guest_host
tsc=$(awk -F: '/cpu MHz/ { printf "%d", $2 * 1000; exit }' /proc/cpuinfo)
root=$(tiny_image)
cp "$NACRE_BIN/../e2e/knock" "$NACRE_BIN/../e2e/swap" "$root/bin/"
install -d -m 777 "$root/work"
install -m 777 "$NACRE_BIN/../e2e/knock" "$root/work/own"
# The image has names of its own; they stay.
printf '127.0.0.1\tlocalhost\n192.0.2.7\tprinter' >"$root/etc/hosts"
chmod 755 "$root"
tar -C "$root" --owner=0 --group=0 -cf "$work/root.tar" .
tar2sqfs -q -c lz4 "$work/image.sqfs" <"$work/root.tar"
truncate -s 64M "$work/disk"
mke2fs -q -t ext4 -E lazy_itable_init=1,lazy_journal_init=1 "$work/disk"
# guest <script: $out is what the guest said, $log its console
guest() {
	out=$(timeout 300 "$host" "$NACRE_GUEST/vmlinux" "$NACRE_GUEST/initramfs.cpio" "$work/image.sqfs" "$work/disk" 192 "$tsc" 2>"$work/log")
	log=$(cat "$work/log")
}
# of ID: what one stream gave
of() { grep -E "^out $1 " <<<"$out" | sed -E "s/^out $1 //" | tr -d '\n' | sed 's/\\x0a/\n/g'; }

guest <<'END'
launch dir=/work -- sh -c 'cat /etc/hosts'
wait exit
exec wget -- wget -O- http://openshell.local/mcp
wait wget
exec other -- wget -O- http://openshell.local/other
wait other
exec blocking -- knock blocking
wait blocking
exec unblocked -- knock unblocked
wait unblocked
exec refused -- knock refused
wait refused
exec loopback -- knock loopback
wait loopback
exec many -- knock many
wait many
exec cheat -- knock cheat
wait cheat
exec share -- knock share
wait share
exec nameless -- sh -c 'cp /bin/knock /tmp/gone; exec /tmp/gone nameless'
wait nameless
exec copy -- sh -c 'cp /bin/knock /tmp/mine; exec /tmp/mine blocking'
wait copy
exec hidden -- sh -c 'cp /bin/knock /tmp/hidden; exec /tmp/hidden hidden'
wait hidden
exec own dir=/work -- sh -c './own blocking; echo >>own; ./own blocking'
wait own
exec swap -- sh -c 'cp /bin/swap /tmp/swapped; printf x >>/tmp/swapped; swap tick /tmp/swapped'
wait swap
exec mapped -- sh -c 'cp /bin/swap /tmp/mapped; printf x >>/tmp/mapped; swap mapped /tmp/mapped'
wait mapped
exec last -- knock blocking
wait last
break
wait session
exec again -- knock blocking
wait again
stop 0
wait stopped
END

# asked: the callers that the supervisor was told of, each once
asked() { sed -n "s/^.* door: \('.*\)$/\1/p" <<<"$log" | sed -E 's/ \(pid [0-9]+,/ (/' | sort -u; }
changed=$( (cat "$root/work/own"; echo) | sha256sum | cut -d' ' -f1)
sum=$(sha256sum <"$root/bin/knock" | cut -d' ' -f1)
is "$(grep '^log' <<<"$out")" 'log out 127.0.0.1\x09localhost\x0a192.0.2.7\x09printer\x0a127.0.0.80\x09openshell.local\x0a' \
	"the door has a name beside those of the image"
like "$(grep '^err wget' <<<"$out")" 'openshell.local \(127.0.0.80:80\).*HTTP/1.1 503 Service Unavailable' "wget reaches the door"
like "$(grep '^err other' <<<"$out")" 'HTTP/1.1 404 Not Found' "where nothing but MCP is"
is "$(of blocking)" $'connected\npeer 127.0.0.80:80\nstatus 503' "a blocking connect is connected, to whom it asked for"
is "$(of unblocked)" $'EINPROGRESS\nevents 1\nerror 0\npeer 127.0.0.80:80\nstatus 503' \
	"a non-blocking one is told so by an epoll that was there before"
is "$(of refused)" $'192.0.2.1:443 tcp EACCES udp EACCES\n10.0.2.2:22 tcp EACCES udp EACCES\n127.0.0.80:443 tcp EACCES udp EACCES\n8.8.8.8:53 tcp EACCES udp EACCES' \
	"any other address is refused"
is "$(of loopback)" heard "agent processes talk to each other over loopback"
is "$(of many)" "200 connected, 200 answered" "200 at once are all answered"
is "$(of cheat)" "some joined, 0 odd" "an address that changes meanwhile leads to the door or nowhere"
is "$(of share) $(of nameless) $(of copy)" $'status 503 connected\npeer 127.0.0.80:80\nstatus 503 connected\npeer 127.0.0.80:80\nstatus 503' \
	"programs of every kind are answered"
is "$(of own)" $'connected\npeer 127.0.0.80:80\nstatus 503\nconnected\npeer 127.0.0.80:80\nstatus 503' "so is a program of the image that was written to"
is "$(of last)" $'connected\npeer 127.0.0.80:80\nstatus 503' "and afterwards all is as before"
is "$(of again)" "$(of last)" "also when the tunnel was lost and came back"
like "$(asked)" "'/bin/busybox' \( state 0, of the image\) asks" "a program of the image is named as the kernel resolves it"
like "$(asked)" "'/bin/knock' \( state 0, of the image\) asks, another program holds it too" "that another program holds the socket is told"
like "$(asked)" "'/tmp/mine' \( state 0, sha256 $sum\) asks" "a program of the agent's own is told with its digest"
is "$(asked | grep -c "^'/work/own' ")" 2 "and it is another one from then on"
like "$(asked)" "'/work/own' \\( state 0, of the image\\) asks" "first the image's own"
like "$(asked)" "'/work/own' \\( state 0, sha256 $changed\\) asks" "then one with a digest of its own"
is "$(of swap)" "60 connected" "a program that was just written may connect"
sed -n 's/^err swap \(.*\)\\x0a$/#   of them \1/p' <<<"$out"
ran=$( (cat "$root/bin/swap"; printf e) | sha256sum | cut -d' ' -f1)
is "$(asked | grep "^'/tmp/swapped' " | grep -cvE "state 0, sha256 $ran|state 3, sha256 \)")" 0 \
	"it is told with the digest of what ran or without one, not with that of what is in its file a moment later"
like "$(asked)" "'/tmp/swapped' \( state 0, sha256 $ran\) asks" "of what ran, where nothing came between"
is "$(of mapped)" "5 connected" "one that somebody can write to may connect too"
is "$(asked | grep "^'/tmp/mapped' " | grep -cv 'state 3, sha256 )') $(asked | grep -c "^'/tmp/mapped' ")" "0 1" \
	"but has no digest: there is a mapping from before it ran"
like "$(asked)" "'/tmp/hidden' \\( state 0, sha256 $sum\\) asks" "one that is not dumpable is seen like any other"
like "$(asked)" "'/tmp/gone' \( state 2, sha256 \) asks" "one without a name is told to have none"
