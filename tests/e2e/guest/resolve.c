/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of names, by the C library's own resolver: this file is static. */
#include <sys/socket.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

int
main(int argc, char **argv)
{
	const struct addrinfo want = { .ai_family = AF_INET,
		.ai_socktype = SOCK_STREAM };

	for (int i = 1; i < argc; i++) {
		struct addrinfo *got = NULL;
		int rc = getaddrinfo(argv[i], NULL, &want, &got);

		if (rc != 0) {
			printf("%s: %s\n", argv[i], gai_strerror(rc));
			continue;
		}
		for (struct addrinfo *a = got; a; a = a->ai_next) {
			struct sockaddr_in in;
			char text[INET_ADDRSTRLEN];

			memcpy(&in, a->ai_addr, sizeof(in));
			printf("%s %s\n", argv[i],
			    inet_ntop(AF_INET, &in.sin_addr, text,
				sizeof(text)));
		}
		freeaddrinfo(got);
	}
	return 0;
}
