# The image has Go and git, because dyno builds what it measures:
#   docker run --rm -v "$PWD":/src -w /src ghcr.io/dynolab/dyno run ./cmd/server --vary GOGC=100,200
# The program comes from the release; BASE is any image with Go and git.
ARG BASE=golang:1.26-bookworm
FROM ${BASE}
ARG TARGETPLATFORM=linux/amd64
COPY ${TARGETPLATFORM}/dyno /usr/local/bin/dyno
ENTRYPOINT ["/usr/local/bin/dyno"]
