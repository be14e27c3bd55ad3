/* SPDX-License-Identifier: Apache-2.0 */
/* ssh's ProxyCommand with ProxyUseFdpass: connect to a socket and hand it over,
 * so that no program stands between ssh and the port. */
#include <sys/socket.h>
#include <sys/un.h>

#include <string.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec one = { .iov_base = "", .iov_len = 1 };
	struct msghdr m = { .msg_iov = &one,
		.msg_iovlen = 1,
		.msg_control = room,
		.msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	if (argc != 2 || strlen(argv[1]) >= sizeof(to.sun_path))
		return 2;
	strcpy(to.sun_path, argv[1]);
	if (connect(s, (struct sockaddr *)&to, sizeof(to)) != 0)
		return 1;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &s, sizeof(s));
	return sendmsg(1, &m, 0) == 1 ? 0 : 1;
}
