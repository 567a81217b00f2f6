# SPDX-License-Identifier: BSD-2-Clause
# Builds the Debian packages, and an image with the ruby that extprof can profile.
#   docker build -t ruby-extprof .
#   docker build --target packages -o deb .     (the .deb files alone)
FROM debian:bookworm AS build
WORKDIR /extprof
COPY . .
RUN ./configure.sh --prefix=/usr/lib/ruby-extprof --build-dir=/build && make deb

FROM scratch AS packages
COPY --from=build /build/deb/*.deb /

FROM debian:bookworm-slim
COPY --from=packages /ruby-extprof_*.deb /tmp/
RUN apt-get update && \
	apt-get install -y --no-install-recommends ca-certificates /tmp/ruby-extprof_*.deb && \
	rm -rf /tmp/ruby-extprof_*.deb /var/lib/apt/lists/*
ENV PATH=/usr/lib/ruby-extprof/bin:$PATH
CMD ["irb"]
